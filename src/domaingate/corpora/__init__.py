"""Text as found: known corpora and files of texts, read into documents with a label and a domain, or without."""

from domaingate.corpora.catalogue import KNOWN, Count, Known, fetch_known, load, locate, summary
from domaingate.corpora.document import Corpus, Document
from domaingate.corpora.files import Format
from domaingate.corpora.foreign import foreign_texts
from domaingate.corpora.tables import BadRow, Columns, read_corpus, read_rows

__all__ = [
    "KNOWN",
    "BadRow",
    "Columns",
    "Corpus",
    "Count",
    "Document",
    "Format",
    "Known",
    "fetch_known",
    "foreign_texts",
    "load",
    "locate",
    "read_corpus",
    "read_rows",
    "summary",
]
