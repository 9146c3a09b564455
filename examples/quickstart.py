import pathlib
import shutil
import subprocess
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

built = pathlib.Path(__file__).resolve().parent.parent / "build/release/jfa"
tool = shutil.which("jfa") or built
if not pathlib.Path(tool).exists():
    sys.exit(f"needs the tool jfa in PATH or as {built} (scripts/demo.sh builds it), which no wheel has")

q, k, v = (np.random.randn(5, 4, 64).astype(np.float32) for _ in range(3))
offsets = np.array([0, 2, 2, 5], np.int32)  # three sequences of 2, 0 and 3 tokens
save_file({"q": q, "k": k, "v": v, "q_offsets": offsets, "kv_offsets": offsets}, "in.safetensors")
subprocess.run([tool, "run", "in.safetensors", "-o", "out.safetensors", "--causal"], check=True)
print(load_file("out.safetensors")["out"].shape)  # (5, 4, 64); "lse" is there too
