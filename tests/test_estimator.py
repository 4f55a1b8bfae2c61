"""The scikit-learn estimator: its protocol, its parameters, and the labels and domains that people really have."""

import inspect
import pickle
import warnings
from dataclasses import replace

import joblib
import numpy as np
import pytest
import torch
from commandline import call, write_jsonl
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from domaingate import DomainGateClassifier, DomainGateError, training
from domaingate.config import FitConfig, ModelConfig, ProtocolConfig, TrainingConfig, kind
from domaingate.corpora.synthetic import DOMAINS
from domaingate.predictor import Predictor

SMALL = {
    "channels": 3, "embedding_size": 8, "widths": (1, 2), "filters": 6, "hidden": 8, "label_size": 2, "domain_size": 3,
    "dropout": 0.1, "batch_size": 16, "epochs": 2, "learning_rate": 0.02, "min_count": 1, "samples": 5,
}  # fmt: skip


def small(**options):
    return DomainGateClassifier(**{**SMALL, "random_state": 0, **options})


@pytest.fixture(scope="module")
def data(corpus):
    """Texts, labels and domains of the training domains."""
    documents = [document for document in corpus.documents if document.domain in DOMAINS]
    return tuple([getattr(document, name) for document in documents] for name in ("text", "label", "domain"))


@pytest.fixture(scope="module")
def fitted(data):
    texts, labels, domains = data
    return small().fit(texts, labels, domains=domains)


def same(first, second, texts):
    return np.array_equal(first.predict_proba(texts), second.predict_proba(texts))


# The protocol


def test_its_parameters_are_the_options_of_fit():
    """Are its parameters the model's and the training's options with the same defaults, and nothing else's?"""
    wanted = {name for cls in (ModelConfig, TrainingConfig) for name in cls.__dataclass_fields__}
    found = DomainGateClassifier().get_params()
    assert set(found) == wanted | {"random_state"}
    assert not set(found) & set(ProtocolConfig.__dataclass_fields__)
    assert {name: found[name] for name in wanted} == {name: getattr(FitConfig(), name) for name in wanted}
    assert found["random_state"] is None
    assert all(
        parameter.kind is inspect.Parameter.KEYWORD_ONLY
        for parameter in inspect.signature(DomainGateClassifier).parameters.values()
    )


def test_clone_get_and_set():
    """Does a clone have the very parameters, unfitted; does `set_params` set them and refuse others?"""
    state = np.random.RandomState(3)
    model = small(gate="beta", widths=[2, 3], random_state=state)
    copy = clone(model)
    assert copy is not model
    assert {**copy.get_params(), "random_state": 0} == {**model.get_params(), "random_state": 0}
    assert copy.random_state is not state
    assert model.set_params(gate="gamma", epochs=7) is model
    assert (model.gate, model.epochs) == ("gamma", 7)
    with pytest.raises(ValueError, match="chanels"):
        model.set_params(chanels=3)
    with pytest.raises(TypeError, match="chanels"):
        DomainGateClassifier(chanels=3)
    assert is_classifier(model)
    assert "gate='gamma'" in repr(model)


def test_the_constructor_keeps_what_it_is_given():
    """Does __init__ check nothing and change nothing, as scikit-learn asks?"""
    for name in DomainGateClassifier().get_params():
        wrong = object()
        assert getattr(DomainGateClassifier(**{name: wrong}), name) is wrong


