"""Attention on jagged batches by its definition (docs/contract.md), one sequence at a time,
differentiable, in the type of its arguments."""

import torch


def allowed_pairs(lq, lk, causal, window, device):
    """Mask `[lq, lk]` of a sequence by position."""
    position = torch.arange(lq, device=device)[:, None] + lk - lq
    key = torch.arange(lk, device=device)[None, :]
    left, right = window
    allowed = torch.ones(lq, lk, dtype=torch.bool, device=device)
    if causal:
        right = 0
    if left >= 0:
        allowed &= key >= position - left
    if right >= 0:
        allowed &= key <= position + right
    return allowed


def listed_pairs(lq, lk, first_block, block_sparse, device):
    """Mask `[1 or heads, lq, lk]` of a sequence whose first query block is `first_block`."""
    block_q, block_kv, row_offsets, columns = block_sparse
    row_offsets = row_offsets if row_offsets.dim() == 2 else row_offsets[None]
    listed = torch.zeros(len(row_offsets), lq, lk, dtype=torch.bool, device=device)
    for of_head, bounds in zip(listed, row_offsets.tolist()):
        for block in range(-(-lq // block_q)):
            begin, end = bounds[first_block + block : first_block + block + 2]
            for column in columns[begin:end].tolist():
                rows = slice(block * block_q, (block + 1) * block_q)
                of_head[rows, column * block_kv : (column + 1) * block_kv] = True
    return listed


def softmax_rows(scores, v):
    """(out, lse) of scores `[heads, lq, lk]`, rows that may attend to nothing among them."""
    if scores.shape[2] == 0:
        out = scores.new_zeros(*scores.shape[:2], v.shape[2])
        return out, scores.new_full(scores.shape[:2], -torch.inf)
    highest = scores.detach().amax(2, keepdim=True)
    empty = highest == -torch.inf
    highest = torch.where(empty, 0.0, highest)
    weights = torch.exp(scores - highest)
    total = torch.where(empty, 1.0, weights.sum(2, keepdim=True))
    lse = torch.where(empty, -torch.inf, torch.log(total) + highest)
    return weights @ v / total, lse[:, :, 0]


def attention(
    q, k, v, kv_offsets, q_offsets=None, *, q_lengths=None, kv_lengths=None, causal=False,
    window=(-1, -1), block_sparse=None, softmax_scale=None, softcap=0.0, deterministic=False,
):  # fmt: skip
    """(out, lse) as of jfa.attention."""
    broadcast = q_offsets is None
    kv_begin, q_begin = kv_offsets.tolist(), None if broadcast else q_offsets.tolist()
    scale = q.shape[2] ** -0.5 if softmax_scale is None else softmax_scale
    group = q.shape[1] // k.shape[1]
    rows = q.shape[0] * (len(kv_begin) - 1) if broadcast else q.shape[0]
    places, outs, lses = [], [], []
    first_block = 0
    for b in range(len(kv_begin) - 1):
        lk = int(kv_lengths[b]) if kv_lengths is not None else kv_begin[b + 1] - kv_begin[b]
        if broadcast:
            begin, to, lq = 0, b * q.shape[0], q.shape[0]
        else:
            begin = to = q_begin[b]
            lq = int(q_lengths[b]) if q_lengths is not None else q_begin[b + 1] - q_begin[b]
        queries = q[begin : begin + lq].transpose(0, 1)
        keys, values = (
            t[kv_begin[b] : kv_begin[b] + lk].repeat_interleave(group, 1).transpose(0, 1)
            for t in (k, v)
        )
        scores = queries @ keys.transpose(1, 2) * scale
        if softcap > 0:
            scores = softcap * torch.tanh(scores / softcap)
        allowed = allowed_pairs(lq, lk, causal, window, q.device)
        if block_sparse is not None:
            allowed = allowed & listed_pairs(lq, lk, first_block, block_sparse, q.device)
            first_block += -(-lq // block_sparse[0])
        out, lse = softmax_rows(torch.where(allowed, scores, -torch.inf), values)
        places.append(torch.arange(to, to + lq, device=q.device))
        outs.append(out.transpose(0, 1))
        lses.append(lse)
    out = q.new_zeros(rows, *q.shape[1:])
    lse = torch.full((q.shape[1], rows), -torch.inf, dtype=q.dtype, device=q.device)
    if not places:
        return out, lse
    at = torch.cat(places)
    return out.index_copy(0, at, torch.cat(outs)), lse.index_copy(1, at, torch.cat(lses, 1))
