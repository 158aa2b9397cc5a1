"""
How much arithmetic a model is: multiplications and additions of its convolutions and matrix
products, as ONNX shape inference knows them. The rest of a network is small beside them.
"""

from collections.abc import Mapping
from math import prod
from pathlib import Path

from onnx import ModelProto, NodeProto, ValueInfoProto, shape_inference

Shape = tuple[int, ...]


def model_flops(path: Path) -> int:
    """Floating-point operations of one inference, a multiply-add being two."""
    model = ModelProto.FromString(path.read_bytes())
    graph = shape_inference.infer_shapes(model, data_prop=True).graph
    shapes: dict[str, Shape] = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for values in (graph.input, graph.value_info, graph.output):
        shapes.update((value.name, _shape(value)) for value in values)
    return sum(node_flops(node, shapes) for node in graph.node)


def node_flops(node: NodeProto, shapes: Mapping[str, Shape]) -> int:
    """Those of a Conv, ConvTranspose, Gemm or MatMul, by the shapes of its operands; else 0."""
    match node.op_type:
        case "Conv":
            return 2 * prod(shapes[node.output[0]]) * prod(shapes[node.input[1]][1:])
        case "ConvTranspose":
            return 2 * prod(shapes[node.input[0]]) * prod(shapes[node.input[1]][1:])
        case "Gemm":
            transposed = any(each.name == "transA" and each.i for each in node.attribute)
            depth = shapes[node.input[0]][0 if transposed else 1]
            return 2 * prod(shapes[node.output[0]]) * depth
        case "MatMul":
            return 2 * prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]
        case _:
            return 0


def _shape(value: ValueInfoProto) -> Shape:
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
