"""Documents to tensors: nothing lost, nothing twice, nothing known that is not."""

from collections import Counter

import numpy as np
import pytest
import torch

from domaingate.batches import Dataset, dataset, in_order, shuffled
from domaingate.config import ModelConfig
from domaingate.corpora.document import Document
from domaingate.encoding import train_encoder


def numbered(lengths):
    """Texts whose every token is their own number plus one, so that a row tells which document it is."""
    count = len(lengths)
    texts = [np.full(length, row + 1, dtype=np.int32) for row, length in enumerate(lengths)]
    return Dataset(texts, np.arange(count) % 3 - 1, np.arange(count) % 4 - 1)


def documents_of(batches):
    return [int(row[0]) - 1 for batch in batches for row in batch.ids]


@pytest.fixture
def data():
    return numbered(np.random.default_rng(0).integers(1, 60, 1000).tolist())


def test_a_batch_holds_its_documents(data):
    """Are ids, lengths, labels, domains and masks those of the documents, with zeros after each end?"""
    rows = [5, 900, 6, 3]
    batch = data.batch(rows)
    assert batch.ids.dtype == torch.int64
    assert batch.lengths.tolist() == [len(data.texts[row]) for row in rows]
    assert batch.ids.shape == (4, max(batch.lengths))
    for row, ids, length in zip(rows, batch.ids, batch.lengths, strict=True):
        assert ids[:length].tolist() == data.texts[row].tolist()
        assert not ids[length:].any()
    for name in ("label", "domain"):
        truth = torch.from_numpy(getattr(data, name)[rows])
        known = getattr(batch, f"{name}_known")
        assert torch.equal(known, truth >= 0)
        assert torch.equal(getattr(batch, name)[known], truth[known])
        assert (getattr(batch, name) >= 0).all()
    assert len(batch) == 4


def test_empty_texts_make_a_batch():
    """Is a batch of empty texts one column of padding?"""
    batch = numbered([0, 0]).batch([0, 1])
    assert batch.ids.tolist() == [[0], [0]]
    assert batch.lengths.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("count", "size"), [(1000, 32), (1000, 7), (33, 32), (32, 32), (31, 32), (1, 32), (3300, 2), (5, 1)]
)
def test_every_document_is_there_once_an_epoch(count, size):
    """Does an epoch hold every document exactly once, in batches no larger than asked for?"""
    lengths = np.random.default_rng(1).integers(1, 30, count).tolist()
    batches = list(shuffled(numbered(lengths), size, np.random.default_rng(0)))
    assert Counter(documents_of(batches)) == Counter(range(count))
    assert all(1 <= len(batch) <= size for batch in batches)
    assert len(batches) == -(-count // size)


def test_a_batch_holds_texts_of_similar_length(data):
    """Is little padding computed: a tenth of what batches in any order would hold?"""
    batches = list(shuffled(data, 32, np.random.default_rng(0)))
    padding = sum(int((batch.ids == 0).sum()) for batch in batches)
    unsorted = sum(
        int((data.batch(np.arange(start, min(start + 32, 1000))).ids == 0).sum()) for start in range(0, 1000, 32)
    )
    assert padding < unsorted / 10


def test_the_order_depends_on_the_generator_alone(data):
    """Does seed and epoch decide the order, whatever torch's or numpy's own generators are at?"""

    def order(seed, epoch):
        return documents_of(shuffled(data, 32, np.random.default_rng([seed, epoch])))

    first = order(0, 1)
    torch.manual_seed(99)
    assert order(0, 1) == first
    others = [order(0, 2), order(1, 1), order(1, 2)]
    assert len({tuple(one) for one in (first, *others)}) == 4
    assert first != sorted(first, key=lambda row: len(data.texts[row]))


def test_batches_mix_again_in_each_epoch(data):
    """Do documents meet other documents in the next epoch?"""

    def company(epoch):
        batches = shuffled(data, 8, np.random.default_rng([0, epoch]))
        return {frozenset(documents_of([batch])) for batch in batches}

    assert len(company(1) & company(2)) < 5


def test_in_order_tells_which_rows_it_took(data):
    """Does prediction see every document once, the longest first, and know which is which?"""
    seen, lengths = [], []
    for rows, batch in in_order(data, 256):
        assert documents_of([batch]) == rows.tolist()
        seen += rows.tolist()
        lengths += batch.lengths.tolist()
    assert sorted(seen) == list(range(1000))
    assert lengths == sorted(lengths, reverse=True)


ENCODER = train_encoder(["a b", "a c"], ModelConfig(min_count=1))


def test_what_is_unknown_or_not_in_the_lists_is_minus_one():
    """Are None and names outside of the lists unknown?"""
    documents = [
        Document("a", "good", "tea"),
        Document("b", None, "jam"),
        Document("c", "bad", None),
        Document("a", "odd", "far"),
    ]
    data = dataset(documents, ENCODER, ["bad", "good"], ["jam", "tea"])
    assert data.label.tolist() == [1, -1, 0, -1]
    assert data.domain.tolist() == [1, 0, -1, -1]
    assert len(data) == 4
    assert len(dataset([], ENCODER, ["bad"], [])) == 0


def test_an_unknown_label_is_not_the_empty_one():
    """Where "" is a label or a domain, is None still unknown?"""
    documents = [Document("a", None, None), Document("b", "", "")]
    data = dataset(documents, ENCODER, ["", "good"], ["", "tea"])
    assert data.label.tolist() == [-1, 0]
    assert data.domain.tolist() == [-1, 0]


def spelled(lengths):
    """Texts whose tokens count up, so that a stretch tells where it was taken."""
    texts = [np.arange(1, length + 1, dtype=np.int32) for length in lengths]
    return Dataset(texts, np.arange(len(lengths)), np.arange(len(lengths)))


def test_a_cut_text_is_a_stretch_of_it():
    """Is what is left one piece of the text, with its label and domain, and never shorter than a few tokens?"""
    lengths = [0, 1, 5, 8, 9, 40, 1000] * 50
    data = spelled(lengths)
    cut = data.cut(1.0, np.random.default_rng(0))
    for text, length in zip(cut.texts, lengths, strict=True):
        assert min(length, 8) <= len(text) <= length
        assert (np.diff(text) == 1).all()
    assert cut.label is data.label
    assert cut.domain is data.domain
    long = [text for text, length in zip(cut.texts, lengths, strict=True) if length == 1000]
    assert {len(text) for text in long} != {1000}
    assert max(text[0] for text in long) > 500


def test_lengths_of_cut_texts_are_even_octave_by_octave():
    """Are stretches of 8 to 16 tokens as many as those of 512 to 1,024?"""
    lengths = [len(text) for text in spelled([1024] * 7000).cut(1.0, np.random.default_rng(0)).texts]
    octaves = np.bincount(np.minimum(np.log2(lengths).astype(int), 9))[3:]
    assert octaves == pytest.approx(np.full(7, 1000), rel=0.15)


def test_a_share_of_the_texts_is_cut():
    """Are the others whole, and is nothing drawn where nothing is cut?"""
    data, random = spelled([512] * 2000), np.random.default_rng(0)
    before = random.bit_generator.state
    assert data.cut(0.0, random) is data
    assert random.bit_generator.state == before
    whole = sum(len(text) == 512 for text in data.cut(0.3, random).texts)
    assert 1300 < whole < 1500
