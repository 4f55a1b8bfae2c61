"""Every option: its spelling, its values, its range, and the sentence for whoever gets it wrong."""

import json
import math
from dataclasses import MISSING, fields, replace
from typing import get_args

import pytest

from domaingate.config import (
    FitConfig,
    GateName,
    ModelConfig,
    ProtocolConfig,
    TrainingConfig,
    flag,
    from_mapping,
    kind,
    parse,
    read_toml,
    to_json,
    validate,
)
from domaingate.errors import DomainGateError

AS_TYPED = {  # what a person types, and what it means
    "model": ("dsda", "dsda"),
    "gate": ("beta", "beta"),
    "channels": ("7", 7),
    "tokens": ("bytes", "bytes"),
    "limit": ("99", 99),
    "min_count": ("3", 3),
    "embedding": ("fixed", "fixed"),
    "embedding_size": ("50", 50),
    "embedding_scale": ("0.5", 0.5),
    "widths": ("2, 3,5", (2, 3, 5)),
    "filters": ("64", 64),
    "hidden": ("10", 10),
    "dropout": ("0.25", 0.25),
    "label_size": ("5", 5),
    "domain_size": ("6", 6),
    "kl_weight": ("1e-2", 0.01),
    "kl_schedule": ("linear", "linear"),
    "kl_epochs": ("1.5", 1.5),
    "prior_likelihood": ("0.5", 0.5),
    "inference": ("monte-carlo", "monte-carlo"),
    "samples": ("9", 9),
    "learning_rate": ("1e-4", 1e-4),
    "batch_size": ("8", 8),
    "cuts": ("0.5", 0.5),
    "average": ("0.99", 0.99),
    "reader": ("ngrams", "ngrams"),
    "clean": ("web", "web"),
    "ngrams": ("5", 5),
    "ngram_rows": ("1000", 1000),
    "ngram_size": ("16", 16),
    "ngram_domains": ("2", 2),
    "ngram_start": ("bayes", "bayes"),
    "epochs": ("3", 3),
    "patience": ("1", 1),
    "device": ("cuda:1", "cuda:1"),
    "threads": ("2", 2),
    "dev_share": ("0.2", 0.2),
    "held_out": ("tea, jam", ("tea", "jam")),
    "half": ("F", "F"),
    "hide_domains": ("0.5", 0.5),
    "hide_labels": ("0.4", 0.4),
    "test_share": ("0", 0.0),
    "split_seed": ("3", 3),
    "target_dev_share": ("1", 1.0),
    "select": ("target-dev", "target-dev"),
    "seed": ("42", 42),
}
OPTIONS = [item.name for item in fields(FitConfig)]
NUMBERS = [name for name in OPTIONS if kind(FitConfig, name)[0] in (int, float)]
CHOICES = [name for name in OPTIONS if isinstance(kind(FitConfig, name)[0], tuple)]


def with_one(name, value):
    return validate(replace(FitConfig(), **{name: value}))


def test_every_option_is_tried_here():
    """Is there an option that these tests do not know?"""
    assert set(AS_TYPED) == set(OPTIONS)
    assert {*NUMBERS, *CHOICES, "widths", "held_out", "device"} == set(OPTIONS)


def test_every_option_has_a_sentence_a_default_and_a_range():
    """Does every field say what it is for, and is its default allowed?"""
    for item in fields(FitConfig):
        assert item.default is not MISSING
        assert item.metadata["help"].endswith(".")
        assert item.metadata["low"] <= item.metadata["high"]
    assert validate(FitConfig()) == FitConfig()


def test_defaults_are_the_paper_s():
    """Do the numbers of appendix A.1 and section 4 stand as defaults?"""
    config = FitConfig()
    assert (config.widths, config.filters, config.embedding_size) == ((3, 4, 5), 128, 300)
    assert (config.hidden, config.dropout, config.label_size, config.domain_size) == (300, 0.5, 4, 16)
    assert (config.kl_weight, config.batch_size, config.samples, config.inference) == (0.1, 32, 100, "mean")
    assert config.target_dev_share == 0.4


@pytest.mark.parametrize("name", OPTIONS)
def test_a_string_becomes_a_value(name):
    """Is every option's string on the command line read as what it means?"""
    typed, meant = AS_TYPED[name]
    found = parse(FitConfig, name, typed)
    assert found == meant
    assert type(found) is type(meant)
    assert getattr(with_one(name, typed), name) == meant


