"""Everything that can be wrong: one clear sentence, exit code 2, no traceback, and nothing half-written."""

import json
import shutil
import signal
from dataclasses import replace

import pytest
import torch
from commandline import TINY, call, sentence, shared_processes, write_jsonl

from domaingate import storage
from domaingate.artifact import save
from domaingate.cli import _fail
from domaingate.config import FitConfig, flag, kind
from domaingate.experiment import fit, prepare
from domaingate.protocol import divide
from domaingate.storage import read_tensors, write_tensors

GOOD = [
    {"text": f"{mood} {thing} number {row}", "label": mood, "domain": thing}
    for row in range(12)
    for mood in ("fine", "poor")
    for thing in ("tea", "jam")
]
CHOICES = [name for name in FitConfig.__dataclass_fields__ if isinstance(kind(FitConfig, name)[0], tuple)]


@pytest.fixture(scope="module")
def whole_model(corpus, tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "model"
    config = tiny(epochs=1, min_count=1, filters=4, embedding_size=4)
    artifact, _ = fit(prepare(divide(corpus, replace(config, dev_share=0.0)), config))
    save(artifact, folder, "# A card\n")
    return folder


@pytest.fixture
def model(whole_model, tmp_path):
    """A copy, to be damaged."""
    return shutil.copytree(whole_model, tmp_path / "model")


@pytest.fixture
def said(capsys, monkeypatch):
    """`said(...)`: the sentence with which the command ends, with exit code 2."""
    return lambda *arguments, stdin=b"": sentence(call(capsys, monkeypatch, *arguments, stdin=stdin))


@pytest.fixture
def refused(said, tmp_path):
    """`refused(corpus, ...)`: the sentence with which fit ends, having left nothing behind."""

    def refused(corpus, *options):
        before = sorted(tmp_path.rglob("*"))
        words = said("fit", corpus, "--out", tmp_path / "out", *TINY, *options)
        assert sorted(tmp_path.rglob("*")) == before
        return words

    return refused


@pytest.fixture(scope="module")
def processes():
    return shared_processes()


# Corpora


def raw(path, *lines):
    path.write_bytes(b"\n".join(json.dumps(line).encode() if isinstance(line, dict) else line for line in lines))
    return path


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{broken", "not valid JSON"),
        (b"42", "neither an object"),
        (b'{"body": "x"}', "no column 'text'"),
        (b'{"text": ""}', "text is empty"),
        (b'{"text": "  "}', "text is empty"),
        (b'{"text": null}', "text is null"),
        (b'{"text": ["x"]}', "not a string"),
        (b'{"text": "x", "label": ["y"]}', "label is neither"),
        (b'{"text": "x", "domain": {"y": 1}}', "domain is neither"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"text": "x\\ud800"}', "surrogate"),
        (bytes(range(256)), "NUL"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "evaluate", "inspect", "corpus show"])
def test_a_line_that_cannot_be_read(said, model, tmp_path, command, line, problem):
    """Does every command that needs a corpus name file and line, and leave nothing behind?"""
    path = raw(tmp_path / "bad.jsonl", *GOOD[:2], line.replace(b"\n", b""), *GOOD[2:])
    before = sorted(tmp_path.rglob("*"))
    out = tmp_path / "out"
    words = said(*{
        "fit": ("fit", path, "--out", out), "evaluate": ("evaluate", model, path),
        "inspect": ("inspect", model, path, "--out", out), "corpus show": ("corpus", "show", path),
    }[command])  # fmt: skip
    assert words.startswith(f"{path}:3: ")
    assert problem in words
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("empty.jsonl", b"", "has no rows"),
        ("empty.csv", b"", "has no rows"),
        ("blank.jsonl", b"\n\n \n", "has no rows"),
        ("header.csv", b"text,label,domain\n", "has no rows"),
        ("junk.jsonl", bytes(range(255, 0, -1)) * 5, "junk.jsonl:1: "),
        ("junk.csv", bytes(range(255, 0, -1)) * 5, "junk.csv:1: "),
        ("junk.parquet", bytes(range(256)) * 5, "not a whole Parquet file"),
        ("junk.jsonl.gz", bytes(range(256)) * 5, "not a whole gzip file"),
        ("short.csv", b"text,label\nfine,good\nfine\n", "short.csv:3: "),
        ("other.csv", b"body,label\nfine,good\n", "other.csv:1: there is no column 'text'"),
        ("twice.csv", b"text,label,label\nfine,good,good\n", "two columns 'label'"),
        ("unknown.doc", b"text", "does not tell its format"),
    ],
)
def test_a_file_that_is_no_corpus(refused, tmp_path, name, content, problem):
    """Are empty files, junk and broken tables told by name?"""
    path = tmp_path / name
    path.write_bytes(content)
    words = refused(path)
    assert problem in words
    assert name in words


