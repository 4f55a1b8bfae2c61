"""The commands: what they print and where, what they answer with, and how they are used in pipes."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commandline import TINY, call, model_files, sentence, shared_processes, write_jsonl

from domaingate import __version__
from domaingate.artifact import load
from domaingate.config import FitConfig, flag
from domaingate.corpora import KNOWN
from domaingate.model.base import count_parameters

COMMAND = Path(sys.executable).with_name("domaingate")
FIT = ("--held-out", "mixture", "--hide-domains", "0.5", "--test-share", "0.2", "--dev-share", "0.2", *TINY)
WAYS = ("mean", "sample", "monte-carlo", "importance")
MODELS = ("s-cnn", "m-cnn", "gen", "dsda", "csda")


@pytest.fixture
def domaingate(capsys, monkeypatch):
    """`domaingate(...)`: a command in this process."""
    return lambda *arguments, stdin=b"": call(capsys, monkeypatch, *arguments, stdin=stdin)


@pytest.fixture(scope="module")
def processes():
    return shared_processes()


@pytest.fixture(scope="module")
def texts(corpus, tmp_path_factory):
    return write_jsonl(tmp_path_factory.mktemp("corpus") / "texts.jsonl", corpus.documents)


@pytest.fixture(scope="module")
def models(texts, processes, tmp_path_factory):
    """`models(name)`: a folder with a model of that recipe, and what `fit --json` printed."""
    made = {}

    def model(name="csda"):
        if name not in made:
            folder = tmp_path_factory.mktemp(name) / "model"
            options = ("--model", name, "--channels", "4", "--learning-rate", "0.005", "--epochs", "3")
            outcome = processes.run("fit", texts, "--out", folder, "--json", *FIT, *options)
            assert outcome.code == 0, outcome.err
            made[name] = (folder, outcome)
        return made[name]

    return model


# Help and version


@pytest.mark.parametrize(
    "command",
    [("corpus", "list"), ("corpus", "show"), ("corpus", "fetch"), ("fit",), ("evaluate",), ("predict",), ("inspect",)],
    ids=" ".join,
)
def test_help_has_an_example(domaingate, command):
    """Does every command say what it does, with an example of itself and --json?"""
    outcome = domaingate(*command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"domaingate {' '.join(command)}" in outcome.out.split("Example:")[1]
    assert "--json" in outcome.out


def test_fit_s_help_names_every_option(domaingate):
    """Is every option there, with its sentence's first word and its default?"""
    shown = " ".join(domaingate("fit", "--help").out.split())
    for name, item in FitConfig.__dataclass_fields__.items():
        assert flag(name) in shown
        assert " ".join(item.metadata["help"].split()[:3]) in shown
    assert "[default: 0.0005]" in shown


def test_the_examples_of_fit_and_predict_are_commands(domaingate):
    """Does the help of every command list the commands there are, and does nothing at all show the help?"""
    outcome = domaingate("--help")
    for command in ("corpus", "fit", "evaluate", "predict", "inspect"):
        assert command in outcome.out
    assert "Usage" in domaingate().out + domaingate().err


def test_version_and_module(domaingate):
    """Is the version said, and is `python -m domaingate` the command?"""
    assert domaingate("--version").out == f"domaingate {__version__}\n"
    outcome = subprocess.run([sys.executable, "-m", "domaingate", "--version"], capture_output=True, text=True)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, f"domaingate {__version__}\n", "")


def test_help_does_not_wait_for_torch():
    """Do help and version come without importing torch?"""
    code = "import sys; sys.argv = ['domaingate', 'fit', '--help']\nfrom domaingate.cli import main\n"
    code += "try: main()\nexcept SystemExit: pass\nsys.stderr.write(str('torch' in sys.modules))"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert outcome.stderr == "False"


# corpus


def test_corpus_list(domaingate):
    """Are all known corpora listed, as a table and as one JSON object?"""
    rows = domaingate("corpus", "list", "--json").json["corpora"]
    assert [row["name"] for row in rows] == list(KNOWN)
    assert next(row for row in rows if row["name"] == "synthetic")["here"] is True
    table = domaingate("corpus", "list").out
    assert all(name in table for name in KNOWN)