def test_the_empty_list_and_the_open_option():
    """Does "" hold out no domain, and may an optional value stay open?"""
    assert parse(FitConfig, "held_out", "") == ()
    for name in ("held_out", "channels", "limit", "threads"):
        assert parse(FitConfig, name, None) is None


@pytest.mark.parametrize("name", OPTIONS)
def test_toml_and_json_give_back_what_was_set(name, tmp_path):
    """Does a value that went through a TOML file, or through JSON, come back the same?"""
    config = with_one(name, AS_TYPED[name][1])
    assert from_mapping(FitConfig, json.loads(json.dumps(to_json(config))), "config.json") == config
    value = to_json(config)[name]
    (tmp_path / "run.toml").write_text(f"{name.replace('_', '-')} = {json.dumps(value)}\n", encoding="utf-8")
    assert from_mapping(FitConfig, read_toml(tmp_path / "run.toml"), "run.toml") == config


@pytest.mark.parametrize("name", CHOICES)
def test_a_wrong_choice_is_told_with_the_right_ones(name):
    """Does the sentence name the flag, the value and all that are allowed?"""
    allowed = ", ".join(kind(FitConfig, name)[0])
    optional = kind(FitConfig, name)[1]
    for wrong in ("sideways", "", 3, True, ["dsda"], {}, *(() if optional else (None,))):
        with pytest.raises(DomainGateError) as caught:
            with_one(name, wrong)
        assert str(caught.value) == f"{flag(name)} is {wrong!r}; it takes one of {allowed}."


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_must_be_a_number(name):
    """Are words, lists, truth values and nothing refused where a number is asked for?"""
    plain, optional = kind(FitConfig, name)
    expected = "a whole number" if plain is int else "a number"
    wrongs = ["many", "", "1,5", [], {}, True, "0x10", b"7\xff"] + ([] if optional else [None])
    if plain is int:
        wrongs += [1.5, "1.5", math.nan, math.inf, "1e3"]
    for wrong in wrongs:
        with pytest.raises(DomainGateError) as caught:
            with_one(name, wrong)
        assert str(caught.value) == f"{flag(name)} is {wrong!r}; it takes {expected}."


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, "nan", "inf"])
def test_a_number_must_be_finite(name, wrong):
    """Are NaN and infinity refused everywhere?"""
    with pytest.raises(DomainGateError, match=f"^{flag(name)} is .*; it takes "):
        with_one(name, wrong)


@pytest.mark.parametrize("name", [*NUMBERS, "widths"])
def test_a_number_must_be_in_range(name):
    """Is the first value beyond each end refused, with the range, and each end allowed?"""
    item = FitConfig.__dataclass_fields__[name]
    low, high = item.metadata["low"], item.metadata["high"]
    whole = kind(FitConfig, name)[0] is not float

    def put(value):
        number = int(value) if whole else float(value)
        return (number,) if name == "widths" else number

    below = low - 1 if whole else math.nextafter(low, -math.inf)
    beyond = [below] + ([high + 1 if whole else math.nextafter(high, math.inf)] if high < math.inf else [])
    for wrong in beyond:
        with pytest.raises(DomainGateError, match=f"^{flag(name)} is .*; it takes a value (from|of at least) "):
            with_one(name, put(wrong))
    for right in (low, *([high] if high < math.inf else [])):
        assert getattr(with_one(name, put(right)), name) == put(right)


def test_the_range_is_told():
    """Do sentences give both ends, where there are two?"""
    for name, wrong, sentence in (
        ("dropout", 1.5, "--dropout is 1.5; it takes a value from 0 to 0.99."),
        ("epochs", 0, "--epochs is 0; it takes a value of at least 1."),
        ("widths", (3, 0), "--widths is 0; it takes a value from 1 to 1000."),
        ("channels", 5000, "--channels is 5000; it takes a value from 1 to 4096."),
    ):
        with pytest.raises(DomainGateError) as caught:
            with_one(name, wrong)
        assert str(caught.value) == sentence


@pytest.mark.parametrize("seed", [2**63, 10**400], ids=["just beyond", "far beyond"])
def test_a_seed_beyond_its_range_is_told_so(seed):
    """Is the sentence about a seed that is too large true: does it name an upper end?"""
    with pytest.raises(DomainGateError, match=r"^--seed is .*; it takes a value from 0 to "):
        with_one("seed", seed)


