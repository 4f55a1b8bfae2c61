"""Reviews of products, positive or negative, one domain for each kind of product."""

import re
from collections.abc import Iterator
from pathlib import Path

from domaingate.corpora.document import Corpus, Document
from domaingate.corpora.files import open_bytes
from domaingate.errors import DomainGateError

_FDU_HELD_OUT = ("books", "dvd", "electronics", "kitchen_housewares")
_FDU_LABELS = {"0": "negative", "1": "positive"}
_MDSD_HELD_OUT = ("books", "dvd", "electronics", "kitchen_&_housewares")
_MDSD_LABELS = {"negative": "negative", "positive": "positive", "unlabeled": None}
_FIELD = re.compile(r"^<(?P<name>\w+)>(?P<value>.*?)</(?P=name)>", re.MULTILINE | re.DOTALL)


def read_fdu_mtl(folder: Path, unlabelled: bool = False) -> Corpus:
    """Read the files `<domain>.task.train` and `.test` of Liu, Qiu and Huang (2017), and `.unlabel` if wanted."""
    parts = ("train", "test", "unlabel") if unlabelled else ("train", "test")
    domains = sorted(path.name.split(".")[0] for path in folder.glob("*.task.train"))
    if not domains:
        raise DomainGateError(f"{folder} has no file named like books.task.train: is it the folder of fdu-mtl?")
    paths = (folder / f"{domain}.task.{part}" for domain in domains for part in parts)
    documents = [document for path in paths if path.exists() for document in _fdu_documents(path)]
    for domain in sorted(set(domains) - {document.domain for document in documents}):
        raise DomainGateError(f"{folder / domain}.task.train has no text in it: the file may be cut short.")
    return Corpus("fdu-mtl", documents, _present(_FDU_HELD_OUT, domains))


def read_mdsd(folder: Path, unlabelled: bool = False) -> Corpus:
    """Read the pseudo-XML `.review` files of Blitzer, Dredze and Pereira (2007), anywhere below the folder."""
    names = ["positive", "negative", "unlabeled"] if unlabelled else ["positive", "negative"]
    domains = _mdsd_folders(folder)
    paths = (domains[domain] / f"{name}.review" for domain in sorted(domains) for name in names)
    documents = [document for path in paths if path.exists() for document in _mdsd_documents(path)]
    return Corpus("mdsd", documents, _present(_MDSD_HELD_OUT, list(domains)))


def _present(held_out: tuple[str, ...], domains: list[str]) -> tuple[str, ...]:
    return tuple(domain for domain in held_out if domain in domains)


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers; only a line feed ends one, since texts hold other separators."""
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            yield number, raw.decode(encoding, errors="replace").rstrip("\r\n")


def _fdu_documents(path: Path) -> Iterator[Document]:
    domain, _, part = path.name.split(".")
    for number, line in _lines(path, "utf-8"):
        source = f"{path}:{number}"
        if part == "unlabel":
            yield Document(line, None, domain, source)
        else:
            label, tab, text = line.partition("\t")
            if not tab or label not in _FDU_LABELS:
                raise DomainGateError(f"{source}: the line must be 0 or 1, a tab and the text.")
            yield Document(text, _FDU_LABELS[label], domain, source)


def _mdsd_folders(folder: Path) -> dict[str, Path]:
    """Find the folder of each domain, refusing two of the same name: reviews would count twice."""
    domains: dict[str, Path] = {}
    for path in sorted(folder.rglob("positive.review")):
        domain = path.parent.name
        if domain in domains:
            raise DomainGateError(
                f"{path.parent} and {domains[domain]} both hold the domain {domain!r}: keep one of them below {folder}."
            )
        domains[domain] = path.parent
    if not domains:
        raise DomainGateError(f"{folder} has no <domain>/positive.review below it: is it the folder of mdsd?")
    return domains


def _mdsd_documents(path: Path) -> Iterator[Document]:
    label = _MDSD_LABELS[path.stem]
    number = 0
    for number, block in _reviews(path):
        fields = {match["name"]: match["value"].strip() for match in _FIELD.finditer(block)}
        if "review_text" not in fields:
            raise DomainGateError(f"{path}:{number}: the review that begins here has no whole <review_text>.")
        text = "\n".join(filter(None, (fields.get("title"), fields["review_text"])))
        yield Document(text, label, path.parent.name, f"{path}:{number}")
    if not number:
        raise DomainGateError(f"{path} has no <review> in it: it must be the original text, not processed features.")


def _reviews(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line where each review begins, and all that stands between its two tags."""
    begun = 0
    block: list[str] = []
    for number, line in _lines(path, "latin-1"):
        tag = line.strip()
        if tag == "<review>":
            _demand_ended(path, begun)
            begun, block = number, []
        elif tag == "</review>" and begun:
            yield begun, "\n".join(block)
            begun = 0
        else:
            block.append(line)
    _demand_ended(path, begun)


def _demand_ended(path: Path, begun: int) -> None:
    if begun:
        raise DomainGateError(
            f"{path}:{begun}: the review that begins here has no </review>: the file may be cut short."
        )
