"""The example's ranking model trains as its padded twin in plain PyTorch does."""

import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
import train_ranking  # noqa: E402


class PaddedRanker(train_ranking.Ranker):
    def attend(self, q, k, v, kv_offsets, q_offsets=None, causal=False):
        """By padding keys, and queries of their own, to the longest history."""
        bounds = kv_offsets.tolist()
        pieces = [slice(*pair) for pair in zip(bounds, bounds[1:])]
        k, v = (nn_pad([t[piece] for piece in pieces]) for t in (k, v))
        users, most = k.shape[0], k.shape[2]
        used = torch.arange(most, device=k.device) < kv_offsets.diff()[:, None]
        mask = used[:, None, None, :]
        if q_offsets is None:
            q = q.transpose(0, 1).expand(users, -1, -1, -1)
        else:
            q = nn_pad([q[piece] for piece in pieces])
        scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5
        if causal:
            mask = mask & torch.ones(most, most, dtype=torch.bool, device=k.device).tril()
        weights = torch.where(mask, scores, -1e30).softmax(3) * mask
        out = (weights.to(v.dtype) @ v).transpose(1, 2)  # [users, queries, heads, head_dim]
        return out.flatten(0, 1) if q_offsets is None else out[used]


def nn_pad(pieces):
    """`[users, heads, longest, head_dim]`"""
    return torch.nn.utils.rnn.pad_sequence(pieces, batch_first=True).transpose(1, 2)


@pytest.fixture(autouse=True)
def one_thread():
    """Operators this small are slower with more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_losses_of_200_steps(device):
    losses = []
    for kind in (train_ranking.Ranker, PaddedRanker):
        torch.manual_seed(0)
        losses.append(torch.tensor(train_ranking.train(kind().to(device), 200, device)))
    ours, padded = losses
    assert ours[-20:].mean() < 0.8 * ours[:20].mean()  # it learns
    if device == "cpu":
        torch.testing.assert_close(ours, padded, rtol=1e-4, atol=1e-4)
    else:  # bf16: as in a training run, on average
        means = [of.view(10, 20).mean(1) for of in losses]
        torch.testing.assert_close(*means, rtol=2e-2, atol=1e-2)
