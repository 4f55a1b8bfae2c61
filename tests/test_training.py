"""The loop: what is minimised, what is kept, when it stops, and that a killed run loses nothing."""

import json
import math
import random
import signal
import time
from dataclasses import replace
from itertools import product

import pytest
import torch
from commandline import TINY, call, model_files, sentence, shared_processes, write_jsonl

from domaingate import storage, training
from domaingate.batches import dataset
from domaingate.errors import DomainGateError
from domaingate.experiment import fit, prepare
from domaingate.inference import run
from domaingate.protocol import divide
from domaingate.training import DevPart, Silence, train

DIVIDED = {"dev_share": 0.2, "test_share": 0.1, "target_dev_share": 0.4, "epochs": 5, "patience": 5}


def same_bits(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def without_seconds(history):
    return [{name: value for name, value in record.items() if name != "seconds"} for record in history]


@pytest.fixture
def fitted(corpus):
    """`fitted(config, ...)`: the artifact, the problem."""

    def fitted(config, *arguments):
        return fit(prepare(divide(corpus, config), config), *arguments)

    return fitted


@pytest.fixture(scope="module")
def texts(corpus, tmp_path_factory):
    return write_jsonl(tmp_path_factory.mktemp("corpus") / "texts.jsonl", corpus.documents)


@pytest.fixture(scope="module")
def processes():
    return shared_processes()


# What is minimised, what is kept, when it stops


@pytest.mark.parametrize("options", [{"model": "csda", "hide_labels": 0.3}, {"model": "gen"}, {"model": "dsda"}])
def test_the_history_is_what_was_minimised(tiny, fitted, monkeypatch, options):
    """Is the sum of an epoch's named terms the mean of the very numbers whose gradients were followed?"""
    minimised = []
    backward = torch.Tensor.backward

    def noted(self, *arguments, **options):
        minimised.append(float(self.detach()))
        backward(self, *arguments, **options)

    monkeypatch.setattr(torch.Tensor, "backward", noted)
    config = tiny(**{"channels": 4, **options, **DIVIDED, "epochs": 2})
    artifact, _ = fitted(config)
    history = artifact.metrics["history"]
    steps = math.ceil(artifact.metrics["counts"]["train"] / config.batch_size)
    turns = 2 if config.model == "gen" else 1
    assert len(minimised) == 2 * steps * turns
    for epoch, record in enumerate(history):
        followed = minimised[epoch * steps * turns :][: steps * turns]
        assert sum(record["terms"].values()) == pytest.approx(sum(followed) / steps, rel=1e-5)


def test_every_step_is_adam_s(tiny, prepared_of):
    """Do weights after an epoch equal those of torch's plain Adam on the same batches, in the same order?"""
    prepared = prepared_of(tiny(model="s-cnn", dropout=0.0, epochs=2))
    reference = prepared_of(tiny(model="s-cnn", dropout=0.0, epochs=2))
    data = dataset(prepared.parts.train, prepared.encoder, [str(one) for one in prepared.labels], prepared.domains)
    train(prepared.model, data, {}, "source-dev", prepared.config, seed=3)
    plain = torch.optim.Adam(reference.model.parameters(), lr=prepared.config.learning_rate, fused=False)
    for epoch in (1, 2):
        for batch in training.shuffled(data, prepared.config.batch_size, training.np.random.default_rng([3, epoch])):
            plain.zero_grad()
            sum(reference.model.terms(batch, 0.0).values()).backward()
            rows = reference.model.reader.embedding
            rows.grad = rows.grad.to_dense()
            plain.step()
    for name, weight in prepared.model.state_dict().items():
        torch.testing.assert_close(weight, reference.model.state_dict()[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("average", [0.0, 0.95])
@pytest.mark.parametrize("select", ["source-dev", "target-dev"])
def test_the_saved_weights_are_the_kept_epoch_s(tiny, fitted, corpus, select, average):
    """Do the weights that come out score on the dev part exactly what the history says of the best epoch?"""
    config = tiny(**DIVIDED, select=select, learning_rate=0.05, average=average)
    artifact, _ = fitted(config)
    metrics = artifact.metrics
    ranks = [(record[select]["accuracy"], -record[select]["nll"]) for record in metrics["history"]]
    assert metrics["selection"] == select
    assert ranks[metrics["kept_epoch"] - 1] == max(ranks)
    assert [record["kept"] for record in metrics["history"]] == [
        all(rank > before for before in ranks[:row]) for row, rank in enumerate(ranks)
    ]
    parts = divide(corpus, config)
    part = parts.source_dev if select == "source-dev" else parts.target_dev
    data = dataset(part, artifact.encoder, [str(label) for label in artifact.labels], ())
    answers = run(artifact.model, data).probabilities.argmax(axis=1)
    domains = sorted({document.domain for document in part})
    of_domain = [
        [int(answers[row] == data.label[row]) for row, document in enumerate(part) if document.domain == domain]
        for domain in domains
    ]
    accuracy = sum(sum(rights) / len(rights) for rights in of_domain) / len(domains)
    assert accuracy == pytest.approx(metrics["history"][metrics["kept_epoch"] - 1][select]["accuracy"])


@pytest.mark.parametrize(
    ("scores", "patience", "kept", "epochs"),
    [
        ([0.5, 0.6, 0.6, 0.6, 0.9], 2, 2, 4),
        ([0.5, 0.6, 0.5, 0.7, 0.6, 0.6, 0.9], 2, 4, 6),
        ([0.5, 0.4, 0.9], 1, 1, 2),
        ([0.1, 0.2, 0.3], 1, 3, 3),
        ([0.5, 0.4, 0.3, 0.2, 0.6], 4, 5, 5),
    ],
)
def test_patience(tiny, prepared_of, monkeypatch, scores, patience, kept, epochs):
    """Does training stop after `patience` epochs that were not better than the best, and keep the best?"""
    given = iter(scores)
    monkeypatch.setattr(training, "_score", lambda *_: {"accuracy": next(given), "nll": 0.5})
    prepared = prepared_of(tiny(model="s-cnn", patience=patience, epochs=len(scores)))
    data = dataset(prepared.parts.train[:16], prepared.encoder, [str(one) for one in prepared.labels], ())
    dev = {"source-dev": DevPart(data, ["a"] * len(data))}
    progress = train(prepared.model, data, dev, "source-dev", prepared.config, seed=0)
    assert (progress.kept_epoch, len(progress.history)) == (kept, epochs)


def test_two_threads_and_the_same_seed(texts, processes, tmp_path):
    """Is a run with two threads repeatable to the bit, and does another seed give other weights?"""
    options = ("--held-out", "mixture", *TINY, "--threads", "2", "--filters", "16", "--epochs", "1")
    for name, seed in (("first", 5), ("second", 5), ("other", 6)):
        assert processes.run("fit", texts, "--out", tmp_path / name, *options, "--seed", seed).code == 0
    first, second, other = (model_files(tmp_path / name) for name in ("first", "second", "other"))
    assert first == second
    assert first["weights.safetensors"] != other["weights.safetensors"]


def test_training_leaves_the_caller_s_generator_alone(tiny, fitted):
    """Does fitting a model change what `torch.rand` gives afterwards?"""
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    fitted(tiny(epochs=1))
    assert torch.equal(torch.rand(3), expected)


# What is not finite


def not_finite(monkeypatch, at_step):
    """Let a term be NaN in one step of the run, counted from 1."""
    steps = 0
    step = training._step

    def spoilt(*arguments):
        nonlocal steps
        steps += 1
        terms = step(*arguments)
        return {name: math.nan if steps == at_step and name == "kl" else value for name, value in terms.items()}

    monkeypatch.setattr(training, "_step", spoilt)


def test_a_loss_that_is_not_finite_before_any_epoch_leaves_nothing(texts, tmp_path, capsys, monkeypatch):
    """Is a run that fails at once told with epoch, step, terms and advice, and is nothing left of it?"""
    not_finite(monkeypatch, at_step=3)
    outcome = call(
        capsys, monkeypatch, "fit", texts, "--out", tmp_path / "model", "--held-out", "mixture", "--json", *TINY
    )
    said = sentence(outcome)
    for part in ("epoch 1", "step 3 of 5", "label ", "kl nan", "--learning-rate"):
        assert part in said
    assert outcome.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_is_not_finite_later_keeps_the_last_good_model(texts, tmp_path, capsys, monkeypatch):
    """Is the model of the epochs that ended well saved, equal to that of a run of so many epochs, and is that told?"""
    options = ("--held-out", "mixture", *TINY)
    good = call(capsys, monkeypatch, "fit", texts, "--out", tmp_path / "good", *options, "--epochs", 1)
    assert good.code == 0
    not_finite(monkeypatch, at_step=7)
    outcome = call(capsys, monkeypatch, "fit", texts, "--out", tmp_path / "model", "--json", *options)
    said = sentence(outcome)
    for part in ("epoch 2", "step 2 of 5", "kl nan", "epoch 1 is kept", "--learning-rate", str(tmp_path / "model")):
        assert part in said
    assert outcome.json["kept_epoch"] == 1
    assert outcome.json["problem"] in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good", "model"]
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("good", "model")]
    assert weights[0] == weights[1]
    assert call(capsys, monkeypatch, "predict", tmp_path / "model", texts).code == 0


@pytest.mark.parametrize(
    "options", [("--model", "csda", "--gate", gate) for gate in ("dirichlet", "beta", "gamma")]
    + [("--model", name) for name in ("s-cnn", "m-cnn", "gen", "dsda")]
)  # fmt: skip
@pytest.mark.parametrize("rate", ["1e6", "1e30"])
def test_absurd_learning_rates_are_told_not_crashed_upon(texts, tmp_path, capsys, monkeypatch, options, rate):
    """With a learning rate beyond sense, does every model end with numbers or with the sentence, and never a crash?"""
    arguments = ("fit", texts, "--held-out", "mixture", *TINY, "--channels", 4, "--epochs", 3, *options)
    outcome = call(capsys, monkeypatch, *arguments, "--learning-rate", rate, "--out", tmp_path / "model")
    assert "Traceback" not in outcome.err
    if outcome.code:
        assert "not finite" in sentence(outcome)
    assert (tmp_path / "model").exists() == (outcome.code == 0 or "is kept" in outcome.err)
    assert not any(path.name != "model" for path in tmp_path.iterdir())
    if (tmp_path / "model").exists():
        numbers = [float(line["probabilities"]["positive"]) for line in call(
            capsys, monkeypatch, "predict", tmp_path / "model", texts
        ).lines]  # fmt: skip
        assert all(map(math.isfinite, numbers))


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_an_epoch_that_blows_up_in_its_last_step_is_not_kept(texts, tmp_path, capsys, monkeypatch, share):
    """With one batch an epoch the loss is finite and the weights are, but no answer is: is that told, with a dev part
    and without, and is nothing kept?"""
    arguments = ("fit", texts, "--held-out", "mixture", *TINY, "--channels", 4, "--epochs", 3, "--batch-size", 4096)
    outcome = call(
        capsys, monkeypatch, *arguments, "--dev-share", share, "--learning-rate", "1e12", "--out", tmp_path / "model"
    )
    assert "finite after epoch 1. No epoch had ended, so there is no model to keep." in sentence(outcome)
    assert not (tmp_path / "model").exists()


# Killed and gone on with

RUNS = {
    "csda": ("--model", "csda", "--hide-domains", "0.5", "--hide-labels", "0.2", "--kl-schedule", "linear"),
    "gen": ("--model", "gen"),
}
KILLED = ("--held-out", "mixture", *TINY, "--epochs", "6", "--patience", "6", "--learning-rate", "0.05")

KILL_AT_STEP = """
import os, domaingate.training as training
steps, step = 0, training._step
def counted(*arguments):
    global steps
    steps += 1
    if steps == {at}:
        os.kill(os.getpid(), 9)
    return step(*arguments)
training._step = counted
"""
KILL_HALF_WRITTEN = """
import os, domaingate.storage as storage
files, fdopen = 0, os.fdopen
class Half:
    def __init__(self, stream): self.stream = stream
    def __enter__(self): return self
    def __exit__(self, *_): self.stream.close()
    def write(self, data):
        self.stream.write(data[: len(data) // 2])
        self.stream.flush()
        os.kill(os.getpid(), 9)
def counted(*arguments):
    global files
    files += 1
    return Half(fdopen(*arguments)) if files == {at} else fdopen(*arguments)
os.fdopen = counted
"""
KILL_BEFORE_FSYNC = """
import os
files, fsync = 0, os.fsync
def counted(handle):
    global files
    files += 1
    if files == {at}:
        os.kill(os.getpid(), 9)
    fsync(handle)
os.fsync = counted
"""


@pytest.fixture(scope="module")
def never_killed(texts, processes, tmp_path_factory):
    """`never_killed(name)`: the files of the run that nobody disturbed."""
    folders = {}

    def files(name):
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp(name) / "model"
            assert processes.run("fit", texts, "--out", folders[name], *KILLED, *RUNS[name]).code == 0
        return model_files(folders[name])

    return files


@pytest.mark.parametrize(
    ("name", "deaths"),
    [
        ("csda", [KILL_AT_STEP.format(at=9), KILL_HALF_WRITTEN.format(at=2), KILL_AT_STEP.format(at=6)]),
        ("csda", [KILL_HALF_WRITTEN.format(at=1), KILL_BEFORE_FSYNC.format(at=3), KILL_BEFORE_FSYNC.format(at=4)]),
        ("gen", [KILL_AT_STEP.format(at=28), KILL_BEFORE_FSYNC.format(at=1), KILL_HALF_WRITTEN.format(at=4)]),
    ],
    ids=["in epochs and while writing", "while writing the model, too", "gen, between its turns"],
)
def test_a_killed_run_gives_the_very_same_model(texts, processes, never_killed, tmp_path, name, deaths):
    """Killed by -9 again and again, are weights, history and card in the end equal to the bit?"""
    arguments = ("fit", texts, "--out", tmp_path / "model", *KILLED, *RUNS[name], "--resume")
    for death in deaths:
        assert processes.run(*arguments, before=death).code == -signal.SIGKILL
        assert not (tmp_path / "model").exists()
    assert (tmp_path / "model.checkpoint").exists()
    done = processes.run(*arguments)
    assert done.code == 0
    assert "epoch  1 " not in done.err  # it did go on
    assert model_files(tmp_path / "model") == never_killed(name)
    assert not (tmp_path / "model.checkpoint").exists()


def test_a_killed_run_leaves_nothing_lying_about_once_it_is_done(texts, processes, tmp_path):
    """Is the half-written file of a killed run gone when the run has been finished?"""
    arguments = ("fit", texts, "--out", tmp_path / "model", *KILLED, *RUNS["csda"], "--epochs", "2", "--resume")
    assert processes.run(*arguments, before=KILL_HALF_WRITTEN.format(at=2)).code == -signal.SIGKILL
    assert processes.run(*arguments).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_killed_at_any_moment(texts, processes, never_killed, tmp_path):
    """Killed from outside at moments that nobody chose, is the model in the end the same?"""
    moments = random.Random(0)
    arguments = ("fit", texts, "--out", tmp_path / "model", *KILLED, *RUNS["csda"], "--resume")
    slowed = (
        "import time, domaingate.training as t\nstep = t._step\nt._step = lambda *a: (time.sleep(0.01), step(*a))[1]"
    )
    killed = 0
    for _ in range(4):
        process = processes.start(*arguments, before=slowed)
        checkpoint = tmp_path / "model.checkpoint"
        deadline = time.monotonic() + 10
        while not checkpoint.exists() and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 0.15))
        process.send(signal.SIGKILL)
        killed += process.wait().code == -signal.SIGKILL
    assert killed > 0
    assert processes.run(*arguments).code == 0
    assert model_files(tmp_path / "model") == never_killed("csda")


