"""The contract, seen from Python."""

import jfa
import pytest
import torch
from batches import batch, compare, offsets_of

LENGTHS = [3, 0, 17, 1, 70, 33]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"causal": True},
        {"window": (5, 2)},
        {"window": (9, -1), "causal": True},
        {"softmax_scale": -0.3},
        {"softcap": 2.0, "causal": True},
        {"deterministic": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("heads_kv", [2, 1])
def test_self_attention(device, dtype, options, heads_kv):
    compare(*batch(LENGTHS, device, dtype, heads_kv=heads_kv), **options)


@pytest.mark.parametrize("causal", [False, True])
def test_cross_attention_with_empty_sides(device, dtype, causal):
    q_lengths = [0, 4, 5, 64, 9, 20]
    compare(*batch(LENGTHS, device, dtype, q_lengths=q_lengths), causal=causal)


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"window": (3, 3)}], ids=str)
def test_broadcast_q(device, dtype, options):
    q = torch.randn(7, 4, 32, device=device).to(dtype)
    _, k, v, kv_offsets, _ = batch(LENGTHS, device, dtype, heads=2, head_dim=32)
    compare(q, k, v, kv_offsets, **options)


@pytest.mark.parametrize("heads", [1, 2])
def test_block_sparse(device, dtype, heads):
    lengths = [130, 0, 64, 200]
    q, k, v, *offsets = batch(lengths, device, dtype, head_dim=64)
    lists = []
    for _ in range(heads):
        for length in lengths:
            blocks = -(-length // 64)
            lists += [
                torch.randperm(blocks)[: max(1, blocks // 2)].sort()[0] for _ in range(blocks)
            ]
    counts = torch.tensor([len(columns) for columns in lists])
    total = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    rows = len(lists) // heads
    row_offsets = torch.stack([total[h * rows : (h + 1) * rows + 1] for h in range(heads)])
    blocks = jfa.BlockSparse(64, 64, row_offsets.to(device), torch.cat(lists).to(device))
    compare(q, k, v, *offsets, block_sparse=blocks)
    compare(q, k, v, *offsets, block_sparse=blocks, causal=True)
    if heads == 1:
        flat = blocks._replace(row_offsets=blocks.row_offsets[0])
        compare(q, k, v, *offsets, block_sparse=flat)


def test_gaps_are_not_read_and_zero(device, dtype):
    q, k, v, kv_offsets, q_offsets = batch([8, 8, 8], device, dtype)
    used = torch.tensor([5, 0, 8], device=device, dtype=torch.int64)
    options = dict(q_lengths=used, kv_lengths=used)
    compare(q, k, v, kv_offsets, q_offsets, **options)
    gap = torch.tensor([*range(5, 16)], device=device)
    dirty = [t.index_fill(0, gap, torch.nan).requires_grad_() for t in (q, k, v)]
    out, lse = jfa.attention(*dirty, kv_offsets, q_offsets, return_lse=True, **options)
    assert (out[gap] == 0).all() and (lse[:, gap] == -torch.inf).all()
    clean = jfa.attention(q, k, v, kv_offsets, q_offsets, **options)
    assert torch.equal(out, clean)
    out.backward(torch.full_like(out, torch.nan).index_fill(0, torch.arange(5).to(device), 1.0))
    for t in dirty:
        assert (t.grad[gap] == 0).all()


def test_rows_past_the_last_offset_are_capacity(device, dtype):
    q, k, v, offsets, _ = batch([6, 3, 3], device, dtype)
    offsets = offsets[:3]
    for t in (q, k, v):
        t[9:] = torch.nan
    out, lse = jfa.attention(q, k, v, offsets, offsets, return_lse=True)
    assert out[:9].isfinite().all() and (out[9:] == 0).all() and (lse[:, 9:] == -torch.inf).all()


def test_isolation(device, dtype):
    tensors = batch(LENGTHS, device, dtype)
    *qkv, kv_offsets, q_offsets = tensors
    clean = jfa.attention(*tensors, causal=True)
    for t in qkv:
        t[3:20] = torch.nan  # sequence 2
    qkv = [t.requires_grad_() for t in qkv]
    out = jfa.attention(*qkv, kv_offsets, q_offsets, causal=True)
    assert torch.equal(out[:3], clean[:3]) and torch.equal(out[20:], clean[20:])
    out.backward(torch.ones_like(out))
    for t in qkv:
        assert t.grad[:3].isfinite().all() and t.grad[20:].isfinite().all()


def test_empty_batches(device, dtype):
    q = torch.randn(3, 2, 16, device=device).to(dtype)
    nothing = q[:0]
    assert jfa.attention(nothing, nothing, nothing, *[offsets_of([], device)] * 2).shape[0] == 0
    out, lse = jfa.attention(q, nothing, nothing, offsets_of([0, 0], device), return_lse=True)
    assert out.shape == (6, 2, 16) and (out == 0).all() and (lse == -torch.inf).all()


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_types(device, dtype, index):
    if device == "cuda" and dtype == torch.float32:
        pytest.skip("not offered on a GPU")
    q, k, v, kv_offsets, _ = batch(LENGTHS, device, dtype)
    offsets = kv_offsets.to(index)
    out = jfa.attention(q, k, v, offsets, offsets)
    assert out.dtype == dtype
    compare(q, k, v, offsets, offsets)


def test_views_of_packed_tensors(device, dtype):
    packed = torch.randn(sum(LENGTHS), 3, 2, 16, device=device).to(dtype)
    offsets = offsets_of(LENGTHS, device)
    compare(*packed.unbind(1), offsets, offsets, causal=True)


def test_layouts_that_no_engine_takes_are_copied(device, dtype):
    q, k, v, *offsets = batch(LENGTHS, device, dtype)
    expected = jfa.attention(q, k, v, *offsets)
    transposed = k.transpose(1, 2).contiguous().transpose(1, 2)
    assert transposed.stride(2) != 1
    shifted = torch.cat([v.new_zeros(1), v.flatten()])[1:].view_as(v)
    assert torch.equal(jfa.attention(q, transposed, shifted, *offsets), expected)
    imaginary = torch.view_as_complex(torch.stack([q, -q], 3).float()).conj().imag
    assert imaginary.is_neg()
    if dtype == torch.float32:
        assert torch.equal(jfa.attention(imaginary, k, v, *offsets), expected)
    strided = torch.stack([offsets[0], offsets[0]], 1)[:, 0]
    assert torch.equal(jfa.attention(q, k, v, strided, strided), expected)
    shared = k[:, :1].expand(-1, 2, -1)
    out = jfa.attention(q, shared, shared, *offsets)
    assert torch.equal(out, jfa.attention(q, k[:, :1], k[:, :1], *offsets))
