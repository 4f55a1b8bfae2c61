"""The main job on real data, in five minutes: `make demo`.

Gets the vader corpus, hides half of the domain labels, holds one domain out, trains CSDA-Dirichlet, S-CNN and the bag
of word pairs on the rest, prints their accuracies, saves a model folder and a picture, and classifies three sentences.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from domaingate import artifact, experiment
from domaingate.baselines import bag_of_word_pairs
from domaingate.card import card
from domaingate.config import FitConfig
from domaingate.corpora import Corpus, Document, fetch_known, load
from domaingate.inspection import inspect_model
from domaingate.metrics import Score, averages, by_domain
from domaingate.predictor import Predictor
from domaingate.protocol import Parts, divide
from domaingate.terminal import FitBar, download_bar, notes, out, table

UNSEEN = "products"
FOLDER = Path("demo-out")
SENTENCES = (
    "The battery died after two days and nobody answers my letters.",
    "An hour in, I forgot that I was watching a film.",
    "omg best concert EVER, thank you so much!!! :)",
)


def main() -> None:
    """Play the demonstration."""
    started = time.monotonic()
    notes.print("1. The corpus: tweets, product reviews, film reviews and editorials, rated by people.")
    bar, move = download_bar("vader")
    with bar:
        fetch_known("vader", move)
    corpus = load("vader")
    notes.print(f"2. Half of the domain labels are hidden, and all texts on {UNSEEN} are held out.")
    config = FitConfig(held_out=(UNSEEN,), hide_domains=0.5, epochs=3)
    parts = divide(corpus, config)
    notes.print(f"3. Training on {len(parts.train):,} texts, testing on {len(parts.test):,}.")
    csda = train(parts, config)
    s_cnn = train(parts, FitConfig(model="s-cnn", held_out=(UNSEEN,), hide_domains=0.5, epochs=3))
    compare(parts, {"CSDA": answers_of(csda), "S-CNN": answers_of(s_cnn), "word pairs": pairs(parts)})
    save(csda, corpus, parts)
    classify()
    notes.print(f"Done in {time.monotonic() - started:.0f} s.")


def train(parts: Parts, config: FitConfig) -> artifact.Artifact:
    """One neural model, with a bar."""
    notes.print(f"   {config.model}")
    with FitBar() as bar:
        fitted, _ = experiment.fit(experiment.prepare(parts, config), observer=bar)
    return fitted


def answers_of(fitted: artifact.Artifact) -> Callable[[Sequence[str]], list[str]]:
    """A trained model as a function from texts to labels."""
    predictor = Predictor(fitted)
    return lambda texts: [str(label) for label in predictor.best(predictor.outputs(texts).probabilities)]


def pairs(parts: Parts) -> Callable[[Sequence[str]], list[str]]:
    """The bag of word pairs, trained on the same texts, as such a function."""
    notes.print("   bag of word pairs")
    model = bag_of_word_pairs()
    model.fit([document.text for document in parts.train], [document.label for document in parts.train])
    return lambda texts: [str(label) for label in model.predict(texts)]


def compare(parts: Parts, models: dict[str, Callable[[Sequence[str]], list[str]]]) -> None:
    """The table: accuracy by domain of every model, against the majority class."""
    scores = {name: scored(answer, parts.test, parts.source_domains) for name, answer in models.items()}
    first = next(iter(scores.values()))
    rows = [
        [
            one.domain,
            "unseen" if one.unseen else "training",
            f"{one.texts:,}",
            f"{100 * one.majority:.1f}",
            *(f"{100 * scores[name][row].accuracy:.1f}" for name in models),
        ]
        for row, one in enumerate(first)
    ]
    means = [f"{100 * averages(scores[name])['training domains']['accuracy']:.1f}" for name in models]
    majority = f"{100 * averages(first)['training domains']['majority']:.1f}"
    rows.append(["mean", "training", "", majority, *means])
    table(
        "Accuracy on test texts, in percent; one run, source-dev picks the epoch; CSDA is with Dirichlet gates",
        ["", "", "texts", "majority", *models],
        rows,
        1,
    )


def scored(
    answer: Callable[[Sequence[str]], list[str]], documents: Sequence[Document], trained_on: Sequence[str]
) -> list[Score]:
    """Scores by domain."""
    answers = answer([document.text for document in documents])
    truth = [str(document.label) for document in documents]
    return by_domain(truth, answers, [document.domain for document in documents], trained_on)


def save(fitted: artifact.Artifact, corpus: Corpus, parts: Parts) -> None:
    """The model folder, and what the model has learned as pictures."""
    artifact.save(fitted, FOLDER / "model", card(fitted, corpus.name))
    inspect_model(fitted, parts.test, FOLDER / "inspection")
    out.print(f"The model is in {FOLDER / 'model'}; its gates by domain are in {FOLDER / 'inspection' / 'gates.png'}.")


def classify() -> None:
    """Three sentences through the saved folder, as any later program would."""
    predictor = Predictor(artifact.load(FOLDER / "model"))
    outputs = predictor.outputs(SENTENCES)
    for sentence, label, row in zip(
        SENTENCES, predictor.best(outputs.probabilities), outputs.probabilities, strict=True
    ):
        out.print(f"{label!s:>9} ({row.max():.2f})  {sentence}")


if __name__ == "__main__":
    main()
