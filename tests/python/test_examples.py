"""What an example says where something it needs is missing."""

import pathlib
import shutil
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def test_quickstart_without_the_tool(tmp_path):
    pytest.importorskip("safetensors")
    script = shutil.copy(EXAMPLES / "quickstart.py", tmp_path)
    run = subprocess.run(
        [sys.executable, script], env={"PATH": ""}, cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 1
    assert "needs the tool jfa in PATH or as" in run.stderr and "Traceback" not in run.stderr
