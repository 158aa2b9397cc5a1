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
    # torch.export makes a number of the batch of recurrent layers.
    ("lstm", "dynamo", "dynamic"): "conflicts between user-specified ranges and inferred ranges",
    ("gru", "dynamo", "dynamic"): "conflicts between user-specified ranges and inferred ranges",
    ("DeepSpeech", "dynamo", "dynamic"): "conflicts between user-specified ranges and inferred",
}
"""What torch cannot export, with a part of its message."""

REFUSED: dict[Case, str] = {}
"""What the importer or the compiler refuses, with a part of the message."""

THREE_PROGRAMS = (
    # Tiles of transposes and of products are chosen for short sequences, and other ones for longer ones.
    "DebertaV2",
    "Mixtral",
    # Convolutions know how long their signals are. A program serves all batches of a length.
    "Wav2Vec2",
    "DeepSpeech",
)

PROGRAMS: dict[Case, int] = {
    case: 3
    for case in (
        *(
            (name, exporter, "dynamic")
            for name in THREE_PROGRAMS
            for exporter in ("script", "dynamo")
        ),
        ("Bart", "script", "dynamic"),
    )
    if case not in NOT_EXPORTED
}
"""
Dynamic models that take another number of programs than two for their three sizes: one that serves all lengths, and
one for the batch of 1.
"""
