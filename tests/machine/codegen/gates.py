#!/usr/bin/env python3
"""What nvcc and ptxas make of the machine layer and its kernels. Needs nvcc, no GPU.

words    each word of words.cu (or --source) compiles to what its raw form does: the same memory, barrier, copy,
         matrix and warp instructions one for one; no more instructions in total (integer arithmetic
         may differ by 1 in 100); no more registers; no spills. Needs cuobjdump (beside nvcc, on the
         path, or from the Python package nvidia-cuda-cuobjdump); exits with 77 without one.
budgets  each kernel of budgets.cu (or --source) stays within its registers, spills nothing, uses no local memory
         and its wgmma are not serialized.
traps    traps.cu compiles and each snippet under traps/ is refused: what the layer works around in
         this nvcc. A snippet that compiles means that a workaround may go.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TARGET = ["-O3", "-std=c++20"]

# Opcodes of integer and register arithmetic, control and addresses: the compiler's to choose.
ARITHMETIC = re.compile(
    r"U?(IMAD|MOV|LOP3|ISETP|IADD3|VIADD|LEA|SHF|SEL|PRMT|PLOP3|LDC|R2UR|S2R|S2UR|BRA|EXIT|UMOV)\b"
)
# A cursor's parity may live in a register of its own where raw code keeps it in a uniform one; the
# starts of an MMA's descriptors do, computed before the lanes part.
EXTRA_REGISTERS = {"ring_fill": 1, "mma": 1, "mma_pair": 1, "mma_tmem": 2}


class Kernel:
    """What ptxas says of one kernel."""

    def __init__(self):
        self.registers = self.stack = self.spills = 0
        self.instructions = collections.Counter()


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def compile_cubin(args, source, cubin, *options):
    target = [*TARGET, f"-gencode=arch=compute_{args.arch},code=sm_{args.arch}"]
    command = [args.nvcc, *target, *args.includes, "-Xptxas=-v", "-cubin", "-o", cubin]
    code, log = run([str(part) for part in [*command, *options, source]])
    if code != 0:
        sys.exit(log)
    return log


def parse_ptxas(log):
    """Kernels by mangled name, and the warnings."""
    kernels, name = {}, None
    for line in log.splitlines():
        if match := re.search(r"Compiling entry function '(\S+)'", line):
            name = match[1]
            kernels[name] = Kernel()
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)", line):
            if name:
                kernels[name].stack = int(match[1])
                kernels[name].spills = int(match[2]) + int(match[3])
        elif match := re.search(r"Used (\d+) registers", line):
            kernels[name].registers = int(match[1])
    warnings = [line for line in log.splitlines() if "warning" in line or re.search(r"C75\d\d", line)]
    return kernels, warnings


def find_cuobjdump(nvcc):
    beside = pathlib.Path(nvcc).resolve().parent / "cuobjdump"
    packaged = pathlib.Path(sysconfig.get_path("purelib")) / "nvidia/cu13/bin/cuobjdump"
    found = [path for path in (beside, packaged) if path.exists()]
    return str(found[0]) if found else shutil.which("cuobjdump")


def count_sass(cuobjdump, cubin, kernels):
    code, text = run([cuobjdump, "--dump-sass", str(cubin)])
    if code != 0:
        sys.exit(text)
    name = None
    for line in text.splitlines():
        if match := re.search(r"Function : (\S+)", line):
            name = match[1]
        elif match := re.match(r"\s+/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\w+ )?\s*([A-Z][\w.]*)", line):
            if match[1] != "NOP":
                kernels[name].instructions[match[1]] += 1


def compare(word, mine, raw):
    failures = []
    total, raw_total = mine.instructions.total(), raw.instructions.total()
    if total == 0:
        failures.append(f"{word}: no instructions found")
    if total > raw_total + max(1, raw_total // 100):
        failures.append(f"{word}: {total} instructions, raw {raw_total}")
    for opcode in mine.instructions | raw.instructions:
        if ARITHMETIC.match(opcode) or mine.instructions[opcode] == raw.instructions[opcode]:
            continue
        failures.append(f"{word}: {mine.instructions[opcode]} of {opcode}, "
                        f"raw {raw.instructions[opcode]}")
    if mine.registers > raw.registers + EXTRA_REGISTERS.get(word, 0):
        failures.append(f"{word}: {mine.registers} registers, raw {raw.registers}")
    if mine.spills or mine.stack:
        failures.append(f"{word}: {mine.spills} bytes spilled, {mine.stack} bytes of stack")
    return failures


def check_words(args, folder):
    source = args.source or HERE / "words.cu"
    cubin = folder / "words.cubin"
    kernels, _ = parse_ptxas(compile_cubin(args, source, cubin))
    cuobjdump = find_cuobjdump(args.nvcc)
    if not cuobjdump:
        print("skipped: no cuobjdump")
        sys.exit(77)
    count_sass(cuobjdump, cubin, kernels)
    failures = []
    words = sorted(name[: -len("_word")] for name in kernels if name.endswith("_word"))
    for word in words:
        failures += compare(word, kernels[word + "_word"], kernels[word + "_raw"])
        mine, raw = kernels[word + "_word"], kernels[word + "_raw"]
        print(f"{word:20} {mine.instructions.total():4} instructions (raw "
              f"{raw.instructions.total()}), {mine.registers} registers (raw {raw.registers})")
    print(f"{len(words)} words compared")
    return failures if words else [f"{source.name} holds no words"]


def read_budgets(source):
    """Lines `// budget: NAME-PATTERN registers N` of budgets.cu."""
    pattern = re.compile(r"^// budget: (\S+) registers (\d+)$", re.MULTILINE)
    return pattern.findall(source.read_text())


def check_budgets(args, folder):
    source = args.source or HERE / "budgets.cu"
    log = compile_cubin(args, source, folder / "budgets.cubin", *args.option)
    kernels, warnings = parse_ptxas(log)
    failures = [f"ptxas: {line}" for line in warnings]
    budgets = read_budgets(source)
    for name, kernel in kernels.items():
        limits = [int(limit) for part, limit in budgets if re.search(part, name)]
        if len(limits) != 1:
            failures.append(f"{name}: {len(limits)} budgets, expected one")
        elif kernel.registers > limits[0]:
            failures.append(f"{name}: {kernel.registers} registers, budget {limits[0]}")
        if kernel.spills or kernel.stack:
            failures.append(f"{name}: spills {kernel.spills} bytes, stack {kernel.stack} bytes")
        print(f"{kernel.registers:4} registers, {kernel.spills} bytes spilled  {name}")
    for part, _ in budgets:
        if not any(re.search(part, name) for name in kernels):
            failures.append(f"no kernel matches the budget {part}")
    return failures


def check_traps(args, folder):
    failures = []
    compile_cubin(args, HERE / "traps.cu", folder / "traps.cubin")
    refused = sorted((HERE / "traps").glob("*.cu"))
    for source in refused:
        command = [args.nvcc, *TARGET, "-arch=sm_90a", *args.includes, "-c", "-o", str(folder / "trap.o")]
        code, log = run([*command, str(source)])
        expected = re.search(r"// refused: (.*)", source.read_text())[1]
        if code == 0:
            failures.append(f"{source.name} compiles: its workaround may go")
        elif expected not in log:
            failures.append(f"{source.name} is refused for another reason:\n{log}")
        print(f"{source.name}: {'compiles' if code == 0 else 'refused'}")
    return failures if refused else ["no snippets under traps/"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gate", choices=["words", "budgets", "traps"])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--include", required=True, action="append")
    parser.add_argument("--source", type=pathlib.Path, help="in place of words.cu or budgets.cu")
    parser.add_argument("--arch", default="90a", help="the GPU, but for `traps`")
    parser.add_argument("--option", default=[], action="append", help="another of nvcc's for them")
    args = parser.parse_args()
    args.includes = [f"-I{folder}" for folder in args.include]
    check = {"words": check_words, "budgets": check_budgets, "traps": check_traps}[args.gate]
    with tempfile.TemporaryDirectory() as folder:
        failures = check(args, pathlib.Path(folder))
    for failure in failures:
        print("FAILED", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
