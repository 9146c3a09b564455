import subprocess

import numpy as np
from safetensors.numpy import load_file, save_file

q, k, v = (np.random.randn(5, 4, 64).astype(np.float32) for _ in range(3))
offsets = np.array([0, 2, 2, 5], np.int32)  # three sequences of 2, 0 and 3 tokens
save_file({"q": q, "k": k, "v": v, "q_offsets": offsets, "kv_offsets": offsets}, "in.safetensors")
subprocess.run("build/release/jfa run in.safetensors -o out.safetensors --causal", shell=True, check=True)
print(load_file("out.safetensors")["out"].shape)  # (5, 4, 64); "lse" is there too
