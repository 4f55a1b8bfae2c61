"""Can each baseline be trained on a few texts and asked, and are detectors held to the labels of the task?"""

import numpy as np
import pytest

from domaingate.baselines import BASELINES, Detector

TEXTS = {
    "de": ["Der Hund schläft unter dem Tisch und träumt.", "Wir gehen morgen früh in die Stadt.", "Das ist nicht gut."],
    "en": ["The dog sleeps under the table and dreams.", "We go to the city early tomorrow.", "That is not good."],
    "no": ["Hunden sover under bordet og drømmer.", "Vi går til byen tidlig i morgen.", "Det er ikke bra."],
}
LABELS = [label for label, texts in TEXTS.items() for _ in texts]
FLAT = [text for texts in TEXTS.values() for text in texts]


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_tells_what_it_was_taught(name):
    """Are its probabilities shares of 1 over the labels it saw, and is it right about clear cases?"""
    way = BASELINES[name]
    model = way.build(way.strengths[len(way.strengths) // 2])
    model.fit([*FLAT, *FLAT], [*LABELS, *LABELS])  # words count from their second text on
    probabilities = model.predict_proba([*FLAT, "", "1 2 3"])
    assert list(model.classes_) == ["de", "en", "no"]
    assert probabilities.shape == (11, 3)
    assert np.isfinite(probabilities).all()
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(11), abs=1e-5)
    assert np.array(list(model.classes_))[probabilities[:9].argmax(axis=1)].tolist() == LABELS


@pytest.mark.parametrize("name", ["langid.py", "py3langid"])
def test_a_detector_knows_bokmaal_as_norwegian(name):
    """Are `nb` and `no` one label, and is a label that it does not know never its answer?"""
    detector = Detector(name).fit(FLAT, ["no", "qqq", "en"] * 3)
    probabilities = detector.predict_proba(["Jeg kommer ikke til å gjøre det i dag, sa hun.", "Where are you?"])
    assert list(detector.classes_) == ["en", "no", "qqq"]
    assert probabilities.argmax(axis=1).tolist() == [1, 0]
    assert not probabilities[:, 2].any()


def test_a_detector_of_no_known_label_has_no_answer():
    """Does it say nothing rather than fail?"""
    assert not Detector("py3langid").fit(["a", "b"], ["good", "bad"]).predict_proba(["Where are you?"]).any()