def test_fit_changes_no_parameter_and_returns_itself(data):
    """Is fit free of side effects on parameters, on its arguments and on numpy's and torch's generators?"""
    texts, labels, domains = data
    model = small(widths=[1, 2])
    before = model.get_params()
    copies = list(texts), list(labels), list(domains)
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    assert model.fit(texts, labels, domains=domains) is model
    assert model.get_params() == before
    assert (texts, labels, domains) == copies
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_predict_is_the_argmax(fitted, data):
    """Is `predict` the argmax of `predict_proba`, whose columns are `classes_` and whose rows sum to one?"""
    texts, labels, _ = data
    probabilities = fitted.predict_proba(texts)
    assert probabilities.shape == (len(texts), 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert fitted.classes_.tolist() == ["negative", "positive"]
    assert np.array_equal(fitted.predict(texts), fitted.classes_[probabilities.argmax(axis=1)])
    assert fitted.score(texts, labels) == np.mean(fitted.predict(texts) == np.asarray(labels))
    gates = fitted.predict_gates(texts)
    assert gates.shape == (len(texts), 3)
    np.testing.assert_allclose(gates.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("inference", ["sample", "mean", "monte-carlo", "importance"])
def test_a_way_to_predict_that_draws_draws_the_same_again(data, inference):
    """Do `predict` and `predict_proba` speak of the same draw, today and tomorrow?"""
    texts, labels, domains = data
    model = small(inference=inference, samples=3, epochs=1).fit(texts, labels, domains=domains)
    probabilities = model.predict_proba(texts)
    assert np.array_equal(probabilities, model.predict_proba(texts))
    assert np.array_equal(model.predict(texts), model.classes_[probabilities.argmax(axis=1)])


def test_threads_are_kept_to_the_model(data, monkeypatch):
    """Does prediction use as many threads as were asked for, and leave the program's own number alone?"""
    texts, labels, _ = data
    model = small(threads=2, epochs=1).fit(texts, labels)
    seen = []
    outputs = Predictor.outputs
    monkeypatch.setattr(Predictor, "outputs", lambda *given: (seen.append(torch.get_num_threads()), outputs(*given))[1])
    before = torch.get_num_threads()
    model.predict(texts[:3])
    assert seen == [2]
    assert torch.get_num_threads() == before


def test_no_texts_and_one_text(fitted):
    """Are there zero answers for zero texts, and one for one?"""
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict_proba([]).shape == (0, 2)
    assert fitted.predict_gates([]).shape == (0, 3)
    assert fitted.predict([""]).shape == (1,)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_gates", "save"])
def test_not_fitted(method, tmp_path):
    """Is an estimator that was not fitted told apart from a broken one?"""
    with pytest.raises(NotFittedError):
        getattr(small(), method)(tmp_path / "model" if method == "save" else ["text"])
    assert not (tmp_path / "model").exists()


def test_cross_validation(data):
    """Does scikit-learn's cross-validation work, with domains cut along with the texts?"""
    texts, labels, domains = data
    scores = cross_val_score(
        small(epochs=1), texts, labels, cv=StratifiedKFold(2), params={"domains": domains}, error_score="raise"
    )
    assert scores.shape == (2,)
    answers = cross_val_predict(small(epochs=1), np.asarray(texts, dtype=object), labels, cv=2, method="predict_proba")
    assert answers.shape == (len(texts), 2)


def test_leave_one_domain_out(data, monkeypatch):
    """With domains as groups and as fit parameter, does each fold train on the other domains, and on no other?"""
    texts, labels, domains = data
    trained_on = []
    fit = DomainGateClassifier.fit

    def noted(self, X, y, domains=None):  # noqa: N803
        trained_on.append(set(domains))
        return fit(self, X, y, domains)

    monkeypatch.setattr(DomainGateClassifier, "fit", noted)
    scores = cross_val_score(
        small(epochs=1), texts, labels, groups=domains, cv=LeaveOneGroupOut(), params={"domains": domains}
    )
    assert len(scores) == len(DOMAINS)
    assert trained_on == [set(DOMAINS) - {domain} for domain in sorted(DOMAINS)]


def test_a_pipeline_and_a_grid(data):
    """Do pipelines pass domains on, and does a grid search set nested parameters?"""
    texts, labels, domains = data
    lower = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    pipeline = make_pipeline(lower, small(epochs=1))
    pipeline.fit(texts, labels, domaingateclassifier__domains=domains)
    assert same(pipeline, small(epochs=1).fit([text.upper() for text in texts], labels, domains=domains), texts)
    search = GridSearchCV(pipeline, {"domaingateclassifier__channels": [1, 2]}, cv=2, error_score="raise")
    search.fit(texts, labels, domaingateclassifier__domains=domains)
    assert search.best_params_["domaingateclassifier__channels"] in (1, 2)
    assert len(search.predict(texts[:3])) == 3


# Labels and domains


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        ([10, 2], [2, 10]),
        ([np.int64(10), np.int64(2)], [2, 10]),
        (["10", "2"], ["10", "2"]),
        ([True, False], [False, True]),
        ([1.5, -0.5], [-0.5, 1.5]),
        ([-1, 1], [-1, 1]),
        ([np.float32(0.1), np.float32(0.2)], [np.float32(0.1), np.float32(0.2)]),
        (["é", "日本"], ["é", "日本"]),
    ],
    ids=["int", "numpy int", "digits", "bool", "float", "signs", "numpy float32", "letters"],
)
@pytest.mark.parametrize("shape", ["list", "array"])
def test_labels_of_any_kind(data, tmp_path, names, classes, shape):
    """Are labels given back as they were, in the order of numpy, also after saving, and learnt in that order?"""
    texts, labels, _ = data
    mine = [names[label == "positive"] for label in labels]
    model = small(epochs=12, learning_rate=0.1, dropout=0.0, model="s-cnn", dev_share=0.0)
    model.fit(texts, mine if shape == "list" else np.asarray(mine))
    assert model.classes_.tolist() == classes
    answers = model.predict(texts)
    assert answers.dtype == model.classes_.dtype
    assert np.mean(answers == np.asarray(mine)) > 0.75  # a column of another label would make it less than a half
    model.save(tmp_path / "model")
    again = DomainGateClassifier.load(tmp_path / "model")
    assert again.classes_.tolist() == [one.item() if isinstance(one, np.generic) else one for one in classes]
    assert [type(one) for one in again.classes_.tolist()] == [type(one) for one in model.classes_.tolist()]
    assert same(model, again, texts)


