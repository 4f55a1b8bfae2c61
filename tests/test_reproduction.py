"""Does a study run to its end, go on where it was, and come to the same records again?"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from commandline import call, sentence

from domaingate import ledger, reproduction, trial
from domaingate.study import load_study

PROJECT = Path(__file__).parent.parent
STUDY = Path(__file__).parent / "frozen" / "study.toml"
WHEN = ("seconds", "ended", "commit", "versions", "machine")


def told(record):
    """A record without what differs from one time to the next."""
    record = json.loads(json.dumps({name: value for name, value in record.items() if name not in WHEN}))
    for candidate in record["candidates"]:
        candidate.pop("seconds")
    for way in (record["also"].get("ways") or {}).values():
        way.pop("seconds")
    return record


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a study that was made in one go, by two processes."""
    folder = tmp_path_factory.mktemp("study")
    runs = load_study(str(STUDY)).runs()
    reproduction.reproduce(runs, folder / "records.jsonl", reproduction.Means(2, 1, "cpu"), Silent())
    return folder


class Silent:
    def ended(self, run, record):
        """Nothing."""

    def failed(self, run, problem):
        """Nothing."""


@pytest.fixture
def reproduce(capsys, monkeypatch):
    def run(folder, *arguments, study=STUDY):
        return call(capsys, monkeypatch, "reproduce", study, "--out", folder, *arguments)

    return run


def test_every_run_is_recorded_once(whole):
    """Is there one record a run, that tells it?"""
    runs, records = load_study(str(STUDY)).runs(), ledger.read(whole / "records.jsonl")
    assert sorted(record["run"] for record in records) == sorted(run.name for run in runs)
    assert reproduction.missing(runs, records) == []
    assert not (whole / ".unfinished").exists()


