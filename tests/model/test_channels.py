"""The convolutional reader against a convolution and a maximum written the plain way."""

import copy

import pytest
import torch
import torch.nn.functional as F
from gradients import grad

from domaingate.config import ModelConfig
from domaingate.model import channels
from domaingate.model.channels import ConvolutionalReader, max_over_time


@pytest.fixture(autouse=True, params=["as a CPU", "as a GPU"])
def device_kind(request, monkeypatch):
    """Whatever is asked here is asked of the ways of both kinds of device."""
    if request.param == "as a GPU":
        monkeypatch.setattr(channels, "_MEANS", {})


def plain_max_over_time(embedding, weight, texts):
    """(B, n, filters) by F.conv1d, one text and one channel at a time, each window starting at a token."""
    width = weight.shape[1]
    maxima = []
    for text in texts:
        vectors = F.embedding(torch.tensor(text, dtype=torch.int64), embedding)  # (T, D)
        vectors = F.pad(vectors, (0, 0, 0, max(1, len(text)) - len(text) + width - 1))  # an empty text is one window
        values = [F.conv1d(vectors.T[None], channel.permute(1, 2, 0))[0] for channel in weight]  # (filters, T)
        maxima.append(torch.stack([value.max(dim=1).values for value in values]))
    return torch.stack(maxima)


def plain_reader(reader, texts):
    maxima = [
        plain_max_over_time(reader.embedding, weight, texts) + bias
        for weight, bias in zip(reader.weights, reader.biases, strict=True)
    ]
    return F.relu(torch.cat(maxima, dim=-1))


def make_reader(seed, vocabulary=15, n=2, widths=(1, 2, 4), filters=5, size=6, embedding="trained"):
    torch.manual_seed(seed)
    config = ModelConfig(embedding_size=size, widths=widths, filters=filters, embedding=embedding)
    return ConvolutionalReader(vocabulary, n, config).double()


def random_texts(seed, count, longest, vocabulary):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, longest + 1, (count,), generator=generator).tolist()
    return [torch.randint(1, vocabulary, (length,), generator=generator).tolist() for length in lengths]


def gradients(reader, vectors, seed=0):
    torch.manual_seed(seed)
    share = torch.randn_like(vectors)
    parameters = {name: one for name, one in reader.named_parameters() if one.requires_grad}
    return dict(zip(parameters, grad((vectors * share).sum(), parameters.values()), strict=True))


def assert_like_the_plain_reader(reader, texts, batch):
    vectors, plain = reader(batch), plain_reader(reader, texts)
    torch.testing.assert_close(vectors, plain, rtol=0, atol=1e-10)
    found, expected = gradients(reader, vectors), gradients(reader, plain)
    for name in expected:
        if name == "embedding":
            expected[name][0] = 0  # padding is no token
        torch.testing.assert_close(found[name], expected[name], rtol=0, atol=1e-10, msg=name)


SHAPES = [  # texts, longest text, vocabulary, channels, widths, filters, embedding size
    (1, 1, 4, 1, (1,), 1, 1),
    (1, 9, 4, 1, (3, 4, 5), 4, 3),
    (3, 2, 6, 2, (5, 7), 3, 4),
    (8, 12, 30, 3, (1, 2, 3), 4, 5),
    (9, 12, 30, 1, (2,), 6, 5),
    (23, 17, 9, 2, (3, 5), 7, 4),
    (40, 5, 100, 4, (4,), 2, 8),
    (17, 40, 3, 2, (1, 6), 5, 2),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_gradients_are_those_of_a_convolution(shape, seed, make_batch):
    """Are values and the gradients of weights, biases and embedding those of conv1d, a maximum and autograd?"""
    count, longest, vocabulary, n, widths, filters, size = shape
    reader = make_reader(seed, vocabulary, n, widths, filters, size)
    texts = random_texts(seed, count, longest, vocabulary)
    assert_like_the_plain_reader(reader, texts, make_batch(texts, margin=seed))


EDGES = {
    "one empty text": [[]],
    "empty texts only": [[], [], []],
    "an empty text among others": [[1, 2, 3], [], [4]],
    "one token": [[5]],
    "filters wider than the text": [[1, 2], [3]],
    "one token again and again": [[7] * 12, [7] * 3, [7]],
    "the same text twice": [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]],
    "a phrase that returns": [[1, 2, 3, 9, 1, 2, 3, 9, 1, 2, 3], [9, 1]],
    "twenty texts, one long": [[1 + row % 14] * (row % 3) for row in range(19)] + [list(range(1, 15)) * 4],
}