@pytest.mark.parametrize("wrong", [5, 3.0, True])
def test_a_single_number_is_no_list(wrong):
    """Is `widths = 5` of a TOML file refused in words that a person understands?"""
    with pytest.raises(DomainGateError) as caught:
        with_one("widths", wrong)
    assert "--widths is" in str(caught.value)
    assert "iterable" not in str(caught.value)


def test_a_list_must_hold_the_right_things():
    """Are empty widths and widths of words refused?"""
    with pytest.raises(DomainGateError, match=r"^--widths is empty; it takes one width or more, such as 3,4,5\.$"):
        with_one("widths", ())
    for wrong in ("3,x", ("3", "x"), (3, None), (True,), (1.5,)):
        with pytest.raises(DomainGateError, match=r"^--widths is .*; it takes a whole number\.$"):
            with_one("widths", wrong)


@pytest.mark.parametrize("wrong", [None, 5, True, ["cpu"]])
def test_a_device_is_a_word(wrong):
    """Is a device that is no string refused, rather than read as its own spelling?"""
    with pytest.raises(DomainGateError, match=r"^--device is "):
        with_one("device", wrong)


def test_unknown_keys_are_told_with_a_hint():
    """Does a misspelt key name the file, the key and the nearest option, or list all?"""
    with pytest.raises(DomainGateError, match=r"^run\.toml sets chanels, which is no option; did you mean channels\?$"):
        from_mapping(FitConfig, {"chanels": 3}, "run.toml")
    with pytest.raises(
        DomainGateError, match=r"^run\.toml sets zzzz, which is no option\. Known: average, .*widths\.$"
    ):
        from_mapping(FitConfig, {"zzzz": 3}, "run.toml")
    with pytest.raises(
        DomainGateError, match=r"^run\.toml: --gate is 'gauss'; it takes one of dirichlet, beta, gamma\.$"
    ):
        from_mapping(FitConfig, {"gate": "gauss"}, "run.toml")
    with pytest.raises(DomainGateError, match=r"^--epochs is 0; it takes a value of at least 1"):
        from_mapping(FitConfig, {"epochs": 0})
    with pytest.raises(DomainGateError, match=r"^--threads is 100000; it takes a value from 1 to 1024"):
        from_mapping(FitConfig, {"threads": 100_000})
    assert from_mapping(FitConfig, {"kl-weight": 1, "kl_epochs": 2}, "run.toml").kl_weight == 1.0


def test_files_that_are_no_toml(tmp_path):
    """Are a missing file, a folder, broken TOML and broken UTF-8 told in a sentence?"""
    missing = tmp_path / "none.toml"
    with pytest.raises(
        DomainGateError, match=r"^Cannot read .*none\.toml: No such file.*\. Give --config a TOML file\.$"
    ):
        read_toml(missing)
    with pytest.raises(DomainGateError, match=r"^Cannot read "):
        read_toml(tmp_path)
    for name, content in (("bad.toml", b"model = = 3"), ("bytes.toml", b"model = '\xff'")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DomainGateError, match=f"{name} is not TOML: "):
            read_toml(tmp_path / name)


def test_every_option_is_declared_once():
    """Is the whole the sum of its parts and a seed, with no name in two of them?"""
    names = [item.name for cls in (ModelConfig, TrainingConfig, ProtocolConfig) for item in fields(cls)]
    assert sorted([*names, "seed"]) == sorted(OPTIONS)


def test_validate_gives_a_new_value():
    """Does `validate` return a config with parsed values and leave the given one alone?"""
    given = FitConfig(widths=[3, 4], kl_weight=1, channels="4")
    found = validate(given)
    assert (found.widths, found.kl_weight, found.channels) == ((3, 4), 1.0, 4)
    assert type(found.kl_weight) is float
    assert given.widths == [3, 4]
    assert validate(found) == found


def test_the_spelling_of_flags():
    """Is the flag the field with dashes, and are allowed values as declared?"""
    assert flag("kl_weight") == "--kl-weight"
    assert kind(FitConfig, "gate") == (get_args(GateName), False)
    assert kind(FitConfig, "channels") == (int, True)
