"""Quantised models as onnxruntime's tools write them: machine code, the interpreter and onnxruntime give one result."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
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
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.relay import interpret
from xrelay.transforms.cpu_pipeline import CpuPipelinePass


class Network:
    """An ONNX graph that grows node by node, with seeded weights."""

    def __init__(self):
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.random = np.random.default_rng(16)

    def weight(self, *shape: int) -> str:
        fan = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
        array = self.random.standard_normal(shape) / (np.sqrt(fan) if len(shape) > 1 else 4)
        return self.constant(array.astype(np.float32))

    def constant(self, array: Array) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def model(self, shape: tuple[int, ...], result: str) -> ModelProto:
        self.nodes[-1].output[0] = "y"
        assert self.nodes[-1].name == result
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.weights)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


IMAGE, SEQUENCE = (1, 3, 17, 19), (1, 9, 24)


def convolutions() -> ModelProto:
    """Strides, a residual sum of another scale, depthwise, pools, a concatenation, odd sizes."""
    net = Network()

    def conv(data: str, outputs: int, inputs: int, size: int, **options: Any) -> str:
        weights = net.weight(outputs, inputs, size, size), net.weight(outputs)
        return net.add("Conv", data, *weights, pads=[size // 2] * 4, **options)

    a = net.add("Relu", conv("x", 20, 3, 3, strides=[2, 2]))
    p = net.add("MaxPool", a, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    b = net.add("Relu", conv(p, 20, 1, 3, group=20))
    c = net.add("Relu", net.add("Add", conv(b, 20, 20, 1), p))
    d = net.add("Concat", conv(c, 9, 20, 3), net.add("Sigmoid", c), axis=1)
    e = net.add("Flatten", net.add("GlobalAveragePool", d))
    return net.model(IMAGE, net.add("Gemm", e, net.weight(29, 7), net.weight(7)))


def transformer() -> ModelProto:
    """Attention over heads, layer normalisation and a GELU that is written out."""
    net = Network()

    def linear(data: str, inputs: int, outputs: int) -> str:
        product = net.add("MatMul", data, net.weight(inputs, outputs))
        return net.add("Add", product, net.weight(outputs))

    def heads(data: str, *order: int) -> str:
        split = net.add("Reshape", data, net.constant(np.array([1, 9, 3, 8])))
        return net.add("Transpose", split, perm=order)

    queries, keys = heads(linear("x", 24, 24), 0, 2, 1, 3), heads(linear("x", 24, 24), 0, 2, 3, 1)
    scores = net.add("Div", net.add("MatMul", queries, keys), net.constant(np.float32(np.sqrt(8))))
    values = heads(linear("x", 24, 24), 0, 2, 1, 3)
    mixed = net.add("MatMul", net.add("Softmax", scores, axis=-1), values)
    back = net.add("Transpose", mixed, perm=[0, 2, 1, 3])
    joined = net.add("Reshape", back, net.constant(np.array([1, 9, 24])))
    total = net.add("Add", linear(joined, 24, 24), "x")
    normal = net.add("LayerNormalization", total, net.weight(24), net.weight(24), axis=-1)
    wide = linear(normal, 24, 50)
    erf = net.add("Erf", net.add("Div", wide, net.constant(np.float32(np.sqrt(2)))))
    gate = net.add("Mul", wide, net.add("Add", erf, net.constant(np.float32(1))))
    gelu = net.add("Mul", gate, net.constant(np.float32(0.5)))
    return net.model(SEQUENCE, net.add("Add", linear(gelu, 50, 24), normal))


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