def test_what_is_recorded_is_not_made_again(whole, reproduce, tmp_path):
    """Does a second call make tables and nothing else?"""
    records = Path(shutil.copy(whole / "records.jsonl", tmp_path))
    before = records.read_bytes()
    outcome = reproduce(tmp_path, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["missing"] == 0
    assert records.read_bytes() == before
    assert {"tables.txt", "tables.md", "tables.tex", "figure-2.png", "figure-3.png", "figure-4.png"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_a_study_that_was_killed_comes_to_the_same_records(whole, reproduce, tmp_path):
    """Are lost runs, and one whose record was cut off, made again with the very same scores?"""
    lines = (whole / "records.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "records.jsonl").write_bytes(b"".join(lines[:-3]) + lines[-3][:100])
    outcome = reproduce(tmp_path)
    assert outcome.code == 0, outcome.err
    assert "3 to make" in outcome.err
    again = {record["run"]: told(record) for record in ledger.read(tmp_path / "records.jsonl")}
    assert again == {record["run"]: told(record) for record in ledger.read(whole / "records.jsonl")}


def test_a_run_that_was_killed_goes_on_from_its_last_epoch(whole, monkeypatch, tmp_path):
    """Is its record that of one that was never killed, though the first epoch was not trained again?"""
    run = next(run for run in load_study(str(STUDY)).runs(["2"]) if run.config.model == "csda")
    look, epochs = trial.Witness.look, []

    def stop_at_second(witness, model):
        epochs.append(1)
        if len(epochs) == 2:
            raise KeyboardInterrupt
        return look(witness, model)

    monkeypatch.setattr(trial.Witness, "look", stop_at_second)
    with pytest.raises(KeyboardInterrupt):
        trial.play(run, checkpoint=tmp_path / "checkpoint")
    record = trial.play(run, checkpoint=tmp_path / "checkpoint")
    assert len(epochs) == 3
    (expected,) = (one for one in ledger.read(whole / "records.jsonl") if one["run"] == run.name)
    assert told(record) == told(expected)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
def test_no_worker_outlives_a_study_that_was_killed(tmp_path):
    """Do the processes of its runs end with it, in the middle of their work?"""

    def family():
        found = Path(f"/proc/{study.pid}/task/{study.pid}/children")
        return found.read_text(encoding="ascii").split() if found.exists() else []

    def is_alive(pid):
        stat = Path(f"/proc/{pid}/stat")
        try:
            return stat.read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def wait_for(what):
        until = time.monotonic() + 60
        while not what() and time.monotonic() < until:
            time.sleep(0.1)
        return what()

    command = [sys.executable, "-m", "domaingate", "reproduce", STUDY, "--jobs", "2", "--out", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as study:
        assert wait_for(lambda: (tmp_path / "records.jsonl").exists() and ledger.read(tmp_path / "records.jsonl"))
        workers = family()
        study.kill()
    assert len(workers) >= 2
    assert wait_for(lambda: not any(is_alive(pid) for pid in workers))


def test_a_run_that_fails_does_not_stop_the_others(reproduce, tmp_path):
    """Is its reason told, and every other run recorded?"""
    study = tmp_path / "mine.toml"
    rows = 'rows = [{ data = "F+Y", name = "S-CNN", fit = { model = "s-cnn"'
    text = STUDY.read_text(encoding="utf-8").replace(rows, rows + ', held-out = ["nowhere"]')
    assert "nowhere" in text
    study.write_text(text, encoding="utf-8")
    outcome = reproduce(tmp_path, "--table", "1,search", "--jobs", "2", study=study)
    assert "2 of 3 runs failed, the first with: --held-out names nowhere" in sentence(outcome)
    assert len(ledger.read(tmp_path / "records.jsonl")) == 1


def break_down(run, *means):
    """In a worker: a fault of the program at one run."""
    if run.linear == "words":
        raise ZeroDivisionError("a fault")
    return trial.play(run, *means)


def test_a_fault_shows_itself_when_the_other_runs_are_recorded(tmp_path, monkeypatch):
    """Is what is no user's mistake raised as it is, and is nothing lost by it?"""
    runs = load_study(str(STUDY)).runs(["1", "2"], seeds=1)
    monkeypatch.setattr(reproduction, "play", break_down)
    with pytest.raises(ZeroDivisionError, match="a fault"):
        reproduction.reproduce(runs, tmp_path / "records.jsonl", reproduction.Means(2, 1, "cpu"), Silent())
    assert len(ledger.read(tmp_path / "records.jsonl")) == len(runs) - 1


def test_what_cannot_begin_is_told_at_once(reproduce, tmp_path, monkeypatch):
    """Are a device, a corpus and a place that are not there one sentence, before any run?"""
    assert "--device mps is not to be had here" in sentence(reproduce(tmp_path / "a", "--device", "mps"))
    (tmp_path / "file").touch()
    assert "Cannot write" in sentence(reproduce(tmp_path / "file" / "b"))
    monkeypatch.setenv("DOMAINGATE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    outcome = reproduce(tmp_path / "c", study="sentiment")
    assert sentence(outcome).startswith("The corpus 'fdu-mtl")
    assert "failed" not in outcome.err
    assert not (tmp_path / "c").exists()


def test_what_there_is_to_do(reproduce, tmp_path):
    """Does --dry count runs, of a part too, and make none?"""
    outcome = reproduce(tmp_path, "--dry", "--table", "2", "--seeds", "1", "--only", "csda", "--json")
    assert outcome.json["runs"] == outcome.json["missing"] == 2
    assert not (tmp_path / "records.jsonl").exists()


def test_right_and_wrong_survive_packing():
    """Do bits come back, whatever their number?"""
    for count in (1, 7, 8, 9, 600):
        right = np.random.default_rng(count).random(count) < 0.7
        assert np.array_equal(trial.unpack(trial.pack(right), count), right)


def test_a_dev_score_is_what_training_saw(whole):
    """Do the packed answers of a run give an accuracy that its labels allow, and does each candidate have them?"""
    for record in ledger.read(whole / "records.jsonl"):
        for candidate in record["candidates"]:
            for name, packed in candidate["right"].items():
                assert 0 < trial.unpack(packed, record["test"][name]["texts"]).mean() < 1


@pytest.mark.data
def test_a_row_of_the_committed_table_runs_again():
    """Does a record's configuration give the record's answers, text by text?"""
    if not Path(os.environ.get("DOMAINGATE_DATA", "absent"), "fdu-mtl").exists():
        pytest.skip("fdu-mtl is not under $DOMAINGATE_DATA")
    run = next(run for run in load_study("sentiment").runs(["2"], only="F words") if run.config.half == "F")
    records = ledger.read(PROJECT / "results" / "sentiment" / "records.jsonl")
    (expected,) = (record for record in records if record["run"] == run.name)
    record = trial.play(run)
    assert record["test"] == expected["test"]
    assert [one["right"] for one in record["candidates"]] == [one["right"] for one in expected["candidates"]]
