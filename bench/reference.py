"""Attention of a jagged batch and its gradients as formulas: NumPy, fp64, sequence by sequence."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jagged_suite import Case, mask


def rows_of_sequences(case: Case) -> Iterator[tuple[slice, slice, slice]]:
    """Per sequence: its rows in q, in out, and in k and v. With broadcast_q the first are all."""
    out_begin = kv_begin = 0
    for q_length, kv_length in zip(case.q_lengths, case.kv_lengths):
        out_rows = slice(out_begin, out_begin + q_length)
        yield (slice(0, q_length) if case.broadcast_q else out_rows, out_rows,
               slice(kv_begin, kv_begin + kv_length))
        out_begin, kv_begin = out_rows.stop, kv_begin + kv_length


def heads_first(rows: np.ndarray, repeats: int = 1) -> np.ndarray:
    """`[length, heads, dim]` to fp64 `[heads * repeats, length, dim]`."""
    return np.repeat(rows.astype(np.float64).transpose(1, 0, 2), repeats, axis=0)


def sum_groups(gradient: np.ndarray, repeats: int) -> np.ndarray:
    """The gradient of `heads_first(rows, repeats)` with respect to `rows`."""
    heads, length, dim = gradient.shape
    return gradient.reshape(heads // repeats, repeats, length, dim).sum(axis=1).transpose(1, 0, 2)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Along the last axis; rows of -inf alone give zeros."""
    if scores.shape[-1] == 0:
        return scores
    peak = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(peak), 0.0, peak))
    total = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def attention(case: Case, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """`out, dq, dk, dv` in fp64 for `q, k, v, dout`, scaled by 1 / sqrt(head_dim)."""
    scale = case.head_dim**-0.5
    repeats = case.heads_q // case.heads_kv
    result = {"out": np.zeros(tensors["dout"].shape)}
    result |= {"d" + name: np.zeros(tensors[name].shape) for name in ("q", "k", "v")}
    for q_rows, out_rows, kv_rows in rows_of_sequences(case):
        q, dout = heads_first(tensors["q"][q_rows]), heads_first(tensors["dout"][out_rows])
        k, v = (heads_first(tensors[name][kv_rows], repeats) for name in ("k", "v"))
        seen = mask(case, q.shape[1], k.shape[1])
        weights = softmax(np.where(seen, scale * (q @ k.transpose(0, 2, 1)), -np.inf))
        out = weights @ v
        dweights = dout @ v.transpose(0, 2, 1)
        dscores = weights * (dweights - (dout * out).sum(axis=-1, keepdims=True))
        result["out"][out_rows] = out.transpose(1, 0, 2)
        result["dq"][q_rows] += scale * (dscores @ k).transpose(1, 0, 2)
        result["dk"][kv_rows] = scale * sum_groups(dscores.transpose(0, 2, 1) @ q, repeats)
        result["dv"][kv_rows] = sum_groups(weights.transpose(0, 2, 1) @ dout, repeats)
    return result


def relative_errors(got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> dict[str, float]:
    """The relative Frobenius error of each tensor of `want`."""
    return {name: float(np.linalg.norm(got[name] - value) / np.linalg.norm(value))
            for name, value in want.items()}
