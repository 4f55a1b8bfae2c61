"""Is the calibration error that of the definition, and does coverage tell what silence buys?"""

import numpy as np
import pytest

from domaingate.calibration import coverage, even_weights, expected_error, reliability


@pytest.fixture
def answers():
    random = np.random.default_rng(0)
    confidence = random.random(4000)
    return confidence, random.random(4000) < confidence, np.full(4000, 1 / 4000)


def test_honest_probabilities_have_no_error(answers):
    """Is the error of answers that are right as often as they say only that of chance?"""
    assert expected_error(reliability(*answers)) < 0.03


def test_the_error_is_how_far_they_are_off(answers):
    """Is it 1 where everything sure is wrong, and a half where everything sure is right half the time?"""
    sure, weight = np.ones(10), np.full(10, 0.1)
    assert expected_error(reliability(sure, np.zeros(10, bool), weight)) == pytest.approx(1)
    assert expected_error(reliability(sure, np.arange(10) < 5, weight)) == pytest.approx(0.5)
    assert expected_error(reliability(sure, np.ones(10, bool), weight)) == pytest.approx(0)


def test_bins_hold_all_the_weight(answers):
    """Do shares sum to 1, and means of bins to the means of all?"""
    confidence, right, _ = answers
    bins = reliability(*answers)
    assert sum(one["share"] for one in bins) == pytest.approx(1)
    assert sum(one["share"] * one["confidence"] for one in bins) == pytest.approx(confidence.mean())
    assert sum(one["share"] * one["accuracy"] for one in bins) == pytest.approx(right.mean())


def test_silence_costs_coverage_and_buys_precision(answers):
    """Do higher thresholds answer fewer texts, of honest probabilities more of them rightly, and none above all?"""
    steps = coverage(*answers, [0.0, 0.5, 0.9, 2.0])
    shares = [step["coverage"] for step in steps]
    assert shares[0] == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    precisions = [step["precision"] for step in steps[:3]]
    assert precisions == sorted(precisions)
    assert precisions == pytest.approx([0.5, 0.75, 0.95], abs=0.03)
    assert steps[3] == {"threshold": 2.0, "coverage": 0.0, "precision": None}


def test_every_domain_weighs_the_same():
    """Do a domain of one text and one of three count alike, unknown ones together?"""
    weight = even_weights(["a", "b", "b", "b", None, None])
    assert weight == pytest.approx([1 / 3, 1 / 9, 1 / 9, 1 / 9, 1 / 6, 1 / 6])