class _Enough(Exception):
    """Stands for whatever ends a run from outside."""


class _Stop(Silence):
    """An observer that ends the run after an epoch's checkpoint: in the first step of the next."""

    def __init__(self, after):
        self.after = after

    def step(self, epoch, *_):
        if epoch > self.after:
            raise _Enough

    def epoch(self, record):
        pass


@pytest.fixture
def stopped(tiny, corpus, tmp_path):
    """`stopped(config, corpus)`: a checkpoint after two epochs."""

    def stop(config, corpus=corpus):
        path = tmp_path / "run.checkpoint"
        parts = divide(corpus, config)
        with pytest.raises(_Enough):
            fit(prepare(parts, config), path, False, _Stop(2))
        return path

    return stop


@pytest.mark.parametrize(
    "options",
    [
        {"model": "csda", "gate": "gamma", "hide_domains": 0.5, "kl_schedule": "linear"},
        {"model": "csda", "tokens": "bytes", "limit": 60, "prior_likelihood": 0.5},
        {"model": "dsda", "channels": 4, "hide_labels": 0.2},
        {"model": "m-cnn", "embedding": "fixed", "average": 0.9},
        {"model": "csda", "reader": "ngrams", "ngram_start": "bayes", "average": 0.9, "cuts": 0.5},
    ],
    ids=["gamma", "bytes", "dsda", "fixed embedding", "ngrams"],
)
def test_every_recipe_goes_on_where_it_was(tiny, fitted, stopped, options):
    """Does a resumed run of every recipe end where the undisturbed one does, to the bit?"""
    config = tiny(**{**DIVIDED, **options})
    whole, _ = fitted(config)
    path = stopped(config)
    torch.manual_seed(77)  # whatever the new process did before
    again, _ = fitted(config, path, True)
    assert same_bits(whole.model.state_dict(), again.model.state_dict())
    assert without_seconds(whole.metrics["history"]) == without_seconds(again.metrics["history"])


