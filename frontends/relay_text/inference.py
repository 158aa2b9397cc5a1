"""Types that the text does not state."""

from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.syntax import Module


def infer_types(module: Module, metadata: Metadata) -> None:
    """Finds types."""
