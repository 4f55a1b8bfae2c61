"""Does a document say which runs there are, and is a run known again by what was chosen for it?"""

from dataclasses import replace
from pathlib import Path

import pytest

from domaingate.config import to_json
from domaingate.errors import DomainGateError
from domaingate.study import load_study, machine_free

FROZEN = Path(__file__).parent / "frozen" / "study.toml"


@pytest.fixture(scope="module")
def study():
    return load_study(str(FROZEN))


def test_the_sentiment_study_is_whole():
    """Does it have every table and figure of the paper's first experiment, with the paper's figures for the rows?"""
    sentiment = load_study("sentiment")
    names = {table.name for table in sentiment.tables}
    assert {"1", "2", "3", "figure-2", "figure-3", "figure-4"} <= names
    (second,) = (table for table in sentiment.tables if table.name == "2")
    rows = {(row.data, row.name): row for row in second.rows}
    assert rows["F+Y", "CSDA Dirichlet"].paper[-1] == 84.4
    assert rows["F", "CSDA Dirichlet"].paper[-1] == 82.3
    for row in second.rows:
        assert len(row.paper) in (0, 5)
        if row.paper:
            odd = (row.data, row.name) == ("F", "M-CNN")  # 79.8 in the paper, where the mean of its four is 80.3
            assert row.paper[-1] == pytest.approx(sum(row.paper[:4]) / 4, abs=0.6 if odd else 0.11)


def test_a_small_study_has_the_same_rows(study):
    """Does the toy size leave out nothing but seeds, and is it told by its name?"""
    small = load_study(str(FROZEN), small=True)
    assert [[row.name for row in table.rows] for table in small.tables] == [
        [row.name for row in table.rows] for table in study.tables
    ]
    assert len(small.runs()) < len(study.runs())
    assert load_study("sentiment at toy size").small
    assert load_study("sentiment", small=True).name == "sentiment at toy size"


def test_a_run_that_tables_share_is_one_run(study):
    """Is it made once, with all that any table wants of it?"""
    runs = study.runs()
    assert len({run.name for run in runs}) == len(runs)
    shared = [run for run in runs if run.also == {"ways", "map", "diagnosis"}]
    assert [run.config.seed for run in shared] == [0]
    assert len(runs) < sum(len(row.runs) for table in study.tables for row in table.rows)


def test_low_seeds_come_first(study):
    """Does a study that is stopped early have each row once rather than some rows often?"""
    seeds = [run.config.seed for run in study.runs()]
    assert seeds == sorted(seeds)


def test_a_name_stands_for_the_options(study):
    """Does any other choice give another name, and another machine the same?"""
    (run, *_) = study.runs(["2"])
    others = [
        replace(run, corpus="vader"),
        replace(run, linear="words"),
        *(replace(run, config=replace(run.config, **change)) for change in ({"seed": 7}, {"dropout": 0.4})),
    ]
    assert len({run.name, *(other.name for other in others)}) == 5
    elsewhere = replace(run, config=replace(run.config, device="cuda", threads=7), minutes=9.0, also=frozenset("x"))
    assert elsewhere.name == run.name
    assert machine_free(elsewhere.config) == machine_free(run.config)


def test_a_record_tells_its_run_and_no_other(study):
    """Is an option that is newer than the record at its default, and one more look a reason to run again?"""
    (run, *_) = study.runs(["2"])
    config = to_json(replace(run.config, device="cuda", threads=3))
    record = {"corpus": run.corpus, "linear": None, "config": config, "also": dict.fromkeys(run.also)}
    assert run.is_told_by(record)
    assert run.is_told_by({**record, "config": {k: v for k, v in config.items() if k != "prior_likelihood"}})
    assert not run.is_told_by({**record, "config": {**config, "seed": 99}})
    assert not run.is_told_by({**record, "corpus": "vader"})
    assert not replace(run, also=frozenset({"map"})).is_told_by(record)


def test_a_part_of_a_study(study):
    """Do tables, rows and seeds choose, and is a slip told?"""
    assert {run.config.model for run in study.runs(["search"])} == {"s-cnn"}
    assert {run.config.model for run in study.runs(["2"], only="csda")} == {"csda"}
    assert {run.config.seed for run in study.runs(seeds=1)} == {0}
    (_, second, *_) = study.runs(["2"], only="csda")
    assert study.runs(only=second.name) == [second]
    with pytest.raises(DomainGateError, match=r"--table 9 is no table of .*study; it has 1, search, 2"):
        study.runs(["9"])
    with pytest.raises(DomainGateError, match="--only 'gpt' is in the name of no row"):
        study.runs(only="gpt")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('title = "Frozen"', "", "is not the document of a study: 'title' is missing"),
        ('kind = "ways"', 'kind = "dance"', "the kind of table ways is dance; known: counts"),
        ("dropout", "dropout", ""),
        ('linear = "words"', 'linear = "verbs"', "what row words is made by is verbs; known: words, word pairs"),
        ('kind = "ways"', 'kind = "ways"\nrules = ["best"]', "a rule of table ways is best; known: target-dev"),
        ("epochs = 2", "epoch = 2", "row F sets epoch, which is no option; did you mean epochs"),
        ('data = "F", name = "F"', 'data = "Z", name = "F"', "'Z' is missing"),
        ("[fit]", "[fit", "is not TOML"),
    ],
)
def test_a_document_that_is_none(tmp_path, old, new, sentence):
    """Is a broken document told in a sentence?"""
    path = tmp_path / "mine.toml"
    path.write_text(FROZEN.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    if sentence:
        with pytest.raises(DomainGateError, match=sentence):
            load_study(str(path))
    else:
        assert load_study(str(path)).name == "mine"


def test_a_study_that_is_not_there(tmp_path):
    """Are the known ones named?"""
    with pytest.raises(DomainGateError, match=r"There is no study sentimental; give one of .*sentiment"):
        load_study("sentimental")
    with pytest.raises(DomainGateError, match="Cannot read"):
        load_study(str(tmp_path / "absent.toml"))
