"""Are tables a function of the records, and do they say by which rule?"""

from pathlib import Path

import pytest
from commandline import call, sentence

from domaingate import ledger
from domaingate.layout import Grid, to_latex, to_markdown, to_text
from domaingate.report import report, write
from domaingate.story import answers
from domaingate.study import load_study
from domaingate.trial import choose, pack

FROZEN = Path(__file__).parent / "frozen"
RESULTS = Path(__file__).parent.parent / "results"
TABLES = ("tables.txt", "tables.md", "tables.tex")


def candidate(source, target, right, nll=0.5):
    return {
        "source-dev": {"accuracy": source, "nll": nll},
        "target-dev": {"accuracy": target, "nll": nll},
        "right": {"d": pack([True] * right + [False] * (10 - right))},
    }


def test_each_rule_takes_its_own_best():
    """Does source-dev look at its part, target-dev at its, and the oracle at the test texts of each domain?"""
    candidates = [candidate(0.9, 0.1, 2), candidate(0.1, 0.9, 4), candidate(0.5, 0.5, 8)]
    candidates[1]["right"]["e"] = pack([True] * 3)
    candidates[0]["right"]["e"] = candidates[2]["right"]["e"] = pack([False] * 3)
    record = {"candidates": candidates, "test": {"d": {"texts": 10}, "e": {"texts": 3}}}
    assert [answers(record, rule) for rule in ("source-dev", "target-dev")] == [
        candidates[0]["right"], candidates[1]["right"],
    ]  # fmt: skip
    assert answers(record, "oracle") == {"d": candidates[2]["right"]["d"], "e": candidates[1]["right"]["e"]}


def test_between_equals_the_likelihood_decides():
    """Is it as in training?"""
    candidates = [candidate(0.9, 0.9, 2, 0.6), candidate(0.9, 0.9, 4, 0.4), candidate(0.9, 0.9, 8, 0.5)]
    assert candidates.index(choose(candidates, "source-dev")) == 1


def test_frozen_records_give_the_frozen_tables(tmp_path):
    """Byte for byte, as text, Markdown and LaTeX?"""
    study = load_study(str(FROZEN / "study.toml"))
    write(report(study, ledger.read(FROZEN / "records.jsonl")), tmp_path)
    for name in TABLES:
        assert (tmp_path / name).read_text(encoding="utf-8") == (FROZEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("records", sorted(RESULTS.glob("*/records.jsonl")), ids=lambda path: path.parent.name)
def test_committed_records_give_the_committed_tables(records, capsys, monkeypatch, tmp_path):
    """Does `domaingate report` make them again, with nothing else at hand?"""
    outcome = call(capsys, monkeypatch, "report", records, "--out", tmp_path)
    assert outcome.code == 0, outcome.err
    for name in TABLES:
        assert (tmp_path / name).read_bytes() == (records.parent / name).read_bytes()
    for picture in records.parent.glob("*.png"):
        assert (tmp_path / picture.name).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_study_without_records_has_empty_tables():
    """Is a figure that is not there a dash rather than an error?"""
    made = report(load_study(str(FROZEN / "study.toml")), [])
    assert any("–" in cell for grid in made.grids for row in grid.rows for cell in row)


def test_a_network_of_one_seed_has_no_interval_and_no_difference():
    """Does one run claim nothing of other seeds, while a linear model, which has none, keeps its interval?"""
    records = [record for record in ledger.read(FROZEN / "records.jsonl") if record["config"]["seed"] == 0]
    grids = report(load_study(str(FROZEN / "study.toml")), records).grids
    (grid,) = (one for one in grids if one.title.startswith("Accuracy; ") and "as in the paper" in one.title)
    interval, compared = grid.columns.index("interval"), len(grid.columns) - 1
    rows = {(row[0], row[1]): row for row in grid.rows}
    assert rows["F+Y", "S-CNN"][interval] == "–"
    assert " to " in rows["F+Y", "words"][interval]
    assert all(row[compared] == "" for row in grid.rows)


def test_no_table_hides_the_oracle():
    """Does each table that used test texts for choosing say so in its title?"""
    grids = report(load_study("sentiment"), []).grids
    titles = [grid.title for grid in grids if "accuracy on the four" in grid.title and "inside" not in grid.title]
    assert len(titles) == 3
    assert sum("ORACLE" in title for title in titles) == 1


GRID = Grid("50 % & more", ["a_b", "name", "x"], [["1", "p|q", "2 ± 3"], ["10", "λ", "4"]], ["A note."])


def test_a_grid_is_spelled_three_ways():
    """Are columns straight in text, bars harmless in Markdown, and special letters escaped in LaTeX?"""
    text = to_text(GRID).splitlines()
    assert text[0] == GRID.title
    assert len({line.rstrip().__len__() for line in text[4:5]}) == 1
    assert text[2].index("name") == text[4].index("p|q") == text[5].index("λ")
    markdown = to_markdown(GRID)
    assert "| 1 | p/q | 2 ± 3 |" in markdown
    assert "|---|---|---:|" in markdown
    latex = to_latex(GRID)
    assert r"50 \% \& more" in latex
    assert r"a\_b & name & x \\" in latex
    assert r"2 $\pm$ 3" in latex
    assert latex.count("begin{") == latex.count("end{") == 2


def test_records_that_are_none(capsys, monkeypatch, tmp_path):
    """Is a file that is not there, or has no record, told?"""
    said = sentence(call(capsys, monkeypatch, "report", tmp_path / "absent.jsonl"))
    assert "has no records; give the records.jsonl" in said
    (tmp_path / "junk.jsonl").write_text("junk\n")
    assert "junk.jsonl:1 is not the record" in sentence(call(capsys, monkeypatch, "report", tmp_path / "junk.jsonl"))
