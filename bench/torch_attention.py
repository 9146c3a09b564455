"""Two ways to run a jagged batch through PyTorch's scaled_dot_product_attention on the CPU."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

import jagged_suite
from jagged_suite import Case

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def unpack(rows: torch.Tensor) -> torch.Tensor:
    """`[length, heads, dim]` to the `[1, heads, length, dim]` that PyTorch wants, a view."""
    return rows.transpose(0, 1)[None]


def pad(rows: torch.Tensor, lengths: tuple[int, ...]) -> torch.Tensor:
    """`[total, heads, dim]` to `[B, heads, longest, dim]`, zeros behind each sequence."""
    padded = rows.new_zeros(len(lengths), max(lengths), *rows.shape[1:])
    for sequence, part in zip(padded, rows.split(lengths)):
        sequence[: len(part)] = part
    return padded.transpose(1, 2).contiguous()


def drop_padding(padded: torch.Tensor, lengths: tuple[int, ...]) -> torch.Tensor:
    """The inverse of `pad`."""
    return torch.cat([sequence[:, :length].transpose(0, 1)
                      for sequence, length in zip(padded, lengths)])


def leaf(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().requires_grad_()


class Way(ABC):
    """A jagged batch in the layout that one way of calling PyTorch wants."""

    case: Case
    inputs: tuple[torch.Tensor, ...]  # q, k, v
    dout: torch.Tensor

    @abstractmethod
    def __init__(self, case: Case, arrays: dict[str, np.ndarray], dtype: torch.dtype):
        """`arrays`: q, k, v and dout of jagged_suite.inputs."""

    @abstractmethod
    def forward(self) -> torch.Tensor:
        """The attention output, in the layout of `dout`."""

    @abstractmethod
    def pack(self, tensor: torch.Tensor, lengths: tuple[int, ...]) -> torch.Tensor:
        """An output or a gradient as packed rows."""

    def backward(self, out: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """`dq, dk, dv` of an output of `forward`, which may be asked for again."""
        return torch.autograd.grad(out, self.inputs, self.dout, retain_graph=True)

    def results(self) -> dict[str, np.ndarray]:
        """`out, dq, dk, dv` as fp64, packed."""
        out = self.forward()
        dq, dk, dv = self.backward(out)
        q_lengths, kv_lengths = self.case.q_lengths, self.case.kv_lengths
        packed = {"out": self.pack(out.detach(), q_lengths), "dq": self.pack(dq, q_lengths),
                  "dk": self.pack(dk, kv_lengths), "dv": self.pack(dv, kv_lengths)}
        return {name: tensor.double().numpy() for name, tensor in packed.items()}


class Loop(Way):
    """One call a sequence on packed rows; their outputs are put together again."""

    def __init__(self, case: Case, arrays: dict[str, np.ndarray], dtype: torch.dtype):
        tensors = {name: torch.from_numpy(array).to(dtype) for name, array in arrays.items()}
        self.case = case
        self.inputs = tuple(leaf(tensors[name]) for name in ("q", "k", "v"))
        self.dout = tensors["dout"]
        self.options = [self._options(q, kv) for q, kv in zip(case.q_lengths, case.kv_lengths)]

    def _options(self, q_length: int, kv_length: int) -> dict:
        if jagged_suite.unmasked(self.case):
            return {}
        if jagged_suite.plain_causal(self.case):
            return {"is_causal": True}
        return {"attn_mask": torch.from_numpy(jagged_suite.mask(self.case, q_length, kv_length))}

    def forward(self) -> torch.Tensor:
        q, k, v = self.inputs
        case = self.case
        q_parts = (q.expand(len(case.q_lengths), *q.shape).unbind() if case.broadcast_q
                   else q.split(case.q_lengths))
        parts = zip(q_parts, k.split(case.kv_lengths), v.split(case.kv_lengths), self.options)
        grouped = case.heads_q != case.heads_kv
        return torch.cat([
            scaled_dot_product_attention(unpack(q_part), unpack(k_part), unpack(v_part),
                                         enable_gqa=grouped, **options)[0].transpose(0, 1)
            for q_part, k_part, v_part, options in parts])

    def pack(self, tensor: torch.Tensor, lengths: tuple[int, ...]) -> torch.Tensor:
        return tensor


class Padded(Way):
    """One call on the batch padded to its longest sequences, with one mask."""

    def __init__(self, case: Case, arrays: dict[str, np.ndarray], dtype: torch.dtype):
        tensors = {name: torch.from_numpy(array).to(dtype) for name, array in arrays.items()}
        self.case = case
        q = tensors["q"].transpose(0, 1) if case.broadcast_q else pad(tensors["q"], case.q_lengths)
        kv = (pad(tensors[name], case.kv_lengths) for name in ("k", "v"))
        self.inputs = tuple(leaf(tensor) for tensor in (q, *kv))
        self.dout = pad(tensors["dout"], case.q_lengths)
        self.options = self._options()

    def _options(self) -> dict:
        case = self.case
        q_longest, kv_longest = max(case.q_lengths), max(case.kv_lengths)
        if jagged_suite.plain_causal(case):  # the padding lies after all that a row may see
            return {"is_causal": True}
        if jagged_suite.unmasked(case):
            if min(case.kv_lengths) == kv_longest:
                return {}
            seen = np.arange(kv_longest) < np.array(case.kv_lengths)[:, None, None, None]
            return {"attn_mask": torch.from_numpy(seen).expand(-1, 1, q_longest, -1)}
        seen = np.zeros((len(case.q_lengths), 1, q_longest, kv_longest), dtype=bool)
        for sequence, q, kv in zip(seen, case.q_lengths, case.kv_lengths):
            sequence[0, :q, :kv] = jagged_suite.mask(case, q, kv)
        return {"attn_mask": torch.from_numpy(seen)}

    def forward(self) -> torch.Tensor:
        q, k, v = self.inputs
        if self.case.broadcast_q:
            q = q.expand(len(self.case.q_lengths), *q.shape)
        grouped = self.case.heads_q != self.case.heads_kv
        return scaled_dot_product_attention(q, k, v, enable_gqa=grouped, **self.options)

    def pack(self, tensor: torch.Tensor, lengths: tuple[int, ...]) -> torch.Tensor:
        of_broadcast_q = tensor.dim() == 3
        return tensor.transpose(0, 1) if of_broadcast_q else drop_padding(tensor, lengths)


WAYS: dict[str, type[Way]] = {"loop": Loop, "padded": Padded}
