"""Quantised models as onnxruntime's tools write them: machine code, the interpreter and onnxruntime give one result."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.small_networks import IMAGE, SEQUENCE, convolutions, transformer
from onnx import ModelProto
from onnx_models import by_plain_onnxruntime
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from xdsl.context import Context

import xrelay
from xrelay.frontends.onnx import import_model
from xrelay.interpreters.relay import interpret
from xrelay.transforms.cpu_pipeline import CpuPipelinePass

NETWORKS = {"convolutions": (convolutions, IMAGE), "transformer": (transformer, SEQUENCE)}
U8, S8 = QuantType.QUInt8, QuantType.QInt8
STATIC: dict[str, dict[str, Any]] = {
    "u8s8": {"activation_type": U8, "weight_type": S8, "per_channel": True},
    "s8s8": {
        "activation_type": S8,
        "weight_type": S8,
        "per_channel": True,
        "extra_options": {"ActivationSymmetric": True},
    },
    "u8u8": {"activation_type": U8, "weight_type": U8},
    "operators": {
        "activation_type": U8,
        "weight_type": S8,
        "per_channel": True,
        "quant_format": QuantFormat.QOperator,
    },
}


class Samples(CalibrationDataReader):
    def __init__(self, shape: tuple[int, ...]):
        random = np.random.default_rng(1)
        self.samples = iter([{"x": random.standard_normal(shape, np.float32)} for _ in range(3)])

    def get_next(self) -> Any:
        return next(self.samples, None)


def quantized(network: str, form: str, folder: Path) -> ModelProto:
    """A network, quantised. What the tools read and write are files."""
    build, shape = NETWORKS[network]
    source, target = folder / "source.onnx", folder / "target.onnx"
    source.write_bytes(build().SerializeToString())
    if form == "dynamic":
        quantize_dynamic(str(source), str(target), weight_type=S8)
    else:
        quantize_static(
            str(source),
            str(target),
            Samples(shape),
            **{"quant_format": QuantFormat.QDQ, **STATIC[form]},
        )
    return ModelProto.FromString(target.read_bytes())


CASES = [
    ("convolutions", "u8s8", "x86-64-v3"),
    ("convolutions", "u8u8", "native"),
    ("convolutions", "dynamic", "native"),
    ("transformer", "u8s8", "native"),
    ("transformer", "s8s8", "native"),
    ("transformer", "operators", "native"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("network, form, target", CASES)
def test_quantized_model(network: str, form: str, target: str, tmp_path: Path):
    model = quantized(network, form, tmp_path)
    data = np.random.default_rng(5).standard_normal(NETWORKS[network][1], np.float32)
    module = import_model(model)
    CpuPipelinePass().apply(Context(), module)
    (meant,) = interpret(module, [data])
    compiled = xrelay.compile(model, target=target)
    (found,) = compiled.run({"x": data}).values()
    steps = [step.name for step in compiled.signature.steps]
    assert "fused_nn_layer_norm" not in steps, "it is quantised on the registers that hold it"
    if form == "dynamic":
        np.testing.assert_allclose(found, meant, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(found, meant)
    expected = by_plain_onnxruntime(model, data)
    # Steps of the result, of which a rounding in between may cost some.
    step = np.diff(np.unique(expected)).min() if form != "dynamic" else 1e-4
    assert np.abs(found - expected).max() <= 2.5 * step