@pytest.mark.parametrize("texts", EDGES.values(), ids=EDGES.keys())
def test_texts_at_the_edge(texts, make_batch):
    """Do empty, tiny and repetitive texts have the values and gradients of the plain convolution?"""
    assert_like_the_plain_reader(make_reader(4), texts, make_batch(texts))


def test_many_random_small_cases(make_batch):
    """Does the equality survive two hundred random shapes?"""
    for seed in range(200):
        draw = torch.Generator().manual_seed(seed)

        def up_to(high, draw=draw):
            return int(torch.randint(1, high + 1, (), generator=draw))

        vocabulary, widths = up_to(12) + 1, tuple(sorted({up_to(6), up_to(6)}))
        reader = make_reader(seed, vocabulary, up_to(3), widths, up_to(4), up_to(5))
        texts = random_texts(seed, up_to(20), up_to(10), vocabulary)
        assert_like_the_plain_reader(reader, texts, make_batch(texts, margin=up_to(3) - 1))


def test_float32_stays_near_float64(make_batch):
    """Is the everyday precision right to rounding?"""
    wide = make_reader(0, vocabulary=40, n=3, widths=(3, 4, 5), filters=16, size=32)
    texts = random_texts(0, 20, 30, 40)
    vectors = copy.deepcopy(wide).float()(make_batch(texts))
    assert vectors.dtype == torch.float32
    torch.testing.assert_close(vectors.double(), wide(make_batch(texts)), rtol=0, atol=2e-6)


def test_float32_gradients_stay_near_float64(make_batch):
    """At a size that goes through the fast products, are the gradients right to rounding, but for a near tie?"""
    wide = make_reader(0, vocabulary=300, n=2, widths=(3, 5), filters=128, size=300)
    batch = make_batch(random_texts(0, 16, 60, 300))
    narrow = copy.deepcopy(wide).float()
    push = torch.randn(16, 2, wide.size, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for reader in (wide, narrow):
        (reader(batch) * push.to(reader.embedding.dtype)).sum().backward()
    for exact, rounded in zip(wide.parameters(), narrow.parameters(), strict=True):
        expected, found = (one.grad.to_dense() if one.grad.is_sparse else one.grad for one in (exact, rounded))
        assert found.dtype == torch.float32
        assert (found.double() - expected).norm() < 1e-4 * expected.norm()


def test_finite_differences_agree():
    """Does autograd's own check find the gradients right?"""
    torch.manual_seed(0)
    embedding = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 3, 4, 3, dtype=torch.float64, requires_grad=True)
    rows = torch.tensor([[1, 2, 3, 4, 5, 6], [3, 1, 0, 0, 0, 0], [6, 6, 5, 0, 0, 0], [0] * 6])
    lengths = torch.tensor([6, 2, 3, 0])
    assert torch.autograd.gradcheck(lambda e, w: max_over_time(e, w, rows, lengths), (embedding, weight))


def test_on_a_tie_the_first_window_has_the_gradient():
    """Where two windows are equal to the bit, does the whole gradient go to the first, and none of it twice?"""
    embedding = torch.tensor(
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], dtype=torch.float64, requires_grad=True
    )
    weight = torch.ones(1, 1, 1, 2, dtype=torch.float64, requires_grad=True)
    rows, lengths = torch.tensor([[3, 2, 1, 2, 3]]), torch.tensor([5])  # tokens 2 and 1 both have the value 1
    value = max_over_time(embedding, weight, rows, lengths)
    value.sum().backward()
    assert value.item() == 1
    assert embedding.grad.tolist() == [[0, 0], [0, 0], [1, 1], [0, 0]]
    assert weight.grad.flatten().tolist() == [0, 1]


@pytest.mark.parametrize("length", [1, 2, 3, 15, 16, 17, 63, 64, 99, 256, 257, 1000])
def test_the_first_of_many_ties_in_texts_of_any_length(length):
    """Is the winner the first of the largest windows, wherever in the text it stands?"""
    draw = torch.Generator().manual_seed(length)
    for values in (torch.zeros(length), torch.randint(0, 3, (length,), generator=draw), torch.arange(length)):
        embedding = torch.cat([torch.zeros(1), values]).double()[:, None].requires_grad_()
        rows = torch.arange(1, length + 1)[None]  # each token once, many of the same value
        maxima = max_over_time(embedding, torch.ones(1, 1, 1, 1, dtype=torch.float64), rows, torch.tensor([length]))
        (gradient,) = grad(maxima.sum(), [embedding])
        assert gradient.flatten().nonzero().flatten().tolist() == [1 + int(values.argmax())]


