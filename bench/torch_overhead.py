#!/usr/bin/env python3
"""Times what the Python package adds to a forward call: eager jfa.attention with a ready plan, on a
batch so small that the library itself takes microseconds, beside the bare call of the C ABI.

Prints the median time of a call in microseconds, of the calling thread alone.
"""

import argparse
import statistics
import time

import jfa
import torch
from jfa import _abi, _torch


def microseconds(call, device, rounds=100, calls=50):
    """Median over rounds of a call's time of the calling thread, whatever else the machine does."""
    times = []
    for _ in range(rounds):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.thread_time_ns()
        for _ in range(calls):
            call()
        times.append((time.thread_time_ns() - begin) / calls / 1e3)
    return statistics.median(times)


def bare_call(arguments):
    """The C call of an operator's arguments, its structs made beforehand."""
    problem = _torch._Problem(*arguments)
    tensors = _torch._forward(*arguments)
    out, lse = tensors
    outputs = _abi.pack_forward_outputs(*_torch._tensor("out", out), *_torch._lse(lse))

    def call(execution, _kept=tensors):
        _abi.forward(problem.inputs, problem.options, outputs, execution, problem.plan)

    forward_bytes = _torch._forward_bytes
    return problem.run(forward_bytes, lambda execution: lambda: call(execution))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    device = parser.parse_args().device
    torch.set_num_threads(1)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    q = torch.randn(2, 1, 8, device=device).to(dtype)
    offsets = torch.tensor([0, 1, 2], device=device)
    plan = jfa.Plan(q, q, q, offsets, offsets)
    problem = (q, q, q, offsets, offsets, None, None, False, (-1, -1), None, plan.number)
    bare = bare_call((*_torch._arguments(*problem), None, 0.0, False))

    def eager():
        return jfa.attention(q, q, q, offsets, offsets, plan=plan)

    base = microseconds(bare, device)
    print(f"C ABI                 {base:6.1f} us")
    times = {"eager": microseconds(eager, device)}
    with torch.inference_mode():
        times["inference_mode"] = microseconds(eager, device)
    q.requires_grad_()
    times["eager, with autograd"] = microseconds(eager, device)
    for name, spent in times.items():
        print(f"{name:21s} {spent:6.1f} us, {spent - base:5.1f} over the C ABI")


if __name__ == "__main__":
    main()
