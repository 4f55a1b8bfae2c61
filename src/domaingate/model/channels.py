"""The convolutional reader: n independent text CNNs side by side (the paper's section 2.1 and appendix A.1).

`ConvolutionalReader` computes for every channel c, width w and filter f

    h[b, c, f] = relu(bias[c, f] + max over windows t of  sum over o < w of  W[c, o, f] . E[token[b, t + o]])

Three facts make it fast and leave it exact:

* A product W[c, o, f] . E[v] depends on the token alone, so it is computed once for each distinct token of the batch
  (`table`), and a window's value is a sum of w rows of that table.
* The maximum over time passes its gradient to the winning window alone; on ties, to the first. So the backward pass
  looks at B x n x filters windows instead of all of them. The gradients are those of autograd through a convolution
  and a maximum, to rounding; at an exact tie both are subgradients of the same maximum.
* Windows start at every token of the text and may end in zeros after it. A place after the text's end repeats the
  text's last window, which changes no maximum: so a text has the same value alone and among longer ones.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from domaingate.batches import Batch
from domaingate.config import ModelConfig
from domaingate.model.reader import Reader

_TRAINED_SCALE = 0.25  # an embedding that is trained starts small: it learns faster and overfits later (docs/log.md)
_FIXED_SCALE = 1.0  # one that is kept as drawn is uniform in [-1, 1], as in the authors' earlier code


class ConvolutionalReader(Reader):
    """n CNNs over one shared embedding; one weight tensor a width holds them all."""

    def __init__(self, vocabulary: int, n: int, config: ModelConfig) -> None:
        super().__init__()
        self.size = config.filters * len(config.widths)
        trained = config.embedding == "trained"
        usual = _TRAINED_SCALE if trained else _FIXED_SCALE
        scale = usual if config.embedding_scale is None else config.embedding_scale
        self.embedding = nn.Parameter(torch.empty(vocabulary, config.embedding_size).uniform_(-scale, scale), trained)
        with torch.no_grad():
            self.embedding[0] = 0  # padding; no window gives it a gradient
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for width in config.widths:
            bound = 1 / math.sqrt(width * config.embedding_size)  # what nn.Conv1d draws from
            shape = (n, width, config.filters, config.embedding_size)
            self.weights.append(nn.Parameter(torch.empty(shape).uniform_(-bound, bound)))
            self.biases.append(nn.Parameter(torch.empty(n, config.filters).uniform_(-bound, bound)))

    def forward(self, batch: Batch, first: int | None = None) -> Tensor:
        """(B, n or first, size): the maximum over time of every filter."""
        distinct, rows = torch.unique(F.pad(batch.ids, (0, 1)), return_inverse=True)  # padding is row 0
        table = F.embedding(distinct, self.embedding, padding_idx=0, sparse=True)  # (U, D)
        maxima = [
            max_over_time(table, weight[:first], rows, batch.lengths) + bias[:first]
            for weight, bias in zip(self.weights, self.biases, strict=True)
        ]
        return F.relu(torch.cat(maxima, dim=-1))


def max_over_time(embedding: Tensor, weight: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
    """(B, n, filters): the largest window of every text under every filter.

    `embedding` (U, D) holds the distinct tokens, row 0 zeros for padding; `weight` is (n, width, filters, D);
    `rows` (B, T) says which token stands where; `lengths` (B,) where each text ends.
    """
    windows = _windows(rows, lengths, weight.shape[1])  # (B, T, width)
    if not torch.is_grad_enabled():
        return _search(embedding, weight, windows, lengths)
    maxima: Tensor = _MaxOverTime.apply(embedding, weight, windows, lengths)  # type: ignore[no-untyped-call]
    return maxima


def _search(
    embedding: Tensor, weight: Tensor, windows: Tensor, lengths: Tensor, winners: Tensor | None = None
) -> Tensor:
    """The maxima (B, n, filters); the place of the window that has each is written to `winners`, if given."""
    n, _, filters, _ = weight.shape
    means = _means(embedding)
    groups = _groups(windows, lengths, means.windows)
    maxima = embedding.new_empty(len(windows), n, filters)
    tokens = laid_out(embedding)
    for first in range(0, n, means.channels):
        some = slice(first, min(first + means.channels, n))  # c channels
        products = F.linear(tokens, weight[some].transpose(0, 1).flatten(0, 2))  # (U, width * c * filters)
        products = products.to_dense() if products.is_mkldnn else products
        products = products.view(len(embedding) * weight.shape[1], -1)  # (U * width, c * filters)
        for texts, bags in groups:
            values = F.embedding_bag(bags.flatten(0, 1), products, mode="sum")  # (texts * T, c * filters)
            values = values.view(*bags.shape[:2], -1)
            if winners is None:
                maxima[texts, some] = values.amax(dim=1).view(len(texts), -1, filters)
            else:
                best, places = _first_largest(values)
                maxima[texts, some] = best.view(len(texts), -1, filters)
                winners[texts, some] = places.view(len(texts), -1, filters)
    return maxima


def _first_largest(values: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum over T of `values` (B, T, filters), and the first place that has it: (B, filters) both.

    As `max(dim=1)`, which looks at one number at a time. Here the text is cut into short stretches whose maxima are
    found by whole vectors (`amax`); only the first stretch that holds the maximum is searched for its place.
    """
    count, length, filters = values.shape
    stretch = max(1, math.isqrt(length) // 2)
    whole = length // stretch * stretch
    maxima = torch.cat(
        [values[:, :whole].view(count, -1, stretch, filters).amax(dim=2), values[:, length - stretch :].amax(1, True)],
        dim=1,
    )
    best, found = maxima.max(dim=1)
    offsets = torch.arange(stretch, device=values.device)[None, :, None]
    places = (found[:, None] * stretch).clamp(max=length - stretch) + offsets  # (B, stretch, filters)
    inside = (values.gather(1, places) == best[:, None]).byte().max(dim=1).indices
    return best, places[:, 0] + inside


class _MaxOverTime(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, embedding: Tensor, weight: Tensor, windows: Tensor, lengths: Tensor) -> Tensor:
        n, _, filters, _ = weight.shape
        winners = windows.new_empty(len(windows), n, filters)
        maxima = _search(embedding, weight, windows, lengths, winners)
        ctx.save_for_backward(embedding, weight, windows, winners)
        return maxima

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        embedding, weight, windows, winners = ctx.saved_tensors
        filters = weight.flatten(0, 2)  # (n * width * filters, D)
        texts = torch.arange(len(winners), device=winners.device)[:, None, None]
        tokens = windows[texts, winners].permute(1, 3, 2, 0)  # (n, width, filters, B): the winning windows' tokens
        share = gradient.permute(1, 2, 0)[:, None].expand_as(tokens)  # the same for each place of a window
        tokens, share = tokens.reshape(len(filters), -1), share.reshape(len(filters), -1)
        gradients = _means(embedding).gradients
        by_token, by_filter = gradients(tokens, share, embedding, filters, ctx.needs_input_grad[:2])
        return by_token, None if by_filter is None else by_filter.view_as(weight), None, None


Gradients = tuple[Tensor | None, Tensor | None]  # of the tokens' embeddings (U, D), and of the filters


def _by_gathering(
    tokens: Tensor, share: Tensor, embedding: Tensor, filters: Tensor, needed: Sequence[bool]
) -> Gradients:
    """Every filter sums the tokens of its winning windows, every token the filters: few numbers, best on a CPU."""
    by_filter = F.embedding_bag(tokens, embedding, mode="sum", per_sample_weights=share) if needed[1] else None
    return _gradient_by_token(tokens, share, filters, len(embedding)) if needed[0] else None, by_filter


def _by_multiplying(
    tokens: Tensor, share: Tensor, embedding: Tensor, filters: Tensor, needed: Sequence[bool]
) -> Gradients:
    """The same sums as products with the matrix of shares by filter and token: many numbers, best on a GPU."""
    shares = share.new_zeros(len(filters), len(embedding)).scatter_add_(1, tokens, share)
    return shares.T @ filters if needed[0] else None, shares @ embedding if needed[1] else None


@dataclass(frozen=True)
class _Means:
    """How a kind of device goes about it: the same sums in another order."""

    channels: int  # looked at in one go
    windows: int  # of texts of similar length, looked at in one go
    gradients: Callable[[Tensor, Tensor, Tensor, Tensor, Sequence[bool]], Gradients]


# On a CPU what is looked at in one go fits into the cache; on a GPU to start an operation must cost less than the
# operation itself.
_MEANS = {"cpu": _Means(1, 6_000, _by_gathering)}
_MEANS_ELSEWHERE = _Means(16, 65_536, _by_multiplying)


def _means(tensor: Tensor) -> _Means:
    return _MEANS.get(tensor.device.type, _MEANS_ELSEWHERE)


def laid_out(matrix: Tensor) -> Tensor:
    """The same matrix; on a CPU in float32 for oneDNN, whose product takes half of MKL's time on some processors."""
    known = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return matrix.to_mkldnn() if known and matrix.is_cpu and matrix.dtype == torch.float32 else matrix


def _windows(rows: Tensor, lengths: Tensor, width: int) -> Tensor:
    """(B, T, width): the token rows of the window that starts at each place, the last one again after the end."""
    places = torch.arange(rows.shape[1], device=rows.device)
    starts = torch.minimum(places, (lengths - 1).clamp(min=0)[:, None])  # (B, T)
    ends = F.pad(rows, (0, width))
    return torch.stack([ends.gather(1, starts + offset) for offset in range(width)], dim=-1)


def _groups(windows: Tensor, lengths: Tensor, at_once: int) -> Sequence[tuple[Tensor, Tensor]]:
    """A few texts of similar length at a time: which texts, and for each of their windows the rows of `products`."""
    width = windows.shape[-1]
    offsets = torch.arange(width, device=windows.device)
    order = torch.argsort(lengths, descending=True, stable=True)
    longest = lengths[order].clamp(min=1).tolist()
    groups, start = [], 0
    while start < len(order):
        texts = order[start : start + max(1, at_once // longest[start])]
        groups.append((texts, (windows[texts, : longest[start]] * width + offsets).int()))
        start += len(texts)
    return groups


def _gradient_by_token(tokens: Tensor, share: Tensor, filters: Tensor, count: int) -> Tensor:
    """(count, D): for every token, the sum of share x filter over the winning windows it stands in."""
    active = share.flatten().nonzero().squeeze(1)  # dropout and relu leave many shares at 0
    tokens, order = tokens.flatten()[active].int().sort(stable=True)
    active = active[order]
    bounds = torch.searchsorted(tokens, torch.arange(count, device=tokens.device, dtype=torch.int32))
    return F.embedding_bag(
        (active // share.shape[-1]), filters, bounds, mode="sum", per_sample_weights=share.flatten()[active]
    )
