"""Scores of a fitted model: of the very texts that were not trained or chosen on, and the very numbers of fit."""

from dataclasses import asdict, replace

import pytest

from domaingate.corpora.document import Corpus, Document
from domaingate.corpora.synthetic import MIXTURE
from domaingate.errors import DomainGateError
from domaingate.evaluation import evaluate
from domaingate.experiment import fit, prepare
from domaingate.metrics import UNKNOWN_DOMAIN
from domaingate.predictor import Predictor
from domaingate.protocol import divide

SHARES = {"dev_share": 0.2, "test_share": 0.2, "target_dev_share": 0.4, "epochs": 3}


def run(corpus, config):
    return fit(prepare(divide(corpus, config), config))[0]


def test_the_corpus_that_was_fitted(corpus, tiny):
    """Does evaluation of the very corpus score the very texts that fit reported, with the very numbers?"""
    for options in ({}, {"hide_domains": 0.5, "hide_labels": 0.3}, {"seed": 3}, {"select": "target-dev"}):
        artifact = run(corpus, tiny(**SHARES, **options))
        result = evaluate(Predictor(artifact), corpus.documents).to_json()
        assert result["domains"] == artifact.metrics["scores"]["domains"]
        assert result["averages"] == artifact.metrics["scores"]["averages"]
        scored = sum(score["texts"] for score in result["domains"])
        assert scored + result["passed_over"]["seen_in_training"] == len(corpus.documents)


def test_whatever_the_order_and_wherever_texts_are_repeated(corpus, tiny):
    """Is that so, too, where texts stand twice, in several domains, without label or domain, and in another order?"""
    documents = list(corpus.documents)
    documents += [replace(document, domain=None) for document in documents[:10]]
    documents += [replace(document, label=None) for document in documents[10:20]]
    documents += [replace(document, domain=MIXTURE) for document in documents[20:60]]
    documents += documents[60:80]
    pile = Corpus("pile", documents, corpus.held_out)
    artifact = run(pile, tiny(**SHARES))
    for order in (documents, documents[::-1]):
        result = evaluate(Predictor(artifact), order).to_json()
        assert result["domains"] == artifact.metrics["scores"]["domains"]


def test_texts_of_training_are_passed_over_wherever_they_stand(corpus, tiny):
    """Is a text that training saw never scored, though it comes with another domain, another source, or hidden?"""
    config = tiny(**SHARES, hide_labels=0.5, hide_domains=1.0)
    artifact = run(corpus, config)
    parts = divide(corpus, config)
    seen = [Document(document.text, "positive", "elsewhere") for document in parts.set_aside]
    result = evaluate(Predictor(artifact), seen)
    assert (list(result.scores), result.seen) == ([], len(seen))
    told = result.to_json()
    assert (told["domains"], told["averages"]) == ([], {})
    assert {name: count for name, count in told["passed_over"].items() if count} == {"seen_in_training": len(seen)}


def test_new_texts(corpus, tiny):
    """Are all new labelled texts scored by domain, known and unknown, and those without a label counted apart?"""
    artifact = run(corpus, tiny(**SHARES))
    domains = ["alpha", "brand new", None, "", "mixture"]
    documents = [
        Document(f"new {document.text}", document.label, domains[row % 5])
        for row, document in enumerate(corpus.documents[:50])
    ]
    documents += [Document("no label", None, "alpha")] * 3
    result = evaluate(Predictor(artifact), documents)
    assert [(score.domain, score.unseen) for score in result.scores] == [
        (UNKNOWN_DOMAIN, False), ("alpha", False), ("brand new", True), ("mixture", True),
    ]  # fmt: skip
    assert [score.texts for score in result.scores] == [20, 10, 10, 10]
    assert (result.seen, result.unlabelled) == (0, 3)
    answers = Predictor(artifact).best(
        Predictor(artifact).outputs([document.text for document in documents[:50]]).probabilities
    )
    right = [answer == document.label for answer, document in zip(answers, documents, strict=False)]
    of_alpha = [right[row] for row in range(0, 50, 5)]
    assert result.scores[1].accuracy == pytest.approx(sum(of_alpha) / 10)
    averages = result.to_json()["averages"]
    assert averages["unseen domains"]["accuracy"] == pytest.approx(
        (result.scores[2].accuracy + result.scores[3].accuracy) / 2
    )
    assert averages["all domains"]["texts"] == 50
    assert set(asdict(result.scores[0])) == {"domain", "unseen", "texts", "accuracy", "macro_f1", "majority"}


def test_no_documents(corpus, tiny):
    """Are there no scores of nothing?"""
    assert list(evaluate(Predictor(run(corpus, tiny(**SHARES))), []).scores) == []


def test_a_label_that_is_new(corpus, tiny):
    """Is a label that training never saw told with its place and the known ones, at most ten of them?"""
    artifact = run(corpus, tiny(**SHARES))
    with pytest.raises(
        DomainGateError, match=r"^here:7 has the label 'odd', .*knows negative, positive\. Map or remove"
    ):
        evaluate(Predictor(artifact), [Document("new", "odd", "alpha", "here:7")])
    many = replace(artifact, labels=[f"label {row:02}" for row in range(40)])
    with pytest.raises(DomainGateError, match=r"^A text has .* label 09 and 30 more\."):
        evaluate(Predictor(many), [Document("new", "odd")])
