"""Text classifiers for heaps of heterogeneous text, gated by a latent domain."""

from typing import TYPE_CHECKING

from domaingate.errors import DomainGateError

if TYPE_CHECKING:
    from domaingate.estimator import DomainGateClassifier

__version__ = "0.1.0"

__all__ = ["DomainGateClassifier", "DomainGateError", "__version__"]


def __getattr__(name: str) -> object:
    """Import the estimator when it is first asked for, so that `import domaingate` stays quick."""
    if name == "DomainGateClassifier":
        from domaingate.estimator import DomainGateClassifier

        return DomainGateClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
