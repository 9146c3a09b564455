#!/usr/bin/env python3
"""Trains a small ranking model on jagged histories, on a CPU or a GPU.

A user's history, 0 to 60 items, goes through one causal attention layer; a few learned queries,
shared by all users (broadcast_q), pool it; a candidate item is then scored. No history is padded.
The data are made up: a candidate is clicked if it is of the genre that the history likes most.
"""

import argparse

import jfa
import torch
from torch import nn

GENRES, ITEMS = 4, 100  # item i is of genre i % GENRES


def make_batch(users, generator):
    """(items of all histories, offsets `[users + 1]`, candidates, clicks)"""
    lengths = (60 * torch.rand(users, generator=generator) ** 2).long()
    offsets = nn.functional.pad(lengths.cumsum(0), (1, 0))
    favourite = torch.randint(GENRES, (users,), generator=generator)
    candidate = torch.randint(ITEMS, (users,), generator=generator)
    likes = torch.rand(users, generator=generator) < 0.5
    candidate = torch.where(likes, candidate - candidate % GENRES + favourite, candidate)
    clicks = (candidate % GENRES == favourite) & (lengths > 0)
    of_user = favourite.repeat_interleave(lengths)
    item = torch.randint(ITEMS, of_user.shape, generator=generator)
    liked = torch.rand(of_user.shape, generator=generator) < 0.7
    item = torch.where(liked, item - item % GENRES + of_user, item)
    return item, offsets.int(), candidate % ITEMS, clicks.float()


class Ranker(nn.Module):
    def __init__(self, heads=2, head_dim=16, queries=4):
        super().__init__()
        width = heads * head_dim
        self.heads = heads
        self.items = nn.Embedding(ITEMS, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.queries = nn.Parameter(torch.randn(queries, heads, head_dim))
        self.pooled_kv = nn.Linear(width, 2 * width)
        self.score = nn.Sequential(
            nn.Linear((queries + 1) * width, 64), nn.ReLU(), nn.Linear(64, 1)
        )

    def attend(self, q, k, v, kv_offsets, q_offsets=None, causal=False):
        return jfa.attention(q, k, v, kv_offsets, q_offsets, causal=causal)

    def forward(self, history, offsets, candidate):
        x = self.items(history)
        q, k, v = self.qkv(x).unflatten(1, (3, self.heads, -1)).unbind(1)
        x = x + self.attend(q, k, v, offsets, offsets, causal=True).flatten(1)
        k, v = self.pooled_kv(x).unflatten(1, (2, self.heads, -1)).unbind(1)
        pooled = self.attend(self.queries.to(k.dtype), k, v, offsets)
        users = candidate.shape[0]
        return self.score(torch.cat([pooled.view(users, -1), self.items(candidate)], 1))[:, 0]


def train(model, steps, device="cpu", users=64, seed=0):
    """Losses of each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(seed)
    losses = []
    for _ in range(steps):
        *given, clicks = (t.to(device) for t in make_batch(users, generator))
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            logits = model(*given)
        loss = nn.functional.binary_cross_entropy_with_logits(logits.float(), clicks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compile", action="store_true", help="by torch.compile, as one graph")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # a model this small is slower with more
    torch.manual_seed(0)
    model = Ranker().to(arguments.device)
    if arguments.compile:
        model.compile(fullgraph=True, dynamic=True)
    losses = train(model, arguments.steps, arguments.device)
    for first in range(0, arguments.steps, 50):
        part = losses[first : first + 50]
        print(f"steps {first:4}..{first + len(part) - 1:4}  loss {sum(part) / len(part):.4f}")


if __name__ == "__main__":
    main()
