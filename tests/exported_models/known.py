"""
What is known of some exported architectures: an entry that is no longer true fails its test, so that these lists only
shrink.
"""

from __future__ import annotations

from typing import TypeAlias

Case: TypeAlias = tuple[str, str, str]
"""An architecture, an exporter ("script" or "dynamo"), and "static" or "dynamic"."""

NOT_EXPORTED: dict[Case, str] = {
    ("Whisper", "script", "static"): "aten::diff",
    ("Whisper", "script", "dynamic"): "aten::diff",
}
"""What torch cannot export, with a part of its message."""

_MADE_A_NUMBER = "conflicts between user-specified ranges and inferred"
EXPORTED_AT_TIMES: dict[Case, str] = {
    (name, "dynamo", "dynamic"): _MADE_A_NUMBER for name in ("lstm", "gru", "DeepSpeech")
}
"""
What torch does not export where the process has exported the same with fixed lengths: it then takes the batch of
recurrent layers for a number.
"""

REFUSED: dict[Case, str] = {}
"""What the importer or the compiler refuses, with a part of the message."""
