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

REFUSED: dict[Case, str] = {}
"""What the importer or the compiler refuses, with a part of the message."""

THREE_PROGRAMS = (
    # Tiles of transposes and of products are chosen for short sequences, and other ones for longer ones.
    "DebertaV2",
    "Mixtral",
    # Convolutions know how long their images and signals are. A program serves all batches of a length.
    "residual",
    "shuffled",
    "UNet",
    "DeepLab",
    "Pyramid",
    "Wav2Vec2",
    "Causal",
    "Separator",
    "Points",
    "DeepSpeech",
)

PROGRAMS: dict[Case, int] = {
    (name, exporter, "dynamic"): 3 for name in THREE_PROGRAMS for exporter in ("script", "dynamo")
} | {("Bart", "script", "dynamic"): 3}
"""
Dynamic models that take another number of programs than two for their three sizes: one that serves all lengths, and
one for the batch of 1.
"""
