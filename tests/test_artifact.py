"""The model folder: whole or not there, data and no code, and the older one safe until the newer one stands."""

import json
import os
import pickletools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from domaingate import __version__, artifact, storage
from domaingate.artifact import load, save
from domaingate.card import card
from domaingate.errors import DomainGateError
from domaingate.experiment import fit, prepare
from domaingate.predictor import Predictor
from domaingate.protocol import digest, divide
from domaingate.streaming import predictions

FILES = {"config.json", "weights.safetensors", "tokenizer.json", "labels.json", "metrics.json", "README.md"}


@pytest.fixture(scope="module")
def config(tiny):
    return tiny(epochs=2, dev_share=0.2, test_share=0.2, target_dev_share=0.4, filters=4, embedding_size=4)


@pytest.fixture(scope="module")
def parts(corpus, config):
    return divide(corpus, config)


@pytest.fixture(scope="module")
def fitted(parts, config):
    return fit(prepare(parts, config))[0]


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_model_folder_has_its_files_and_no_other(fitted, tmp_path):
    """Are there exactly six files, readable by others as the umask says, and nothing beside the folder?"""
    save(fitted, tmp_path / "deep" / "model", "# A card\n")
    folder = tmp_path / "deep" / "model"
    assert {path.name for path in folder.iterdir()} == FILES
    assert all(path.is_file() for path in folder.iterdir())
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "file").touch()
    assert folder.stat().st_mode == (tmp_path / "plain").stat().st_mode
    for path in folder.iterdir():
        assert path.stat().st_mode == (tmp_path / "plain" / "file").stat().st_mode, path.name


def test_it_is_data(fitted, tmp_path):
    """Is every file JSON, Markdown or safetensors, with no pickle in it, and loaded without unpickling?"""
    save(fitted, tmp_path / "model", "# A card\n")
    for path in (tmp_path / "model").iterdir():
        data = path.read_bytes()
        assert b"\x80\x04" not in data[:2]
        if path.suffix == ".json":
            json.loads(data)
        elif path.suffix == ".safetensors":
            with safe_open(path, "pt") as tensors:
                assert set(tensors.keys()) == set(fitted.model.state_dict())
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever pickletools finds wrong
            for _ in pickletools.genops(data):
                pass


def test_loading_runs_no_code(fitted, tmp_path, monkeypatch):
    """Can a model be loaded where unpickling is impossible?"""
    save(fitted, tmp_path / "model", "# A card\n")
    for name in ("pickle.loads", "pickle.load", "pickle.Unpickler", "torch.load"):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("a model folder was unpickled"))
    load(tmp_path / "model")


def test_what_the_files_say(fitted, parts, config, tmp_path):
    """Do config, labels and metrics hold options, names, history, counts, scores and version, as they were?"""
    save(fitted, tmp_path / "model", card(fitted, "the corpus"))
    read = {name: json.loads((tmp_path / "model" / name).read_text()) for name in FILES if name.endswith(".json")}
    assert read["config.json"]["version"] == __version__
    assert read["config.json"]["config"]["filters"] == config.filters
    assert read["labels.json"] == {"labels": ["negative", "positive"], "domains": ["alpha", "beta", "delta", "gamma"]}
    metrics = read["metrics.json"]
    assert metrics["counts"]["train"] == len(parts.train)
    assert metrics["counts"]["source_dev"] == len(parts.source_dev)
    assert metrics["counts"]["target_test"] == len(parts.target_test)
    assert sum(score["texts"] for score in metrics["scores"]["domains"]) == len(parts.test)
    assert len(metrics["history"]) == 2
    assert metrics["selection"] == "source-dev"
    assert set(metrics["history"][0]) == {"epoch", "seconds", "terms", "source-dev", "target-dev", "kept"}
    assert load(tmp_path / "model").seen == frozenset(digest(document.text) for document in parts.set_aside)
    assert not any(document.text in json.dumps(metrics) for document in parts.set_aside)  # digests, no texts


def test_the_card(fitted, parts):
    """Does the model card tell data, counts, every domain's score, the selection rule and the version?"""
    written = card(fitted, "my pile")
    metrics = fitted.metrics
    for part in (
        "my pile", __version__, "**source-dev**", "negative, positive", f"{len(parts.train):,} training texts",
        "alpha, beta, delta, gamma", f"Epoch {metrics['kept_epoch']} of 2", f"{metrics['parameters']['total']:,} param",
    ):  # fmt: skip
        assert part in written
    for score in metrics["scores"]["domains"]:
        seen = "no" if score["unseen"] else "yes"
        assert f"| {score['domain']} | {seen} | {score['texts']} | {score['accuracy']:.1%} |" in written


def test_a_card_where_nothing_was_tested(fitted):
    """Is there a card, too, where no text was left for testing and no domain is known?"""
    scores = {"domains": [], "averages": {}}
    bare = replace(fitted, metrics={**fitted.metrics, "scores": scores, "trained_on": []})
    written = card(bare, "texts")
    assert "No labelled text was left for testing." in written
    assert "Training domains: unknown." in written


