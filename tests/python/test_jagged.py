"""Nested tensors, and objects like TorchRec's JaggedTensor."""

import jfa
import pytest
import torch
from batches import batch, offsets_of

LENGTHS = [3, 0, 17, 1]


def nested(values, offsets, lengths=None):
    return torch.nested.nested_tensor_from_jagged(values, offsets, lengths)


class JaggedTensor:
    """The part of TorchRec's class that is used."""

    def __init__(self, values, weights=None, lengths=None, offsets=None):
        self._values, self._offsets = values, offsets

    def values(self):
        return self._values

    def offsets(self):
        return self._offsets


def test_nested_tensors(device, dtype):
    q, k, v, offsets, _ = batch(LENGTHS, device, dtype)
    offsets = offsets.long()
    expected, lse = jfa.attention(q, k, v, offsets, offsets, causal=True, return_lse=True)
    leaf = q.clone().requires_grad_()
    given = nested(leaf, offsets)
    out, got_lse = jfa.jagged_attention(
        given, nested(k, offsets), nested(v, offsets), causal=True, return_lse=True
    )
    assert out.is_nested and out.shape == given.shape
    assert torch.equal(out.values(), expected) and torch.equal(got_lse, lse)
    (out + given).values().sum().backward()  # its ragged size is that of q
    assert leaf.grad.isfinite().all()


def test_nested_tensors_with_heads_first(device, dtype):
    q, k, v, offsets, _ = batch(LENGTHS, device, dtype)
    expected = jfa.attention(q, k, v, offsets, offsets)
    out = jfa.jagged_attention(*(nested(t, offsets).transpose(1, 2) for t in (q, k, v)))
    assert out.shape[1] == q.shape[1] and out.shape[3] == q.shape[2]
    assert torch.equal(out.transpose(1, 2).values(), expected)


def test_nested_tensors_with_gaps(device, dtype):
    q, k, v, offsets, _ = batch([4, 4, 4], device, dtype)
    offsets, lengths = offsets.long(), torch.tensor([4, 2, 0], device=device)
    expected = jfa.attention(q, k, v, offsets, offsets, q_lengths=lengths, kv_lengths=lengths)
    out = jfa.jagged_attention(*(nested(t, offsets, lengths) for t in (q, k, v)))
    assert torch.equal(out.values(), expected)


def test_keys_and_values_share_their_offsets():
    q, k, v, offsets, _ = batch([3, 0, 4], "cpu", torch.float32)
    equal = offsets.long()
    out = jfa.jagged_attention(nested(q, offsets), nested(k, offsets), nested(v, equal))
    assert torch.equal(out.values(), jfa.attention(q, k, v, offsets, offsets))
    for other in (offsets_of([4, 0, 3]), offsets_of([3, 4])):
        with pytest.raises(jfa.InvalidArgument, match=r"v\.offsets\(\) is tensor"):
            jfa.jagged_attention(nested(q, offsets), nested(k, offsets), nested(v, other))
    lengths = torch.tensor([2, 0, 4]), torch.tensor([3, 0, 1])
    given = [nested(t, equal, n) for t, n in zip((q, k, v), (lengths[0], *lengths))]
    with pytest.raises(jfa.InvalidArgument, match=r"v\.lengths\(\) is tensor"):
        jfa.jagged_attention(*given)


def test_dense_q_is_shared(device, dtype):
    q = torch.randn(5, 2, 16, device=device).to(dtype)
    _, k, v, offsets, _ = batch(LENGTHS, device, dtype)
    out = jfa.jagged_attention(q, nested(k, offsets), nested(v, offsets))
    assert torch.equal(out, jfa.attention(q, k, v, offsets))


def test_jagged_tensor(device, dtype):
    q, k, v, kv_offsets, q_offsets = batch(LENGTHS, device, dtype, q_lengths=[1, 2, 3, 4])
    jagged = [JaggedTensor(t, offsets=kv_offsets) for t in (k, v)]
    out = jfa.jagged_attention(JaggedTensor(q, offsets=q_offsets), *jagged)
    assert isinstance(out, JaggedTensor) and torch.equal(out.offsets(), q_offsets)
    assert torch.equal(out.values(), jfa.attention(q, k, v, kv_offsets, q_offsets))


@pytest.mark.skipif(
    torch.__version__ < "2.6", reason="PyTorch cannot compile nested_tensor_from_jagged"
)
def test_compiles(device, dtype):
    def step(q, k, v, offsets):
        given = (torch.nested.nested_tensor_from_jagged(t, offsets) for t in (q, k, v))
        return jfa.jagged_attention(*given, causal=True).values()

    q, k, v, offsets, _ = batch(LENGTHS, device, dtype)
    compiled = torch.compile(step, fullgraph=True, dynamic=True, backend="aot_eager")
    assert torch.equal(compiled(q, k, v, offsets), step(q, k, v, offsets))
    assert offsets_of(LENGTHS, device).equal(offsets)


def test_what_is_no_container_is_refused():
    t = torch.randn(3, 2, 16)
    strided = torch.nested.nested_tensor([t], layout=torch.strided)
    given = nested(t, torch.tensor([0, 3]))
    for wrong, message in ((strided, r"k\.layout is"), ([t], "k is a list"), (None, "k is a None")):
        with pytest.raises(jfa.InvalidArgument, match=message):
            jfa.jagged_attention(given, wrong, given)
