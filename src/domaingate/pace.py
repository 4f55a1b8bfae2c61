"""How many languages are told a second: ours, naive Bayes and language detectors, side by side in one run."""

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import torch

from domaingate.artifact import Artifact
from domaingate.baselines import naive_bayes
from domaingate.config import FitConfig
from domaingate.corpora import Corpus
from domaingate.encoding import train_encoder
from domaingate.inference import limited_to
from domaingate.model.reader import Sizes
from domaingate.model.recipes import build
from domaingate.predictor import Predictor

_LANGUAGES, _DOMAINS = 97, 5  # as many as the paper has
_LEARNT = 4000  # texts that ways to tell languages are made from
_SHORT, _PAGE = 140, 1000  # bytes
_FEW, _TIMES = 32, 3

Stuff = TypeVar("Stuff")


def seconds(way: Callable[[Stuff], Any], stuff: Stuff) -> float:
    """How long it takes once."""
    started = time.perf_counter()
    way(stuff)
    return time.perf_counter() - started


def lengthened(texts: Sequence[str], least: int) -> list[str]:
    """The same texts, joined until each has so many letters."""
    joined = [""]
    for text in texts:
        joined[-1] += f"{text} "
        if len(joined[-1]) >= least:
            joined.append("")
    return joined[:-1] or joined


def languages(corpus: Corpus, count: int) -> list[dict[str, Any]]:
    """From text to language on one thread, texts a second: ours with weights as drawn, others as users call them."""
    every = [document.text for document in corpus.documents]
    shown = {"short": _spread(_short(every), count), "pages": _spread(_pages(every), count)}
    rows: list[dict[str, Any]] = [
        {"what": "bytes a text", **{kind: round(np.mean([*map(_size, texts)])) for kind, texts in shown.items()}}
    ]
    with limited_to(1):
        for name, way in _tellers(_spread(every, _LEARNT)).items():
            way(shown["short"][:_FEW])
            rates = {
                kind: len(texts) / statistics.median(seconds(way, texts) for _ in range(_TIMES))
                for kind, texts in shown.items()
            }
            rows.append({"what": name, **{kind: round(rate) for kind, rate in rates.items()}})
    return rows


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _short(texts: Sequence[str]) -> list[str]:
    """Those that would be a tweet; where there are none, the beginnings of all."""
    return [text for text in texts if _size(text) <= _SHORT] or [text[:_SHORT] for text in texts]


def _pages(texts: Sequence[str]) -> list[str]:
    """The first thousand bytes of those that have as many; where there are none, several joined."""
    long = [text for text in texts if _size(text) >= _PAGE] or lengthened(texts, _PAGE)
    return [text.encode("utf-8", "replace")[:_PAGE].decode("utf-8", "ignore") for text in long]


def _spread(texts: Sequence[str], count: int) -> list[str]:
    return list(texts[:: max(1, len(texts) // count)])[:count]


def _tellers(texts: Sequence[str]) -> dict[str, Callable[[Sequence[str]], Any]]:
    """Ways to tell the language of texts; a detector that is not installed is left out."""
    ways: dict[str, Callable[[Sequence[str]], Any]] = {
        f"CSDA, k = 13, {name}": untrained(config, texts).outputs
        for name, config in (
            ("runs of bytes", FitConfig(reader="ngrams", tokens="bytes", clean="web")),
            ("CNNs over bytes", FitConfig(tokens="bytes")),
        )
    }
    bayes = naive_bayes(0.01).fit(texts, [str(row % _LANGUAGES) for row in range(len(texts))])
    ways["naive Bayes over runs of bytes"] = bayes.predict
    for name in ("py3langid", "langid"):
        with suppress(ImportError):
            detector = import_module(name)
            ways[name] = partial(_one_by_one, detector.classify)
    return ways


def _one_by_one(classify: Callable[[str], Any], texts: Sequence[str]) -> None:
    for text in texts:
        classify(text)


def untrained(config: FitConfig, texts: Sequence[str]) -> Predictor:
    """A predictor of as many languages as the paper has, with weights as drawn."""
    encoder = train_encoder(texts, config)
    labels = [str(row) for row in range(_LANGUAGES)]
    torch.manual_seed(0)
    model = build(config, Sizes(encoder.size, len(labels), _DOMAINS, encoder.weights)).eval()
    return Predictor(Artifact(config, encoder, labels, (), model, frozenset()))
