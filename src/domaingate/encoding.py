"""Text to token numbers: words or bytes. The vocabulary comes from training text alone and is saved with the model.

Number 0 is padding in both; in words, 1 is every word that training did not see often enough.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from domaingate.config import ModelConfig

IntArray = NDArray[np.int32]

_LIMITS = {"words": 256, "bytes": 1000}
_WORD = r"\w+(?:['’]\w+)*|[^\w\s]+"  # don't and n't are words; so is a run of marks such as !!! or :-)
_LONGEST_WORD = 64  # characters of a text looked at, for each word of the limit


class Encoder(ABC):
    """Texts to numbers, the same for a text alone and among others."""

    limit: int
    size: int

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


def train_encoder(texts: Sequence[str], config: ModelConfig) -> Encoder:
    """The encoder that `config` asks for, with its vocabulary from `texts`."""
    limit = config.limit or _LIMITS[config.tokens]
    if config.tokens == "bytes":
        return ByteEncoder(limit)
    return WordEncoder.train(texts, limit, config.min_count)


def encoder_from_json(saved: dict[str, Any]) -> Encoder:
    """The encoder that `to_json` described."""
    if saved["tokens"] == "bytes":
        return ByteEncoder(saved["limit"])
    return WordEncoder(Tokenizer.from_str(json.dumps(saved["tokenizer"])), saved["limit"])


def _head(text: str, limit: int) -> str:
    """The start of a text in which its first `limit` words are found: a text of megabytes costs no more than a page."""
    return text[: limit * _LONGEST_WORD].encode("utf-8", "replace").decode()  # half a surrogate pair becomes "?"
