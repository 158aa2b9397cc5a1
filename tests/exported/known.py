"""
What is known of some exported architectures: an entry that is no longer true fails its test, so that these lists only
shrink.
"""

from __future__ import annotations

from typing import TypeAlias

Case: TypeAlias = tuple[str, str, str]
"""An architecture, an exporter ("script" or "dynamo"), and "static" or "dynamic"."""

NOT_EXPORTED: dict[Case, str] = {}
"""What torch cannot export, with a part of its message."""

REFUSED: dict[Case, str] = {}
"""What the importer or the compiler refuses, with a part of the message."""

PROGRAMS: dict[Case, int] = {}
"""
Dynamic models that take another number of programs than two for their three sizes: one that serves all lengths, and
one for the batch of 1.
"""
