"""Who may see what: the one room that holds out domains, sets parts aside and hides labels.

Every choice is drawn from a seed and the text itself, so it depends neither on the order of the lines nor on what is
chosen in other domains. A hidden label or domain is replaced by `None` here; nothing downstream can look at it.
"""

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import blake2b

from domaingate.config import FitConfig, Half
from domaingate.corpora.document import Corpus, Document
from domaingate.errors import DomainGateError

Documents = list[Document]


@dataclass(frozen=True)
class Parts:
    """The parts of a corpus. No text is in two of them."""

    train: Documents  # with what is hidden replaced by None
    source_dev: Documents  # of the training domains
    source_test: Documents
    target_dev: Documents  # of the held-out domains
    target_test: Documents
    source_domains: tuple[str, ...]  # the training domains, hidden or not

    @property
    def test(self) -> Documents:
        """All that may be scored at the end."""
        return self.source_test + self.target_test

    @property
    def set_aside(self) -> Documents:
        """All that a model was trained or may be chosen on: never scored."""
        return self.train + self.source_dev + self.target_dev


def digest(text: str, purpose: str = "text") -> int:
    """Sixty-three bits that stand for a text."""
    return int.from_bytes(blake2b(f"{purpose}\0{text}".encode("utf-8", "replace"), digest_size=8).digest()) >> 1


def divide(corpus: Corpus, config: FitConfig) -> Parts:
    """Cut a corpus into parts: training domains into train, dev and test, held-out domains into dev and test."""
    held_out, seed = _held_out(corpus, config), config.split_seed
    source = [document for document in corpus.documents if document.domain not in held_out]
    target = [document for document in corpus.documents if document.domain in held_out and document.label is not None]
    source_test, rest = _take(source, config.test_share, f"test {seed}")
    source_dev, train = _take(rest, _of_the_rest(config.dev_share, config.test_share), f"dev {seed}")
    target_dev, target_test = _take(target, config.target_dev_share, f"target-dev {seed}")
    train = hide(halve(train, config.half, seed), config.hide_domains, config.hide_labels, seed)
    source_dev = hide(_without(source_dev, train), config.hide_domains, 0.0, seed)
    target_dev = _without(target_dev, train + source_dev)
    source_test = _without(source_test, train + source_dev + target_dev)
    target_test = _without(target_test, train + source_dev + target_dev + source_test)
    domains = sorted({document.domain for document in source if document.domain is not None})
    return Parts(train, source_dev, source_test, target_dev, target_test, tuple(domains))


def halve(documents: Sequence[Document], half: Half, seed: int) -> Documents:
    """F or Y of Table 1: Y is the half of each domain whose domain `hide` with a share of 0.5 hides, F the rest."""
    if half == "both":
        return list(documents)
    in_y = set(_rows_to_hide(documents, 0.5, seed))
    return [document for row, document in enumerate(documents) if (row in in_y) == (half == "Y")]


def hide(documents: Sequence[Document], domains: float, labels: float, seed: int) -> Documents:
    """Hide the domain of a share of each domain's texts, and the label of a share of each label's texts.

    With half of the domains hidden this is the paper's F (domain known) and Y (domain unknown) of Table 1.
    """
    no_domain = set(_rows_to_hide(documents, domains, seed))
    no_label = set(_choose(documents, lambda document: document.label, labels, f"hide-label {seed}"))
    return [
        replace(
            document,
            domain=None if row in no_domain else document.domain,
            label=None if row in no_label else document.label,
        )
        for row, document in enumerate(documents)
    ]


def _rows_to_hide(documents: Sequence[Document], share: float, seed: int) -> Iterable[int]:
    """Rows of a share of each domain."""
    return _choose(documents, lambda document: document.domain, share, f"hide-domain {seed}")


def _held_out(corpus: Corpus, config: FitConfig) -> frozenset[str]:
    """The held-out domains, checked against the domains that there are."""
    names = corpus.held_out if config.held_out is None else config.held_out
    present = {document.domain for document in corpus.documents if document.domain is not None}
    for name in names:
        if name not in present:
            close = difflib.get_close_matches(name, present, 1)
            hint = f"Did you mean {close[0]}?" if close else f"Its domains: {', '.join(sorted(present)) or 'none'}."
            raise DomainGateError(f"--held-out names {name}, which is no domain of {corpus.name}. {hint}")
    if config.select == "target-dev" and (not names or config.target_dev_share == 0):
        raise DomainGateError("--select target-dev needs texts of held-out domains: name them with --held-out.")
    return frozenset(names)


def _of_the_rest(share: float, taken: float) -> float:
    if share + taken >= 1:
        raise DomainGateError(
            f"--dev-share {share:g} and --test-share {taken:g} leave nothing to train on; lower one of them."
        )
    return share / (1 - taken)


def _take(documents: Sequence[Document], share: float, purpose: str) -> tuple[Documents, Documents]:
    """A share of the labelled texts of every domain, label by label; and the rest."""
    chosen = set(_choose(documents, lambda document: (document.domain, document.label), share, purpose, labelled=True))
    taken = [document for row, document in enumerate(documents) if row in chosen]
    return taken, [document for row, document in enumerate(documents) if row not in chosen]


def _choose(
    documents: Sequence[Document],
    group: Callable[[Document], object],
    share: float,
    purpose: str,
    *,
    labelled: bool = False,
) -> Iterable[int]:
    """Rows of a share of each group, rounded down, in an order that the seed and the text decide."""
    groups = defaultdict(list)
    for row, document in enumerate(documents):
        if share and not (labelled and document.label is None):
            groups[group(document)].append(row)
    for rows in groups.values():
        rows.sort(key=lambda row: _place(documents[row], purpose))
        # A share such as 0.7 is meant as the decimal: 0.7 of 10 texts are 7, whatever binary rounding makes of it.
        yield from rows[: int(len(rows) * Fraction(share).limit_denominator(10**6))]


def _place(document: Document, purpose: str) -> tuple[int, str, str]:
    """Where a document stands in the order of choice: by its text, and among twins by what is known of them."""
    return digest(document.text, purpose), document.domain or "", document.label or ""


def _without(documents: Documents, others: Documents) -> Documents:
    """The documents whose text is not among the others."""
    texts = {document.text for document in others}
    return [document for document in documents if document.text not in texts]
