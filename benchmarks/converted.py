"""
Models with fewer bits for the benchmark, as onnxruntime's tools make them of those with torch's weights.

Float16: all tensors but inputs and outputs. Static: QuantizeLinear and DequantizeLinear around operators, activations of `uint8` with the ranges that seeded inputs
have, weights of `int8` with a scale for each channel. Dynamic: matrix products become DynamicQuantizeLinear and
MatMulInteger, with weights of `uint8`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.transformers.float16 import convert_float_to_float16

Feeds = Mapping[str, Any]
"""Arrays by the names of inputs."""


class Samples(CalibrationDataReader):
    """The inputs that ranges are taken from."""

    def __init__(self, samples: Sequence[Feeds]):
        self.samples = iter(samples)

    def get_next(self) -> Any:
        """The next one; None after the last."""
        return next(self.samples, None)


def write_static(source: Path, target: Path, samples: Sequence[Feeds]) -> None:
    """Quantises a model with the ranges that its activations have for some inputs."""
    quantize_static(
        str(source),
        str(target),
        Samples(samples),
        quant_format=QuantFormat.QDQ,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        per_channel=True,
    )


def write_dynamic(source: Path, target: Path) -> None:
    """Quantises the weights of a model, whose activations follow when it runs."""
    quantize_dynamic(str(source), str(target), weight_type=QuantType.QUInt8)


def write_float16(source: Path, target: Path) -> None:
    """Converts all tensors but the inputs and outputs."""
    # It infers types by itself, from a file.
    onnx.save(convert_float_to_float16(str(source), keep_io_types=True), str(target))
