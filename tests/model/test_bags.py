"""Is a bag what the formula says, whatever stands beside a text in its batch, with the gradient of the formula?"""

import numpy as np
import pytest
import torch
from sklearn.naive_bayes import MultinomialNB

from domaingate.batches import Dataset
from domaingate.config import FitConfig
from domaingate.model.bags import BagReader
from domaingate.model.reader import Sizes
from domaingate.model.recipes import build

SIZE, RUNS = 5, 12


@pytest.fixture
def reader():
    torch.manual_seed(0)
    weights = torch.rand(RUNS).numpy() + 1
    return BagReader(Sizes(RUNS, 3, 2, weights), 4, FitConfig(reader="ngrams", ngram_size=SIZE)).double().eval()


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


def test_loudness_grows_as_the_square_root_of_the_length(reader, make_batch):
    """Is a text said twice the square root of two as loud?"""
    once, twice = reader(make_batch([[3, 4, 7]])), reader(make_batch([[3, 4, 7, 3, 4, 7]]))
    torch.testing.assert_close(twice, once * 2**0.5)


def test_weights_are_the_encoders(reader):
    """Do they stay as given, and are they no part of what is trained or saved?"""
    assert reader.weights[0] == 0
    assert not reader.embedding[0].any()
    assert set(reader.state_dict()) == {"embedding", "maps"}


def test_training_leaves_out_runs(make_batch):
    """Is a text on average what it is in prediction, with fewer of its runs each time?"""
    torch.manual_seed(0)
    config = FitConfig(reader="ngrams", ngram_size=SIZE, ngram_start="bayes")
    reader = BagReader(Sizes(RUNS, 3, 2), 4, config).double().train()
    batch = make_batch([[1, 2, 3, 4, 5, 6, 11]] * 20_000)
    vectors = reader(batch)
    assert len(vectors[:, 0].unique(dim=0)) == 2**7
    torch.testing.assert_close(vectors.mean(dim=0), reader.eval()(batch)[0], rtol=0, atol=2e-3)


def test_naive_bayes_is_where_it_starts():
    """Before the first step, is the best label that of naive Bayes, whatever the weights of runs, by each channel?"""
    random = np.random.default_rng(0)
    likely = random.dirichlet(np.full(RUNS - 1, 0.3), size=3)
    labels = np.tile([0, 1, 2, -1], 100)
    texts = [random.choice(RUNS - 1, random.integers(1, 9), p=likely[label]).astype(np.int32) + 1 for label in labels]
    data = Dataset(texts, labels, labels)
    config = FitConfig(reader="ngrams", ngram_size=4, ngram_start="bayes", model="m-cnn", channels=2)
    model = build(config, Sizes(RUNS, 3, 1, np.linspace(0, 2, RUNS, dtype=np.float32))).eval()
    model.reader.prime(data)
    counts = np.stack([np.bincount(text, minlength=RUNS) for text in texts])
    bayes = MultinomialNB(alpha=0.01, fit_prior=False).fit(counts[labels >= 0, 1:], labels[labels >= 0])
    with torch.no_grad():
        model.reader.maps.zero_()
        answers = model.predict(data.batch(range(len(texts)))).log_probabilities.argmax(dim=1)
    assert answers.tolist() == bayes.predict(counts[:, 1:]).tolist()


def test_without_naive_bayes_the_start_is_as_drawn(reader):
    """Does priming change nothing?"""
    before = reader.embedding.detach().clone()
    reader.prime(Dataset([np.array([1, 2], dtype=np.int32)], np.array([0]), np.array([0])))
    assert torch.equal(reader.embedding.detach(), before)
