"""Headers of result files."""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
from pathlib import Path

import torch


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def commit() -> str:
    """The commit of the checkout, with -dirty where tracked files differ from it."""
    git = ["git", "-C", str(Path(__file__).resolve().parent), "describe", "--always", "--dirty",
           "--abbrev=12", "--exclude=*"]
    answer = subprocess.run(git, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def header(**more) -> dict:
    today = datetime.date.today().isoformat()
    return {"commit": commit(), "date": today, "processor": processor(),
            "torch": torch.__version__, "threads": torch.get_num_threads(), **more}


def write(path: Path, head: dict, cases: list[dict]) -> None:
    """One case a line, so that files compare line by line."""
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{{"header": {json.dumps(head)},\n "cases": [\n{lines}\n]}}\n')
