#!/usr/bin/env python3
"""Times what the Python package adds to a forward call: jfa.attention with a ready plan, eager and
inside torch.compile, on a batch so small that the library itself takes microseconds, beside the
bare call of the C ABI.

Prints the median time of a call in microseconds, of the calling thread alone. A call inside
torch.compile is what one more layer costs a compiled function. On a GPU also the time of a call
in the replay of a CUDA graph, by the GPU's clock: captured from Python, and from bare calls.
"""

import argparse
import functools
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import jfa
import results_file
import torch
from jfa import _abi, _torch

LAYERS = 20  # of what is compiled or captured
PASSES = 5  # over all that is timed; the best one counts, whatever else the machine does meanwhile


def microseconds(call: Callable, device: str, rounds=20, calls=20) -> float:
    """Median over rounds of a call's time of the calling thread."""
    times = []
    for _ in range(rounds):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.thread_time_ns()
        for _ in range(calls):
            call()
        times.append((time.thread_time_ns() - begin) / calls / 1e3)
    return statistics.median(times)


def bare_call(arguments: tuple) -> Callable:
    """The C call of an operator's arguments, its structs made beforehand."""
    problem = _torch._Problem(*arguments)
    tensors = _torch._forward(*arguments)
    out, lse = tensors
    outputs = _abi.pack_forward_outputs(*_torch._tensor("out", out), *_torch._lse("lse", lse))

    def call(execution, _kept=tensors):
        _abi.forward(problem.inputs, problem.options, outputs, execution, problem.plan)

    forward_bytes = _torch._forward_bytes
    return problem.run(forward_bytes, lambda execution: lambda: call(execution))


def compiled_layer(q, offsets, plan, device: str, mode=None) -> Callable[[], float]:
    """What times one more layer of a compiled function."""

    def layers(count):
        def function(x, k, v, kv_offsets, q_offsets, plan):
            for _ in range(count):
                x = jfa.attention(x, k, v, kv_offsets, q_offsets, plan=plan)
            return x

        compiled = torch.compile(function, fullgraph=True, mode=mode)
        return lambda: compiled(q, q, q, offsets, offsets, plan)

    one, many = layers(1), layers(1 + LAYERS)
    return lambda: (microseconds(many, device) - microseconds(one, device)) / LAYERS


def replayed(make_call: Callable, replays=50, rounds=20) -> float:
    """A call's time of the GPU in the replay of a graph of several."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        call = make_call()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(LAYERS):
            call()
    times = []
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(1e3 * begin.elapsed_time(end) / replays / LAYERS)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path, metavar="OUT", help="file to write")
    args = parser.parse_args()
    device = args.device
    torch.set_num_threads(1)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    q = torch.randn(2, 1, 8, device=device).to(dtype)
    leaf = q.clone().requires_grad_()
    offsets = torch.tensor([0, 1, 2], device=device)
    plan = jfa.Plan(q, q, q, offsets, offsets)
    problem = q, q, q, offsets, offsets, None, None, False, (-1, -1), None
    arguments = _torch._arguments(*problem, plan=plan)

    def eager(q=q):
        return jfa.attention(q, q, q, offsets, offsets, plan=plan)

    def inference(measure):
        with torch.inference_mode():
            return measure()

    of_eager = functools.partial(microseconds, eager, device)
    of_compiled = compiled_layer(q, offsets, plan, device)
    measures = {
        "C ABI": functools.partial(microseconds, bare_call(arguments), device),
        "eager": of_eager,
        "eager, inference mode": lambda: inference(of_eager),
        "eager, autograd records": lambda: microseconds(lambda: eager(leaf), device),
        "compiled": of_compiled,
        "compiled, inference mode": lambda: inference(of_compiled),
        "compiled, autograd records": compiled_layer(leaf, offsets, plan, device),
    }
    if device == "cuda":  # no call with a plan is captured
        reduced = compiled_layer(q, offsets, None, device, "reduce-overhead")
        measures["compiled, reduce-overhead, no plan"] = reduced
    for measure in measures.values():
        measure()  # compiles, warms up, captures
    passes = [[measure() for measure in measures.values()] for _ in range(PASSES)]
    times = dict(zip(measures, map(min, *passes)))
    base = times["C ABI"]
    rows = [
        dict(name=name, us=round(us, 2), over_c_abi_us=round(us - base, 2))
        for name, us in times.items()
    ]
    print(f"PyTorch {torch.__version__}; C ABI {base:.1f} us")
    for row in rows[1:]:
        print("{name:35s} {us:5.1f} us, {over_c_abi_us:5.1f} over the C ABI".format(**row))
    head = results_file.header(jfa=jfa.__version__)
    if device == "cuda":
        head["card"] = torch.cuda.get_device_name()
        bare, ours = replayed(lambda: bare_call(arguments)), replayed(lambda: eager)
        print(f"CUDA graph: {ours:.2f} us a call captured from Python, {bare:.2f} us a bare one")
        rows.append(dict(name="CUDA graph, GPU time", us=round(ours, 2), bare_us=round(bare, 2)))
    if args.json:
        results_file.write(args.json, head, rows)


if __name__ == "__main__":
    main()
