"""What is particular to GPUs: streams, graphs, no waiting, refusals."""

import json
import pathlib

import jfa
import pytest
import torch
from batches import batch, offsets_of
from conftest import NO_GPU

pytestmark = pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU)

LENGTHS = [3, 0, 170, 1, 64]


def given(lengths=LENGTHS, heads=2, head_dim=64):
    q, k, v, kv_offsets, q_offsets = batch(lengths, "cuda", torch.bfloat16, heads, head_dim)
    return *(t.requires_grad_() for t in (q, k, v)), kv_offsets, q_offsets


def step(q, k, v, kv_offsets, q_offsets, planned=True):
    """Forward and backward: (out, lse, dq, dk, dv)."""
    options = dict(causal=True)
    plan = jfa.Plan(q, k, v, kv_offsets, q_offsets, **options) if planned else None
    out, lse = jfa.attention(
        q, k, v, kv_offsets, q_offsets, plan=plan, deterministic=True, return_lse=True, **options
    )
    gradients = torch.autograd.grad(out, [q, k, v], torch.ones_like(out))
    return out.detach(), lse.detach(), *gradients


@pytest.mark.parametrize("planned", [False, True])
def test_nothing_waits_for_the_gpu(planned):
    arguments = given()
    step(*arguments)
    torch.cuda.set_sync_debug_mode("error")
    try:
        step(*arguments, planned)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("planned", [False, True])
def test_graph_follows_offsets(planned):
    q, k, v, offsets, _ = given()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step(q, k, v, offsets, offsets, planned)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        captured = step(q, k, v, offsets, offsets, planned)
    for lengths in (LENGTHS, [0, 100, 8, 100, 0], [10, 10, 10, 10, 10]):
        offsets.copy_(offsets_of(lengths, "cuda"))
        graph.replay()
        for got, expected in zip(captured, step(q, k, v, offsets, offsets)):
            assert torch.equal(got, expected)


def test_streams():
    arguments = given()
    expected = step(*arguments)
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = []
    for stream in streams:
        with torch.cuda.stream(stream):
            results.append(step(*arguments))
    torch.cuda.synchronize()
    for result in results:
        assert all(torch.equal(a, b) for a, b in zip(result, expected))


def test_compiled_with_cuda_graphs():
    def function(q, k, v, kv_offsets, q_offsets):
        return jfa.attention(q * 2, k, v, kv_offsets, q_offsets, causal=True) + 1

    arguments = [t.detach() for t in given()]
    compiled = torch.compile(function, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        out = compiled(*arguments).clone()
    torch.testing.assert_close(out, function(*arguments))


def test_refusals():
    q, k, v, offsets, _ = given()
    with pytest.raises(jfa.InvalidArgument, match=r"kv_offsets\.device is cpu, must be cuda:0"):
        jfa.attention(q, k, v, offsets.cpu(), offsets)
    with pytest.raises(jfa.InvalidArgument, match=r"k\.device is cpu, must be cuda:0"):
        jfa.attention(q, k.detach().cpu(), v, offsets, offsets)
    with pytest.raises(jfa.Unsupported, match=r"q\.dtype is fp32"):
        jfa.attention(q.float(), k.float(), v.float(), offsets, offsets)


def test_checks_cannot_be_captured():
    arguments = given()
    jfa.attention(*arguments)
    torch.cuda.synchronize()
    with pytest.raises(jfa.InvalidArgument, match="check is True, must be False in a CUDA graph"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            jfa.attention(*arguments, check=True)


def test_backward_is_checked():
    q, k, v, offsets, _ = given()
    out = jfa.attention(q, k, v, offsets, offsets, check=True)
    offsets.data[2] = 10000  # behind autograd's back
    with pytest.raises(jfa.InvalidArgument, match=r"kv_offsets\[2\]"):
        out.sum().backward()


def test_memory_of_a_training_step():
    """Beside tensors that autograd keeps, or that are its results, there is next to nothing."""
    suite = json.loads((pathlib.Path(__file__).parents[2] / "bench/suite.json").read_text())
    case = next(case for case in suite if case["name"] == "bcast256-KV2048")
    lengths, heads, head_dim = case["kv_lengths"], case["heads_q"], case["head_dim"]
    empty = dict(device="cuda", dtype=torch.bfloat16)
    torch.cuda.empty_cache()
    begin = torch.cuda.memory_allocated()
    q = torch.randn(case["q_length"], heads, head_dim, **empty).requires_grad_()
    k, v = (torch.randn(sum(lengths), heads, head_dim, **empty) for _ in range(2))
    leaves = [q, k.requires_grad_(), v.requires_grad_()]
    offsets = offsets_of(lengths, "cuda")

    def peak_of(step):
        torch.cuda.reset_peak_memory_stats()
        result = step()
        return result, torch.cuda.max_memory_allocated() - begin

    def bytes_of(*tensors):
        return sum(t.numel() * t.element_size() for t in tensors)

    (out, lse), peak = peak_of(lambda: jfa.attention(*leaves, offsets, return_lse=True))
    kept = bytes_of(*leaves, out, lse)
    assert peak <= 1.1 * kept, f"forward: {peak / kept:.3f}"
    print(f"forward: {peak / kept:.4f} of the {kept / 1e9:.3f} GB that autograd keeps")
    d_out = torch.ones_like(out)
    gradients, peak = peak_of(lambda: torch.autograd.grad(out, leaves, d_out))
    kept += bytes_of(d_out, *gradients)
    assert peak <= 1.1 * kept, f"both passes: {peak / kept:.3f}"
    print(f"both passes: {peak / kept:.4f} of {kept / 1e9:.3f} GB with gradients")


def test_wrong_offsets_stay_inside():
    """They are not checked on a GPU, unless asked for, and clamped to the tensors."""
    q, k, v, offsets, _ = given()
    wrong = torch.tensor([0, 900, -5, 17, 100000, 3], device="cuda", dtype=torch.int32)
    jfa.attention(q, k, v, wrong, wrong)
    torch.cuda.synchronize()
