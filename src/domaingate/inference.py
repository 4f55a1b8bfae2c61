"""A model over many encoded texts: probabilities, gates and representations, in the order of the texts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from domaingate.batches import Dataset, in_order
from domaingate.config import Inference
from domaingate.errors import DomainGateError
from domaingate.model.base import Model

FloatArray = NDArray[np.float32]

BATCH = 1024  # texts: the more of them, the fewer distinct words a text, and those are what reading costs
_ONE_EMPTY_TEXT = Dataset([np.zeros(0, dtype=np.int32)], np.array([-1]), np.array([-1]))  # gives no text its shapes


@dataclass(frozen=True)
class Outputs:
    """What a model makes of N texts."""

    probabilities: FloatArray  # (N, Y)
    gates: FloatArray  # (N, k)
    hidden: FloatArray  # (N, h)


def check_device(name: str) -> None:
    """Refuse a device that this machine does not have."""
    try:
        torch.ones(1, device=name).sum().item()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise DomainGateError(f"--device {name} is not to be had here: {reason}. Use --device cpu.") from None


@contextmanager
def limited_to(threads: int | None) -> Iterator[None]:
    """Compute with so many threads, and with as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def run(model: Model, data: Dataset, inference: Inference = "mean", samples: int = 100) -> Outputs:
    """Predict every text; random ways to predict draw from torch's generator."""
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    pieces, order = [], []
    shown = data if len(data) else _ONE_EMPTY_TEXT
    with torch.inference_mode():
        for rows, batch in in_order(shown, BATCH):
            pieces.append(model.predict(batch.to(device), inference, samples))
            order.append(rows)
    model.train(was_training)
    back = np.argsort(np.concatenate(order))[: len(data)]
    log_probabilities, gates, hidden = (
        torch.cat(column).cpu().float().numpy()[back] for column in zip(*pieces, strict=True)
    )
    return Outputs(np.exp(log_probabilities), gates, hidden)
