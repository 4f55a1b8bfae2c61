"""How fast: the plain way and ours side by side, in one run, on the same texts. Medians, and claims are ratios."""

import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from domaingate.baselines import bag_of_word_pairs
from domaingate.batches import Batch, Dataset, dataset, shuffled
from domaingate.config import FitConfig
from domaingate.corpora import KNOWN, Corpus, Document, load, locate
from domaingate.encoding import Encoder, train_encoder
from domaingate.inference import BATCH, limited_to
from domaingate.model.base import Model, trainable
from domaingate.model.channels import ConvolutionalReader, laid_out
from domaingate.model.reader import Reader, Sizes
from domaingate.model.recipes import build
from domaingate.optimizer import Adam
from domaingate.pace import languages, lengthened, seconds

_DOMAINS = 9  # as many as the paper trains on
_LABELS = 10  # of which the bag of word pairs is timed at the most
_TRAINED = 32  # texts in a batch of training
_LASTING = 40.0  # seconds that a comparison may take, once it has three pairs of times


class PlainReader(Reader):
    """What everyone writes first: an `nn.Conv1d` a channel and width, over texts padded to the limit."""

    def __init__(self, ours: ConvolutionalReader, limit: int) -> None:
        super().__init__()
        self.size, self.limit = ours.size, limit
        self.n, self.widest = len(ours.weights[0]), max(weight.shape[1] for weight in ours.weights)
        self.embedding = nn.Parameter(ours.embedding.detach().clone())
        self.convolutions = nn.ModuleList(
            _convolution(weight[c], bias[c])
            for weight, bias in zip(ours.weights, ours.biases, strict=True)
            for c in range(self.n)
        )

    def forward(self, batch: Batch, first: int | None = None) -> Tensor:
        """(B, n or first, size), the same as ours: windows that start after a text's end do not count."""
        n = self.n if first is None else first
        ids = F.pad(batch.ids, (0, self.limit + self.widest - batch.ids.shape[1]))
        embedded = F.embedding(ids, self.embedding, padding_idx=0).transpose(1, 2)  # (B, D, limit + widest)
        after = torch.arange(self.limit, device=ids.device) >= batch.lengths.clamp(min=1)[:, None, None]
        maxima = [
            convolution(embedded)[..., : self.limit].masked_fill(after, -torch.inf).amax(dim=-1)
            for place, convolution in enumerate(self.convolutions)
            if place % self.n < n
        ]  # width by width, in each channel by channel: (B, filters)
        by_width = torch.stack(maxima, dim=1).view(len(ids), -1, n, maxima[0].shape[-1])
        return F.relu(by_width.transpose(1, 2).flatten(2))


def _convolution(weight: Tensor, bias: Tensor) -> nn.Conv1d:
    width, filters, size = weight.shape
    convolution = nn.Conv1d(size, filters, width, dtype=weight.dtype)
    with torch.no_grad():
        convolution.weight.copy_(weight.permute(1, 2, 0))
        convolution.bias.copy_(bias)  # type: ignore[union-attr]
    return convolution


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    threads: Sequence[int]
    batches: int  # of training; a third as many of prediction
    predicted: Mapping[str, int]  # texts in a batch of prediction, by what is read
    ks: Sequence[int]
    told: int  # texts of each kind whose language is told


# Of 256 texts as bytes the plain way takes nearly 6 GB and a minute.
_WHOLE = Effort((1, 2), 9, {"words": BATCH, "bytes": 64}, (1, 2, 4, 8, 13, 16, 32, 64), 2000)
_QUICK = Effort((1,), 1, {"words": 32, "bytes": 32}, (1, 13), 100)


@dataclass(frozen=True)
class Comparison:
    """One row: milliseconds the plain way and ours, how many times faster, and the share of the machine's peak."""

    what: str
    threads: int
    plain: float
    ours: float
    ratio: float  # median over batches of plain / ours
    texts_per_second: float
    of_peak: float  # of the useful multiplications, by the measured rate of a large matrix product


@dataclass(frozen=True)
class Material:
    """Texts ready to be read: batches for training and for prediction."""

    config: FitConfig
    encoder: Encoder
    data: Dataset

    def batches(self, size: int, count: int) -> list[Batch]:
        """Some batches of an epoch, spread over it."""
        every = list(shuffled(self.data, size, np.random.default_rng(0)))
        whole = [batch for batch in every if len(batch) == size] or every
        return [whole[place] for place in np.linspace(0, len(whole) - 1, min(count, len(whole))).astype(int)]

    def model(self, k: int | None = None) -> Model:
        """CSDA as the paper has it, or with other k."""
        torch.manual_seed(0)
        config = FitConfig(tokens=self.config.tokens, channels=k)
        return build(config, Sizes(self.encoder.size, 2, _DOMAINS))


