"""FlashAttention on jagged batches, on PyTorch tensors and NumPy arrays.

What is computed, of which shapes and layouts, is docs/contract.md of the project.
"""

import sys

from jfa._abi import (
    Error,
    InternalError,
    InvalidArgument,
    OutOfMemory,
    Unavailable,
    Unsupported,
)
from jfa._abi import version as __version__
from jfa._arguments import BlockSparse
from jfa._explain import explain as _explain

__all__ = [
    "BlockSparse",
    "Error",
    "InternalError",
    "InvalidArgument",
    "OutOfMemory",
    "Plan",
    "Unavailable",
    "Unsupported",
    "__version__",
    "attention",
    "attention_backward",
    "jagged_attention",
]


def __getattr__(name):
    if name == "jagged_attention":  # needs PyTorch, which is imported when it is first needed
        from jfa._jagged import jagged_attention

        return jagged_attention
    raise AttributeError(f"module 'jfa' has no attribute {name!r}")


def _backend(array):
    """Who computes on `array`. PyTorch and NumPy are imported when they are first needed."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        # Compiled code guards what it read, which the first import would change.
        backend = None if torch.compiler.is_compiling() else sys.modules.get("jfa._torch")
        if backend is None:
            from jfa import _torch as backend
    else:
        from jfa import _numpy as backend
    return backend


class Plan:
    """A batch's schedule, made once and passed to every layer's call with the same offsets,
    lengths, shapes and mask, forward and backward.

    Takes what `attention` takes; of `q`, `k` and `v` only shapes, types and the device matter. On a
    GPU it is made on the current stream without waiting, follows no later change of the offsets,
    and is compared with those of a call only where the call says `check=True`.

    A copy, deep ones too, is the plan itself, which nothing changes. It lives in the memory of its
    process: pickling it raises.
    """

    def __init__(
        self,
        q,
        k,
        v,
        kv_offsets,
        q_offsets=None,
        *,
        q_lengths=None,
        kv_lengths=None,
        causal=False,
        window=(-1, -1),
        block_sparse=None,
    ):
        try:
            self.number = _backend(q).make_plan(
                q, k, v, kv_offsets, q_offsets, q_lengths, kv_lengths, causal, window, block_sparse
            )
        except Exception as error:
            _explain(error, locals())
            raise

    def __copy__(self):
        return self

    def __deepcopy__(self, _):
        return self

    def __reduce__(self):
        raise Unsupported(
            "plan is pickled, must be made by the process that uses it: it lives in its memory"
        )


def attention(
    q,
    k,
    v,
    kv_offsets,
    q_offsets=None,
    *,
    q_lengths=None,
    kv_lengths=None,
    causal=False,
    window=(-1, -1),
    block_sparse=None,
    softmax_scale=None,
    softcap=0.0,
    deterministic=False,
    return_lse=False,
    plan=None,
    check=False,
):
    """Attention of each sequence's queries to its keys.

    q: `[total_q, heads_q, head_dim]`; without q_offsets (broadcast_q) `[Lq, heads_q, head_dim]`,
        one dense query block that every sequence shares.
    k, v: `[total_kv, heads_kv, head_dim]`; heads_q is a multiple of heads_kv.
    kv_offsets, q_offsets: `[B + 1]`, int32 or int64, on the device of q: sequence b owns rows
        offsets[b] .. offsets[b + 1] - 1.
    q_lengths, kv_lengths: `[B]`: rows in use of each sequence; the rest is a gap.
    causal, window: masks aligned at the bottom right; window is (left, right), -1 is unbounded.
    block_sparse: a BlockSparse.
    softmax_scale: 1 / sqrt(head_dim) unless given.
    softcap: c > 0 makes scores c * tanh(score / c); 0 is off.
    deterministic: equal inputs give equal bits, gradients included.
    plan: a Plan of the same batch, shapes and mask.
    check: on a GPU, also check offsets, lengths, block lists and whether the plan is theirs, in both
        passes, waiting for the GPU each time. On a CPU they always are.

    Returns out, `[total_q, heads_q, head_dim]` or with broadcast_q `[B * Lq, heads_q, head_dim]`,
    in the type of q; with return_lse (out, lse), lse being the fp32 `[heads_q, rows of out]`
    natural-log log-sum-exp of the scores. A row that may attend to nothing has out 0 and lse -inf.

    PyTorch tensors are differentiable (lse too) and run where they are: the CPU engine for CPU
    tensors, the GPU engine, on the current stream, for CUDA tensors. NumPy arrays and what turns
    into them (DLPack) run on the CPU. Raises a jfa.Error.
    """
    try:
        return _backend(q).attention(
            return_lse,
            q,
            k,
            v,
            kv_offsets,
            q_offsets,
            q_lengths,
            kv_lengths,
            causal,
            window,
            block_sparse,
            softmax_scale,
            softcap,
            deterministic,
            plan,
            check,
        )
    except Exception as error:
        _explain(error, locals())
        raise


def attention_backward(
    dout,
    out,
    lse,
    q,
    k,
    v,
    kv_offsets,
    q_offsets=None,
    *,
    dlse=None,
    q_lengths=None,
    kv_lengths=None,
    causal=False,
    window=(-1, -1),
    block_sparse=None,
    softmax_scale=None,
    softcap=0.0,
    deterministic=False,
    plan=None,
    check=False,
):
    """(dq, dk, dv), the gradients of q, k and v, of NumPy arrays; of PyTorch tensors where autograd,
    which calls this by itself, is not wanted.

    dout: the gradient of out; dlse: that of lse, none is zero.
    out, lse: what attention returned for the other arguments, which are its own.

    Without q_offsets dq is summed over the batch.
    """
    try:
        return _backend(q).attention_backward(
            dout,
            out,
            lse,
            dlse,
            q,
            k,
            v,
            kv_offsets,
            q_offsets,
            q_lengths,
            kv_lengths,
            causal,
            window,
            block_sparse,
            softmax_scale,
            softcap,
            deterministic,
            plan,
            check,
        )
    except Exception as error:
        _explain(error, locals())
        raise