@pytest.mark.parametrize("unknown", [None, float("nan"), np.nan])
@pytest.mark.parametrize("as_array", [False, True])
def test_unknown_labels_and_domains(data, unknown, as_array):
    """Do None and NaN stand for unknown, in lists and arrays, and give the very same model?"""
    texts, labels, domains = data
    some_labels = [unknown if row % 3 == 0 else label for row, label in enumerate(labels)]
    some_domains = [unknown if row % 2 == 0 else domain for row, domain in enumerate(domains)]
    if as_array:
        some_labels, some_domains = (np.asarray(values, dtype=object) for values in (some_labels, some_domains))
    model = small().fit(texts, some_labels, domains=some_domains)
    plain = small().fit(
        texts,
        [None if row % 3 == 0 else label for row, label in enumerate(labels)],
        domains=[None if row % 2 == 0 else domain for row, domain in enumerate(domains)],
    )
    assert model.classes_.tolist() == ["negative", "positive"]
    assert same(model, plain, texts)
    counts = model.predictor_.artifact.metrics["counts"]
    assert counts["train_with_label"] < counts["train"]
    assert sorted(model.predictor_.artifact.domains) == sorted(DOMAINS)


def test_numbers_with_holes(data):
    """Is a float array with NaN, which is what a table makes of integers with holes, read as labels with holes?"""
    texts, labels, _ = data
    holes = np.array([np.nan if row % 3 == 0 else float(label == "positive") for row, label in enumerate(labels)])
    assert small().fit(texts, holes).classes_.tolist() == [0.0, 1.0]


class _Series:
    """A sequence like a column of pandas: it iterates over values, is indexed by other things, and makes an array."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=object)

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype) if dtype else self.values

    def __getitem__(self, key):
        raise KeyError(key)


@pytest.mark.parametrize("make", [tuple, np.asarray, lambda values: np.asarray(values, dtype=object), _Series])
def test_sequences_of_any_kind(data, fitted, make):
    """Are tuples, arrays of strings, arrays of objects and columns of tables as good as lists?"""
    texts, labels, domains = data
    model = small().fit(make(texts), make(labels), domains=make(domains))
    assert same(model, fitted, texts)
    assert np.array_equal(model.predict_proba(make(texts)), fitted.predict_proba(texts))


def test_domains_may_be_numbers(data, fitted):
    """Do numbers do as domains: the same model under other names that sort alike?"""
    texts, labels, domains = data
    numbers = [sorted(DOMAINS).index(domain) for domain in domains]
    assert same(small().fit(texts, labels, domains=numbers), fitted, texts)


def test_no_domains_at_all(data):
    """Is `domains=None` the same as a list of None, for every model?"""
    texts, labels, _ = data
    for model in ("csda", "dsda", "gen", "s-cnn", "m-cnn"):
        without = small(model=model, epochs=1).fit(texts, labels)
        nothing = small(model=model, epochs=1).fit(texts, labels, domains=[None] * len(texts))
        assert same(without, nothing, texts)


# Seeds


def test_random_state(data, fitted):
    """Does an int fix the model, a RandomState give a new one each time, and None follow numpy's own generator?"""
    texts, labels, domains = data

    def trained(state):
        return small(random_state=state, epochs=1).fit(texts, labels, domains=domains).predict_proba(texts)

    assert np.array_equal(trained(7), trained(np.int64(7)))
    assert not np.array_equal(trained(7), trained(8))
    first, second = (np.random.RandomState(3) for _ in range(2))
    one, two = trained(first), trained(first)
    assert np.array_equal(one, trained(second))
    assert not np.array_equal(one, two)
    saved = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(5)  # noqa: NPY002
        one, two = trained(None), trained(None)
        np.random.seed(5)  # noqa: NPY002
        again = trained(None)
    finally:
        np.random.set_state(saved)  # noqa: NPY002
    assert np.array_equal(one, again)
    assert not np.array_equal(one, two)


