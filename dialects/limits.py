"""
How large a program may become: what keeps models that others have made from taking a machine.
Light: a load from the cache of compiled models needs no dialect.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of a program, far above those of any model in use."""

    max_nodes: int = 1 << 20
    """Operations, once each call and each loop that is unrolled has become a copy of its body."""
    max_bytes: int = 1 << 40
    """Bytes of constants, also of computed ones, and of the workspace."""

    def nodes_excess(self, count: int) -> str | None:
        """The end of a message that says that `count` operations are too many, None if not."""
        if count <= self.max_nodes:
            return None
        return f"{count} operations, the limit (max_nodes) is {self.max_nodes}"

    def bytes_excess(self, count: int) -> str | None:
        """The end of a message that says that `count` bytes are too many, None if not."""
        if count <= self.max_bytes:
            return None
        return f"{count} bytes, the limit (max_bytes) is {self.max_bytes}"


DEFAULT_LIMITS = Limits()
"""Those of models for which nobody states others."""
