"""A made-up corpus with planted domains, for tests and first steps: what a word means depends on where it stands.

Four domains, `alpha` to `delta`, each with words of its own. Twelve moody words are shared by all, and half of them
speak for, half against; in `beta` they say the opposite of what they say in `alpha`, and in `delta` of `gamma`, so over
all domains none of them says anything. A few plain words mean the same everywhere. In the held-out domain `mixture` a
text takes its moods and most words from one training domain, and other words from another.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from domaingate.corpora.document import Corpus, Document

DOMAINS = ("alpha", "beta", "gamma", "delta")
MIXTURE = "mixture"

_LABELS = ("negative", "positive")
_LENGTHS = (12, 24)
_OWN, _MOODY, _PLAIN = 0.35, 0.25, 0.02  # shares of a text's words; the rest is filler
_TRUTHFUL = 0.9  # how often a moody or plain word agrees with the text's label


@dataclass(frozen=True)
class _Language:
    """The words of a corpus and what they mean."""

    own: Mapping[str, Sequence[str]]  # domain to its words
    fillers: Sequence[str]
    plain: Mapping[str, Sequence[str]]  # label to the words that speak for it everywhere
    moody: Mapping[tuple[str, str], Sequence[str]]  # domain and label to the words that speak for it there


def synthetic_corpus(seed: int = 0, texts: int = 800, mixed: int = 900) -> Corpus:
    """`texts` texts of each training domain and `mixed` of the mixture, half of each label."""
    draw = random.Random(seed)
    language = _language(draw)
    documents = [
        Document(_text(draw, language, domain, domain, label), label, domain, f"synthetic:{domain}")
        for domain in DOMAINS
        for label in _LABELS
        for _ in range(texts // 2)
    ]
    for label in _LABELS:
        for _ in range(mixed // 2):
            first, second = draw.sample(DOMAINS, 2)
            documents.append(
                Document(_text(draw, language, first, second, label), label, MIXTURE, f"synthetic:{MIXTURE}")
            )
    draw.shuffle(documents)
    return Corpus("synthetic", documents, (MIXTURE,))


def _language(draw: random.Random) -> _Language:
    syllables = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
    words = ["".join(parts) for parts in product(syllables, syllables)]
    draw.shuffle(words)
    take = iter(words).__next__
    own = {domain: [take() for _ in range(10)] for domain in DOMAINS}
    fillers = [take() for _ in range(40)]
    plain = {label: [take() for _ in range(5)] for label in _LABELS}
    moods = [take() for _ in range(12)]
    moody = {}
    for one, other in zip(DOMAINS[::2], DOMAINS[1::2], strict=True):
        draw.shuffle(moods)
        moody[one, "negative"], moody[one, "positive"] = moods[:6], moods[6:]
        moody[other, "negative"], moody[other, "positive"] = moods[6:], moods[:6]
    return _Language(own, fillers, plain, moody)


def _text(draw: random.Random, language: _Language, first: str, second: str, label: str) -> str:
    """Words of `first`, a third of the domain's own words of `second`, moods as in `first`."""
    words = []
    for _ in range(draw.randint(*_LENGTHS)):
        said = label if draw.random() < _TRUTHFUL else _LABELS[label == _LABELS[0]]
        kind = draw.random()
        if kind < _OWN:
            words.append(draw.choice(language.own[second if draw.random() < 1 / 3 else first]))
        elif kind < _OWN + _MOODY:
            words.append(draw.choice(language.moody[first, said]))
        elif kind < _OWN + _MOODY + _PLAIN:
            words.append(draw.choice(language.plain[said]))
        else:
            words.append(draw.choice(language.fillers))
    return " ".join(words)