def test_corpus_show(domaingate, texts, corpus, tmp_path):
    """Are texts counted by domain and label, and unknown ones named as such?"""
    shown = domaingate("corpus", "show", texts, "--json").json
    assert shown["texts"] == len(corpus.documents) == sum(count["documents"] for count in shown["counts"])
    assert {"domain": "alpha", "label": "positive", "documents": 12} in shown["counts"]
    table = domaingate("corpus", "show", texts).out
    assert "alpha" in table
    assert "mixture" in domaingate("corpus", "show", "synthetic").out
    rows = [{"text": "a"}, {"text": "b", "label": "x"}, {"text": "c", "domain": "[red]"}]
    table = domaingate("corpus", "show", write_jsonl(tmp_path / "rows.jsonl", rows)).out
    for part in ("(unknown)", "(no label)", "[red]"):
        assert part in table


def test_names_are_shown_as_they_are(domaingate, tmp_path):
    """Does a table print a domain called :book: as it is written?"""
    rows = [{"text": "a", "domain": ":book:", "label": ":sparkles:"}]
    table = domaingate("corpus", "show", write_jsonl(tmp_path / "rows.jsonl", rows)).out
    assert ":book:" in table
    assert ":sparkles:" in table


def test_corpus_fetch_of_what_is_here(domaingate, tmp_path, monkeypatch):
    """Does fetching what is there already say where it is?"""
    monkeypatch.delenv("DOMAINGATE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = tmp_path / "domaingate" / KNOWN["vader"].place
    place.parent.mkdir()
    place.write_bytes(b"as if fetched")
    monkeypatch.setattr("domaingate.corpora.catalogue.fetch", lambda source, target, progress: target)
    assert domaingate("corpus", "fetch", "vader", "--json").json == {"corpus": "vader", "path": str(place)}
    assert str(place) in domaingate("corpus", "fetch", "vader").out.replace("\n", "")


# fit


def test_fit_prints_one_object_and_writes_a_model(models, texts, corpus):
    """Is standard output one JSON object, the metrics of the folder, and are parameters counted on standard error?"""
    folder, outcome = models("csda")
    told = outcome.json
    metrics = json.loads((folder / "metrics.json").read_text())
    metrics.pop("seen")
    assert told == {"model": str(folder), **metrics}
    total, without = count_parameters(load(folder).model)
    assert told["parameters"] == {"total": total, "without_embedding": without}
    assert f"{total:,} parameters, {without:,} without the token embedding" in outcome.err
    assert "epoch  1 " in outcome.err
    assert str(texts) in outcome.err
    assert told["counts"]["train_with_domain"] < told["counts"]["train"]
    assert told["trained_on"] == ["alpha", "beta", "delta", "gamma"]
    assert not folder.with_name("model.checkpoint").exists()


def test_fit_without_json_prints_a_table(domaingate, texts, tmp_path):
    """Are scores by domain printed, and the place of the model?"""
    outcome = domaingate("fit", texts, "--out", tmp_path / "model", *FIT)
    assert outcome.code == 0
    for part in ("alpha", "mixture", "mean of unseen domains", "epoch kept by source-dev", str(tmp_path / "model")):
        assert part in outcome.out


def test_flags_win_over_the_file_and_the_file_over_defaults(domaingate, texts, tmp_path):
    """Are options of a TOML file used, in either spelling, and those on the command line used instead?"""
    (tmp_path / "run.toml").write_text(
        'model = "dsda"\nchannels = 5\nheld-out = ["mixture"]\nlearning_rate = 0.03\nepochs = 3\nwidths = [1, 2]\n'
        "filters = 4\nembedding-size = 8\nhidden = 8\nthreads = 1\nhide-domains = 0.25\n"
    )
    outcome = domaingate(
        "fit", texts, "--config", tmp_path / "run.toml", "--epochs", 1, "--held-out", "", "--out", tmp_path / "model"
    )
    assert outcome.code == 0, outcome.err
    config = load(tmp_path / "model").config
    assert (config.model, config.channels, config.learning_rate, config.hide_domains) == ("dsda", 5, 0.03, 0.25)
    assert (config.epochs, config.held_out) == (1, ())
    assert config.dropout == FitConfig().dropout
    outcome = domaingate("fit", texts, "--config", tmp_path / "run.toml", "--out", tmp_path / "model", "--epochs", 1)
    assert load(tmp_path / "model").config.held_out == ("mixture",)


def test_a_corpus_in_every_shape_gives_the_same_model(domaingate, corpus, texts, tmp_path):
    """Are CSV, TSV, gzip, a folder, standard input and other names of columns the same texts as JSONL?"""
    lines = [f'"{one.text}",{one.label},{one.domain}' for one in corpus.documents]
    (tmp_path / "a.csv").write_text("\n".join(["text,label,domain", *lines]))
    (tmp_path / "b.tsv").write_text("\n".join(["review,stars,shop", *lines]).replace(",", "\t"))
    with gzip.open(tmp_path / "c.jsonl.gz", "wb") as packed:
        packed.write(texts.read_bytes())
    (tmp_path / "folder").mkdir()
    half = len(corpus.documents) // 2
    write_jsonl(tmp_path / "folder" / "1.jsonl", corpus.documents[:half])
    write_jsonl(tmp_path / "folder" / "2.jsonl", corpus.documents[half:])
    columns = ("--text-column", "review", "--label-column", "stars", "--domain-column", "shop")
    shapes = [(tmp_path / "a.csv",), (tmp_path / "b.tsv", *columns), (tmp_path / "c.jsonl.gz",), (tmp_path / "folder",)]
    weights = set()
    for shape in ((texts,), *shapes, ("-",)):
        stdin = texts.read_bytes() if shape == ("-",) else b""
        outcome = domaingate("fit", *shape, "--out", tmp_path / "model", *FIT, "--epochs", 1, stdin=stdin)
        assert outcome.code == 0, outcome.err
        weights.add((tmp_path / "model" / "weights.safetensors").read_bytes())
    assert len(weights) == 1


def test_an_older_model_is_replaced(domaingate, texts, tmp_path):
    """Does a second fit to the same place replace the first, and leave nothing else?"""
    for seed in (0, 1):
        assert domaingate("fit", texts, "--out", tmp_path / "model", *FIT, "--epochs", 1, "--seed", seed).code == 0
    assert load(tmp_path / "model").config.seed == 1
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_the_same_command_twice(domaingate, texts, tmp_path):
    """Does the same command give the same folder, and its place not matter?"""
    for name in ("one", "two"):
        assert domaingate("fit", texts, "--out", tmp_path / name, *FIT).code == 0
    assert model_files(tmp_path / "one") == model_files(tmp_path / "two")


def test_texts_without_labels_and_domains(domaingate, corpus, tmp_path):
    """Is any share of labels and domains enough: some labels, no domain?"""
    rows = [
        {"text": document.text, **({"label": document.label} if row % 2 else {})}
        for row, document in enumerate(corpus.documents)
    ]
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    for model in MODELS:
        outcome = domaingate("fit", path, "--out", tmp_path / model, "--model", model, "--json", *TINY, "--epochs", 1)
        assert outcome.code == 0, outcome.err
        counts = outcome.json["counts"]
        assert 0 < counts["train_with_label"] < counts["train"]
        assert counts["train_with_domain"] == 0
        assert domaingate("predict", tmp_path / model, path).code == 0


def test_nothing_set_aside(domaingate, texts, tmp_path):
    """Without dev and test parts, is the last epoch kept, said so, and no score made up?"""
    options = (*FIT, "--dev-share", "0", "--test-share", "0", "--held-out", "", "--json")
    outcome = domaingate("fit", texts, "--out", tmp_path / "model", *options)
    assert outcome.code == 0
    assert (outcome.json["selection"], outcome.json["kept_epoch"]) == ("last epoch", 2)
    assert outcome.json["scores"] == {"domains": [], "averages": {}}
    assert "No labelled text was left" in (tmp_path / "model" / "README.md").read_text()


def test_a_text_of_ten_megabytes(domaingate, corpus, models, tmp_path):
    """Is one enormous text trained on, scored and predicted within seconds?"""
    long = replace(corpus.documents[0], text=f"{corpus.documents[0].text} " + "enormous " * 1_200_000)
    path = write_jsonl(tmp_path / "rows.jsonl", [long, *corpus.documents[1:]])
    started = time.monotonic()
    assert domaingate("fit", path, "--out", tmp_path / "model", *FIT, "--epochs", 1).code == 0
    assert domaingate("evaluate", tmp_path / "model", path).code == 0
    lines = domaingate("predict", models()[0], path).lines
    assert len(lines) == len(corpus.documents)
    assert time.monotonic() - started < 20


# evaluate


@pytest.mark.parametrize("name", MODELS)
def test_evaluate_is_what_fit_reported(domaingate, models, texts, name):
    """On the very corpus that was fitted, are the very test texts scored, with the very accuracies?"""
    folder, outcome = models(name)
    told = domaingate("evaluate", folder, texts, "--json").json
    assert told["domains"] == outcome.json["scores"]["domains"]
    assert told["averages"] == outcome.json["scores"]["averages"]
    counts = outcome.json["counts"]
    assert sum(score["texts"] for score in told["domains"]) == counts["source_test"] + counts["target_test"]
    aside = counts["train"] + counts["source_dev"] + counts["target_dev"]
    assert told["passed_over"]["seen_in_training"] == aside


def test_evaluate_prints_a_table(domaingate, models, texts, corpus, tmp_path):
    """Are domains, averages and what was passed over printed for people, too?"""
    outcome = domaingate("evaluate", models()[0], texts)
    for part in ("alpha", "training", "mixture", "unseen", "mean of all domains", "Passed over: "):
        assert part in outcome.out
    nothing = write_jsonl(tmp_path / "rows.jsonl", [replace(one, label=None) for one in corpus.documents])
    outcome = domaingate("evaluate", models()[0], nothing)
    assert (outcome.code, outcome.out) == (2, "")
    assert "There is no text to score; check --label-column." in outcome.err
    assert "120 without a label" in outcome.err


@pytest.mark.parametrize("way", WAYS)
def test_evaluate_follows_its_seed(domaingate, models, texts, way):
    """Are scores that draw the same for the same seed?"""
    arguments = ("evaluate", models()[0], texts, "--json", "--inference", way, "--samples", 2, "--seed", 3)
    assert domaingate(*arguments).json == domaingate(*arguments).json


# predict


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_predict_in_every_way(domaingate, models, texts, corpus, name, way):
    """With every model and way to predict, is there a line a text: label, probabilities that sum to 1, k gates?"""
    folder, _ = models(name)
    arguments = ("predict", folder, texts, "--inference", way, "--samples", 3, "--seed", 1)
    outcome = domaingate(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.lines
    assert len(lines) == len(corpus.documents)
    for line in lines:
        assert set(line) == {"label", "probabilities", "gates"}
        assert list(line["probabilities"]) == ["negative", "positive"]
        assert sum(line["probabilities"].values()) == pytest.approx(1, abs=1e-5)
        best = max(line["probabilities"].values())
        assert line["probabilities"][line["label"]] == best
        assert len(line["gates"]) == {"s-cnn": 1, "gen": 2}.get(name, 4)


def test_predict_looks_at_texts_alone(domaingate, models, tmp_path):
    """Are columns that it has no use for no reason to refuse a row?"""
    odd = tmp_path / "odd.jsonl"
    odd.write_text('{"text": "fine", "label": ["a"], "domain": {"b": 1}}\n', encoding="utf-8")
    twice = tmp_path / "twice.csv"
    twice.write_text("text,label,label\nfine,a,b\n", encoding="utf-8")
    for path in (odd, twice):
        outcome = domaingate("predict", models()[0], path)
        assert (outcome.code, outcome.err) == (0, "")
        assert len(outcome.lines) == 1


def test_predict_among_some_labels_and_withholds_an_answer(domaingate, models, texts, corpus):
    """Do --languages and --abstain-below hold, and is a label that is none told?"""
    folder, _ = models()
    for line in domaingate("predict", folder, texts, "--languages", "positive").lines:
        assert (line["label"], line["probabilities"]) == ("positive", {"positive": 1.0})
    for line in domaingate("predict", folder, texts, "--abstain-below", 0.6).lines:
        assert (line["label"] == "und") == (max(line["probabilities"].values()) < 0.6)
    outcome = domaingate("predict", folder, texts, "--languages", "positive,de")
    assert "The model has no label 'de'; it knows negative, positive." in outcome.err
    assert (outcome.code, outcome.out) == (2, "")


@pytest.mark.parametrize("way", WAYS)
def test_predict_follows_its_seed(domaingate, models, texts, way):
    """Is `predict` the same for the same seed, run after run, and another for another where it draws?"""
    arguments = ("predict", models()[0], texts, "--inference", way, "--samples", 2, "--seed")
    first = [domaingate(*arguments, 1).lines for _ in range(4)]
    for again in first[1:]:
        for line, other in zip(first[0], again, strict=True):
            assert line["probabilities"] == pytest.approx(other["probabilities"], abs=5e-6)
    assert (domaingate(*arguments, 2).lines == first[0]) == (way == "mean")


@pytest.mark.parametrize("name", MODELS)
def test_many_samples_approach_each_other(domaingate, models, texts, name):
    """With many samples, do Monte Carlo averages of two seeds agree, closer than single samples do?"""
    folder, _ = models(name)

    def positive(way, seed):
        lines = domaingate("predict", folder, texts, "--inference", way, "--samples", 300, "--seed", seed).lines
        return np.array([line["probabilities"]["positive"] for line in lines])

    single = np.abs(positive("sample", 1) - positive("sample", 2)).mean()
    many = np.abs(positive("monte-carlo", 1) - positive("monte-carlo", 2)).mean()
    assert many <= single / 3


def test_predict_reads_every_format(domaingate, models, tmp_path):
    """Do JSONL, CSV, text, standard input and other columns give the same answers in the same order?"""
    folder, _ = models()
    texts = ["a fine film", "kaba, mulo", "one  two", "日本", "kaba"]
    write_jsonl(tmp_path / "a.jsonl", [{"text": text} for text in texts])
    (tmp_path / "b.csv").write_text("\n".join(["review,x", *(f'"{text}",1' for text in texts)]))
    (tmp_path / "c.txt").write_text("\n".join(texts))
    (tmp_path / "d.dat").write_text("\n".join(texts))
    strings = "\n".join(json.dumps(text) for text in texts)
    answers = [
        domaingate("predict", folder, tmp_path / "a.jsonl"),
        domaingate("predict", folder, tmp_path / "b.csv", "--text-column", "review"),
        domaingate("predict", folder, tmp_path / "c.txt"),
        domaingate("predict", folder, tmp_path / "d.dat", "--format", "text"),
        domaingate("predict", folder, "-", stdin=strings),
        domaingate("predict", folder, stdin=strings),
        domaingate("predict", folder, "-", "--format", "text", stdin="\n".join(texts)),
    ]
    assert all(outcome.code == 0 for outcome in answers)
    for outcome in answers[1:]:
        for line, other in zip(answers[0].lines, outcome.lines, strict=True):
            assert line["probabilities"] == pytest.approx(other["probabilities"], abs=5e-6)
    (one,) = domaingate("predict", folder, stdin=json.dumps(texts[4])).lines
    assert one["probabilities"] == pytest.approx(answers[0].lines[4]["probabilities"], abs=5e-6)


def test_predict_as_one_object(domaingate, models, texts, corpus):
    """Does --json print one object with all predictions?"""
    lines = domaingate("predict", models()[0], texts).lines
    outcome = domaingate("predict", models()[0], texts, "--json")
    assert outcome.code == 0
    assert outcome.json == {"predictions": lines}


def test_predict_goes_on_after_a_bad_line(domaingate, models, tmp_path):
    """Is a bad line answered in its place with an error that names file and line, the rest answered, and code 1?"""
    (tmp_path / "rows.jsonl").write_bytes(b'"good"\n{bad\n{"text": ""}\n\n"good"\n{"body": 3}\n\xff\xfe\n"good"')
    for extra in ((), ("--json",)):
        outcome = domaingate("predict", models()[0], tmp_path / "rows.jsonl", *extra)
        assert outcome.code == 1
        assert outcome.err == ""
        lines = outcome.json["predictions"] if extra else outcome.lines
        assert ["error" in line for line in lines] == [False, True, True, False, True, True, False]
        assert lines[0] == lines[3] == lines[6]
        for line, number in zip([lines[1], lines[2], lines[4], lines[5]], (2, 3, 6, 7), strict=True):
            assert set(line) == {"error"}
            assert line["error"].startswith(f"{tmp_path / 'rows.jsonl'}:{number}: ")


def test_predict_of_nothing(domaingate, models, tmp_path):
    """Does a stream that ends before it begins give no lines and no error, where an empty file is told?"""
    (tmp_path / "none.jsonl").touch()
    assert "none.jsonl has no rows" in sentence(domaingate("predict", models()[0], tmp_path / "none.jsonl"))
    outcome = domaingate("predict", models()[0])
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_predict_answers_before_the_whole_of_a_broken_file(domaingate, models, texts, tmp_path):
    """Where a file breaks off in the middle, are the texts before it answered and the break told?"""
    packed = gzip.compress(texts.read_bytes())
    (tmp_path / "rows.jsonl.gz").write_bytes(packed[: len(packed) * 2 // 3])
    outcome = domaingate("predict", models()[0], tmp_path / "rows.jsonl.gz")
    assert "not a whole gzip file" in sentence(outcome)
    assert len(outcome.lines) > 10


def test_predict_answers_each_line_as_it_comes(models):
    """Through a real pipe, is a line answered before the next is written, a bad one in its place, and the code 1?"""
    command = [COMMAND, "predict", models()[0], "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for line, key in ((b'{"text": "first"}', "label"), (b"{bad", "error"), (b'"third"', "label")):
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            assert key in json.loads(process.stdout.readline())
        rest, errors = process.communicate(timeout=20)
    assert (process.returncode, rest, errors) == (1, b"", b"")


def test_head(models, texts):
    """Does `| head -1` end without a word on standard error, and not as if something had failed?"""
    many = "; ".join([f"cat {texts}"] * 200)
    command = f"({many}) | {COMMAND} predict {models()[0]} - | head -1; echo ${{PIPESTATUS[1]}}"
    outcome = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    line, code = outcome.stdout.splitlines()
    assert "label" in json.loads(line)
    assert outcome.stderr == ""
    assert code == "0"


def test_nobody_reads(models, texts, processes, tmp_path):
    """Is it the same for a command that prints once, into a pipe that is closed by then?"""
    fifo, ready = tmp_path / "fifo", tmp_path / "ready"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    before = f"import time\nopen({str(ready)!r}, 'w').close()\ntime.sleep(0.5)"
    process = processes.start("evaluate", models()[0], texts, "--json", stdout=fifo, before=before)
    while not ready.exists():
        time.sleep(0.01)
    os.close(reader)
    outcome = process.wait()
    assert (outcome.code, outcome.err) == (0, "")


def test_exit_codes_of_real_processes(models, tmp_path):
    """As real processes, is a mistake 2 with one line on standard error, and Ctrl-C 130 with a sentence?"""
    wrong = subprocess.run([COMMAND, "corpus", "show", tmp_path], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)
    assert wrong.stderr.startswith(f"domaingate: The folder {tmp_path} has no file")
    command = [COMMAND, "predict", models()[0], "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b'"x"\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.wait(20)
        errors = process.stderr.read().decode()
    assert process.returncode == 130
    assert errors.startswith("domaingate: ")
    assert errors.count("\n") == 1


def test_answers_do_not_depend_on_threads(processes, models, texts):
    """Does --threads set torch's threads, and are answers the same with one and two?"""
    before = "import atexit, torch\natexit.register(lambda: print(torch.get_num_threads()))"
    outcomes = [
        processes.run("predict", models()[0], texts, "--threads", threads, before=before).out.splitlines()
        for threads in (1, 2)
    ]
    assert [lines.pop() for lines in outcomes] == ["1", "2"]
    for line, other in zip(*outcomes, strict=True):
        assert json.loads(line)["probabilities"] == pytest.approx(json.loads(other)["probabilities"], abs=5e-6)


# inspect


def test_inspect_prints_one_object(domaingate, models, texts, tmp_path):
    """Does inspect write its pictures and numbers, and print the numbers, or else their place?"""
    outcome = domaingate("inspect", models()[0], texts, "--out", tmp_path / "look", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json == json.loads((tmp_path / "look" / "numbers.json").read_text())
    outcome = domaingate("inspect", models()[0], texts, "--out", tmp_path / "look")
    assert str(tmp_path / "look") in outcome.out.replace("\n", "")