@pytest.mark.parametrize("command", ["fit", "evaluate", "inspect", "corpus show"])
@pytest.mark.parametrize("name", ["vadr", "./absent.jsonl", "absent/"])
def test_a_corpus_that_is_not_there(said, model, monkeypatch, tmp_path, command, name):
    """Is an unknown name told, with the known ones and the nearest?"""
    monkeypatch.chdir(tmp_path)
    words = said(*{
        "fit": ("fit", name), "evaluate": ("evaluate", model, name), "inspect": ("inspect", model, name),
        "corpus show": ("corpus", "show", name),
    }[command])  # fmt: skip
    assert repr(name) in words
    assert "synthetic" in words
    assert ("Did you mean 'vader'?" in words) == (name == "vadr")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_predict_tells_a_file_that_is_not_there(said, model, tmp_path):
    """Is a missing file of texts told, too, and a folder without texts?"""
    assert "absent.jsonl" in said("predict", model, tmp_path / "absent.jsonl")
    (tmp_path / "empty").mkdir()
    assert "empty" in said("predict", model, tmp_path / "empty")
    (tmp_path / "none.jsonl").write_text("\n")
    assert "none.jsonl has no rows" in said("predict", model, tmp_path / "none.jsonl")
    assert "'reviews'" in said("fit", write_jsonl(tmp_path / "a.jsonl", GOOD), "--label-column", "reviews")


def test_names_that_nothing_can_be_fetched_for(said):
    """Are unknown and computed corpora refused by `corpus fetch`?"""
    assert "no known corpus 'vadr'. Did you mean 'vader'?" in said("corpus", "fetch", "vadr")
    assert "nothing to fetch" in said("corpus", "fetch", "synthetic")


@pytest.mark.parametrize(
    ("rows", "options", "problem"),
    [
        ([{**row, "label": "fine"} for row in GOOD], (), "only the label 'fine'"),
        ([{**row, "label": None} for row in GOOD], (), "no label"),
        ([{"text": row["text"]} for row in GOOD], (), "no label"),
        (GOOD, ("--held-out", "coffee"), "--held-out names coffee"),
        (GOOD, ("--held-out", "teaa"), "Did you mean tea?"),
        (GOOD, ("--held-out", "tea,jam"), "no text left to train on"),
        ([{**row, "domain": None} for row in GOOD], ("--held-out", "tea"), "which is no domain"),
        (GOOD, ("--dev-share", "0.6", "--test-share", "0.4"), "nothing to train on"),
        (GOOD, ("--select", "target-dev"), "--held-out"),
        (GOOD, ("--model", "dsda", "--channels", "1"), "--channels is 1, but 2 domains are known"),
        (GOOD[:1], (), "only the label 'fine'"),
    ],
)
def test_a_corpus_that_cannot_be_learnt_from(refused, tmp_path, rows, options, problem):
    """Are one class, no labels, nothing to train on and domains that are not there told before anything is written?"""
    assert problem in refused(write_jsonl(tmp_path / "rows.jsonl", rows), *options)


def test_a_label_that_training_never_saw(refused, said, model, tmp_path):
    """Is a new label told by file and line, in evaluation and where only a held-out domain has it?"""
    rows = [*GOOD, {"text": "so so", "label": "middling", "domain": "tea"}]
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    words = refused(path, "--held-out", "tea", "--target-dev-share", "0")
    assert f"{path}:{len(rows)} has the label 'middling'" in words
    assert "'middling'" in refused(path, "--held-out", "tea", "--target-dev-share", "1")
    line = {"text": "so so", "label": "middling"}
    path = write_jsonl(tmp_path / "new.jsonl", [{"text": "fine", "label": "positive"}, line])
    words = said("evaluate", model, path)
    assert f"{path}:2 has the label 'middling'" in words
    assert "negative, positive" in words


