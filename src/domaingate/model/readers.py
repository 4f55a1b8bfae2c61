"""The one table of readers."""

from domaingate.config import ModelConfig
from domaingate.model.bags import BagReader
from domaingate.model.channels import ConvolutionalReader
from domaingate.model.reader import Reader, Sizes


def build_reader(sizes: Sizes, n: int, config: ModelConfig) -> Reader:
    """The reader that `config` asks for, with n vectors a text."""
    if config.reader == "ngrams":
        return BagReader(sizes, n, config)
    return ConvolutionalReader(sizes.vocabulary, n, config)
