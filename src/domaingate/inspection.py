"""What a model learned, in numbers and pictures: its gates, its representations, and what z tells (section 3.1.4)."""

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domaingate.artifact import Artifact
from domaingate.batches import dataset, in_order
from domaingate.config import ModelConfig
from domaingate.corpora.document import Document
from domaingate.errors import DomainGateError
from domaingate.figures import Groups, heat_map, scatter
from domaingate.inference import FloatArray, Outputs
from domaingate.metrics import UNKNOWN_DOMAIN
from domaingate.model.recipes import CSDA
from domaingate.predictor import Predictor
from domaingate.storage import told, write_bytes, write_json

Numbers = dict[str, Any]
IntArray = NDArray[np.int64]

_SHOWN = 2000  # texts on the map
_NEIGHBOURS = 10
_FEWEST = 10  # texts below which neither neighbours nor classifiers say anything
_HELD_BACK = 0.3  # the paper's 70:30
_RUNS = 3  # the paper's samples of z
_PERPLEXITY = 30.0
_BATCH = 256
_CONSTANT = 1e-6  # a standard deviation that is float32's rounding


def inspect_model(artifact: Artifact, documents: Sequence[Document], folder: Path, seed: int = 0) -> Numbers:
    """Write `numbers.json`, `gates.png` and `tsne.png` to `folder`; the numbers. What cannot be told has a reason."""
    if not documents:
        raise DomainGateError("There is no text to inspect; give a corpus of at least one text.")
    seed %= 2**32  # what scikit-learn takes
    outputs = Predictor(artifact, "mean").outputs([document.text for document in documents])
    _check_finite(outputs)
    domains, labels = _domains(artifact, documents), _labels(artifact, documents)
    chosen = even_sample(domains.of, _SHOWN, seed)
    reason = _no_map(outputs.hidden[chosen])
    numbers = {
        "model": artifact.config.model,
        "gate": artifact.config.gate if isinstance(artifact.model, CSDA) else None,
        "seed": seed,
        "texts": {
            "all": len(documents),
            "with_label": int((labels.of >= 0).sum()),
            "with_domain": int((domains.of >= 0).sum()),
            "on_map": 0 if reason else len(chosen),
        },
        "files": {
            "gates.png": "Mean of z under the prior, domains by channels; domains that training never saw are marked.",
            "tsne.png": None if reason else "t-SNE of the gated representation h: colour by domain, marker by label.",
        },
        "map": {"reason": reason},
        "gates": _gates(outputs.gates, domains, artifact),
        "neighbours": {
            "domain": purity(outputs.hidden[chosen], domains.of[chosen]),
            "label": purity(outputs.hidden[chosen], labels.of[chosen]),
        },
        "diagnostics": _diagnostics(artifact, documents, outputs.gates, {"label": labels, "domain": domains}, seed),
    }
    return numbers