@pytest.mark.parametrize(
    "labels",
    [["negative", "positive"], [2, 10], [False, True], [-0.5, 1.5], ["", "日本 \n\"'"], ["nan", "null"]],
    ids=str,
)
def test_labels_come_back_as_they_were(fitted, corpus, tmp_path, labels):
    """Do strings, whole numbers, truth values and numbers survive, with their types, into answers as JSON?"""
    named = replace(fitted, labels=labels)
    save(named, tmp_path / "model", "# A card\n")
    again = load(tmp_path / "model")
    assert list(again.labels) == labels
    assert [type(label) for label in again.labels] == [type(label) for label in labels]
    predictor = Predictor(again)
    for line in predictions(predictor, corpus.documents[:10]):
        told = json.loads(json.dumps(line))
        assert told["label"] in labels
        assert type(told["label"]) is type(labels[0])
        spelt = [label if isinstance(label, str) else json.dumps(label) for label in labels]
        assert list(told["probabilities"]) == spelt  # as JSON spells them, and so as files of texts do


def test_saving_the_same_twice_gives_the_same_bytes(fitted, tmp_path):
    """Is a model folder reproducible?"""
    for name in ("one", "two"):
        save(fitted, tmp_path / name, "# A card\n")
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_an_older_model_gives_way(fitted, tmp_path):
    """Is an older model replaced whole, with nothing of it left, and an empty folder taken?"""
    folder = tmp_path / "model"
    folder.mkdir()
    save(fitted, folder, "# First\n")
    (folder / "notes.txt").write_text("of the first")
    save(replace(fitted, labels=["no", "yes"]), folder, "# Second\n")
    assert {path.name for path in folder.iterdir()} == FILES
    assert (folder / "README.md").read_text() == "# Second\n"
    assert load(folder).labels == ["no", "yes"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


class _Full:
    """Lets the n-th call of a function of the system fail."""

    def __init__(self, real, at):
        self.real, self.at, self.calls = real, at, 0

    def __call__(self, *arguments, **options):
        self.calls += 1
        if self.calls == self.at:
            raise OSError(28, "No space left on device")
        return self.real(*arguments, **options)


@pytest.mark.parametrize("at", range(1, 9))
@pytest.mark.parametrize("function", ["fsync", "rename", "replace", "mkdtemp", "mkstemp", "chmod"])
def test_a_failure_in_the_middle_leaves_the_old_model(fitted, tmp_path, monkeypatch, function, at):
    """Whichever call to the system fails, is the older model there, to the byte, and nothing beside it?"""
    folder = tmp_path / "model"
    save(fitted, folder, "# First\n")
    before = content(folder)
    room = {"fsync": os, "mkdtemp": storage.tempfile, "mkstemp": storage.tempfile}.get(function, Path)
    full = _Full(getattr(room, function), at)
    monkeypatch.setattr(room, function, lambda *arguments, **options: full(*arguments, **options))
    failure = None
    try:
        save(replace(fitted, labels=["no", "yes"]), folder, "# Second\n")
    except DomainGateError as error:
        failure = str(error)
    monkeypatch.undo()
    assert folder.exists(), "the older model is gone"
    assert (failure is None) == (full.calls < at)
    if failure is None:
        assert load(folder).labels == ["no", "yes"]
    else:
        assert folder.name in failure
        assert failure.endswith("No space left on device.")
        assert content(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_interruption_in_the_middle_leaves_the_old_model(fitted, tmp_path, monkeypatch):
    """Is the same true of Ctrl-C?"""
    folder = tmp_path / "model"
    save(fitted, folder, "# First\n")
    before = content(folder)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(artifact, "write_tensors", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(fitted, folder, "# Second\n")
    assert content(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("what", ["a file", "a folder of something", "a model without weights"])
def test_what_is_no_model_is_not_overwritten(fitted, tmp_path, what):
    """Does saving refuse a place that holds anything but a model?"""
    place = tmp_path / "place"
    if what == "a file":
        place.write_text("mine")
    else:
        place.mkdir()
        (place / ("config.json" if what == "a model without weights" else "thesis.tex")).write_text("mine")
    with pytest.raises(DomainGateError, match="exists and is not a model folder"):
        save(fitted, place, "# A card\n")
    assert (place if place.is_file() else next(place.iterdir())).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_a_loaded_model_is_ready(fitted, tmp_path):
    """Is a loaded model on the CPU, in evaluation mode, whatever device it was trained on?"""
    away = replace(fitted, config=replace(fitted.config, device="cuda:7"))
    save(away, tmp_path / "model", "# A card\n")
    again = load(tmp_path / "model")
    assert not again.model.training
    assert next(again.model.parameters()).device.type == "cpu"
    assert again.config.device == "cpu"


def test_loading_draws_from_no_generator(fitted, tmp_path):
    """Does loading a model leave torch's generator where it was?"""
    save(fitted, tmp_path / "model", "# A card\n")
    state = torch.get_rng_state()
    load(tmp_path / "model")
    assert torch.equal(torch.get_rng_state(), state)


def test_a_symbolic_link_to_a_model(fitted, tmp_path):
    """Can a model be read, and replaced, through a link?"""
    save(fitted, tmp_path / "real", "# First\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    texts = ["one", "two"]
    assert np.array_equal(
        Predictor(load(tmp_path / "link")).outputs(texts).probabilities,
        Predictor(load(tmp_path / "real")).outputs(texts).probabilities,
    )
    save(replace(fitted, labels=["no", "yes"]), tmp_path / "link", "# Second\n")
    assert load(tmp_path / "link").labels == ["no", "yes"]
