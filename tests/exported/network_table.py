"""Architectures of torch alone, which networks.py makes."""

from __future__ import annotations

from tests.exported.architectures import BATCHES, TOKENS, Architecture, Input, ThreeSizes, also

PICTURE = Input("image", ("batch", 3, "height", "width"))
PICTURES = also("width", (48, 32, 80), also("height", (32, 64, 48), BATCHES))
SIGNAL = Input("signal", ("batch", 1, "samples"))
SIGNALS = also("samples", (256, 320, 512), BATCHES)
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
    row("detection", "Grid", PICTURES, PICTURE),
    row("recurrent", "lstm", TOKENS, WORDS),
    row("recurrent", "gru", TOKENS, WORDS),
    row("speech", "DeepSpeech", also("frames", (9, 16, 21), BATCHES), Input("spectrogram", ("batch", 16, "frames"))),
    row("speech", "Separator", SIGNALS, SIGNAL),
    row("points", "Points", also("points", (30, 50, 17), BATCHES), Input("points", ("batch", 3, "points"))),
    row("recommendation", "Recommender", BATCHES, Input("features", ("batch", 6)), Input("categories", ("batch", 3), 40)),
    row("encoder-decoder", "Translator", also("out", (5, 3, 9)), WORDS, Input("target", ("batch", "out"), 50)),
)  # fmt: skip
