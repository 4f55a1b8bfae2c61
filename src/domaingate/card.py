"""The model card: what a model folder's README tells a person who finds it."""

from typing import Any

from domaingate.artifact import Artifact

_HEAD = """# {model} on {corpus}

A text classifier made by domaingate {version}. Labels: {labels}.

```sh
domaingate predict THIS_FOLDER texts.jsonl        # one JSON line a text
domaingate evaluate THIS_FOLDER more-texts.jsonl  # accuracy by domain
```

## Data

{train:,} training texts, {train_with_label:,} with a label and {train_with_domain:,} with a domain.
Training domains: {trained_on}. Set aside to choose the epoch: {source_dev:,} texts of the training domains
(source-dev), {target_dev:,} of held-out domains (target-dev). Seed {seed}.

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
    name = config.model if config.model != "csda" else f"csda-{config.gate}"
    return _HEAD.format(
        model=name,
        corpus=corpus,
        version=metrics["version"],
        labels=_some([str(label) for label in artifact.labels]),
        trained_on=_some(metrics["trained_on"]) or "unknown",
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
    rows = [
        f"| {score['domain']} | {'no' if score['unseen'] else 'yes'} | {score['texts']:,} | {score['accuracy']:.1%} "
        f"| {score['macro_f1']:.1%} | {score['majority']:.1%} |"
        for score in scores
    ]
    return "\n".join([_COLUMNS, *rows])


def _some(names: list[str], at_most: int = 20) -> str:
    return ", ".join(names[:at_most]) + (f" and {len(names) - at_most} more" if len(names) > at_most else "")
