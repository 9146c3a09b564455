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
    most = choose.choice([1, 20, 150])
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

    def function(q, k, v):
        out, lse = varlen_attn(
            q, k, v, cu_q, cu_k, max_q, max_k, scale=options["softmax_scale"], window_size=window,
            enable_gqa=True, return_aux=AuxRequest(lse=True),
        )  # fmt: skip
        return out, torch.where(lse == torch.inf, -torch.inf, lse)

    return function


@pytest.mark.parametrize("part", range(4))
def test_random_configurations(device, part):
    for seed in range(part, CONFIGURATIONS, 4):
        torch.manual_seed(seed)
        lengths, q_lengths, heads, heads_kv, head_dim, window, options = configuration(seed, device)
        q, k, v, cu_k, cu_q = batch(
            lengths, device, torch.bfloat16, heads, head_dim, heads_kv, q_lengths
        )
        most = max(q_lengths), max(lengths)

        def ours(q, k, v):
            out, lse, _ = flash_attn_varlen_func(
                q, k, v, cu_q, cu_k, *most, window_size=window, return_attn_probs=True, **options
            )
            return out, lse

        def exact(q, k, v):
            return reference.attention(q, k, v, cu_k, cu_q, window=window, **options)

        peer = exact
        if device == "cuda" and min(most) > 0:
            peer = torch_varlen(cu_q, cu_k, *most, window, options)
        with torch.no_grad():
            out, lse = exact(q, k, v)
        given = torch.randn_like(out), torch.zeros_like(lse)
        results = [
            flat(gradients(function, tensors, given))
            for function, tensors in (
                (ours, (q, k, v)),
                (exact, [t.double() for t in (q, k, v)]),
                (peer, (q, k, v)),
            )
        ]
        for name, *values in zip(("out", "lse", "dq", "dk", "dv"), *results):
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