def test_a_resumed_run_keeps_the_best_of_before(tiny, fitted, stopped, monkeypatch):
    """Where the best epoch lies before the kill, are its weights kept, and does patience count from it?"""
    config = tiny(**{**DIVIDED, "patience": 2, "epochs": 9})
    scores = {1: 0.5, 2: 0.9, 3: 0.8, 4: 0.7, 5: 1.0}

    def scored():
        seen = iter(score for score in scores.values() for _ in ("source-dev", "target-dev"))
        monkeypatch.setattr(training, "_score", lambda *_: {"accuracy": next(seen), "nll": 0.5})
        return seen

    scored()
    whole, _ = fitted(config)
    scored()
    path = stopped(config)
    seen = scored()
    for _ in range(4):  # the two epochs before
        next(seen)
    again, _ = fitted(config, path, True)
    for artifact in (whole, again):
        assert (artifact.metrics["kept_epoch"], len(artifact.metrics["history"])) == (2, 4)
    assert same_bits(whole.model.state_dict(), again.model.state_dict())


def test_resume_without_a_checkpoint_starts_at_the_beginning(tiny, fitted, tmp_path):
    """Is `--resume` safe to say always?"""
    config = tiny(epochs=2)
    fresh, _ = fitted(config, tmp_path / "absent.checkpoint", True)
    assert same_bits(fresh.model.state_dict(), fitted(config)[0].model.state_dict())


