"""Runs of bytes, counted in hashed columns: what linear models of languages look at."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from domaingate.encoding import ByteEncoder

LONGEST, BITS, LIMIT = 4, 18, 1000

_BASE = np.uint64(257)  # one more than there are bytes: runs of different lengths have different numbers
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: neighbouring numbers are spread far apart
_AT_ONCE = 2000  # texts


def byte_ngrams(texts: Sequence[str], longest: int = LONGEST, bits: int = BITS, limit: int = LIMIT) -> csr_matrix:
    """(N, 2^bits): how often each run of up to `longest` bytes stands in the first `limit` bytes of each text."""
    pieces = [
        _counted(texts[start : start + _AT_ONCE], longest, bits, limit)
        for start in range(0, max(1, len(texts)), _AT_ONCE)
    ]
    return vstack(pieces, format="csr")


def _counted(texts: Sequence[str], longest: int, bits: int, limit: int) -> csr_matrix:
    encoded = ByteEncoder(limit).encode(texts)
    lengths = np.array([len(text) for text in encoded], dtype=np.int64)
    stream = np.concatenate([*encoded, np.zeros(longest, dtype=np.int32)]).astype(np.uint64)
    rows = np.repeat(np.arange(len(texts), dtype=np.int32), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(rows))  # bytes to the end of the text
    runs = np.zeros(len(rows), dtype=np.uint64)
    found: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    for length in range(1, longest + 1):
        runs = runs * _BASE + stream[length - 1 : length - 1 + len(rows)]
        whole = left >= length
        columns = (runs[whole] * _MULTIPLIER) >> np.uint64(64 - bits)
        found.append((rows[whole], columns.astype(np.int32)))
    row, column = (np.concatenate(part) for part in zip(*found, strict=True))
    counts = csr_matrix((np.ones(len(row), dtype=np.float32), (row, column)), shape=(len(texts), 1 << bits))
    counts.sum_duplicates()
    return counts
