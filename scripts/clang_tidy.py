#!/usr/bin/env python3
"""Runs clang-tidy over the library's and the tool's translation units, all cores, and remembers what
passed: a unit is checked again only when its preprocessed text or the configuration changes."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "jfa-tidy"


def fingerprint(entry: dict[str, str]) -> str:
    """Hash of what clang-tidy sees: the preprocessed unit and the configuration."""
    command = shlex.split(entry["command"])
    if "ccache" in command[0]:
        command = command[1:]
    command = command[: command.index("-o")] + ["-E", "-P", entry["file"]]
    text = subprocess.run(command, cwd=entry["directory"], capture_output=True, check=True).stdout
    return hashlib.sha256(text + (ROOT / ".clang-tidy").read_bytes()).hexdigest()


def check(entry: dict[str, str], build: str) -> tuple[str, str]:
    mark = CACHE / fingerprint(entry)
    if mark.exists():
        return entry["file"], ""
    result = subprocess.run(["clang-tidy-14", "--quiet", "-p", build, entry["file"]],
                            capture_output=True, text=True)
    if result.returncode == 0:
        mark.touch()
        return entry["file"], ""
    return entry["file"], result.stdout + result.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", help="build directory with compile_commands.json")
    build = parser.parse_args().build
    CACHE.mkdir(parents=True, exist_ok=True)
    entries = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
    product = tuple(str(ROOT / folder) for folder in ("src/", "apps/"))
    entries = [e for e in entries if e["file"].endswith(".cpp") and e["file"].startswith(product)]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(check, entry, build) for entry in entries]
        for done, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            file, findings = job.result()
            name = pathlib.Path(file).relative_to(ROOT)
            print(f"[{done}/{len(jobs)}] {name}{': FAILED' if findings else ''}", flush=True)
            if findings:
                print(findings)
            failures += bool(findings)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
