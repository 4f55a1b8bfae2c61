"""Text to token numbers: words or bytes. The vocabulary comes from training text alone and is saved with the model.

Number 0 is padding in both; in words, 1 is every word that training did not see often enough.
"""

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from domaingate.cleaning import clean
from domaingate.config import ModelConfig
from domaingate.errors import DomainGateError
from domaingate.ngrams import AT_ONCE, IntArray, RunList, RunTable, codes_of

_LIMITS = {"words": 256, "bytes": 1000}
_LONGEST_RUN = {"words": 3, "bytes": 4}
_WORD = r"\w+(?:['’]\w+)*|[^\w\s]+"  # don't and n't are words; so is a run of marks such as !!! or :-)
_LONGEST_WORD = 64  # characters of a text looked at, for each word of the limit


class Encoder(ABC):
    """Texts to numbers, the same for a text alone and among others."""

    limit: int  # tokens of a text that are read
    size: int
    at_a_place: int = 1  # numbers for each token, at the most
    weights: NDArray[np.float32] | None = None  # (size,): how much a number counts, where some count more than others

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> list[IntArray]:
        """The first `limit` tokens of each text, as numbers below `size`."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """All that `from_json` needs."""


class WordEncoder(Encoder):
    """Lower-cased words and runs of marks, through a `tokenizers` word list."""

    def __init__(self, tokenizer: Tokenizer, limit: int) -> None:
        self._tokenizer = tokenizer
        self.limit = limit
        self.size = tokenizer.get_vocab_size()
        tokenizer.enable_truncation(limit)
        tokenizer.encode_special_tokens = True  # a text that spells [PAD] means its letters

    @classmethod
    def train(cls, texts: Sequence[str], limit: int, min_count: int) -> "WordEncoder":
        """The words seen at least `min_count` times in `texts`."""
        tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_WORD), behavior="removed", invert=True)
        trainer = trainers.WordLevelTrainer(
            vocab_size=2**31 - 1, min_frequency=min_count, special_tokens=["[PAD]", "[UNK]"], show_progress=False
        )
        tokenizer.train_from_iterator((_head(text, limit) for text in texts), trainer, length=len(texts))
        return cls(tokenizer, limit)

    def encode(self, texts: Sequence[str]) -> list[IntArray]:
        """Words to numbers, in parallel over the texts."""
        encodings = self._tokenizer.encode_batch_fast([_head(text, self.limit) for text in texts])
        return [np.asarray(encoding.ids, dtype=np.int32) for encoding in encodings]

    def to_json(self) -> dict[str, Any]:
        """The word list and the rules that cut a text into words."""
        return {"tokens": "words", "limit": self.limit, "tokenizer": json.loads(self._tokenizer.to_str())}


class ByteEncoder(Encoder):
    """UTF-8 bytes; byte b is number b + 1."""

    size = 257

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def encode(self, texts: Sequence[str]) -> list[IntArray]:
        """The first `limit` bytes of each text."""
        heads = [text[: self.limit].encode("utf-8", "replace")[: self.limit] for text in texts]
        return [np.frombuffer(head, dtype=np.uint8).astype(np.int32) + 1 for head in heads]

    def to_json(self) -> dict[str, Any]:
        """The limit is all there is."""
        return {"tokens": "bytes", "limit": self.limit}


class CleanEncoder(Encoder):
    """The tokens of what cleaning leaves of a text."""

    def __init__(self, tokens: Encoder) -> None:
        self._tokens = tokens
        self.limit, self.size = tokens.limit, tokens.size

    def encode(self, texts: Sequence[str]) -> list[IntArray]:
        """Clean, then encode."""
        return self._tokens.encode([clean(_head(text, self.limit)) for text in texts])

    def to_json(self) -> dict[str, Any]:
        """The encoder of the tokens, and that it reads clean texts."""
        return {**self._tokens.to_json(), "clean": "web"}


class NgramEncoder(Encoder):
    """The known runs of another encoder's tokens, in the order of the places that they start at."""

    def __init__(self, tokens: Encoder, runs: RunList, longest: int) -> None:
        if not isinstance(longest, int) or longest < 1 or not isinstance(tokens.limit, int) or tokens.limit < 1:
            raise ValueError("runs have one token or more, and so have texts")
        self._tokens, self._runs, self._table = tokens, runs, RunTable(runs)
        self.limit, self.size, self.at_a_place = tokens.limit, 1 + len(runs.codes), longest
        self.weights = runs.rarity()

    @classmethod
    def train(
        cls, tokens: Encoder, texts: Sequence[str], domains: Sequence[str | None], config: ModelConfig
    ) -> "NgramEncoder":
        """The runs of tokens that stand in enough of the `texts`, and of their domains."""
        longest = config.ngrams or _LONGEST_RUN[config.tokens]
        encoded, least = tokens.encode(texts), config.min_count
        known, wanted = len(set(domains) - {None}), config.ngram_domains
        if wanted > 1 and known < wanted:
            raise DomainGateError(f"--ngram-domains is {wanted}, but {known} training domains are known; lower it.")
        runs = RunList.train(encoded, longest, least, config.ngram_rows, domains, wanted)
        if not len(runs.codes):
            raise DomainGateError(
                f"No run of {config.tokens} stands in {least} training texts or more, and in enough of their domains; "
                "give more texts, or lower --min-count or --ngram-domains."
            )
        return cls(tokens, runs, longest)

    def encode(self, texts: Sequence[str]) -> list[IntArray]:
        """Runs to their rows, some texts at a time."""
        found: list[IntArray] = []
        for start in range(0, len(texts), AT_ONCE):
            some = self._tokens.encode(texts[start : start + AT_ONCE])
            codes, text = codes_of(some, self.at_a_place)
            rows = self._table.rows(codes.ravel())
            known = rows > 0
            counts = np.bincount(np.repeat(text, self.at_a_place)[known], minlength=len(some))
            found += np.split(rows[known], np.cumsum(counts)[:-1])
        return found

    def to_json(self) -> dict[str, Any]:
        """The encoder of the tokens, and the runs."""
        runs = self._runs
        packed = {"codes": _pack(runs.codes), "counts": _pack(runs.counts)}
        return {**self._tokens.to_json(), "runs": {"longest": self.at_a_place, "texts": runs.texts, **packed}}


