"""Texts to numbers: what a word is, what is unknown, and that nothing a text holds can break it."""

import json
import time

import numpy as np
import pytest

from domaingate.config import ModelConfig
from domaingate.encoding import encoder_from_json, train_encoder

TRAINING = ["the kettle sings", "the kettle hums", "The lamp, the lamp!!! isn't it", "it hums", "don't", "don't"]
STRANGE = {
    "nothing": "",
    "spaces": " \t\n  ",
    "a NUL": "the\0kettle \0",
    "emoji": "the \N{GRINNING FACE}\N{ZERO WIDTH JOINER}\N{HEAVY BLACK HEART} kettle",
    "a lone surrogate": "the \ud83d kettle",
    "both halves of a pair": "the \ud83d\ude00 kettle",
    "combining marks": "cafe\N{COMBINING ACUTE ACCENT} café",
    "right to left": "\u202ethe kettle\u202c",
    "one endless word": "a" * 100_000,
    "many scripts": "чайник поёт 茶壶唱歌 केतली ケトル",
    "control characters": "the\x01\x02\x7f\x85kettle",
    "not a character": "the \uffff\ufffe kettle",
    "our own marks": "[PAD] the [UNK] kettle [CLS]",
}


def words(texts=TRAINING, **options):
    return train_encoder(texts, ModelConfig(**{"min_count": 1, **options}))


def bytes_encoder(**options):
    return train_encoder(TRAINING, ModelConfig(tokens="bytes", **options))


def ids(encoder, text):
    return encoder.encode([text])[0].tolist()


def test_words_are_lower_cased_runs_of_letters_or_marks():
    """What is a word: case, apostrophes, punctuation?"""
    encoder = words()
    assert ids(encoder, "THE Kettle") == ids(encoder, "the  kettle\n")
    assert len(ids(encoder, "isn't it!!!")) == 3
    assert len(ids(encoder, "lamp,lamp ,lamp")) == 5
    assert len(set(ids(encoder, "the kettle sings hums lamp , !!! isn't it don't"))) == 10
    assert ids(encoder, "cafe\N{COMBINING ACUTE ACCENT}") == ids(encoder, "café") == [1]


def test_numbers_are_below_the_size_and_zero_is_padding_alone():
    """Is 0 kept for padding and 1 for unknown words?"""
    encoder = words()
    assert encoder.size == 2 + 10
    everything = ids(encoder, " ".join(TRAINING))
    assert set(everything) == set(range(2, encoder.size))
    assert ids(encoder, "never seen before") == [1, 1, 1]


@pytest.mark.parametrize("text", ["[PAD]", "[UNK]", "the [PAD] kettle", "[pad]"])
def test_no_text_can_spell_padding(text):
    """Is a text that holds our own marks read like any other: brackets and a word?"""
    encoder = words([*TRAINING, "[ pad unk ]"])
    brackets = ids(encoder, "[") + ids(encoder, "]")
    found = ids(encoder, text)
    assert 0 not in found
    assert found.count(brackets[0]) == found.count(brackets[1]) == 1


def test_rare_words_are_unknown():
    """Are words rarer than `min_count` in the training texts unknown, and no others?"""
    twice = words(min_count=2)
    assert ids(twice, "the kettle hums it don't lamp") == [2, *ids(twice, "kettle hums it don't lamp")]
    assert 1 not in ids(twice, "the kettle hums it don't lamp")
    assert ids(twice, "sings isn't") == [1, 1]
    assert words(min_count=100).size == 2


def test_the_vocabulary_is_of_training_texts_only_and_their_order_does_not_matter():
    """Does encoding other texts, or reading the training texts in another order, change a number?"""
    encoder, backwards = words(), words(TRAINING[::-1])
    before = ids(encoder, "the kettle whistles")
    encoder.encode(["whistles " * 50])
    assert ids(encoder, "the kettle whistles") == before == ids(backwards, "the kettle whistles")
    assert encoder.to_json() == backwards.to_json()


def test_bytes_are_bytes():
    """Is byte b number b + 1, in UTF-8, whatever was in training?"""
    encoder = bytes_encoder()
    assert encoder.size == 257
    assert ids(encoder, "aB\0") == [98, 67, 1]
    assert ids(encoder, "é") == [0xC3 + 1, 0xA9 + 1]
    assert ids(encoder, "") == []


def test_limits():
    """Are 256 words and 1,000 bytes read unless told otherwise, from the start, and no word more?"""
    assert words().limit == 256
    assert bytes_encoder().limit == 1000
    assert len(ids(words(), "the " * 1000)) == 256
    assert len(ids(bytes_encoder(), "x" * 5000)) == len(ids(bytes_encoder(), "é" * 700)) == 1000
    long = "the kettle hums " * 100
    for make in (words, bytes_encoder):
        assert ids(make(limit=7), long) == ids(make(), long)[:7]


@pytest.mark.parametrize("make", [words, bytes_encoder])
@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
def test_no_text_breaks_it(make, text):
    """Is every Python string a text, alone and among others, in training and afterwards?"""
    encoder = make()
    alone = ids(encoder, text)
    assert all(0 < number < encoder.size for number in alone)
    among = encoder.encode(["the kettle", text, "", "hums"])
    assert among[1].tolist() == alone
    assert among[0].tolist() == ids(encoder, "the kettle")


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
def test_no_text_breaks_a_vocabulary(text):
    """Can every Python string stand among the training texts, and are its words then known?"""
    encoder = words([text, "the kettle"])
    assert ids(encoder, "the kettle") == ids(encoder, "THE KETTLE")
    assert all(number > 1 for number in ids(encoder, text))


def test_empty_texts_have_no_tokens():
    """Is a text without a word an empty list of numbers, and no texts an empty list?"""
    for encoder in (words(), bytes_encoder()):
        assert [one.tolist() for one in encoder.encode(["", ""])] == [[], []]
        assert encoder.encode([]) == []
        assert all(one.dtype == np.int32 for one in encoder.encode(["", "the kettle"]))
    assert ids(words(), " \n ") == []


@pytest.mark.parametrize("make", [words, bytes_encoder])
def test_megabytes_cost_no_more_than_a_page(make):
    """Is a text of ten million characters read in less than a second, in training and afterwards?"""
    text = "the kettle hums " * 650_000
    started = time.perf_counter()
    encoder = make()
    found = ids(encoder, text)
    train_encoder([text], ModelConfig(min_count=1))
    assert time.perf_counter() - started < 1
    assert len(found) == encoder.limit


@pytest.mark.parametrize("make", [words, bytes_encoder])
def test_json_keeps_every_number(make):
    """Does an encoder that went through JSON give identical numbers?"""
    encoder = make(limit=20)
    again = encoder_from_json(json.loads(json.dumps(encoder.to_json())))
    assert (again.limit, again.size) == (encoder.limit, encoder.size)
    for text in [*TRAINING, *(text for text in STRANGE.values() if "\ud83d" not in text)]:
        assert ids(again, text) == ids(encoder, text)
    assert again.to_json() == encoder.to_json()