@pytest.mark.parametrize("state", ["seven", -1, 1.5, 2**63, np.random.default_rng(0), [1]], ids=str)
def test_a_random_state_that_is_none(data, state):
    """Is what cannot be a seed refused as ValueError that names `random_state`, and 1.5 not taken for 1?"""
    with pytest.raises(ValueError, match="random_state"):
        small(random_state=state).fit(*data[:2])


# What is wrong


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"model": "lda"}, "--model is 'lda'; it takes one of s-cnn"),
        ({"gate": "gauss"}, "--gate is 'gauss'"),
        ({"channels": 0}, "--channels is 0"),
        ({"channels": "three"}, "--channels is 'three'; it takes a whole number"),
        ({"dropout": 1.0}, "--dropout is 1.0"),
        ({"learning_rate": 0}, "--learning-rate is 0"),
        ({"widths": ()}, "--widths is empty"),
        ({"epochs": 2.5}, "--epochs is 2.5"),
        ({"device": "warp"}, "--device warp"),
        ({"model": "dsda", "channels": 2}, "--channels is 2, but 4 domains are known"),
    ],
    ids=str,
)
def test_a_wrong_parameter_is_told_by_fit(data, options, sentence):
    """Is a wrong value a ValueError with a sentence, in fit and not before?"""
    texts, labels, domains = data
    model = small(**options)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is looked at below
        model.fit(texts, labels, domains=domains)
    assert sentence in str(caught.value)
    assert not hasattr(model, "predictor_")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda x, y, d: (x, y[:-1], d), "96 texts but 95 labels"),
        (lambda x, y, d: (x, y, d[:-1]), "96 texts but 95 domains"),
        (lambda x, y, d: (x[:-1], y, d), "95 texts but 96 labels"),
        (lambda x, y, d: (x, ["positive"] * 96, d), "only the label 'positive'"),
        (lambda x, y, d: (x, [None] * 96, d), "no label"),
        (lambda x, y, d: (x, None, d), "no label"),
        (lambda x, y, d: ([], [], []), "no text"),
        (lambda x, y, d: ([None, *x[1:]], y, d), "Text 0 is NoneType, not a string"),
        (lambda x, y, d: ([*x[:-1], 3.5], y, d), "Text 95 is float, not a string"),
        (lambda x, y, d: ([text.encode() for text in x], y, d), "Text 0 is bytes, not a string"),
        (lambda x, y, d: ([[text] for text in x], y, d), "Text 0 is list, not a string"),
    ],
)
def test_wrong_data_is_told_by_fit(data, change, sentence):
    """Are wrong lengths, one class, no labels, no texts and texts that are none told in a sentence?"""
    texts, labels, domains = change(*data)
    with pytest.raises(DomainGateError) as caught:
        small().fit(texts, labels, domains=domains)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("mixed", [["yes", 1], [True, "no"], [1, "1"]], ids=str)
def test_labels_of_two_kinds(data, mixed):
    """Are labels of several types, which cannot come back as they were, refused?"""
    texts, labels, _ = data
    with pytest.raises(ValueError, match="label"):
        small(epochs=1).fit(texts, [mixed[label == "positive"] for label in labels])


def test_one_string_is_no_list_of_texts(fitted, data):
    """Is `predict("a text")` refused, rather than answered letter by letter?"""
    for method in (fitted.predict, fitted.predict_proba, fitted.predict_gates):
        with pytest.raises(ValueError, match="list"):
            method("A fine film.")
    with pytest.raises(ValueError, match="list"):
        small().fit("ab" * 48, data[1])


def test_a_fit_that_fails_leaves_no_mixture_of_old_and_new(data):
    """After a second fit that fails, is the estimator what it was, or unfitted, but not half of each?"""
    texts, labels, domains = data
    model = small().fit(texts, labels, domains=domains)
    before = model.predict_proba(texts)
    with pytest.raises(ValueError, match="only the label"):
        model.fit(texts, ["positive"] * len(texts))
    try:
        answers = model.predict(texts)
    except NotFittedError:
        return
    assert np.array_equal(model.predict_proba(texts), before)
    assert model.classes_.tolist() == ["negative", "positive"]
    assert set(answers) <= {"negative", "positive"}


