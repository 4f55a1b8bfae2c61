"""Do intervals have the width that statistics says, and are differences paired?"""

import numpy as np
import pytest

from domaingate.comparison import _drawn, accuracies, difference, interval


def answers(seeds, texts, share, seed=0, domains=2):
    draw = np.random.default_rng(seed)
    return {f"d{row}": draw.random((seeds, texts)) < share for row in range(domains)}


def test_each_domain_counts_the_same():
    """Is the average over domains, however many texts each has?"""
    right = {"big": np.ones((2, 100), dtype=bool), "small": np.zeros((2, 10), dtype=bool)}
    found = accuracies(right)
    assert found["big"].tolist() == [1, 1]
    assert found["average"].tolist() == [0.5, 0.5]


def test_the_interval_is_as_wide_as_the_binomial_says():
    """For one seed and domains of equal size, is it 1.96 standard errors to both sides of the mean?"""
    right = answers(1, 500, 0.8)
    low, high = interval(right)
    share = accuracies(right)["average"][0]
    error = np.sqrt(np.mean([told.mean() * (1 - told.mean()) for told in right.values()]) / 1000)
    assert (low + high) / 2 == pytest.approx(share, abs=0.005)
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.1)


def test_seeds_that_differ_widen_the_interval():
    """Do seeds have their share in it?"""
    same = {"d": np.repeat(answers(1, 400, 0.8, domains=1)["d0"], 4, axis=0)}
    other = {"d": np.stack([answers(1, 400, share, domains=1)["d0"][0] for share in (0.7, 0.77, 0.83, 0.9)])}
    width = [high - low for low, high in (interval(same), interval(other))]
    assert width[1] > 1.5 * width[0]


def test_few_seeds_have_the_spread_of_an_unbiased_estimate():
    """Where seeds alone differ, is the spread of the draws the standard error with S - 1 below?"""
    for seeds in (2, 3, 5):
        right = {"d": np.repeat(np.arange(seeds)[:, None] % 2 == 0, 50, axis=1)}
        expected = np.std(accuracies(right)["average"], ddof=1) / np.sqrt(seeds)
        assert np.std(_drawn(right, 1)) == pytest.approx(expected, rel=0.05)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    """With five seeds that differ by themselves, is a true difference of 0 seldom outside of the interval?"""
    draw = np.random.default_rng(0)

    def row():
        shares = np.clip(0.8 + 0.02 * draw.standard_normal((5, 1)), 0, 1)
        return {"d": draw.random((5, 300)) < shares, "e": draw.random((5, 300)) < shares}

    assert np.mean([difference(row(), row()).is_clear for _ in range(100)]) <= 0.13


def test_a_difference_is_paired():
    """Two rows that err on the same texts: is their difference known better than either of them?"""
    hard = answers(1, 600, 0.8)
    a = {name: np.repeat(told, 3, axis=0) for name, told in hard.items()}
    b = {name: told.copy() for name, told in a.items()}
    for told in b.values():
        told[:, :18] = False
    found = difference(a, b)
    expected = np.mean([accuracies(a)["average"] - accuracies(b)["average"]])
    assert found.mean == pytest.approx(expected)
    assert found.is_clear
    low, high = interval(a)
    assert found.high - found.low < high - low
    nothing = difference(a, a)
    assert [nothing.mean, nothing.low, nothing.high] == pytest.approx([0, 0, 0], abs=1e-12)


def test_the_sign_is_a_less_b():
    """Is better positive, and the other way round its negative?"""
    a, b = answers(3, 300, 0.9), answers(3, 300, 0.6, seed=1)
    assert difference(a, b).mean == pytest.approx(-difference(b, a).mean)
    assert difference(a, b).low > 0


def test_the_same_records_give_the_same_interval():
    """Are the draws fixed, so that a table can be made again byte for byte?"""
    right = answers(2, 50, 0.7)
    assert interval(right) == interval({name: told.copy() for name, told in right.items()})