def test_without_resume_a_checkpoint_is_not_looked_at(tiny, fitted, stopped):
    """Does a run that does not ask to go on start anew, whatever lies there?"""
    config = tiny(epochs=3)
    path = stopped(config)
    other = replace(config, learning_rate=0.01)
    assert same_bits(fitted(other, path, False)[0].model.state_dict(), fitted(other)[0].model.state_dict())


@pytest.mark.parametrize(
    "options",
    [{"learning_rate": 0.01}, {"epochs": 6}, {"model": "m-cnn"}, {"kl_weight": 0.2}, {"hide_domains": 0.5},
     {"patience": 4}, {"select": "target-dev"}, {"seed": 1}, {"batch_size": 8}, {"samples": 6}],
    ids=lambda options: next(iter(options)),
)  # fmt: skip
def test_resume_with_other_options_is_refused(tiny, fitted, stopped, options):
    """Is going on under other options refused in a sentence, with the checkpoint left as it was?"""
    config = tiny(**DIVIDED)
    path = stopped(config)
    before = path.read_bytes()
    with pytest.raises(
        DomainGateError, match=r"run\.checkpoint is .* other options or other texts; .*without --resume"
    ):
        fitted(tiny(**{**DIVIDED, **options}), path, True)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("part", "change"),
    [*product(("train", "source_dev", "target_dev"), ("text", "label", "missing")), ("train", "order")],
)
def test_resume_with_other_texts_is_refused(tiny, corpus, stopped, part, change):
    """Does every text that can change the result, of training or of a dev part, have to be the one of before?"""
    config = tiny(**DIVIDED, select=part.replace("_", "-") if part != "train" else "source-dev")
    path = stopped(config)
    parts = divide(corpus, config)
    documents = list(getattr(parts, part))
    first, second = documents[:2]
    if change == "text":
        documents[0] = replace(first, text=first.text + " more")
    elif change == "label":
        documents[0] = replace(first, label=next(one.label for one in documents if one.label != first.label))
    elif change == "order":
        documents[:2] = [second, first]
    else:
        documents = documents[1:]
    with pytest.raises(DomainGateError, match="other options or other texts"):
        fit(prepare(replace(parts, **{part: documents}), config), path, True)


