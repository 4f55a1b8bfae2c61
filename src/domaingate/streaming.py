"""Predictions for rows as they arrive: in the order of the input, bad rows among them, none lost."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from domaingate.artifact import label_name
from domaingate.corpora import BadRow, Document
from domaingate.inference import BATCH
from domaingate.predictor import Predictor

_END = object()


def predictions(predictor: Predictor, rows: Iterable[Document | BadRow]) -> Iterator[dict[str, Any]]:
    """One dictionary a row: `label`, `probabilities`, `gates`, or `error` for a row that cannot be read."""
    # Answers that are drawn must not depend on which rows happened to arrive together.
    for group in _as_they_come(rows, 1 if predictor.draws else BATCH):
        documents = [row for row in group if isinstance(row, Document)]
        answers = iter(_answers(predictor, documents) if documents else [])
        for row in group:
            yield {"error": row.problem} if isinstance(row, BadRow) else next(answers)


def _answers(predictor: Predictor, documents: list[Document]) -> list[dict[str, Any]]:
    outputs = predictor.outputs([document.text for document in documents])
    names = [label_name(label) for label in predictor.labels]
    return [
        {
            "label": label,
            "probabilities": dict(zip(names, _rounded(probabilities), strict=True)),
            "gates": _rounded(gates),
        }
        for label, probabilities, gates in zip(
            predictor.best(outputs.probabilities),
            outputs.probabilities.tolist(),
            outputs.gates.tolist(),
            strict=True,
        )
    ]


def _rounded(numbers: list[float]) -> list[float]:
    return [round(number, 6) for number in numbers]


def _as_they_come(rows: Iterable[Document | BadRow], at_once: int) -> Iterator[list[Document | BadRow]]:
    """Groups of rows: at least one, more where more are waiting, so a slow stream is answered line by line."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=2 * BATCH)
    given_up = threading.Event()
    threading.Thread(target=_pour, args=(rows, waiting, given_up), daemon=True).start()
    ended = False
    try:
        while not ended:
            group = [waiting.get()]
            while len(group) < at_once and not waiting.empty():
                group.append(waiting.get())
            ended = group[-1] is _END or isinstance(group[-1], BaseException)
            end = group.pop() if ended else None
            if group:
                yield group
            if isinstance(end, BaseException):
                raise end
    finally:
        given_up.set()
        while not waiting.empty():
            waiting.get()  # room for a row that the reader holds, so that it can end


def _pour(rows: Iterable[Document | BadRow], waiting: "queue.Queue[Any]", given_up: threading.Event) -> None:
    """Read in a thread of its own; what goes wrong there is raised where the rows are used."""
    try:
        for row in rows:
            waiting.put(row)
            if given_up.is_set():
                return
        waiting.put(_END)
    except BaseException as error:
        waiting.put(error)
