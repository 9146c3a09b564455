import jfa
import numpy as np

q, k, v = (np.random.randn(5, 4, 64).astype(np.float32) for _ in range(3))
offsets = np.array([0, 2, 2, 5])  # three sequences of 2, 0 and 3 tokens
out, lse = jfa.attention(q, k, v, offsets, offsets, causal=True, return_lse=True)
print(out.shape, lse.shape)
