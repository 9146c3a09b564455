"""jfa.compat against PyTorch's own packed attention, or where it does not run, by definition."""

import random

import jfa
import pytest
import torch
from batches import assert_close_as, batch, flat, gradients, offsets_of
from jfa.compat import (
    flash_attn_varlen_func,
    flash_attn_varlen_kvpacked_func,
    flash_attn_varlen_qkvpacked_func,
)

import reference

CONFIGURATIONS = 200


def configuration(seed, device):
    """A random batch and options."""
    choose = random.Random(seed)
    causal = choose.random() < 0.5
    window = choose.choice(
        [(-1, -1), (choose.randrange(40), -1), (choose.randrange(40), choose.randrange(9))]
    )
    most = choose.choice([1, 20, 90])
    lengths = [choose.randint(0, most) for _ in range(choose.randint(1, 6))]
    same = choose.random() < 0.5
    q_lengths = lengths if same else [choose.randint(0, most) for _ in lengths]
    heads_kv = choose.choice([1, 2])
    heads = heads_kv * choose.choice([1, 2, 3])
    head_dim = choose.choice([8, 24, 32, 64, 128] if device == "cuda" else [1, 8, 33, 64, 128])
    options = dict(causal=causal, softmax_scale=choose.choice([None, 0.5, 0.03]))
    return lengths, q_lengths, heads, heads_kv, head_dim, window, options


def torch_varlen(cu_q, cu_k, max_q, max_k, window, options):
    """PyTorch's flash attention of packed tensors, as (out, lse)."""
    from torch.nn.attention.varlen import AuxRequest, varlen_attn

    window = (window[0], 0) if options["causal"] else window
    given = dict(scale=options["softmax_scale"], window_size=window)

    def function(q, k, v):
        k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
        aux = AuxRequest(lse=True)
        out, lse = varlen_attn(q, k, v, cu_q, cu_k, max_q, max_k, return_aux=aux, **given)
        return out, torch.where(lse == torch.inf, -torch.inf, lse)

    return function


def results_of(seed, device):
    """(out, lse, dq, dk, dv) of a random configuration: ours, exact ones, and the peer's."""
    torch.manual_seed(seed)
    lengths, q_lengths, heads, heads_kv, head_dim, window, options = configuration(seed, device)
    shape = heads, head_dim, heads_kv, q_lengths
    q, k, v, cu_k, cu_q = batch(lengths, device, torch.bfloat16, *shape)
    most = max(q_lengths), max(lengths)

    def ours(q, k, v):
        out, lse, _ = flash_attn_varlen_func(
            q, k, v, cu_q, cu_k, *most, window_size=window, return_attn_probs=True, **options
        )
        return out, lse

    def definition(q, k, v):
        return reference.attention(q, k, v, cu_k, cu_q, window=window, **options)

    d_out, d_lse = torch.randn_like(q), q.new_zeros(heads, q.shape[0])

    def results(function, dtype=torch.bfloat16):
        return flat(gradients(function, [t.to(dtype) for t in (q, k, v)], (d_out, d_lse)))

    peer = None
    if device == "cuda" and min(most) > 0:
        peer = results(torch_varlen(cu_q, cu_k, *most, window, options))
    # Sequences without keys give PyTorch's gradients NaN.
    if peer is None or any(t.isnan().any() for t in peer):
        peer = results(definition)
    return results(ours), results(definition, torch.float64), peer


@pytest.mark.parametrize("part", range(4))
def test_random_configurations(device, part):
    for seed in range(part, CONFIGURATIONS, 4):
        for name, *values in zip(("out", "lse", "dq", "dk", "dv"), *results_of(seed, device)):
            assert_close_as(f"{name} of configuration {seed}", *values)


def test_packed_forms(device, dtype):
    qkv = torch.randn(20, 3, 2, 16, device=device).to(dtype)
    cu = offsets_of([4, 16], device)
    expected = jfa.attention(*qkv.unbind(1), cu, cu, causal=True)
    assert torch.equal(flash_attn_varlen_qkvpacked_func(qkv, cu, 16, causal=True), expected)
    out = flash_attn_varlen_kvpacked_func(qkv[:, 0], qkv[:, 1:], cu, cu, 16, 16, causal=True)
    assert torch.equal(out, expected)


def test_what_is_not_offered_is_refused(device, dtype):
    q, k, v, cu, _ = batch([4, 16], device, dtype)
    slopes = torch.ones(2, device=device)
    for name, value in (("dropout_p", 0.1), ("alibi_slopes", slopes), ("block_table", cu)):
        with pytest.raises(jfa.InvalidArgument, match=f"{name} is .* must be"):
            flash_attn_varlen_func(q, k, v, cu, cu, 16, 16, **{name: value})
