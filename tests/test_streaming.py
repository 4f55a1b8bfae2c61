"""Predictions of a stream: in order, none lost, each as soon as it can be told, and the same however rows arrive."""

import gc
import itertools
import threading
import time
from dataclasses import replace

import pytest

from domaingate.corpora import BadRow, Document
from domaingate.errors import DomainGateError
from domaingate.experiment import fit, prepare
from domaingate.predictor import Predictor
from domaingate.protocol import divide
from domaingate.streaming import predictions


@pytest.fixture(scope="module")
def artifact(corpus, tiny):
    config = tiny(epochs=3, learning_rate=0.005)
    artifact = fit(prepare(divide(corpus, replace(config, dev_share=0.0)), config))[0]
    texts = [document.text for document in corpus.documents]
    for way in ("mean", "sample"):  # else an answer would not tell which text, or which draw, it is of
        assert Predictor(artifact, inference=way).outputs(texts).probabilities[:, 0].std() > 1e-3
    return artifact


def bad(row):
    return BadRow(f"rows:{row}", f"rows:{row}: the text is empty.")


@pytest.mark.parametrize("count", [0, 1, 2, 511, 512, 513, 1500])
def test_every_row_has_its_answer(artifact, corpus, count):
    """Is there one answer a row, in order, that of the text alone, whatever bad rows stand between?"""
    predictor = Predictor(artifact)
    texts = [f"{document.text} {row}" for row, document in zip(range(count), itertools.cycle(corpus.documents))]
    rows = [bad(row) if row % 7 == 3 else Document(text) for row, text in enumerate(texts)]
    alone = predictor.outputs(texts)
    lines = list(predictions(predictor, rows))
    assert len(lines) == count
    for row, line in enumerate(lines):
        if row % 7 == 3:
            assert line == {"error": f"rows:{row}: the text is empty."}
        else:
            assert list(line["probabilities"].values()) == pytest.approx(alone.probabilities[row].tolist(), abs=2e-6)
            assert line["gates"] == pytest.approx(alone.gates[row].tolist(), abs=2e-6)
            assert line["label"] == max(line["probabilities"], key=line["probabilities"].get)
            assert sum(line["probabilities"].values()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("rows", [[bad(0)], [bad(0), bad(1)], [bad(row) for row in range(600)]])
def test_bad_rows_alone(artifact, rows):
    """Are there answers where no row at all can be read?"""
    assert list(predictions(Predictor(artifact), rows)) == [{"error": row.problem} for row in rows]


def test_a_row_is_answered_before_the_next_arrives(artifact):
    """Where each row waits for the answer to the one before, does the stream go on?"""
    answered = threading.Semaphore(0)

    def conversation():
        for row in range(20):
            yield bad(row) if row % 5 == 4 else Document(f"text {row}")
            if not answered.acquire(timeout=10):
                raise TimeoutError("no answer came")

    count = 0
    for _ in predictions(Predictor(artifact), conversation()):
        count += 1
        answered.release()
    assert count == 20


def test_an_endless_stream_is_not_swallowed(artifact):
    """Of rows without end, are only some read ahead?"""
    read = itertools.count()
    taken = 0

    def endless():
        nonlocal taken
        for row in read:
            taken = row + 1
            yield Document("text")

    stream = predictions(Predictor(artifact), endless())
    for _ in range(5):
        next(stream)
    time.sleep(0.2)  # what the reader takes when nobody asks
    assert taken < 5000
    stream.close()


def test_a_stream_that_is_given_up_ends(artifact):
    """When nobody wants further rows, does the reader's thread end, rather than wait for ever with the rows?"""
    before = threading.active_count()
    for _ in range(3):
        stream = predictions(Predictor(artifact), (Document("text") for _ in itertools.count()))
        next(stream)
        stream.close()
    del stream
    gc.collect()
    deadline = time.monotonic() + 3
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert threading.active_count() <= before  # one of an earlier test may have ended meanwhile


@pytest.mark.parametrize("error", [DomainGateError("rows is broken."), OSError(5, "Input/output error"), KeyError("x")])
@pytest.mark.parametrize("after", [0, 1, 700])
def test_what_goes_wrong_in_reading_is_raised(artifact, error, after):
    """Does an error of the reader come out where rows are used, after the answers to all rows before it?"""

    def breaking():
        for _ in range(after):
            yield Document("text")
        raise error

    stream = predictions(Predictor(artifact), breaking())
    assert len(list(itertools.islice(stream, after))) == after
    with pytest.raises(type(error)) as caught:
        next(stream)
    assert caught.value is error


def test_what_goes_wrong_in_predicting_is_raised(artifact, monkeypatch):
    """Does an error of the model come out, too, rather than end the stream in silence?"""
    predictor = Predictor(artifact)
    monkeypatch.setattr(Predictor, "outputs", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        list(predictions(predictor, [Document("text")]))


@pytest.mark.parametrize("way", ["sample", "monte-carlo", "importance"])
def test_random_answers_do_not_depend_on_when_rows_arrive(artifact, corpus, way):
    """With the same seed, are answers that draw the same whether rows come one by one or all at once?"""
    documents = corpus.documents[:30]

    def slow():
        for document in documents:
            time.sleep(0.005)
            yield document

    def halting():
        for row, document in enumerate(documents):
            if row == 13:
                time.sleep(0.1)
            yield document

    answers = [
        list(predictions(Predictor(artifact, inference=way, samples=3, seed=5), rows))
        for rows in (documents, slow(), halting())
    ]
    for others in answers[1:]:
        for line, other in zip(answers[0], others, strict=True):
            assert line["probabilities"] == pytest.approx(other["probabilities"], abs=5e-6)