def default_corpus() -> str:
    """Real reviews where they are at hand, else what the package brings or fetches."""
    return next(name for name in ("fdu-mtl", "vader", "synthetic") if not KNOWN[name].place or locate(KNOWN[name]))


def material(corpus: Corpus, tokens: str, texts: int = 4000) -> Material:
    """The corpus with made-up labels and domains: they cost the same as real ones.

    Texts are read as bytes up to the limit, each with those that follow it; as words they are as long as they are.
    """
    config = FitConfig(tokens=tokens)  # type: ignore[arg-type]
    every = [document.text for document in corpus.documents]
    encoder = train_encoder(every, config)
    shown = every if tokens == "words" else lengthened(every, encoder.limit)
    chosen = [Document(text) for text in shown[:: max(1, len(shown) // texts)]]
    known = dataset(chosen, encoder, (), ())
    return Material(
        config, encoder, Dataset(known.texts, np.arange(len(chosen)) % 2, np.arange(len(chosen)) % _DOMAINS)
    )


def plain(model: Model, limit: int) -> Model:
    """The same model, read the plain way."""
    if not isinstance(model.reader, ConvolutionalReader):
        raise TypeError("only a convolutional reader has a plain way")
    model.reader = PlainReader(model.reader, limit)
    return model


def training_step(model: Model, optimizer: torch.optim.Optimizer) -> Callable[[Batch], None]:
    """Forward, backward and Adam on a batch."""
    model.train()

    def step(batch: Batch) -> None:
        optimizer.zero_grad()
        torch.stack(list(model.terms(batch, 0.0).values())).sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def prediction(model: Model) -> Callable[[Batch], None]:
    """Probabilities and gates of a batch."""
    model.eval()

    def predict(batch: Batch) -> None:
        with torch.inference_mode():
            model.predict(batch)

    return predict


def compare(
    what: str,
    ways: tuple[Callable[[Batch], None], Callable[[Batch], None]],
    batches: Sequence[Batch],
    work: Callable[[Batch], float],
    threads: int,
    first: Batch,
) -> Comparison:
    """Alternate between the two ways over the same batches, after a `first` one that does not count."""
    with limited_to(threads):
        for way in ways:
            way(first)
        times: list[tuple[float, float]] = []
        for batch in batches:
            if len(times) < 3 or sum(map(sum, times)) < _LASTING:
                times.append((seconds(ways[0], batch), seconds(ways[1], batch)))
        timed = list(zip(batches, times, strict=False))  # plain bytes take so long that not all batches are
        peak = matrix_rate()
    ours = statistics.median(time for _, time in times)
    return Comparison(
        what,
        threads,
        round(1000 * statistics.median(time for time, _ in times), 1),
        round(1000 * ours, 1),
        round(statistics.median(slow / fast for slow, fast in times), 1),
        round(statistics.median(len(batch) / time for batch, (_, time) in timed), 1),
        round(statistics.median(work(batch) / time for batch, (_, time) in timed) / peak, 3),
    )


def matrix_rate() -> float:
    """Floating-point operations a second in a large float32 product: the best of a few."""
    size, best = 2048, 0.0
    a, b = laid_out(torch.randn(size, size)), torch.randn(size, size)
    for _ in range(8):
        started = time.perf_counter()
        F.linear(a, b)
        best = max(best, 2 * size**3 / (time.perf_counter() - started))
    return best


def forward_work(model: Model, batch: Batch, unread: int) -> float:
    """Operations that reading a batch needs: every distinct token times every filter, once; not of `unread` CNNs."""
    return 2.0 * len(set(batch.ids.flatten().tolist())) * _filter_numbers(model, unread)


def training_work(model: Model, batch: Batch) -> float:
    """That of all CNNs, and the gradients of weights and embedding at the winning windows."""
    return forward_work(model, batch, 0) + 2 * 2.0 * len(batch) * _filter_numbers(model, 0)


def _filter_numbers(model: Model, unread: int) -> int:
    weights = [weight for name, weight in model.named_parameters() if name.startswith("reader.weights")]
    return sum(weight[unread:].numel() for weight in weights)


def speed(stuff: Material, threads: int, effort: Effort) -> list[Comparison]:
    """Training and prediction, plain and ours."""
    limit, tokens = stuff.encoder.limit, stuff.config.tokens
    ours, other = stuff.model(), plain(stuff.model(), limit)
    steps = training_step(other, torch.optim.Adam(trainable(other))), training_step(ours, Adam(trainable(ours), 1e-3))
    (first,) = stuff.batches(1, 1)
    training = compare(
        f"training, {tokens}",
        steps,
        stuff.batches(_TRAINED, effort.batches),
        lambda batch: training_work(ours, batch),
        threads,
        first,
    )
    predicted = compare(
        f"prediction, {tokens}",
        (prediction(other), prediction(ours)),
        stuff.batches(effort.predicted[tokens], max(1, effort.batches // 3)),
        lambda batch: forward_work(ours, batch, 1),  # the posterior's CNN is for training only
        threads,
        first,
    )
    return [training, predicted]


def growth(stuff: Material, effort: Effort) -> list[dict[str, float]]:
    """Milliseconds of a training step on one thread, by k."""
    rows = []
    for k in effort.ks:
        model = stuff.model(k)
        step = training_step(model, Adam(trainable(model), 1e-3))
        batches = stuff.batches(_TRAINED, effort.batches)
        with limited_to(1):
            step(batches[0])
            rows.append({"k": k, "ms": round(1000 * statistics.median(seconds(step, batch) for batch in batches), 1)})
    return rows


def steps_alone(corpus: str, way: str, threads: int, lasting: float) -> dict[str, float]:
    """In a process of its own: training steps a second, and the most memory that was held."""
    torch.set_num_threads(threads)
    stuff = material(load(corpus), "words")
    model = stuff.model() if way == "ours" else plain(stuff.model(), stuff.encoder.limit)
    parameters = trainable(model)
    step = training_step(model, Adam(parameters, 1e-3) if way == "ours" else torch.optim.Adam(parameters))
    batches = stuff.batches(_TRAINED, 12)
    step(batches[0])
    started, done = time.perf_counter(), 0
    while time.perf_counter() - started < lasting or done < 2:
        step(batches[done % len(batches)])
        done += 1
    return {"steps_per_second": done / (time.perf_counter() - started), "megabytes": round(most_memory())}


def most_memory() -> float:
    """Megabytes that this process has held at most."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux `getrusage` counts what the parent held when this process was split from it
        (line,) = (line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def processes(corpus: str, lasting: float) -> dict[str, Any]:
    """Memory of both ways, and one run of two threads against two runs of one thread side by side."""

    def side_by_side(*runs: tuple[str, int]) -> list[dict[str, float]]:
        with ProcessPoolExecutor(len(runs), mp_context=get_context("spawn")) as pool:
            waiting = [pool.submit(steps_alone, corpus, way, threads, lasting) for way, threads in runs]
            return [run.result() for run in waiting]

    (plain_run,), (two_threads,) = side_by_side(("plain", 2)), side_by_side(("ours", 2))
    both = side_by_side(("ours", 1), ("ours", 1))
    return {
        "megabytes": {"plain": plain_run["megabytes"], "ours": two_threads["megabytes"]},
        "steps_per_second": {
            "one run, two threads": round(two_threads["steps_per_second"], 2),
            "two runs, one thread each": round(sum(run["steps_per_second"] for run in both), 2),
        },
    }


def word_pairs(corpus: Corpus) -> dict[str, float] | None:
    """The bag of word pairs on the same texts: seconds to train, texts a second to predict, one thread.

    Nothing where labels are many: a weight for each pair and label would not fit into the solver's workspace.
    """
    labelled = [document for document in corpus.documents if document.label is not None]
    if not 2 <= len({document.label for document in labelled}) <= _LABELS:
        return None
    texts, model = [document.text for document in labelled], bag_of_word_pairs()
    with limited_to(1):
        started = time.perf_counter()
        model.fit(texts, [document.label for document in labelled])
        trained = time.perf_counter()
        model.predict(texts)
        ended = time.perf_counter()
    return {
        "texts": len(texts),
        "training_seconds": round(trained - started, 2),
        "texts_per_second": round(len(texts) / (ended - trained), 1),
    }


def measure(name: str, quick: bool, tell: Callable[[str], None]) -> dict[str, Any]:
    """Everything, as one JSON object; `quick` looks at few texts and leaves out what is slow."""
    corpus, effort = load(name), _QUICK if quick else _WHOLE
    stuff = {tokens: material(corpus, tokens) for tokens in ("words", "bytes")}
    rows: list[Comparison] = []
    for tokens, threads in product(stuff, effort.threads):
        tell(f"{tokens}, {threads} thread{'s' if threads > 1 else ''}")
        rows += speed(stuff[tokens], threads, effort)
    tell("growth with k, processes, other ways")
    return {
        "corpus": name,
        "texts": len(corpus.documents),
        "torch": torch.__version__,
        "trained": _TRAINED,
        "predicted": effort.predicted,
        "comparisons": [asdict(row) for row in rows],
        "growth": growth(stuff["words"], effort),
        "processes": None if quick else processes(name, 20.0),
        "word_pairs": word_pairs(corpus),
        "languages": languages(corpus, effort.told),
    }