def train_encoder(texts: Sequence[str], config: ModelConfig, domains: Sequence[str | None] = ()) -> Encoder:
    """The encoder that `config` asks for, with its vocabulary from `texts` of these `domains`, if they are told."""
    tokens = _train_tokens(texts, config)
    return NgramEncoder.train(tokens, texts, domains, config) if config.reader == "ngrams" else tokens


def _train_tokens(texts: Sequence[str], config: ModelConfig) -> Encoder:
    limit = config.limit or _LIMITS[config.tokens]
    cleans = config.clean == "web"
    if config.tokens == "bytes":
        tokens: Encoder = ByteEncoder(limit)
    else:
        shown = [clean(_head(text, limit)) for text in texts] if cleans else texts
        tokens = WordEncoder.train(shown, limit, config.min_count)
    return CleanEncoder(tokens) if cleans else tokens


def encoder_from_json(saved: dict[str, Any]) -> Encoder:
    """The encoder that `to_json` described."""
    tokens: Encoder = (
        ByteEncoder(saved["limit"])
        if saved["tokens"] == "bytes"
        else WordEncoder(Tokenizer.from_str(json.dumps(saved["tokenizer"])), saved["limit"])
    )
    if saved.get("clean"):
        tokens = CleanEncoder(tokens)
    if runs := saved.get("runs"):
        known = RunList(_unpack(runs["codes"], np.uint64), _unpack(runs["counts"], np.int64), runs["texts"])
        return NgramEncoder(tokens, known, runs["longest"])
    return tokens


def _pack(numbers: NDArray[Any]) -> str:
    return base64.b64encode(numbers.astype("<u8").tobytes()).decode()


def _unpack(packed: str, kind: type) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(packed), dtype="<u8").astype(kind)


def _head(text: str, limit: int) -> str:
    """The start of a text in which its first `limit` words are found: a text of megabytes costs no more than a page."""
    return text[: limit * _LONGEST_WORD].encode("utf-8", "replace").decode()  # half a surrogate pair becomes "?"
