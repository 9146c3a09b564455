"""Jagged batches for tests, and what they are compared by."""

import jfa
import torch

import reference


def offsets_of(lengths, device="cpu", dtype=torch.int32):
    total = torch.tensor([0, *lengths]).cumsum(0)
    return total.to(device, dtype)


def batch(lengths, device, dtype, heads=2, head_dim=16, heads_kv=None, q_lengths=None):
    """(q, k, v, kv_offsets, q_offsets) with queries as keys, unless q_lengths says other."""
    q_lengths = lengths if q_lengths is None else q_lengths
    q = torch.randn(sum(q_lengths), heads, head_dim, device=device).to(dtype)
    k, v = torch.randn(2, sum(lengths), heads_kv or heads, head_dim, device=device).to(dtype)
    return q, k, v, offsets_of(lengths, device), offsets_of(q_lengths, device)


def gradients(function, tensors, d_results):
    """Results of `function(*tensors)`, and the gradients of its tensors."""
    leaves = [t.detach().requires_grad_() for t in tensors]
    results = function(*leaves)
    loss = sum((r * d).nan_to_num(neginf=0.0).sum() for r, d in zip(results, d_results))
    loss = loss + 0.0 * sum(t.sum() for t in leaves)  # empty results need none of them
    return [r.detach() for r in results], torch.autograd.grad(loss, leaves)


def compare(q, k, v, *offsets, peer=None, **options):
    """Checks out, lse and all gradients of jfa.attention against fp64: errors may be twice those
    of `peer`, the same definition in the type of q unless given."""

    def ours(q, k, v):
        return jfa.attention(q, k, v, *offsets, return_lse=True, **options)

    def theirs(q, k, v):
        return reference.attention(q, k, v, *offsets, **options)

    peer = peer or theirs
    with torch.no_grad():
        out, lse = ours(q, k, v)
    d_out = torch.randn_like(out)
    d_lse = torch.where(lse == -torch.inf, 0.0, torch.randn_like(lse))
    got = flat(gradients(ours, (q, k, v), (d_out, d_lse)))
    exact = flat(gradients(theirs, [t.double() for t in (q, k, v)], (d_out.double(), d_lse)))
    close = flat(gradients(peer, (q, k, v), (d_out, d_lse)))
    for name, a, b, c in zip(("out", "lse", "dq", "dk", "dv"), got, exact, close):
        assert_close_as(name, a, b, c)


def flat(pair):
    return [*pair[0], *pair[1]]


def assert_close_as(name, ours, exact, peer):
    """Infinities where they should be, and an error of at most twice the peer's."""
    assert ours.shape == exact.shape, name
    finite = exact.isfinite()
    assert torch.equal(ours.isfinite(), finite), f"{name}: infinite elsewhere"
    assert (ours[~finite] == exact[~finite]).all(), name
    if not finite.any():
        return
    error = (ours - exact)[finite].abs().max().item()
    peer_error = (peer - exact)[finite].abs().max().item()
    scale = exact[finite].abs().max().item()
    # Sums are fp32's, results rounded to their type.
    floor = 8 * torch.finfo(torch.float32).eps * max(scale, 1.0)
    if ours.dtype != torch.float32:
        floor += torch.finfo(ours.dtype).eps * scale / 2
    assert error <= 2 * peer_error + floor, f"{name}: error {error}, of the peer {peer_error}"
