"""The packed functions of the package flash_attn, by their names and signatures.

max_seqlen_q and max_seqlen_k are accepted and not used. What JFA does not offer is refused. A row
that may attend to nothing has lse -inf here (flash_attn: +inf), and out 0 in both.
"""

from jfa import attention
from jfa._arguments import require


def flash_attn_varlen_func(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q=None,
    max_seqlen_k=None,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
    block_table=None,
):
    """out, or with return_attn_probs (out, softmax_lse, None)."""
    require(dropout_p == 0, "dropout_p", dropout_p, "0: dropout is not offered")
    require(alibi_slopes is None, "alibi_slopes", "given", "None: ALiBi is not offered")
    require(block_table is None, "block_table", "given", "None: paged keys are not offered")
    results = attention(
        q,
        k,
        v,
        cu_seqlens_k,
        cu_seqlens_q,
        causal=causal,
        window=window_size,
        softmax_scale=softmax_scale,
        softcap=softcap,
        deterministic=deterministic,
        return_lse=return_attn_probs,
    )
    return (*results, None) if return_attn_probs else results


def flash_attn_varlen_kvpacked_func(
    q, kv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q=None, max_seqlen_k=None, *args, **kwargs
):
    """flash_attn_varlen_func of kv, `[total_kv, 2, heads_kv, head_dim]`."""
    k, v = kv.unbind(1)
    return flash_attn_varlen_func(
        q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, *args, **kwargs
    )


def flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, max_seqlen=None, *args, **kwargs):
    """flash_attn_varlen_func of qkv, `[total, 3, heads, head_dim]`."""
    q, k, v = qkv.unbind(1)
    return flash_attn_varlen_func(
        q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, *args, **kwargs
    )
