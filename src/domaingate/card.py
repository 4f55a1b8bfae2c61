"""The model card: what a model folder's README tells a person who finds it."""

from typing import Any

from domaingate.artifact import Artifact
from domaingate.errors import listed

_HEAD = """# {model} on {corpus}

A text classifier made by domaingate {version}. Labels: {labels}.

```sh
domaingate predict THIS_FOLDER texts.jsonl        # one JSON line a text
domaingate evaluate THIS_FOLDER more-texts.jsonl  # accuracy by domain
```

## Data

{train:,} training texts, {train_with_label:,} with a label and {train_with_domain:,} with a domain.
Training domains: {trained_on}. Held-out domains: {held_out}.
Set aside from training and test: {source_dev:,} texts of the training domains (source-dev), {target_dev:,} of held-out
domains (target-dev). Hidden on purpose: {hide_domains:g} of the domains, {hide_labels:g} of the labels.
Seed {seed}, lambda {kl_weight:g}.

## Scores

Epoch {kept_epoch} of {epochs_run} was kept by the rule **{selection}**. One run, so no spread is known. The test texts
below were neither trained nor chosen on. Majority is the share of a domain's most frequent label.

{table}

## Size

{total:,} parameters, {without_embedding:,} without the token embedding.
"""
_COLUMNS = "| domain | seen in training | texts | accuracy | macro-F1 | majority |\n|---|---|---|---|---|---|"


def card(artifact: Artifact, corpus: str) -> str:
    """Markdown for the model folder."""
    metrics, config = artifact.metrics, artifact.config
    return _HEAD.format(
        model=config.name,
        corpus=corpus,
        version=metrics["version"],
        labels=listed([str(label) for label in artifact.labels], 20),
        trained_on=listed(metrics["trained_on"], 20) or "unknown",
        held_out=listed(metrics["held_out"], 20) or "none",
        hide_domains=config.hide_domains,
        hide_labels=config.hide_labels,
        kl_weight=config.kl_weight,
        seed=config.seed,
        kept_epoch=metrics["kept_epoch"],
        epochs_run=len(metrics["history"]),
        selection=metrics["selection"],
        table=_table(metrics["scores"]["domains"]),
        **{key: value for key, value in metrics["counts"].items() if key.startswith(("train", "source", "target"))},
        **metrics["parameters"],
    )


def _table(scores: list[dict[str, Any]]) -> str:
    if not scores:
        return "No labelled text was left for testing."
    return "\n".join([_COLUMNS, *map(_row, scores)])


def _row(score: dict[str, Any]) -> str:
    domain, seen = score["domain"].replace("|", "/"), "no" if score["unseen"] else "yes"
    shares = " | ".join(f"{score[name]:.1%}" for name in ("accuracy", "macro_f1", "majority"))
    return f"| {domain} | {seen} | {score['texts']:,} | {shares} |"
