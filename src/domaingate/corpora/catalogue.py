"""The corpora known by name: what each is, where its files lie, how they are read and where they come from."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from domaingate.corpora.document import Corpus
from domaingate.corpora.download import Progress
from domaingate.corpora.fetch import PipSource, Source, fetch, is_whole, unseen
from domaingate.corpora.files import STDIN, Format
from domaingate.corpora.langid import read_langid
from domaingate.corpora.sentiment import read_fdu_mtl, read_mdsd
from domaingate.corpora.synthetic import synthetic_corpus
from domaingate.corpora.tables import DEFAULT_COLUMNS, Columns, read_corpus
from domaingate.corpora.vader import read_vader
from domaingate.errors import DomainGateError


@dataclass(frozen=True)
class Known:
    """A corpus known by name.

    `place` is its file or folder below a data root, "" for a corpus that is computed; `where` says in a sentence
    where a person gets it when no source is at hand.
    """

    name: str
    description: str
    licence: str
    read: Callable[[Path], Corpus]
    place: str = ""
    sources: tuple[Source, ...] = ()
    where: str = ""


@dataclass(frozen=True)
class Count:
    """How many documents of a corpus have this domain and this label; `None` stands for unknown."""

    domain: str | None
    label: str | None
    documents: int


def _read_synthetic(_: Path) -> Corpus:
    return synthetic_corpus()


_VADER_SHA256 = "5d97c37f3ef6e24eef331122e055dbedafeb6a56abfce0608b326701116ea49a"
_VADER = PipSource("vaderSentiment==0.5", "vaderSentiment-0.5.zip", _VADER_SHA256)
_FDU_MTL = (
    "Get the data set of Liu, Qiu and Huang (2017), fdu-mtl, from its authors, who named "
    "http://nlp.fudan.edu.cn/data/ for it: a folder of files such as books.task.train."
)
_MDSD = (
    "Get sorted_data.tar.gz of the Multi-Domain Sentiment Dataset v2.0 from "
    "https://www.cs.jhu.edu/~mdredze/datasets/sentiment/ and unpack it there."
)
_AMAZON = "none stated; for research"

_TABLE = (
    Known(
        "synthetic",
        "Made-up sentences with planted domains, for trying things out",
        "MIT, as this program",
        _read_synthetic,
    ),
    Known(
        "vader",
        "Rated tweets, product reviews, film reviews and editorials (Hutto and Gilbert 2014)",
        "MIT",
        read_vader,
        "vaderSentiment-0.5.zip",
        (_VADER,),
        "It is the source distribution of vaderSentiment 0.5, a zip file.",
    ),
    Known(
        "fdu-mtl",
        "Product reviews of 13 kinds, tokenised (Liu, Qiu and Huang 2017)",
        _AMAZON,
        read_fdu_mtl,
        "fdu-mtl",
        where=_FDU_MTL,
    ),
    Known(
        "fdu-mtl+unlabel",
        "fdu-mtl with 2,000 texts of each training domain without a label",
        _AMAZON,
        partial(read_fdu_mtl, unlabelled=True),
        "fdu-mtl",
        where=_FDU_MTL,
    ),
    Known(
        "mdsd",
        "Product reviews as found (Blitzer, Dredze and Pereira 2007)",
        _AMAZON,
        read_mdsd,
        "mdsd",
        where=_MDSD,
    ),
    Known(
        "mdsd+unlabel",
        "mdsd with the reviews that have no label",
        _AMAZON,
        partial(read_mdsd, unlabelled=True),
        "mdsd",
        where=_MDSD,
    ),
    Known(
        "langid",
        "Texts in 96 languages: five training domains and seven benchmarks",
        "several, file by file: see its README",
        read_langid,
        "langid",
        where=(
            "Nobody offers it whole: it is made of published texts (Universal Declaration, Debian's catalogues, "
            "NTREX-128, SIB-200, Leipzig sentences; the benchmarks of Baldwin and Lui, Europarl, tweets, TICO-19), as "
            "JSON lines in train/DOMAIN.jsonl.gz and heldout/BENCHMARK.jsonl.gz."
        ),
    ),
)
KNOWN: dict[str, Known] = {known.name: known for known in _TABLE}


def data_roots() -> tuple[Path, ...]:
    """Return the folders where corpora are looked for: `$DOMAINGATE_DATA` if set, then the user's cache folder."""
    chosen = os.environ.get("DOMAINGATE_DATA")
    return (Path(chosen), cache_folder()) if chosen else (cache_folder(),)