def test_the_place_of_the_texts_is_no_text(tiny, corpus, stopped, fitted):
    """May the file of texts have moved, or be named by another path, between a kill and --resume?"""
    config = tiny(**DIVIDED)
    path = stopped(config)
    elsewhere = replace(corpus, documents=[replace(one, source=f"/elsewhere{one.source}") for one in corpus.documents])
    parts = divide(elsewhere, config)
    again, _ = fit(prepare(parts, config), path, True)
    assert len(again.metrics["history"]) == config.epochs


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(bytes(range(256)) * 9),
        lambda path: storage.write_tensors(path, {"weights": torch.zeros(3)}),
        lambda path: storage.write_tensors(path, {"story": torch.zeros(3, dtype=torch.uint8)}),
        lambda path: storage.write_tensors(
            path, {"story": torch.frombuffer(bytearray(b'{"identity": 0}'), dtype=torch.uint8)}
        ),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["empty", "truncated", "junk", "another file of tensors", "no story", "a story without history", "a folder"],
)
def test_a_damaged_checkpoint_is_told(tiny, fitted, stopped, spoil):
    """Is a checkpoint that cannot be read refused with its name, and never read as something else?"""
    config = tiny(**DIVIDED)
    path = stopped(config)
    spoil(path)
    with pytest.raises(DomainGateError, match=r"run\.checkpoint"):
        fitted(config, path, True)


