"""What a model learned, in numbers and pictures: its gates, its representations, and what z tells (section 3.2)."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
import torch
from sklearn.manifold import TSNE

from domaingate.artifact import Artifact, label_name
from domaingate.batches import dataset, in_order
from domaingate.corpora.document import Document
from domaingate.diagnostics import (
    FEWEST,
    ROUNDING,
    Numbers,
    diagnose,
    even_sample,
    gate_spread,
    no_diagnosis,
    nothing,
    plain,
    purity,
)
from domaingate.errors import DomainGateError, told
from domaingate.figures import Groups, heat_map, scatter
from domaingate.inference import BATCH, FloatArray
from domaingate.metrics import UNKNOWN_DOMAIN
from domaingate.model.recipes import CSDA
from domaingate.predictor import Predictor, check_finite
from domaingate.storage import as_json, write_together

_ON_MAP = 2000  # texts at the most
_PERPLEXITY = 30.0
_RUNS = 3  # the paper's samples of z
_HEAT, _CHART = "gates.png", "tsne.png"


def inspect_model(artifact: Artifact, documents: Sequence[Document], folder: Path, seed: int = 0) -> Numbers:
    """Write `gates.png`, `tsne.png` and `numbers.json` to `folder`, and return the numbers.

    What these documents cannot tell is null there, with a reason beside it; a map that would mean nothing is not drawn.
    The paper diagnoses its training texts; here it is the documents given.
    """
    if not documents:
        raise DomainGateError("There is no text to inspect; give a corpus of at least one text.")
    seed %= 2**32  # all that scikit-learn takes
    outputs = Predictor(artifact, "mean").outputs([document.text for document in documents])
    posterior = posterior_samples(artifact, documents, seed)
    check_finite(*posterior)
    domains = _groups("domain", [document.domain for document in documents], artifact.metrics["trained_on"])
    labels = _groups(
        "label", [document.label for document in documents], [label_name(label) for label in artifact.labels]
    )
    title = f"{_name(artifact)}, {len(documents):,} texts"
    heat, of_gates = _gates(outputs.gates, domains, title)
    chart, of_representation = _representation(outputs.hidden, domains, labels, title, seed)
    numbers = {
        "model": artifact.config.model,
        "gate": artifact.config.gate if isinstance(artifact.model, CSDA) else None,
        "seed": seed,
        "texts": {
            "all": len(documents),
            "with_label": int((labels.of >= 0).sum()),
            "with_domain": int((domains.of >= 0).sum()),
        },
        "gates": of_gates,
        "representation": of_representation,
        "diagnostics": _diagnostics(posterior, outputs.gates, (labels, domains), seed),
    }
    pictures = {_HEAT: heat} if chart is None else {_HEAT: heat, _CHART: chart}
    files = {**pictures, "numbers.json": as_json(numbers)}
    write_together({folder / name: data for name, data in files.items()})
    if chart is None:
        with told("remove", folder / _CHART):
            (folder / _CHART).unlink(missing_ok=True)  # what an earlier inspection may have left
    return numbers


def _diagnostics(posterior: Sequence[FloatArray], prior: FloatArray, groups: Sequence[Groups], seed: int) -> Numbers:
    """From q(z|x,y,d), if there is one, and from the prior's mean, which is what prediction sees.

    q is given y and d, so its mean may tell them however little it moves; its samples say how much of that z carries.
    """
    without = no_diagnosis("The model has no inference network.")
    told_by_q = dict(zip_longest(("posterior_samples", "posterior_mean"), posterior))
    return {
        group.title: {
            **{name: without if z is None else diagnose(z, group.of, seed) for name, z in told_by_q.items()},
            "prior_mean": diagnose(prior[None], group.of, seed),
        }
        for group in groups
    }


def posterior_samples(artifact: Artifact, documents: Sequence[Document], seed: int) -> tuple[FloatArray, ...]:
    """Samples of q(z|x,y,d) as in the paper, (3, N, k), and its mean, (1, N, k); nothing where the model has no q."""
    model = artifact.model
    if not isinstance(model, CSDA):
        return ()
    data = dataset(documents, artifact.encoder, [label_name(label) for label in artifact.labels], artifact.domains)
    device = next(model.parameters()).device
    samples, means, order = [], [], []
    with torch.inference_mode(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for rows, batch in in_order(data, BATCH):
            posterior = model.infer(batch.to(device))
            samples.append(posterior.sample((_RUNS,)))
            means.append(posterior.mean[None])
            order.append(rows)
    back = np.argsort(np.concatenate(order))
    return tuple(torch.cat(column, dim=1).cpu().float().numpy()[:, back] for column in (samples, means))


def _gates(gates: FloatArray, domains: Groups, title: str) -> tuple[bytes, Numbers]:
    """Mean gates by domain, drawn and in numbers."""
    rows = np.where(domains.of < 0, len(domains.names), domains.of)  # texts of unknown domain come last
    names = [*domains.names, UNKNOWN_DOMAIN][: rows.max() + 1]
    means = np.stack([gates[rows == row].mean(axis=0, dtype=np.float64) for row in range(len(names))])
    channels = [str(channel) for channel in range(1, gates.shape[1] + 1)]
    titles = (f"{title}: mean gates by domain", "channel", "mean of z under the prior")
    parted_at = next((row for row, name in enumerate(names) if name in domains.unseen), None)
    shown = [*domains.shown, UNKNOWN_DOMAIN][: len(names)]
    return heat_map(means, shown, channels, titles, parted_at), {
        "file": _HEAT,
        "shows": "Mean of z under the prior, domains by channels; a line parts domains seen in training from others.",
        "channels": len(channels),
        "by_domain": [
            {"domain": name, "unseen": name in domains.unseen, "texts": int(texts), "mean": plain(mean)}
            for name, texts, mean in zip(names, np.bincount(rows), means, strict=True)
        ],
        "entropy": _entropies(gates, means),
        "spread": gate_spread(gates, domains.of),
    }


def _entropies(gates: FloatArray, means: FloatArray) -> Numbers:
    """In nats: of a text's gates on average, of each domain's mean gates, and the most that there can be."""
    if not np.allclose(gates.sum(axis=1), 1, atol=1e-3):
        return nothing("The gates are no shares of 1.", "of_texts", "of_domain_means", "largest")
    return {
        "of_texts": plain(_entropy(gates).mean()),
        "of_domain_means": plain(_entropy(means)),
        "largest": plain(math.log(gates.shape[1])),
        "reason": None,
    }


def _entropy(shares: FloatArray) -> FloatArray:
    """(N, k) to (N,)."""
    entropy: FloatArray = torch.special.entr(torch.from_numpy(shares)).sum(dim=1).numpy()
    return entropy


def _representation(
    hidden: FloatArray, domains: Groups, labels: Groups, title: str, seed: int
) -> tuple[bytes | None, Numbers]:
    """Figure 3, and how pure neighbourhoods are in the space it shows; of texts drawn evenly over the domains."""
    drawn = even_sample(domains.of, _ON_MAP, seed)
    title += f" ({len(drawn):,} of them shown)" if len(drawn) < len(hidden) else ""
    hidden = hidden[drawn]
    domains, labels = (replace(groups, of=groups.of[drawn]) for groups in (domains, labels))
    reason = _flat(hidden)
    chart = None
    if reason is None:
        chart = scatter(tsne(hidden, seed), domains, labels, f"{title}: t-SNE of the representation h")
    return chart, {
        "file": _CHART if reason is None else None,
        "shows": "t-SNE of the gated representation h: colour by domain, marker by label where these are few.",
        "texts": len(drawn),
        "reason": reason,
        "neighbours": {group.title: purity(hidden, group.of) for group in (domains, labels)},
    }


def tsne(hidden: FloatArray, seed: int) -> FloatArray:
    """(N, 2)."""
    perplexity = min(_PERPLEXITY, (len(hidden) - 1) / 3)
    start = "pca" if hidden.shape[1] > 1 else "random"
    points: FloatArray = TSNE(perplexity=perplexity, init=start, random_state=seed).fit_transform(hidden)
    return points


def _flat(hidden: FloatArray) -> str | None:
    """Why there is no map."""
    if len(hidden) < FEWEST:
        return f"There are {len(hidden)} texts; {FEWEST} are needed."
    if hidden.std(axis=0).max() < ROUNDING:
        return "All texts have the same representation."
    return None


def _groups(title: str, values: Sequence[str | None], trained_on: Sequence[str]) -> Groups:
    """The values that occur, those of training first."""
    rank = {name: row for row, name in enumerate(trained_on)}
    names = sorted({value for value in values if value is not None}, key=lambda name: (rank.get(name, len(rank)), name))
    rows: dict[str | None, int] = {None: -1, **{name: row for row, name in enumerate(names)}}
    of = np.array([rows[value] for value in values], dtype=np.int64)
    return Groups(title, names, of, frozenset(names).difference(rank))


def _name(artifact: Artifact) -> str:
    name = artifact.config.model.upper()
    return f"{name} ({artifact.config.gate.capitalize()})" if isinstance(artifact.model, CSDA) else name
