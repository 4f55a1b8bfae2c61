"""Are runs of bytes counted as one would by hand, each in a column of its own?"""

from collections import Counter

import numpy as np
import pytest

from domaingate.ngrams import byte_ngrams


def by_hand(text, longest, limit=1000):
    told = text.encode()[:limit]
    return Counter(told[i : i + n] for n in range(1, longest + 1) for i in range(len(told) - n + 1))


@pytest.mark.parametrize("longest", [1, 2, 4])
def test_counts_are_those_of_the_runs(longest):
    """Are the counts of a text, and of a text among others, those of its runs, and never across two texts?"""
    texts = ["abab", "", "ä", "b", "banana banana"]
    counts = byte_ngrams(texts, longest, bits=30)
    assert counts.shape == (5, 1 << 30)
    for row, text in enumerate(texts):
        assert sorted(counts[row].data) == sorted(by_hand(text, longest).values())
        assert (byte_ngrams([text], longest, bits=30) != counts[row]).nnz == 0


def test_a_run_has_one_column_wherever_it_stands():
    """Is the column a matter of the run alone?"""
    a, b = byte_ngrams(["xyz"], 3, 30), byte_ngrams(["...xyz...", "zyx"], 3, 30)
    assert set(a.indices) <= set(b[0].indices)
    assert len(set(a.indices) & set(b[1].indices)) == 3  # the letters, and no run of two or three


def test_only_the_first_bytes_count():
    """Is what stands behind the limit left out, and are few texts as many as many?"""
    long = "abc" * 1000
    assert byte_ngrams([long], limit=10).sum() == 10 + 9 + 8 + 7
    many = byte_ngrams([long[:7]] * 4001, bits=12)
    assert many.shape == (4001, 4096)
    assert np.unique(many.sum(axis=1)).tolist() == [7 + 6 + 5 + 4]


def test_no_text_has_no_row():
    """Is nothing a matrix of no rows?"""
    assert byte_ngrams([]).shape == (0, 1 << 18)
