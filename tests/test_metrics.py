"""Scores, against examples worked out by hand."""

import pytest

from domaingate.metrics import UNKNOWN_DOMAIN, Score, accuracy, averages, by_domain, macro_f1

TRUTH = ["up", "up", "down", "down", "down", "flat"]
ANSWERS = ["up", "down", "down", "down", "flat", "flat"]


def test_accuracy_is_the_share_of_right_answers():
    """Four of six are right."""
    assert accuracy(TRUTH, ANSWERS) == pytest.approx(4 / 6)
    assert accuracy(["a"], ["b"]) == 0


def test_macro_f1_by_hand():
    """up: P 1, R 1/2; down: P 2/3, R 2/3; flat: P 1/2, R 1."""
    assert macro_f1(TRUTH, ANSWERS) == pytest.approx((2 / 3 + 2 / 3 + 2 / 3) / 3)


def test_macro_f1_is_over_the_true_labels():
    """Is a label that only answers name no class of its own, and one that is never answered a zero, without warning?"""
    assert macro_f1(["a", "a"], ["a", "b"]) == pytest.approx(2 / 3)
    assert macro_f1(["a", "b"], ["a", "a"]) == pytest.approx((2 / 3 + 0) / 2)
    assert macro_f1(["a", "a"], ["b", "b"]) == 0


def test_scores_by_domain():
    """Does each domain have its own score, training domains first, each in order of name?"""
    truth = ["x", "y", "x", "x", "y", "x", "x"]
    answers = ["x", "x", "x", "y", "y", "y", "x"]
    domains = ["tea", "tea", "jam", None, "oil", "ale", "oil"]
    scores = by_domain(truth, answers, domains, ["tea", "oil"])
    assert [(score.domain, score.unseen, score.texts) for score in scores] == [
        (UNKNOWN_DOMAIN, False, 1),
        ("oil", False, 2),
        ("tea", False, 2),
        ("ale", True, 1),
        ("jam", True, 1),
    ]
    assert [score.accuracy for score in scores] == [0, 1, 0.5, 0, 1]
    assert [score.majority for score in scores] == [1, 0.5, 0.5, 1, 1]
    assert scores[2].macro_f1 == pytest.approx((2 / 3 + 0) / 2)


def test_averages_count_each_domain_the_same():
    """Are averages over domains, not over texts: of training domains, of unseen ones, of all?"""
    scores = [
        Score("a", False, 1000, 0.9, 0.8, 0.5),
        Score("b", True, 10, 0.5, 0.4, 0.6),
        Score("c", True, 30, 0.7, 0.6, 0.8),
    ]
    found = averages(scores)
    assert list(found) == ["training domains", "unseen domains", "all domains"]
    assert found["unseen domains"] == pytest.approx(
        {"domains": 2, "texts": 40, "accuracy": 0.6, "macro_f1": 0.5, "majority": 0.7}
    )
    assert found["all domains"]["accuracy"] == pytest.approx(0.7)
    assert list(averages(scores[:1])) == ["training domains", "all domains"]
    assert averages([]) == {}
