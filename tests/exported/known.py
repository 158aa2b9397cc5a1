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

OF_ONE_LENGTH = (
    "DebertaV2",  # Tables of relative places, by the length of the sequence.
    "Wav2Vec2",  # Convolutions along samples; so are those of Causal and Points.
    "Causal",
    "Points",
    "residual",  # Images of three sizes.
    "UNet",
    "DeepLab",
    "lstm",  # Recurrent networks are unrolled.
    "gru",
    "DeepSpeech",
)
"""Architectures of which each program serves all batches, but one length besides."""

PROGRAMS: dict[Case, int] = {
    (name, exporter, "dynamic"): 3 for name in OF_ONE_LENGTH for exporter in ("script", "dynamo")
} | {
    # What few experts get is decided by how many tokens there are.
    ("Mixtral", "script", "dynamic"): 3,
    ("Mixtral", "dynamo", "dynamic"): 3,
}
"""
Dynamic models that take another number of programs than two for their three sizes: one that serves all lengths, and
one for the batch of 1.
"""
