"""Planted domains: do the gates find them, and does that help on texts from nowhere? `make figures` (20 minutes)

On the synthetic corpus, what a word says depends on the domain. Four models are trained with all, half or none of the
domain labels, over three seeds, and tested on `mixture`, a domain that none of them has seen. Writes
`planted.json` (every run) and `planted.png` to `--out`. `--seeds 1` is a quick look.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from domaingate import experiment
from domaingate.config import FitConfig
from domaingate.corpora.synthetic import synthetic_corpus
from domaingate.diagnostics import diagnose
from domaingate.predictor import Predictor
from domaingate.protocol import divide
from domaingate.terminal import notes, table

MODELS = {
    "S-CNN": {"model": "s-cnn"},
    "M-CNN": {"model": "m-cnn"},
    "DSDA": {"model": "dsda"},
    "CSDA": {"model": "csda", "kl_weight": 1.0},
    "CSDA, λ = 0.1": {"model": "csda", "kl_weight": 0.1},
}
HIDDEN = {"all": 0.0, "half": 0.5, "none": 1.0}  # domain labels known, and the share that is hidden
SMALL = {"embedding_size": 32, "filters": 16, "hidden": 64, "learning_rate": 2e-3, "epochs": 30, "patience": 5}
COLOURS = {"all": "#0072B2", "half": "#E69F00", "none": "#009E73"}


def main() -> None:
    """Run, record and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("demo-out/planted"))
    chosen = parser.parse_args()
    runs = []
    for seed in range(chosen.seeds):
        for name, options in MODELS.items():
            for known, hidden in HIDDEN.items():
                if name in ("S-CNN", "M-CNN") and known != "none":
                    continue  # they do not look at domains
                runs.append(run(name, known, FitConfig(**SMALL, **options, hide_domains=hidden, seed=seed)))  # type: ignore[arg-type]
                notes.print(str(runs[-1]))
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "planted.json").write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    draw(runs, chosen.out / "planted.png")
    show(runs)


def run(name: str, known: str, config: FitConfig) -> dict[str, Any]:
    """Train once: accuracy on the mixture, and how well the gates tell the domain of texts held back for testing."""
    parts = divide(synthetic_corpus(), config)
    fitted, _ = experiment.fit(experiment.prepare(parts, config))
    averages = fitted.metrics["scores"]["averages"]
    gates = Predictor(fitted).outputs([document.text for document in parts.source_test]).gates
    domains = np.array([parts.source_domains.index(str(document.domain)) for document in parts.source_test])
    told = diagnose(gates[None], domains, config.seed)
    return {
        "model": name,
        "known": known,
        "seed": config.seed,
        "training_domains": round(averages["training domains"]["accuracy"], 4),
        "mixture": round(averages["unseen domains"]["accuracy"], 4),
        "domain_from_gates": told["accuracy"],
        "chance": told["chance"],
    }


def groups(runs: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The runs that differ in their seed alone."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in runs:
        found.setdefault((one["model"], one["known"]), []).append(one)
    return found


def draw(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """Two panels: accuracy on the mixture, and the domain told from the gates; a dot a run, a bar at the mean."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=False)
    titles = ("Accuracy on the unseen mixture", "Domain told from the gates' mean")
    names = list(MODELS)
    for panel, key, title in zip(panels, ("mixture", "domain_from_gates"), titles, strict=True):
        for (model, known), group in groups(runs).items():
            shift = 0.0 if model in ("S-CNN", "M-CNN") else 0.24 * (list(HIDDEN).index(known) - 1)
            place, values = names.index(model) + shift, [one[key] for one in group]
            colour = "#777777" if model in ("S-CNN", "M-CNN") else COLOURS[known]
            panel.plot([place] * len(values), values, "o", color=colour, markersize=4, alpha=0.7)
            panel.plot([place - 0.1, place + 0.1], [np.mean(values)] * 2, color=colour, linewidth=2.5)
        panel.axhline(0.5 if key == "mixture" else runs[0]["chance"], color="black", linestyle=":", linewidth=1)
        panel.set_xticks(range(len(names)), names, fontsize=8)
        panel.set_title(title, fontsize=10)
        panel.grid(axis="y", alpha=0.3)
    for known, colour in COLOURS.items():
        panels[1].plot([], [], "o", color=colour, label=f"{known} of the domain labels known")
    panels[1].plot([], [], ":", color="black", label="chance")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(path, dpi=120)


def show(runs: Sequence[dict[str, Any]]) -> None:
    """The same as a table: means and standard deviations over seeds, in percent."""
    rows = []
    for (model, known), group in groups(runs).items():
        columns = [[100 * one[key] for one in group] for key in ("training_domains", "mixture", "domain_from_gates")]
        told = [f"{np.mean(values):.1f} ± {np.std(values, ddof=1) if len(values) > 1 else 0:.1f}" for values in columns]
        rows.append([model, known, *told])
    heads = ["model", "domains known", "training domains", "mixture", "domain from gates"]
    table(f"Synthetic corpus, {len(groups(runs)['S-CNN', 'none'])} seeds, accuracy in percent", heads, rows)


if __name__ == "__main__":
    main()