# Options


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_that_there_is_not(refused, tmp_path, name):
    """Does every option of choices name itself, the wrong value and the right ones?"""
    words = refused(write_jsonl(tmp_path / "rows.jsonl", GOOD), flag(name), "sideways")
    assert words.startswith(f"{flag(name)} is 'sideways'; it takes one of ")
    for choice in kind(FitConfig, name)[0]:
        assert choice in words


@pytest.mark.parametrize(
    "command",
    [("evaluate", "MODEL", "synthetic"), ("predict", "MODEL", "-"), ("inspect", "MODEL", "synthetic"),
     ("corpus", "show", "rows.jsonl"), ("fit", "rows.jsonl")],
    ids=lambda command: " ".join(command),
)  # fmt: skip
def test_wrong_choices_of_the_other_commands(said, model, command):
    """Are wrong formats and ways to predict refused everywhere?"""
    command = [model if part == "MODEL" else part for part in command]
    assert (
        said(*command, "--format", "pdf") == "--format is 'pdf'; it takes one of auto, jsonl, csv, tsv, parquet, text."
    )
    if command[0] in ("evaluate", "predict"):
        for way in ("guess", ""):
            assert said(*command, "--inference", way).startswith(
                f"--inference is {way!r}; it takes one of sample, mean,"
            )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--epochs", "0"), "--epochs is 0"),
        (("--epochs", "many"), "--epochs is 'many'; it takes a whole number"),
        (("--learning-rate", "nan"), "--learning-rate is nan"),
        (("--hide-domains", "1.5"), "--hide-domains is 1.5"),
        (("--widths", ""), "--widths is empty"),
        (("--seed", "-1"), "--seed is -1"),
        (("--device", "warp"), "--device warp"),
    ],
)
def test_numbers_out_of_range(refused, tmp_path, options, problem):
    """Is a wrong number told with its flag?"""
    assert problem in refused(write_jsonl(tmp_path / "rows.jsonl", GOOD), *options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
@pytest.mark.parametrize("device", ["cuda", "cuda:1", "warp", "meta"])
@pytest.mark.parametrize("command", ["fit", "evaluate", "predict", "inspect"])
def test_a_device_that_is_not_here(said, model, tmp_path, command, device):
    """Is a missing device refused in a sentence by every command that computes?"""
    rows = write_jsonl(tmp_path / "rows.jsonl", GOOD)
    arguments = {"fit": ("fit", rows, "--out", tmp_path / "out")}.get(command, (command, model, rows))
    words = said(*arguments, "--device", device)
    assert f"--device {device}" in words
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ("modell = 'csda'\n", "run.toml sets modell, which is no option; did you mean model?"),
        ("[fit]\nmodel = 'csda'\n", "run.toml sets fit"),
        ("model = \n", "run.toml is not TOML"),
        ("model = 'lda'\n", "--model is 'lda'"),
        ("epochs = 'three'\n", "--epochs is 'three'"),
        ("widths = 3\n", "--widths is 3"),
        ("out = 'model'\n", "run.toml sets out"),
    ],
)
def test_a_config_file_that_is_wrong(refused, tmp_path, toml, problem):
    """Is a mistake in the TOML file told by file and key?"""
    (tmp_path / "run.toml").write_text(toml)
    assert problem in refused(write_jsonl(tmp_path / "rows.jsonl", GOOD), "--config", tmp_path / "run.toml")


