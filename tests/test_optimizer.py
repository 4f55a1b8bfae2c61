"""Is the running average of weights what its formula says, and does the model have its own weights back afterwards?"""

import pytest
import torch

from domaingate.optimizer import Average


def follow(decay, batches):
    """A weight that is the number of the batch, and its average."""
    weight = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
    average = Average([weight], decay)
    for batch in range(1, batches + 1):
        with torch.no_grad():
            weight.fill_(batch)
        average.follow()
    return weight, average


def test_the_average_is_that_of_the_last_batches():
    """Does it lag behind a weight that grows by 1 a batch by as many batches as it remembers?"""
    _, average = follow(0.99, 20_000)
    assert 20_000 - float(average.weights[0][0]) == pytest.approx(1 / (1 - 0.99), rel=0.05)


def test_a_young_average_follows_fast():
    """After few batches, is it no further behind than a share of them, however slow it is to be?"""
    expected = 0.0
    for batch in range(1, 201):
        expected += 10 / (batch + 10) * (batch - expected)
    assert float(follow(0.9999, 200)[1].weights[0][0]) == pytest.approx(expected, rel=0.01)
    for batches in (1, 3):
        assert float(follow(0.9999, batches)[1].weights[0][0]) > 0.8 * batches


def test_the_model_has_its_own_weights_back():
    """Is the exchange for a while only, also where something goes wrong meanwhile?"""
    weight, average = follow(0.9, 100)
    own, mean = weight.detach().clone(), average.weights[0].clone()
    with average.applied():
        assert torch.equal(weight.detach(), mean)
    with pytest.raises(KeyError), average.applied():
        raise KeyError
    assert torch.equal(weight.detach(), own)
    assert torch.equal(average.weights[0], mean)


def test_no_average_is_the_weights_themselves():
    """Does a decay of 0 hold nothing and change nothing?"""
    weight, average = follow(0.0, 10)
    assert average.weights == []
    with average.applied():
        assert weight.tolist() == [10, 10, 10]