def cache_folder() -> Path:
    """Return the folder where fetched corpora are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "domaingate"


def locate(known: Known) -> Path | None:
    """Return the file or folder of a known corpus, or `None` if no data root has it or it needs none."""
    places = (root / known.place for root in data_roots() if known.place)
    return next((place for place in places if place.exists()), None)


def load(
    name_or_path: str | Path,
    columns: Columns = DEFAULT_COLUMNS,
    format: Format = "auto",  # noqa: A002
) -> Corpus:
    """Read a corpus by its known name, or from a path to a file or a folder of files.

    A known name wins over a file of the same name; write `./vader` for the file.
    """
    known = KNOWN.get(str(name_or_path))
    if known is None:
        _demand_path(str(name_or_path))
        return read_corpus(name_or_path, columns, format)
    if columns != DEFAULT_COLUMNS or format != "auto":
        raise DomainGateError(
            f"The corpus {known.name!r} has its own format: names of columns and --format are for files."
        )
    return replace(known.read(_place_of(known)), name=known.name)


def fetch_known(name: str, progress: Progress = unseen) -> Path:
    """Bring a known corpus into the cache folder and return its path; at once if a data root has it already."""
    known = KNOWN.get(name)
    if known is None:
        raise DomainGateError(f"There is no known corpus {name!r}.{_meant(name)} Known are: {', '.join(KNOWN)}.")
    if not known.place:
        raise DomainGateError(f"The corpus {name!r} is computed when it is used: there is nothing to fetch.")
    if not known.sources:
        raise DomainGateError(f"The corpus {name!r} cannot be fetched from here. {_by_hand(known)}")
    return _from_first_source(known, progress)


def summary(corpus: Corpus) -> list[Count]:
    """Count the documents of each domain and label, in alphabetical order, unknown ones last."""
    counts = Counter((document.domain, document.label) for document in corpus.documents)
    ordered = sorted(counts, key=lambda pair: [(name is None, name or "") for name in pair])
    return [Count(domain, label, counts[domain, label]) for domain, label in ordered]


def _from_first_source(known: Known, progress: Progress) -> Path:
    failures = []
    for source in known.sources:
        for root in data_roots():
            if is_whole(root / known.place, source.sha256):
                return root / known.place
        try:
            return fetch(source, cache_folder() / known.place, progress)
        except DomainGateError as error:
            failures.append(str(error))
    raise DomainGateError(f"{' '.join(failures)} {_by_hand(known)}")


def _place_of(known: Known) -> Path:
    """Return where a known corpus lies; one that is computed lies nowhere and takes any path."""
    place = locate(known)
    if place is not None or not known.place:
        return place or Path()
    if known.sources:
        raise DomainGateError(f"The corpus {known.name!r} is not here: run `domaingate corpus fetch {known.name}`.")
    raise DomainGateError(f"The corpus {known.name!r} is not here. {_by_hand(known)}")


def _by_hand(known: Known) -> str:
    places = " or ".join(str(root / known.place) for root in data_roots())
    return f"{known.where} Put it at {places}."


def _demand_path(name: str) -> None:
    if name != STDIN and not Path(name).exists():
        raise DomainGateError(
            f"There is no file or folder {name!r}, and no corpus known by that name.{_meant(name)} "
            f"Known are: {', '.join(KNOWN)}."
        )


def _meant(name: str) -> str:
    close = get_close_matches(name, KNOWN, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
