"""Are runs of bytes counted as one would by hand, each in a column of its own?"""

import json
import time
from collections import Counter

import numpy as np
import pytest

from domaingate.baselines import byte_ngrams
from domaingate.cleaning import clean
from domaingate.config import ModelConfig
from domaingate.encoding import encoder_from_json, train_encoder
from domaingate.errors import DomainGateError
from domaingate.ngrams import RunList, RunTable, codes_of


def by_hand(text, longest):
    told = text.encode()
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
    assert byte_ngrams(["abc" * 1000]).sum() == 1000 + 999 + 998 + 997
    many = byte_ngrams(["abcabca"] * 2001, bits=12)
    assert many.shape == (2001, 4096)
    assert np.unique(many.sum(axis=1)).tolist() == [7 + 6 + 5 + 4]


def test_no_text_has_no_row():
    """Is nothing a matrix of no rows?"""
    assert byte_ngrams([]).shape == (0, 1 << 18)


def numbers(*texts):
    return [np.array(text, dtype=np.int32) for text in texts]


def codes(text, longest):
    return set(codes_of(numbers(text), longest)[0].ravel().tolist()) - {0}


def test_the_known_runs_are_those_of_enough_texts():
    """Are runs counted once a text, over groups of texts, and the most frequent kept?"""
    texts = numbers([1, 2, 1, 2], [2, 1], [1, 2, 3]) * 700  # more than are looked at in one go
    runs = RunList.train(texts, 2, 1, 100)
    assert runs.texts == 2100
    assert dict(zip(runs.codes.tolist(), runs.counts.tolist(), strict=True)) == {
        **dict.fromkeys(codes([1], 1) | codes([2], 1), 2100),
        **dict.fromkeys(codes([1, 2], 2) - codes([1], 1) - codes([2], 1), 1400),
        **dict.fromkeys(codes([2, 1], 2) - codes([1], 1) - codes([2], 1), 1400),
        **dict.fromkeys(codes([3], 1) | (codes([2, 3], 2) - codes([2], 1)), 700),
    }
    assert sorted(RunList.train(texts, 2, 1, 4).counts) == [1400, 1400, 2100, 2100]
    assert sorted(RunList.train(texts, 2, 1401, 100).counts) == [2100, 2100]
    assert len(RunList.train([], 2, 1, 100).codes) == 0


def test_a_known_run_stands_in_several_domains():
    """Is a run of one domain unknown however frequent, and is an unknown domain none?"""
    texts, domains = numbers([1], [1, 2], [1, 2], [3], [3], [1, 2, 3]), ["a", "a", "b", None, None, None]
    for spread, known in ((1, codes([1, 2, 3], 2)), (2, codes([1, 2], 2)), (3, set())):
        assert set(RunList.train(texts, 2, 1, 100, domains, spread).codes.tolist()) == known
    assert sorted(RunList.train(texts, 2, 1, 100, domains, 2).counts.tolist()) == [3, 3, 4]


@pytest.mark.parametrize(("counts", "texts"), [([1], 5), ([1, 6], 5), ([0, 1], 5), ([1, 1], -5)])
def test_runs_that_no_texts_can_have_are_refused(counts, texts):
    """Is a damaged list not taken for one?"""
    with pytest.raises(ValueError, match="every run stands in one text or more"):
        RunList(np.array([5, 9], dtype=np.uint64), np.array(counts), texts)


def test_a_rare_run_counts_more():
    """Is a weight the inverse document frequency, and that of padding 0?"""
    runs = RunList(np.array([5, 9], dtype=np.uint64), np.array([99, 9]), 99)
    assert runs.rarity() == pytest.approx([0, 1, 1 + np.log(10)])


def test_a_table_knows_its_runs_and_no_others():
    """Is a row that of the very run, is every other code unknown, and are few of many runs crowded out?"""
    random = np.random.default_rng(0)
    every = np.unique(random.integers(1, 2**63, 30_000).astype(np.uint64))
    known, others = np.sort(random.permutation(every)[:20_000]), np.setdiff1d(every, every[:0])
    counts = random.integers(1, 100, 20_000)
    found = RunTable(RunList(known, counts, 100)).rows(known)
    there = found > 0
    assert (found[there] == np.flatnonzero(there) + 1).all()
    assert 0.95 < there.mean() < 1
    assert counts[there].mean() > counts[~there].mean()
    unknown = np.setdiff1d(others, known)
    assert not RunTable(RunList(known, counts, 100)).rows(np.append(unknown, np.uint64(0))).any()


