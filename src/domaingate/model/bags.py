"""The reader of runs: n linear looks at one bag of n-grams.

    u = sum over runs r of x of  w_r E[r] / |w|      h_i = u + u M_i

where w_r says how rare run r is among the training texts (or is 1, where E starts as below) and |w| is the length of
the vector of all w_r of the text, so that loudness grows as the square root of a text's length. Gated, h = u + sum of
z_i u M_i where gates sum to 1: experts that are linear in the text, mixed by z.

E may start with what naive Bayes knows: its first values are log p(r|y) of each label y, less their mean over y, so
that u begins as the evidence for each label. Dropout then leaves out runs; on h it would silence labels.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from domaingate.batches import Batch, Dataset
from domaingate.config import ModelConfig
from domaingate.model.reader import Reader, Sizes

_SCALE = 0.01  # runs start as good as silent
_EVIDENCE = 0.25  # how loud naive Bayes is at the start; the first batches put it right
_HEAD = 4.0  # of that loudness, what is left to the head: gates, too, read u, and must not drown in it
_SMOOTHING = 0.01  # added to every count
_SHY = 0.01  # how loud the experts' own looks are beside it


class BagReader(Reader):
    """One embedding for each run, and n maps of their sum."""

    weights: Tensor

    def __init__(self, sizes: Sizes, n: int, config: ModelConfig) -> None:
        super().__init__()
        self.labels = sizes.labels if config.ngram_start == "bayes" else 0  # values of E that start as evidence
        self.size = self.labels + config.ngram_size
        self.dropout = config.dropout if self.labels else 0.0  # of runs
        self.embedding = nn.Parameter(torch.empty(sizes.vocabulary, self.size).uniform_(-_SCALE, _SCALE))
        with torch.no_grad():
            self.embedding[0] = 0  # padding
        loud = _SHY if self.labels else 1.0
        self.maps = nn.Parameter(loud * torch.randn(n, self.size, self.size) / math.sqrt(self.size))
        alike = sizes.weights is None or bool(self.labels)  # naive Bayes knows by itself how much a run says
        counted = torch.ones(sizes.vocabulary) if alike else torch.from_numpy(sizes.weights)
        self.register_buffer("weights", counted.index_fill(0, torch.tensor([0]), 0), persistent=False)

    def prime(self, data: Dataset) -> None:
        """Put what naive Bayes knows of each label into the first values of every run."""
        if not self.labels:
            return
        counts = np.full((self.labels, len(self.embedding)), _SMOOTHING)
        for label in range(self.labels):
            runs = [data.texts[int(row)] for row in np.flatnonzero(data.label == label)]
            counts[label] += np.bincount(np.concatenate([*runs, []]).astype(np.int64), minlength=len(self.embedding))
        evidence = np.log(counts / counts[:, 1:].sum(axis=1, keepdims=True))
        told = torch.from_numpy((evidence - evidence.mean(axis=0)).T)  # (U, labels)
        with torch.no_grad():
            self.embedding[1:, : self.labels] = (_EVIDENCE / _HEAD * told[1:]).to(self.embedding)

    def forward(self, batch: Batch, first: int | None = None) -> Tensor:
        """(B, n or first, size)."""
        weights = self.weights[batch.ids]  # (B, T)
        shares = weights / weights.norm(dim=1, keepdim=True).clamp(min=1.0)
        bag = F.embedding_bag(
            batch.ids,
            self.embedding,
            per_sample_weights=F.dropout(shares, self.dropout, self.training),
            mode="sum",
            padding_idx=0,
            sparse=True,
        )  # (B, size)
        return bag[:, None] + torch.einsum("bd,nde->bne", bag, self.maps[:first])

    def head(self, width: int, labels: int, config: ModelConfig) -> nn.Module:
        """No hidden layer; what starts as evidence is the score of its label."""
        scores = nn.Linear(width, labels)
        if not self.labels:
            return nn.Sequential(nn.Dropout(config.dropout), scores)
        with torch.no_grad():
            scores.weight.copy_(_HEAD * torch.eye(labels, width))
            scores.bias.zero_()
        return scores
