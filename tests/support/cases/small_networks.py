"""Small networks of the kinds that are used most, in f32 and in integers, as ONNX models."""

from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from xrelay.interpreters.arrays import Array

IMAGE, SEQUENCE = (1, 3, 17, 19), (1, 9, 24)
STEP = np.float32(0.03)
"""Of the numbers that integers between layers stand for."""
WEIGHT_STEP = np.float32(0.013)
IN_STEPS = (
    "Conv",
    "MatMul",
    "Gemm",
    "Add",
    "Relu",
    "MaxPool",
    "Concat",
    "Sigmoid",
    "GlobalAveragePool",
    "Softmax",
)
"""What has integers as results where a network is one of integers."""


class Network:
    """An ONNX graph that grows node by node, with seeded weights; in integers between pairs of QuantizeLinear and DequantizeLinear."""

    def __init__(self, *, integers: bool = False):
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.random = np.random.default_rng(16)
        self.integers = integers
        self.data = self.in_steps("x") if integers else "x"
        """What the network is given."""

    def weight(self, *shape: int) -> str:
        """Numbers of which sums have about the same variance, whatever they are for; of one axis those of a bias."""
        fan = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
        array = self.random.standard_normal(shape) / (np.sqrt(fan) if len(shape) > 1 else 4)
        if not self.integers:
            return self.constant(array.astype(np.float32))
        step, kind = (WEIGHT_STEP, np.int8) if len(shape) > 1 else (STEP * WEIGHT_STEP, np.int32)
        whole = np.rint(array / step).clip(np.iinfo(kind).min, np.iinfo(kind).max)
        return self.add(
            "DequantizeLinear", self.constant(whole.astype(kind)), self.constant(np.array(step))
        )

    def constant(self, array: Array) -> str:
        """An initializer."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        if self.integers and op in IN_STEPS:
            return self.in_steps(name)
        return name

    def in_steps(self, value: str) -> str:
        """A value as a byte stands for it."""
        step, zero = self.constant(np.array(STEP)), self.constant(np.array(128, np.uint8))
        quantized = self.add("QuantizeLinear", value, step, zero)
        return self.add("DequantizeLinear", quantized, step, zero)

    def model(self, shape: tuple[int, ...], result: str) -> ModelProto:
        """The model of one input and one result, that of the last node."""
        self.nodes[-1].output[0] = "y"
        assert self.nodes[-1].name == result
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.weights)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def convolutions(*, integers: bool = False) -> ModelProto:
    """Strides, a residual sum of another scale, depthwise, pools, a concatenation, odd sizes."""
    net = Network(integers=integers)

    def conv(data: str, outputs: int, inputs: int, size: int, **options: Any) -> str:
        weights = net.weight(outputs, inputs, size, size), net.weight(outputs)
        return net.add("Conv", data, *weights, pads=[size // 2] * 4, **options)

    a = net.add("Relu", conv(net.data, 20, 3, 3, strides=[2, 2]))
    p = net.add("MaxPool", a, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    b = net.add("Relu", conv(p, 20, 1, 3, group=20))
    c = net.add("Relu", net.add("Add", conv(b, 20, 20, 1), p))
    d = net.add("Concat", conv(c, 9, 20, 3), net.add("Sigmoid", c), axis=1)
    e = net.add("Flatten", net.add("GlobalAveragePool", d))
    return net.model(IMAGE, net.add("Gemm", e, net.weight(29, 7), net.weight(7)))


def transformer(*, integers: bool = False) -> ModelProto:
    """Attention over heads, layer normalisation and a GELU that is written out."""
    net = Network(integers=integers)

    def linear(data: str, inputs: int, outputs: int) -> str:
        product = net.add("MatMul", data, net.weight(inputs, outputs))
        return net.add("Add", product, net.weight(outputs))

    def heads(data: str, *order: int) -> str:
        split = net.add("Reshape", data, net.constant(np.array([1, 9, 3, 8])))
        return net.add("Transpose", split, perm=order)

    queries, keys = (
        heads(linear(net.data, 24, 24), 0, 2, 1, 3),
        heads(linear(net.data, 24, 24), 0, 2, 3, 1),
    )
    scores = net.add("Div", net.add("MatMul", queries, keys), net.constant(np.float32(np.sqrt(8))))
    values = heads(linear(net.data, 24, 24), 0, 2, 1, 3)
    mixed = net.add("MatMul", net.add("Softmax", scores, axis=-1), values)
    back = net.add("Transpose", mixed, perm=[0, 2, 1, 3])
    joined = net.add("Reshape", back, net.constant(np.array([1, 9, 24])))
    total = net.add("Add", linear(joined, 24, 24), net.data)
    normal = net.add("LayerNormalization", total, net.weight(24), net.weight(24), axis=-1)
    wide = linear(normal, 24, 50)
    erf = net.add("Erf", net.add("Div", wide, net.constant(np.float32(np.sqrt(2)))))
    gate = net.add("Mul", wide, net.add("Add", erf, net.constant(np.float32(1))))
    gelu = net.add("Mul", gate, net.constant(np.float32(0.5)))
    return net.model(SEQUENCE, net.add("Add", linear(gelu, 50, 24), normal))
