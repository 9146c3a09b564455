"""Attention on containers that know their own offsets."""

import torch

from jfa import attention
from jfa._arguments import require


def _unpacked(t):
    """(values, offsets, lengths) of a container; (values, None, None) of a dense tensor."""
    if isinstance(t, torch.Tensor):
        if not t.is_nested:
            return t, None, None
        return t.values(), t.offsets(), t.lengths()
    return t.values(), t.offsets(), None


def _require_container(name, t):
    if isinstance(t, torch.Tensor):
        jagged = not t.is_nested or t.layout == torch.jagged
        require(jagged, f"{name}.layout", t.layout, f"{torch.jagged} of a nested tensor")
    else:
        container = hasattr(t, "values") and hasattr(t, "offsets")
        allowed = "a tensor, or have values() and offsets()"
        require(container, name, f"a {type(t).__name__}", allowed)


def _require_shared(name, of_k, of_v):
    """The CPU's are compared entry by entry; a GPU would have to be waited for."""
    if of_v is of_k:
        return
    shared = of_k is not None and of_v is not None and of_k.shape == of_v.shape
    here = all(type(t) is torch.Tensor and t.is_cpu for t in (of_k, of_v))
    if shared and here and not torch.compiler.is_compiling():
        shared = bool((of_k == of_v).all())
    require(shared, f"v.{name}()", of_v, f"that of k, {of_k}")


def _heads_last(t):
    """Nested `[B, j, heads, head_dim]` of `[B, heads, j, head_dim]`; all else is left as it is."""
    return t.transpose(1, 2) if _heads_first(t) else t


def _heads_first(t):
    return isinstance(t, torch.Tensor) and t.is_nested and t._ragged_idx == 2


def _like(t, values):
    """`values` in a container with the offsets of `t`."""
    if not isinstance(t, torch.Tensor):
        return type(t)(values=values, offsets=t.offsets())
    return torch.nested.nested_tensor_from_jagged(values, t.offsets(), t.lengths())


def jagged_attention(q, k, v, *, return_lse=False, **options):
    """jfa.attention on jagged containers, whose offsets and lengths it takes.

    q, k, v: nested tensors with `layout=torch.jagged`, `[B, j, heads, head_dim]` or as
        scaled_dot_product_attention has them `[B, heads, j, head_dim]`; or objects with `values()`
        of `[total, heads, head_dim]` and `offsets()` of `[B + 1]`, as TorchRec's JaggedTensor.
        k and v share their offsets. A dense q of `[Lq, heads, head_dim]` is shared by all
        sequences.
    options: as of jfa.attention.

    Returns out in a container like q; for a dense q `[B * Lq, heads_q, head_dim]`. With return_lse
    (out, lse), lse being `[heads_q, rows of q's values]`.
    """
    for name, t in (("q", q), ("k", k), ("v", v)):
        _require_container(name, t)
    heads_first = _heads_first(q)
    q, k, v = _heads_last(q), _heads_last(k), _heads_last(v)
    q_values, q_offsets, q_lengths = _unpacked(q)
    k_values, kv_offsets, kv_lengths = _unpacked(k)
    v_values, v_offsets, v_lengths = _unpacked(v)
    if v_offsets is not None:
        _require_shared("offsets", kv_offsets, v_offsets)
        _require_shared("lengths", kv_lengths, v_lengths)
    out, lse = attention(
        q_values,
        k_values,
        v_values,
        kv_offsets,
        q_offsets,
        q_lengths=q_lengths,
        kv_lengths=kv_lengths,
        return_lse=True,
        **options,
    )
    if q_offsets is not None:
        out = _like(q, out)
        out = out.transpose(1, 2) if heads_first else out
    return (out, lse) if return_lse else out