def test_a_loss_that_is_not_finite_is_a_warning_or_an_error(data, monkeypatch):
    """Is a run that stopped early told: a warning where a model could be kept, an error where none could?"""
    texts, labels, domains = data
    step, steps = training._step, 0

    def spoilt(*arguments):
        nonlocal steps
        steps += 1
        return {name: float("nan") if steps == bad else value for name, value in step(*arguments).items()}

    monkeypatch.setattr(training, "_step", spoilt)
    bad = 8
    with pytest.warns(RuntimeWarning, match=r"not finite in epoch 2, step .*The model of epoch 1 is kept"):
        model = small().fit(texts, labels, domains=domains)
    assert model.predict(texts[:2]).shape == (2,)
    bad, steps = 2, 0
    with pytest.raises(DomainGateError, match="not finite in epoch 1, step 2"):
        small().fit(texts, labels, domains=domains)


# Saving


def test_pickle_and_joblib(fitted, data, tmp_path):
    """Does a fitted estimator survive pickle and joblib, as parallel searches need, and an unfitted one?"""
    joblib.dump(fitted, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "model.joblib")):
        assert same(again, fitted, data[0])
        assert again.get_params() == fitted.get_params()
    assert pickle.loads(pickle.dumps(small(epochs=3))).epochs == 3


def test_save_and_load(fitted, data, tmp_path):
    """Does a folder give back the same answers, parameters and classes, and can it be saved again?"""
    fitted.save(str(tmp_path / "model"))
    again = DomainGateClassifier.load(str(tmp_path / "model"))
    assert same(again, fitted, data[0])
    assert np.array_equal(again.predict_gates(data[0]), fitted.predict_gates(data[0]))
    assert again.get_params() == fitted.get_params()
    again.save(tmp_path / "again")
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("model", "again")]
    assert files[0] == files[1]
    texts, labels, domains = data
    assert same(clone(again).fit(texts, labels, domains=domains), fitted, texts)


def test_it_is_the_command_s_model(corpus, data, tmp_path, capsys, monkeypatch):
    """With the same texts, options and seed, are its weights and answers those of `domaingate fit`, to the bit?"""
    texts, labels, domains = data
    documents = [document for document in corpus.documents if document.domain in DOMAINS]
    path = write_jsonl(tmp_path / "texts.jsonl", [replace(document, source="") for document in documents])
    flags = [
        part
        for name, value in SMALL.items()
        for part in (f"--{name.replace('_', '-')}", ",".join(map(str, value)) if name == "widths" else str(value))
    ]
    flags += ["--test-share", "0", "--hide-domains", "0", "--seed", "4"]
    assert call(capsys, monkeypatch, "fit", path, "--out", tmp_path / "command", *flags).code == 0
    model = small(random_state=4).fit(texts, labels, domains=domains)
    model.save(tmp_path / "estimator")
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("command", "estimator")]
    assert weights[0] == weights[1]
    lines = call(capsys, monkeypatch, "predict", tmp_path / "command", path).lines
    assert [line["label"] for line in lines] == model.predict(texts).tolist()
    loaded = DomainGateClassifier.load(tmp_path / "command")
    assert same(loaded, model, texts)


@pytest.mark.parametrize("names", [[True, False], [1, 0], [1.5, 2.5]], ids=["bool", "int", "float"])
def test_the_commands_understand_its_labels(data, tmp_path, capsys, monkeypatch, names):
    """Can `evaluate` score a model that Python saved on a file with the same labels in JSON?"""
    texts, labels, domains = data
    mine = [names[label == "positive"] for label in labels]
    small(epochs=1).fit(texts, mine, domains=domains).save(tmp_path / "model")
    rows = [{"text": f"new {text}", "label": label} for text, label in zip(texts, mine, strict=True)]
    path = write_jsonl(tmp_path / "new.jsonl", rows)
    outcome = call(capsys, monkeypatch, "evaluate", tmp_path / "model", path, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["domains"][0]["texts"] == len(set(texts))


def test_nothing_is_said_that_nobody_asked_for(data, capfd):
    """Is fitting in Python silent, and free of warnings?"""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small(epochs=1).fit(*data[:2], domains=data[2]).predict(data[0])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["model", "gate", "inference"])
def test_every_choice_can_be_fitted(data, name):
    """Does every allowed value of the choices of a model make an estimator that predicts?"""
    for value in kind(FitConfig, name)[0]:
        model = small(epochs=1, channels=4, **{name: value}).fit(*data[:2], domains=data[2])
        probabilities = model.predict_proba(data[0][:5])
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
