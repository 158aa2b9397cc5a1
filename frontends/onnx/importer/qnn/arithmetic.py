"""
Operators of onnxruntime's domain `com.microsoft` on quantised tensors that are what they are called: `QLinearSigmoid`
is Sigmoid of dequantised numbers, quantised. They are imported as these three nodes.

Source: onnxruntime's ContribOperators.md.
"""

from collections.abc import Sequence

from onnx import NodeProto, helper
from xdsl.ir import SSAValue

from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.node import Body, Converter, ConverterTable, Node
from xrelay.frontends.onnx.importer.qnn.conversion import positive_scale, zero_point

OPSET = 13
"""The operator set of ONNX whose operators stand in for these."""

Triple = tuple[SSAValue, SSAValue, SSAValue]
"""Integers, their scale and their zero point."""


def _triple(node: Node, index: int) -> Triple:
    data = node.input(index)
    return data, positive_scale(node, index + 1), zero_point(node, index + 2, data)


def _of_numbers(
    node: Node, op: NodeProto, given: Sequence[Triple], scale: int, opset: int = OPSET
) -> SSAValue:
    """`op`, which takes dequantised tensors x0, x1, … and gives y, quantised with the inputs from `scale` on."""
    values: dict[str, SSAValue] = {}
    nodes: list[NodeProto] = []
    for number, triple in enumerate(given):
        names = [f"{part}{number}" for part in ("q", "scale", "zero_point")]
        values.update(zip(names, triple, strict=True))
        nodes.append(helper.make_node("DequantizeLinear", names, [f"x{number}"]))
    values["scale"] = positive_scale(node, scale)
    values["zero_point"] = zero_point(node, scale + 1, given[0][0])
    ends = helper.make_node("QuantizeLinear", ["y", "scale", "zero_point"], ["q"])
    (result,) = node.inline(
        Body([*nodes, op, ends], inputs=values, outputs=["q"], opsets={"": opset})
    )
    return result


def _like(node: Node, op_type: str, count: int, *without: str) -> NodeProto:
    """A node of `op_type` with the attributes of this one."""
    op = helper.make_node(op_type, [f"x{number}" for number in range(count)], ["y"])
    node.hand_on_attributes(op, *without)
    return op


def unary(op_type: str) -> Converter:
    """Converts an operator with one quantised input."""

    def convert(node: Node) -> SSAValue:
        if node.flag("channels_last"):
            raise UnsupportedNode("'channels_last' is 1, expected images with channels first")
        op = _like(node, op_type, 1, "channels_last")
        return _of_numbers(node, op, [_triple(node, 0)], 3)

    return convert


def binary(op_type: str) -> Converter:
    """Converts an operator with two quantised inputs, which broadcast."""

    def convert(node: Node) -> SSAValue:
        return _of_numbers(node, _like(node, op_type, 2), [_triple(node, 0), _triple(node, 3)], 6)

    return convert


def softmax(node: Node) -> SSAValue:
    """QLinearSoftmax, which names the operator set that says what `axis` means."""
    opset = node.integer("opset")
    if opset < 1:
        raise OnnxImportError(f"'opset' is {opset}, expected a positive number")
    op = _like(node, "Softmax", 1, "opset")
    # What the conversions are did not change since operator set 10.
    return _of_numbers(node, op, [_triple(node, 0)], 3, max(opset, 11) if opset < OPSET else OPSET)


def concatenate(node: Node) -> SSAValue:
    """QLinearConcat: the result's scale and zero point, and then those of each input behind it."""
    count, rest = divmod(node.input_count - 2, 3)
    if count < 1 or rest:
        raise OnnxImportError(f"it has {node.input_count} inputs, expected 2 and 3 for each tensor")
    triples = [_triple(node, 2 + 3 * number) for number in range(count)]
    return _of_numbers(node, _like(node, "Concat", count), triples, 0)


MICROSOFT: ConverterTable = {
    "QLinearAdd": {1: binary("Add")},
    "QLinearAveragePool": {1: unary("AveragePool")},
    "QLinearConcat": {1: concatenate},
    "QLinearGlobalAveragePool": {1: unary("GlobalAveragePool")},
    "QLinearLeakyRelu": {1: unary("LeakyRelu")},
    "QLinearMul": {1: binary("Mul")},
    "QLinearSigmoid": {1: unary("Sigmoid")},
    "QLinearSoftmax": {1: softmax},
}
"""Of the domain `com.microsoft`."""