def test_prediction_has_the_values_of_training(make_batch):
    """Is a value the same to the bit where nobody asks for a gradient?"""
    reader, batch = make_reader(5), make_batch(random_texts(5, 11, 30, 15))
    with torch.no_grad():
        alone = reader(batch)
    assert torch.equal(alone, reader(batch))


def test_a_tie_with_the_zeros_after_the_text():
    """Is a window that ends after the text a window like others, whose zeros take no gradient to a word?"""
    embedding = torch.tensor([[0.0], [-2.0], [1.0]], dtype=torch.float64, requires_grad=True)
    weight = torch.ones(1, 2, 1, 1, dtype=torch.float64, requires_grad=True)
    value = max_over_time(embedding, weight, torch.tensor([[1, 2]]), torch.tensor([2]))
    value.sum().backward()
    assert value.item() == 1  # the window of the second word and one zero
    assert embedding.grad[1:].flatten().tolist() == [0, 1]
    assert weight.grad.flatten().tolist() == [1, 0]


def test_padding_has_no_gradient_and_is_zero(make_batch):
    """Does padding stay at zero, whatever the batch?"""
    reader = make_reader(1)
    reader(make_batch([[], [1], [2, 3, 4, 5]], margin=3)).sum().backward()
    assert reader.embedding[0].abs().max() == 0
    assert reader.embedding.grad.to_dense()[0].abs().max() == 0
    assert reader.embedding.grad.to_dense()[6:].abs().max() == 0  # tokens that are not in the batch


def test_a_frozen_embedding_has_no_gradient_and_the_same_values(make_batch):
    """Does keeping the embedding change anything but its own gradient?"""
    texts = random_texts(3, 12, 9, 15)
    free, frozen = make_reader(2), make_reader(3, embedding="fixed")
    frozen.load_state_dict(free.state_dict())
    vectors, others = free(make_batch(texts)), frozen(make_batch(texts))
    assert torch.equal(vectors, others)
    found, expected = gradients(frozen, others), gradients(free, vectors)
    assert found.keys() == expected.keys() - {"embedding"}
    assert all(torch.equal(found[name], expected[name]) for name in found)


def test_what_stands_after_the_end_does_not_matter(make_batch):
    """Does more padding change a value, in a single bit?"""
    reader, texts = make_reader(5), random_texts(5, 11, 9, 15)
    assert torch.equal(reader(make_batch(texts)), reader(make_batch(texts, margin=7)))


def test_the_first_few_vectors_are_those_of_all(make_batch):
    """Is asking for less only less work?"""
    reader, batch = make_reader(5, n=4), make_batch(random_texts(5, 11, 9, 15))
    torch.testing.assert_close(reader(batch, 3), reader(batch)[:, :3], rtol=0, atol=1e-12)


def test_channels_are_independent(make_batch):
    """Is channel c of n the same as that channel alone?"""
    reader, batch = make_reader(6, n=3), make_batch(random_texts(6, 10, 9, 15))
    vectors = reader(batch)
    for channel in range(3):
        alone = make_reader(0, n=1)
        state = reader.state_dict()
        alone.load_state_dict({name: one if name == "embedding" else one[channel, None] for name, one in state.items()})
        torch.testing.assert_close(alone(batch)[:, 0], vectors[:, channel], rtol=0, atol=1e-12)


def test_the_size_of_a_vector():
    """Is the vector of the paper's CNN 384 numbers long, and are its fresh weights within conv1d's bounds?"""
    with torch.device("meta"):
        assert ConvolutionalReader(100, 2, ModelConfig()).size == 384
    reader = make_reader(0, n=4, widths=(3,), filters=50, size=12)
    assert 0.95 / 6 < reader.weights[0].abs().max() <= 1 / 6  # 1 / sqrt(3 * 12)
    assert reader.embedding.abs().max() <= 1
    fixed = make_reader(0, vocabulary=500, embedding="fixed").embedding  # uniform in [-1, 1]
    assert 0.99 < fixed.abs().max() <= 1
