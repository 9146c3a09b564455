import jfa
import torch

# Three sequences of 2, 0 and 3 tokens, 4 heads of 64, packed row after row.
q, k, v = (torch.randn(5, 4, 64, requires_grad=True) for _ in range(3))
offsets = torch.tensor([0, 2, 2, 5])
out = jfa.attention(q, k, v, offsets, offsets, causal=True)  # CPU or CUDA, differentiable
out.sum().backward()
print(out.shape, k.grad.shape)
pooled = jfa.attention(q[:1], k, v, offsets)  # no q_offsets: all sequences share one dense q
