"""Is a bag what the formula says, whatever stands beside a text in its batch, with the gradient of the formula?"""

import pytest
import torch

from domaingate.config import FitConfig
from domaingate.model.bags import BagReader
from domaingate.model.reader import Sizes

SIZE, RUNS = 5, 12


@pytest.fixture
def reader():
    torch.manual_seed(0)
    weights = torch.rand(RUNS).numpy() + 1
    return BagReader(Sizes(RUNS, 3, 2, weights), 4, FitConfig(reader="ngrams", ngram_size=SIZE)).double()


TEXTS = [[3, 4, 3], [], [7], [1, 2, 3, 4, 5, 6, 11]]


def by_hand(reader, text):
    """The docstring's formula, for one text."""
    weights = reader.weights[torch.tensor(text, dtype=torch.int64)]
    bag = torch.zeros(SIZE, dtype=torch.float64)
    for run, weight in zip(text, weights, strict=True):
        bag = bag + weight / weights.norm() * reader.embedding[run]
    return torch.stack([bag + bag @ matrix for matrix in reader.maps])


def test_vectors_are_those_of_the_formula(reader, make_batch):
    """Are values and gradients those of the sum, in float64?"""
    found = reader(make_batch(TEXTS))
    expected = torch.stack([by_hand(reader, text) for text in TEXTS])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    share = torch.randn_like(found)
    ours = torch.autograd.grad((found * share).sum(), list(reader.parameters()))
    theirs = torch.autograd.grad((expected * share).sum(), list(reader.parameters()))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.to_dense(), other, rtol=0, atol=1e-12)


def test_a_text_has_its_vectors_alone_and_among_others(reader, make_batch):
    """Does padding change nothing, and is an empty text nothing?"""
    together = reader(make_batch(TEXTS, margin=3))
    for row, text in enumerate(TEXTS):
        torch.testing.assert_close(reader(make_batch([text]))[0], together[row], rtol=0, atol=1e-15)
    assert not together[1].any()


def test_the_first_few_vectors(reader, make_batch):
    """Are they the same as with the others?"""
    torch.testing.assert_close(reader(make_batch(TEXTS), 2), reader(make_batch(TEXTS))[:, :2], rtol=0, atol=1e-15)


def test_a_long_text_is_no_louder_than_a_short_one(reader, make_batch):
    """Is a text said twice at most the square root of two as loud?"""
    once, twice = reader(make_batch([[3, 4, 7]])), reader(make_batch([[3, 4, 7, 3, 4, 7]]))
    torch.testing.assert_close(twice, once * 2**0.5)


def test_weights_are_the_encoders(reader):
    """Do they stay as given, and are they no part of what is trained or saved?"""
    assert reader.weights[0] == 0
    assert not reader.embedding[0].any()
    assert set(reader.state_dict()) == {"embedding", "maps"}
