"""Answers that are restricted to some labels, or withheld."""

from dataclasses import replace

import numpy as np
import pytest

from domaingate.errors import DomainGateError
from domaingate.experiment import fit, prepare
from domaingate.predictor import UNDETERMINED, Predictor
from domaingate.protocol import divide


@pytest.fixture(scope="module")
def artifact(corpus, tiny):
    """A model of three labels."""
    documents = [
        replace(document, label="neither" if row % 3 == 0 else document.label)
        for row, document in enumerate(corpus.documents)
    ]
    config = tiny(epochs=2)
    return fit(prepare(divide(replace(corpus, documents=documents), config), config))[0]


@pytest.fixture(scope="module")
def texts(corpus):
    return [document.text for document in corpus.documents[:60]]


def test_some_labels(artifact, texts):
    """Are the probabilities those given that the label is one of the chosen, in the model's order?"""
    free = Predictor(artifact).outputs(texts).probabilities
    predictor = Predictor(artifact, among=["positive", "negative"])
    assert predictor.labels == ["negative", "positive"]
    columns = [list(artifact.labels).index(name) for name in predictor.labels]
    found = predictor.outputs(texts).probabilities
    np.testing.assert_allclose(found, free[:, columns] / free[:, columns].sum(axis=1, keepdims=True), rtol=1e-6)
    assert set(predictor.best(found)) <= {"negative", "positive"}
    assert set(Predictor(artifact, among=["neither"]).outputs(texts).probabilities.flatten()) == {1.0}


def test_labels_too_improbable_to_be_told_apart(artifact, monkeypatch):
    """Are they alike, and no NaN, where each probability is 0 in float32?"""
    predictor = Predictor(artifact, among=["positive", "negative"])
    outputs = Predictor(artifact).outputs(["a"])
    certain = np.array([[name == "neither" for name in artifact.labels]], dtype=np.float32)
    monkeypatch.setattr("domaingate.inference.run", lambda *_: replace(outputs, probabilities=certain))
    assert predictor.outputs(["a"]).probabilities.tolist() == [[0.5, 0.5]]


def test_a_label_that_the_model_does_not_know(artifact):
    """Is it told, with those that it knows?"""
    with pytest.raises(DomainGateError, match="no label 'xx'; it knows negative, neither, positive"):
        Predictor(artifact, among=["xx"])


def test_abstention(artifact, texts):
    """Is an answer withheld exactly where it is less probable than asked for?"""
    probabilities = Predictor(artifact).outputs(texts).probabilities
    answers = Predictor(artifact).best(probabilities)
    best = probabilities.max(axis=1)
    limit = float(np.median(best))
    wary = Predictor(artifact, abstain_below=limit).best(probabilities)
    assert wary == [answer if sure >= limit else UNDETERMINED for answer, sure in zip(answers, best, strict=True)]
    assert 0 < wary.count(UNDETERMINED) < len(texts)
    assert Predictor(artifact, abstain_below=1.0).best(best[:, None] * 0.5) == [UNDETERMINED] * len(texts)
