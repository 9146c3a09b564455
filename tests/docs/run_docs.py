#!/usr/bin/env python3
"""Runs the shell commands of the documentation and compares its listings with the files they show.

In a Markdown file, a fence opened with
    ```sh             is run from the repository's root with bash; it must succeed
    ```sh skip=WHY    is not run; WHY says why (gpu: needs a GPU; setup: installs packages)
    ```LANG file=PATH must hold exactly the text of PATH
"""

import argparse
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

FENCE = re.compile(r"^```(\S+)[ \t]*([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    path: pathlib.Path
    line: int
    language: str
    attributes: dict[str, str]
    text: str


def blocks(path: pathlib.Path) -> list[Block]:
    source = path.read_text()
    found = []
    for match in FENCE.finditer(source):
        attributes = dict(word.split("=", 1) for word in match[2].split() if "=" in word)
        line = source.count("\n", 0, match.start()) + 1
        found.append(Block(path, line, match[1], attributes, match[3]))
    return found


def check_listing(block: Block) -> bool:
    return pathlib.Path(block.attributes["file"]).read_text() == block.text


def run(block: Block) -> bool:
    return subprocess.run(["bash", "-euo", "pipefail", "-c", block.text]).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    failed = 0
    for path in parser.parse_args().files:
        for block in blocks(path):
            place = f"{block.path}:{block.line}"
            if "file" in block.attributes:
                action, good = f"listing of {block.attributes['file']}", check_listing(block)
            elif block.language != "sh":
                continue
            elif "skip" in block.attributes:
                print(f"SKIPPED {place} ({block.attributes['skip']})", flush=True)
                continue
            else:
                print(f"RUN     {place}\n{block.text}", flush=True)
                action, good = "commands", run(block)
            print(f"{'OK' if good else 'FAILED'} {place}: {action}", flush=True)
            failed += not good
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
