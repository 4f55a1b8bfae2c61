"""Is the plain way that `bench` compares with the same function, and is the optimiser dense Adam?"""

import pytest
import torch

from domaingate.batches import Batch
from domaingate.bench import PlainReader, measure, plain
from domaingate.config import FitConfig
from domaingate.model.channels import ConvolutionalReader
from domaingate.model.reader import Sizes
from domaingate.optimizer import Adam


@pytest.fixture
def batch():
    lengths = torch.tensor([9, 1, 0, 4, 9, 2])
    ids = torch.randint(1, 20, (6, 9)).where(torch.arange(9) < lengths[:, None], 0)
    return Batch(ids, lengths, lengths * 0, lengths >= 0, lengths * 0, lengths >= 0)


def test_the_plain_reader_is_the_same_function_with_the_same_gradients(batch):
    """Do values and gradients agree in float64?"""
    torch.manual_seed(0)
    config = FitConfig(embedding_size=6, filters=5, widths=(2, 4, 12))
    ours = ConvolutionalReader(20, 3, config).double()
    plain = PlainReader(ours, 9)
    a, b = ours(batch), plain(batch)
    torch.testing.assert_close(a, b, rtol=0, atol=1e-10)
    torch.testing.assert_close(plain(batch, 2), b[:, :2], rtol=0, atol=1e-12)
    weights = torch.randn_like(a)
    (a * weights).sum().backward()
    (b * weights).sum().backward()
    embedding = ours.embedding.grad.to_dense()
    torch.testing.assert_close(embedding, plain.embedding.grad, rtol=0, atol=1e-10)
    row = 0
    for weight, bias in zip(ours.weights, ours.biases, strict=True):
        for channel in range(3):
            convolution = plain.convolutions[row]
            torch.testing.assert_close(
                weight.grad[channel].permute(1, 2, 0), convolution.weight.grad, rtol=0, atol=1e-10
            )
            torch.testing.assert_close(bias.grad[channel], convolution.bias.grad, rtol=0, atol=1e-10)
            row += 1


def test_a_whole_step_is_the_plain_one(make_model, batch):
    """Are CSDA's terms, and the gradients of prior, posterior and channels, those of the plain way, in float64?"""
    ours, other = make_model(sizes=Sizes(20, 3, 2)), plain(make_model(sizes=Sizes(20, 3, 2)), 9)
    found = []
    for model in (ours, other):
        torch.manual_seed(1)
        terms = model.terms(batch, 0.0)
        torch.stack(list(terms.values())).sum().backward()
        found.append({name: float(term.detach()) for name, term in terms.items()})
    assert found[0] == pytest.approx(found[1], abs=1e-10)
    plain_gradients = dict(other.named_parameters())
    compared = 0
    for name, parameter in ours.named_parameters():
        if not name.startswith("reader."):
            torch.testing.assert_close(parameter.grad, plain_gradients[name].grad, rtol=0, atol=1e-10)
            compared += 1
    assert compared > 10
    embedding = ours.reader.embedding.grad.to_dense()
    torch.testing.assert_close(embedding, other.reader.embedding.grad, rtol=0, atol=1e-10)
    by_width = [weight.grad.permute(0, 2, 3, 1).flatten(0, 1) for weight in ours.reader.weights]
    theirs = [convolution.weight.grad for convolution in other.reader.convolutions]
    n = len(ours.reader.weights[0])
    for row, gradient in enumerate(by_width):
        expected = torch.cat(theirs[row * n : (row + 1) * n])
        torch.testing.assert_close(gradient, expected, rtol=0, atol=1e-10)


def test_rows_give_the_weights_of_dense_adam():
    """Is Adam over gradients given as rows equal to the bit to dense fused Adam, while other rows come and go?"""
    torch.manual_seed(0)
    ours = torch.nn.Parameter(torch.randn(50, 4))
    dense = torch.nn.Parameter(ours.detach().clone())
    optimizers = Adam([ours], 1e-2), torch.optim.Adam([dense], lr=1e-2, fused=True)
    for _ in range(30):
        rows = torch.randint(0, 50, (7,)).unique()
        push = torch.randn(len(rows), 4)
        for parameter, optimizer, sparse in zip((ours, dense), optimizers, (True, False), strict=True):
            optimizer.zero_grad()
            (torch.nn.functional.embedding(rows, parameter, sparse=sparse) * push).sum().backward()
            optimizer.step()
    assert torch.equal(ours, dense)


def test_every_way_is_measured(monkeypatch):
    """Does a bench on few tiny texts give a row for training and prediction of words and bytes?"""
    from domaingate import bench

    small = FitConfig(channels=1, filters=4, embedding_size=8, limit=30)
    monkeypatch.setattr(bench, "FitConfig", lambda **options: FitConfig(**{**vars(small), **options, "channels": 2}))
    measured = measure("synthetic", quick=True, tell=lambda _: None)
    assert [row["what"] for row in measured["comparisons"]] == [
        "training, words", "prediction, words", "training, bytes", "prediction, bytes",
    ]  # fmt: skip
    assert all(row["ratio"] > 0 and row["texts_per_second"] > 0 for row in measured["comparisons"])
