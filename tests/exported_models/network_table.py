"""Architectures of torch alone, which networks.py makes."""

from __future__ import annotations

from tests.exported_models.architectures import BATCHES, Architecture, Input, ThreeSizes, also

PICTURE = Input("image", ("batch", 3, "height", "width"))
PICTURES = also("width", (48, 32, 80), also("height", (32, 64, 48), BATCHES))
SIGNAL = Input("signal", ("batch", 1, "samples"))
SIGNALS = also("samples", (256, 320, 512), BATCHES)
FEW_TOKENS = also("seq", (4, 6, 5), BATCHES)
"""Recurrent networks are unrolled."""
WORDS = Input("words", ("batch", "seq"), 50)


def row(family: str, model: str, sizes: ThreeSizes, *inputs: Input) -> Architecture:
    """An architecture by the name of the function or class that makes it."""
    return Architecture(model, family, model, inputs, sizes)


ROWS = (
    row("convolutional", "residual", PICTURES, PICTURE),
    row("convolutional", "shuffled", PICTURES, PICTURE),
    row("convolutional", "Causal", SIGNALS, SIGNAL),
    row("segmentation", "UNet", PICTURES, PICTURE),
    row("segmentation", "DeepLab", PICTURES, PICTURE),
    row("detection", "Pyramid", PICTURES, PICTURE),
    row("recurrent", "lstm", FEW_TOKENS, WORDS),
    row("recurrent", "gru", FEW_TOKENS, WORDS),
    row("speech", "DeepSpeech", also("frames", (5, 9, 12), BATCHES), Input("spectrogram", ("batch", 16, "frames"))),
    row("speech", "Separator", SIGNALS, SIGNAL),
    row("points", "Points", also("points", (30, 50, 17), BATCHES), Input("points", ("batch", 3, "points"))),
    row("recommendation", "Recommender", BATCHES, Input("features", ("batch", 6)), Input("categories", ("batch", 3), 40)),
)  # fmt: skip
