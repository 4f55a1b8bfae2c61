"""A predictor on documents whose labels are known: scores by domain, never of a text that training has seen."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from domaingate.artifact import label_name
from domaingate.corpora.document import Document
from domaingate.errors import DomainGateError, listed
from domaingate.metrics import Score, averages, by_domain
from domaingate.predictor import Predictor
from domaingate.protocol import digest


@dataclass(frozen=True)
class Evaluation:
    """Scores by domain, and what was passed over."""

    scores: Sequence[Score]
    selection: str  # the rule that picked the model's epoch
    seen: int  # labelled texts passed over because the model was trained or chosen on them
    copies: int  # texts of unseen domains passed over because they stand in a training domain too
    unlabelled: int

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "selection": self.selection,
            "domains": [asdict(score) for score in self.scores],
            "averages": averages(self.scores),
            "passed_over": {"seen_in_training": self.seen, "copies": self.copies, "without_label": self.unlabelled},
        }


def evaluate(predictor: Predictor, documents: Sequence[Document]) -> Evaluation:
    """Score every labelled text that the model was neither trained nor chosen on."""
    labelled = [document for document in documents if document.label is not None]
    known = {label_name(label) for label in predictor.labels}
    for document in labelled:
        if document.label not in known:
            raise DomainGateError(
                f"{document.source or 'A text'} has the label {document.label!r}, which training never saw; "
                f"the model knows {listed(sorted(known))}. Map or remove such texts."
            )
    fresh = [document for document in labelled if digest(document.text) not in predictor.artifact.seen]
    once = _once(fresh, predictor.artifact.metrics["trained_on"])
    scores = score(predictor, once) if once else []
    selection = predictor.artifact.metrics["selection"]
    return Evaluation(
        scores, selection, len(labelled) - len(fresh), len(fresh) - len(once), len(documents) - len(labelled)
    )


def _once(documents: Sequence[Document], trained_on: Sequence[str]) -> list[Document]:
    """The documents without those of unseen domains whose text is one of a training domain too, as `divide` has it."""
    source = {*trained_on, None}
    texts = {document.text for document in documents if document.domain in source}
    return [document for document in documents if document.domain in source or document.text not in texts]


def score(predictor: Predictor, documents: Sequence[Document]) -> list[Score]:
    """Scores by domain of labelled documents."""
    answers = predictor.best(predictor.outputs([document.text for document in documents]).probabilities)
    return by_domain(
        [str(document.label) for document in documents],
        [label_name(answer) for answer in answers],
        [document.domain for document in documents],
        predictor.artifact.metrics["trained_on"],
    )