def encoder(texts, **options):
    return train_encoder(texts, ModelConfig(reader="ngrams", min_count=1, **options))


def test_no_known_run_is_told():
    """Is a vocabulary without a run one sentence rather than a model that knows nothing?"""
    with pytest.raises(DomainGateError, match="No run of words stands in 5 training texts or more"):
        train_encoder(["a b", "c d"], ModelConfig(reader="ngrams", min_count=5))
    asked = ModelConfig(reader="ngrams", min_count=1, ngram_domains=2)
    with pytest.raises(DomainGateError, match="lower --min-count or --ngram-domains"):
        train_encoder(["a b", "c d"], asked, ["x", "y"])
    with pytest.raises(DomainGateError, match="--ngram-domains is 2, but 1 training domains are known"):
        train_encoder(["a b", "a b"], asked, ["x", None])


def test_runs_stand_in_the_order_of_their_places():
    """Is a text's list cut at a place the list of the text cut there, but for runs that reach over the cut?"""
    made = encoder(["a b c d", "b c"], ngrams=2)
    (whole,) = made.encode(["a b c d"])
    (first,), (last,) = made.encode(["a b"]), made.encode(["c d"])
    assert len(whole) == 7  # four words, three pairs
    assert whole[:3].tolist() == first.tolist()[:3]
    assert whole[-3:].tolist() == last.tolist()
    assert made.at_a_place == 2


@pytest.mark.parametrize("options", [{}, {"tokens": "bytes"}, {"tokens": "bytes", "clean": "web"}, {"clean": "web"}])
def test_json_keeps_every_run(options):
    """Does an encoder that went through JSON give identical numbers and weights?"""
    made = encoder(TEXTS, **options)
    again = encoder_from_json(json.loads(json.dumps(made.to_json())))
    assert (again.size, again.limit, again.at_a_place) == (made.size, made.limit, made.at_a_place)
    assert again.weights.tolist() == made.weights.tolist()
    for one, other in zip(made.encode([*TEXTS, "", "new"]), again.encode([*TEXTS, "", "new"]), strict=True):
        assert one.tolist() == other.tolist()
        assert (one > 0).all()
        assert (one < made.size).all()


TEXTS = ["The kettle sings.", "The kettle hums, http://kettle.example/a @bob", "42 lamps"]


def test_a_text_alone_has_the_runs_that_it_has_among_others():
    """Do thousands of texts, more than are read in one go, change nothing?"""
    made = encoder(TEXTS, tokens="bytes")
    many = made.encode(TEXTS * 800)
    for text, runs in zip(TEXTS * 800, many, strict=True):
        assert runs.tolist() == many[TEXTS.index(text)].tolist()
    assert [one.tolist() for one in many[:3]] == [made.encode([text])[0].tolist() for text in TEXTS]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hello, World!", " hello, world! "),
        ("See https://a.example/b?c=1 and www.x.example now", " see and now "),
        ("RT @some_one: hi me@mail.example", " rt : hi "),
        ("<b>Bold</b> &amp; [[Page name|shown]] {{x}}", " bold shown x "),
        ("#tag 12.5% 2024", " tag . % "),
        ("  \n ", ""),
        ("@a 1 http://b", ""),
        ("ÄÖ ΣΑΣ İ", " äö σας i̇ "),
        ("今天我和@张三去了北京.很好玩", " 今天我和@张三去了北京.很好玩 "),
        ("看看http://t.cn/abc今天天气真不错", " 看看 今天天气真不错 "),
        ("I <3 you. But she said > no", " i < you. but she said > no "),
    ],
)
def test_what_cleaning_leaves(text, left):
    """Is what is no language gone, and the rest in small letters between single blanks?"""
    assert clean(text) == left


def test_clean_texts_have_clean_words():
    """Is the vocabulary one of clean texts, and are megabytes no burden?"""
    made = train_encoder(TEXTS, ModelConfig(min_count=1, clean="web"))
    assert made.encode(["kettle @bob"])[0].tolist() == made.encode(["KETTLE http://a.example"])[0].tolist()
    assert made.encode(["example bob lamps"])[0].tolist()[:2] == [1, 1]
    assert len(made.encode(["kettle 1 " * 1_000_000])[0]) == 256
    started = time.perf_counter()
    for endless in ("a", "@", "a@", "<a", "[[", "&", "a.", "http://"):
        clean(endless * 20_000)
    assert time.perf_counter() - started < 2
