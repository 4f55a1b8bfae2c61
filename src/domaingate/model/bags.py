"""The reader of runs: n linear looks at one bag of n-grams.

    u = sum over runs r of x of  w_r E[r] / |w|      h_i = u + u M_i

where w_r says how rare run r is among the training texts and |w| is the length of the vector of all w_r of the text, so
that long texts are no louder than short ones. Gated, h = u + sum of z_i u M_i where gates sum to 1: experts that are
linear in the text, mixed by z.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from domaingate.batches import Batch
from domaingate.config import ModelConfig
from domaingate.model.reader import Reader, Sizes

_SCALE = 0.01  # runs start as good as silent


class BagReader(Reader):
    """One embedding for each run, and n maps of their sum."""

    is_linear = True
    weights: Tensor

    def __init__(self, sizes: Sizes, n: int, config: ModelConfig) -> None:
        super().__init__()
        self.size = config.ngram_size
        self.embedding = nn.Parameter(torch.empty(sizes.vocabulary, self.size).uniform_(-_SCALE, _SCALE))
        with torch.no_grad():
            self.embedding[0] = 0  # padding
        self.maps = nn.Parameter(torch.randn(n, self.size, self.size) / math.sqrt(self.size))
        counted = torch.ones(sizes.vocabulary) if sizes.weights is None else torch.from_numpy(sizes.weights)
        self.register_buffer("weights", counted.index_fill(0, torch.tensor([0]), 0), persistent=False)

    def forward(self, batch: Batch, first: int | None = None) -> Tensor:
        """(B, n or first, size)."""
        weights = self.weights[batch.ids]  # (B, T)
        shares = weights / weights.norm(dim=1, keepdim=True).clamp(min=1.0)
        bag = F.embedding_bag(
            batch.ids, self.embedding, per_sample_weights=shares, mode="sum", padding_idx=0, sparse=True
        )  # (B, size)
        return bag[:, None] + torch.einsum("bd,nde->bne", bag, self.maps[:first])