def test_a_checkpoint_holds_no_code(tiny, stopped):
    """Is a checkpoint safetensors and JSON: the history so far, and the identity?"""
    path = stopped(tiny(**DIVIDED))
    tensors = storage.read_tensors(path)
    story = json.loads(bytes(tensors.pop("story").numpy()))
    assert [record["epoch"] for record in story["history"]] == [1, 2]
    assert {name.split(".")[0] for name in tensors} == {"model", "kept", "optimizer", "generator"}


def test_a_checkpoint_that_cannot_be_written_is_told(tiny, fitted, tmp_path, monkeypatch):
    """Does a disk that is full at the second checkpoint leave the first one whole, and go on from there?"""
    config = tiny(**DIVIDED)
    path = tmp_path / "run.checkpoint"
    files = 0
    fsync = storage.os.fsync

    def full(handle):
        nonlocal files
        files += 1
        if files == 2:
            raise OSError(28, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(DomainGateError, match=r"^Cannot write .*run\.checkpoint: No space left on device\.$"):
        fitted(config, path)
    assert [one.name for one in tmp_path.iterdir()] == ["run.checkpoint"]
    again, _ = fitted(config, path, True)
    assert same_bits(again.model.state_dict(), fitted(config)[0].model.state_dict())


def test_checkpoint_identity_reaches_the_command(texts, corpus, processes, tmp_path):
    """On the command line, is --resume with another option or another corpus refused with exit code 2?"""
    arguments = ("--out", tmp_path / "model", *KILLED, "--resume")
    assert processes.run("fit", texts, *arguments, before=KILL_AT_STEP.format(at=7)).code == -signal.SIGKILL
    assert "other options" in sentence(processes.run("fit", texts, *arguments, "--kl-weight", "0.3"))
    fewer = write_jsonl(tmp_path / "fewer.jsonl", corpus.documents[:-30])
    assert "other texts" in sentence(processes.run("fit", fewer, *arguments))
    assert processes.run("fit", texts, *arguments).code == 0