def test_a_config_file_that_is_not_there(refused, tmp_path):
    """Are a missing file and a folder told?"""
    rows = write_jsonl(tmp_path / "rows.jsonl", GOOD)
    assert "absent.toml" in refused(rows, "--config", tmp_path / "absent.toml")
    assert "Cannot read" in refused(rows, "--config", tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [("fit",), ("fit", "synthetic", "--colour", "red"), ("paint",), ("predict",), ("predict", "m", "--samples", "0"),
     ("evaluate", "m", "synthetic", "--seed", "-1"), ("predict", "m", "--threads", "0"), ("corpus", "burn")],
    ids=" ".join,
)  # fmt: skip
def test_usage_errors(capsys, monkeypatch, arguments):
    """Does a command that is not one end with code 2, a hint at --help, and nothing on standard output?"""
    outcome = call(capsys, monkeypatch, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Error: " in outcome.err
    assert "Traceback" not in outcome.err


# Model folders

COMMANDS = [("predict", "MODEL", "-"), ("evaluate", "MODEL", "CORPUS"), ("inspect", "MODEL", "CORPUS")]


@pytest.fixture
def told_by_all(said, tmp_path):
    """`told_by_all(model)`: the sentences of the three commands that read a model."""
    corpus = write_jsonl(tmp_path / "rows.jsonl", [{"text": "x", "label": "positive", "domain": "alpha"}])

    def told_by_all(model):
        places = {"MODEL": model, "CORPUS": corpus}
        words = [said(*(places.get(part, part) for part in command), stdin=b'"x"\n') for command in COMMANDS]
        assert not (tmp_path / "inspection").exists()
        return words

    return told_by_all


@pytest.mark.parametrize("what", ["nothing", "a file", "binary junk", "an empty folder", "another folder", "a corpus"])
def test_what_is_no_model(told_by_all, tmp_path, what):
    """Is anything that is not a model folder refused by name?"""
    place = tmp_path / "place"
    if what in ("an empty folder", "another folder"):
        place.mkdir()
        if what == "another folder":
            (place / "config.json").write_text("{}")
    elif what != "nothing":
        place.write_bytes({"a file": b"x", "binary junk": bytes(range(256)), "a corpus": b'"x"\n'}[what])
    for words in told_by_all(place):
        assert words.startswith(f"{place} is not a model folder")


JSON_FILES = ("config.json", "tokenizer.json", "labels.json", "metrics.json")


@pytest.mark.parametrize("name", [*JSON_FILES, "weights.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "junk", "a folder"])
def test_a_damaged_file_of_a_model(told_by_all, model, name, damage):
    """Is a file that is missing or broken named?"""
    path = model / name
    content = path.read_bytes()
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage != "missing":
        path.write_bytes({"empty": b"", "truncated": content[: len(content) // 2], "junk": bytes(range(256))}[damage])
    for words in told_by_all(model):
        assert name in words
        assert str(model) in words


def test_weights_that_are_no_numbers(told_by_all, model):
    """Are weights that only give NaN refused rather than used?"""
    weights = read_tensors(model / "weights.safetensors")
    next(iter(weights.values())).view(-1)[0] = torch.nan
    write_tensors(model / "weights.safetensors", weights)
    for words in told_by_all(model):
        assert "weights.safetensors holds weights that are no finite numbers" in words


def test_a_model_that_is_larger_than_the_memory(said, tmp_path):
    """Is memory that does not suffice a sentence?"""
    rows = write_jsonl(tmp_path / "a.jsonl", GOOD)
    words = said("fit", rows, "--channels", "4096", "--filters", "100000", "--out", tmp_path / "m")
    assert words.startswith("The memory does not suffice")
    assert [path.name for path in tmp_path.iterdir() if path.name != "model"] == ["a.jsonl"]


@pytest.mark.parametrize("name", JSON_FILES)
@pytest.mark.parametrize(
    "content", ["null", "3", "[]", "{}", '"text"', '{"labels": 3}', '{"labels": {"a": 0, "b": 1}}']
)
def test_json_of_another_kind(told_by_all, model, name, content):
    """Is valid JSON that is not what the file should hold told with the file's name, in words, by every command?"""
    (model / name).write_text(content)
    for words in told_by_all(model):
        assert name in words
        for riddle in ("NoneType", "object has no attribute", "indices must be", "subscriptable", "argument of type"):
            assert riddle not in words


@pytest.mark.parametrize("key", ["trained_on", "seen", "selection", "scores"])
def test_metrics_that_lack_something(capsys, monkeypatch, model, key, tmp_path):
    """Where a key of metrics.json is missing, is there an answer or a sentence, and never a traceback?"""
    metrics = json.loads((model / "metrics.json").read_text())
    del metrics[key]
    (model / "metrics.json").write_text(json.dumps(metrics))
    rows = write_jsonl(tmp_path / "rows.jsonl", [{"text": "x", "label": "positive", "domain": "alpha"}])
    for command in (
        ("predict", model, rows),
        ("evaluate", model, rows),
        ("inspect", model, rows, "--out", tmp_path / "o"),
    ):
        outcome = call(capsys, monkeypatch, *command)
        if outcome.code:
            assert "metrics.json" in sentence(outcome)


def test_a_key_of_the_config_that_there_is_not(told_by_all, model):
    """Is a config of another version told apart from a damaged one?"""
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "format": 99}))
    assert all("format 1" in words for words in told_by_all(model))
    (model / "config.json").write_text(json.dumps({**config, "config": {**config["config"], "chanels": 3}}))
    assert all("config.json sets chanels" in words for words in told_by_all(model))


def mismatch(words, model):
    assert str(model) in words
    assert "Error(s) in loading" not in words  # torch's own first line says nothing
    assert ":." not in words


@pytest.mark.parametrize("change", ["fewer words", "more labels", "other weights", "no weights", "one weight less"])
def test_parts_that_do_not_belong_together(told_by_all, model, change):
    """Is a vocabulary, a list of labels or a file of weights of another model told in words?"""
    if change == "fewer words":
        saved = json.loads((model / "tokenizer.json").read_text())
        words = saved["tokenizer"]["model"]["vocab"]
        saved["tokenizer"]["model"]["vocab"] = {word: row for word, row in words.items() if row < len(words) - 5}
        (model / "tokenizer.json").write_text(json.dumps(saved))
    elif change == "more labels":
        names = json.loads((model / "labels.json").read_text())
        (model / "labels.json").write_text(json.dumps({**names, "labels": [*names["labels"], "middling"]}))
    else:
        tensors = read_tensors(model / "weights.safetensors")
        if change == "other weights":
            tensors = {f"other.{name}": tensor for name, tensor in tensors.items()}
        elif change == "no weights":
            tensors = {}
        else:
            tensors.popitem()
        write_tensors(model / "weights.safetensors", tensors)
    for words in told_by_all(model):
        mismatch(words, model)


# Places to write to


@pytest.mark.parametrize("what", ["a file", "a folder of something", "below a file"])
def test_a_place_that_is_taken(said, tmp_path, what):
    """Is a model never written over something that is no model, and is this told before the training?"""
    rows = write_jsonl(tmp_path / "rows.jsonl", GOOD)
    place = tmp_path / "place"
    if what == "a folder of something":
        place.mkdir()
        (place / "thesis.tex").write_text("years of work")
    else:
        place.write_text("years of work")
    before = sorted(tmp_path.rglob("*"))
    out = place / "model" if what == "below a file" else place
    assert str(place) in said("fit", rows, "--out", out, *TINY)
    assert sorted(tmp_path.rglob("*")) == before
    assert (place / "thesis.tex" if place.is_dir() else place).read_text() == "years of work"


def test_a_place_that_is_taken_is_told_before_training(said, tmp_path, monkeypatch):
    """Is nothing computed for a model that has no place?"""
    monkeypatch.setattr("domaingate.experiment.prepare", lambda *_: pytest.fail("this would have taken hours"))
    (tmp_path / "place").write_text("years of work")
    for out in (tmp_path / "place", tmp_path / "place" / "model"):
        said("fit", write_jsonl(tmp_path / "rows.jsonl", GOOD), "--out", out, *TINY)


def full_at(monkeypatch, name):
    """Let the disk be full when the file of that name is synced."""
    real = storage.tempfile.mkstemp
    fsync = storage.os.fsync
    handles = {}

    def mkstemp(*arguments, **options):
        handle, path = real(*arguments, **options)
        handles[handle] = options["prefix"]
        return handle, path

    def full(handle):
        if handles.get(handle) == f".{name}.":
            raise OSError(28, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(storage.tempfile, "mkstemp", mkstemp)
    monkeypatch.setattr(storage.os, "fsync", full)


FILES = ("config.json", "weights.safetensors", "tokenizer.json", "labels.json", "metrics.json", "README.md")


@pytest.mark.parametrize("name", ["out.checkpoint", *FILES])
def test_a_disk_that_is_full(said, tmp_path, monkeypatch, name):
    """Does a full disk, at any file of the model, leave no model, no temporary file, and a run that can go on?"""
    rows = write_jsonl(tmp_path / "rows.jsonl", GOOD)
    full_at(monkeypatch, name)
    words = said("fit", rows, "--out", tmp_path / "out", *TINY)
    assert words.startswith("Cannot write ")
    assert words.endswith("No space left on device.")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"rows.jsonl"} | ({"out.checkpoint"} if name != "out.checkpoint" else set())


def test_a_limit_of_the_system(processes, tmp_path):
    """Does a real limit on a file's size (RLIMIT_FSIZE) end as a sentence, with nothing left?"""
    rows = write_jsonl(tmp_path / "rows.jsonl", GOOD)
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
    words = sentence(processes.run("fit", rows, "--out", tmp_path / "out", *TINY, before=limit))
    assert words.startswith("Cannot write ")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


@pytest.mark.parametrize(
    "arguments",
    [("predict", "MODEL", "ROWS"), ("predict", "MODEL", "ROWS", "--json"), ("evaluate", "MODEL", "ROWS", "--json"),
     ("evaluate", "MODEL", "ROWS"), ("corpus", "list"), ("fit", "ROWS", "--out", "OUT", "--json", *TINY),
     ("--version",), ("fit", "--help")],
    ids=lambda arguments: " ".join(arguments[:4]),
)  # fmt: skip
def test_standard_output_that_is_full(processes, whole_model, tmp_path, arguments):
    """Is a full device behind standard output told in one sentence, and nothing else?"""
    rows = write_jsonl(
        tmp_path / "rows.jsonl", [{**row, "label": {"fine": "positive"}.get(row["label"], "negative")} for row in GOOD]
    )
    places = {"MODEL": whole_model, "ROWS": rows, "OUT": tmp_path / "out"}
    outcome = processes.run(*(places.get(part, part) for part in arguments), stdout="/dev/full")
    assert "No space left on device" in sentence(outcome)
    assert "Exception ignored" not in outcome.err


@pytest.mark.parametrize("name", ["gates.png", "tsne.png", "numbers.json"])
def test_a_disk_that_is_full_of_inspection(said, whole_model, corpus, tmp_path, monkeypatch, name):
    """Does a full disk, at any file of an inspection, leave what was there before, and nothing half-written?"""
    out = tmp_path / "inspection"
    out.mkdir()
    (out / "numbers.json").write_text("{}", encoding="utf-8")
    texts = [document.text for document in corpus.documents[:40]]
    rows = write_jsonl(tmp_path / "rows.jsonl", [{"text": text} for text in texts])
    full_at(monkeypatch, name)
    assert "No space left on device" in said("inspect", whole_model, rows, "--out", out)
    assert [path.name for path in out.iterdir()] == ["numbers.json"]
    assert (out / "numbers.json").read_text(encoding="utf-8") == "{}"


def test_an_inspection_that_has_no_place(said, whole_model, tmp_path):
    """Is a plain file in the place of inspect's folder told?"""
    (tmp_path / "out").write_text("in the way")
    rows = write_jsonl(tmp_path / "rows.jsonl", GOOD)
    assert str(tmp_path / "out") in said("inspect", whole_model, rows, "--out", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "in the way"


# Being stopped


@pytest.mark.parametrize("moment", ["while training", "while reading", "while writing the model"])
def test_ctrl_c(processes, tmp_path, moment):
    """Does Ctrl-C end with a sentence, exit code 130 and no traceback, and leave no half-written model?"""
    rows = write_jsonl(tmp_path / "rows.jsonl", GOOD)
    place = {
        "while training": ("domaingate.training", "_step"), "while reading": ("domaingate.protocol", "divide"),
        "while writing the model": ("domaingate.artifact", "write_tensors"),
    }[moment]  # fmt: skip
    before = (
        f"import os, {place[0]} as room\n"
        f"def interrupted(*_): os.kill(os.getpid(), {signal.SIGINT.value})\n"
        f"room.{place[1]} = interrupted"
    )
    words = sentence(processes.run("fit", rows, "--out", tmp_path / "out", *TINY, before=before), code=130)
    assert "topped" in words
    left = {path.name for path in tmp_path.iterdir()} - {"rows.jsonl"}
    assert left <= {"out.checkpoint"}


def test_ctrl_c_while_predicting(processes, whole_model, tmp_path):
    """Is the same true of a stream of predictions that waits for its next line?"""
    (tmp_path / "rows.jsonl").write_text('"x"\n')
    before = (
        "import os, domaingate.streaming as room\n"
        f"room._answers = lambda *_: os.kill(os.getpid(), {signal.SIGINT.value})"
    )
    sentence(processes.run("predict", whole_model, tmp_path / "rows.jsonl", before=before), code=130)


def test_every_failure_is_one_line(capsys):
    """Is the prefix the program's name, so that a log tells who spoke?"""
    with pytest.raises(SystemExit, match="2"):
        _fail("This is wrong.")
    assert capsys.readouterr().err == "domaingate: This is wrong.\n"
