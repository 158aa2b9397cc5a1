"""Products, convolutions and normalisations with what follows them, and the activations of transformers."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from xdsl.ir import SSAValue

from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.microsoft.written import Written
from xrelay.frontends.onnx.importer.node import ConverterTable, Node

_PARAMETERS = {
    "Clip": ("min", "max"),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Relu": (),
    "Sigmoid": (),
    "Tanh": (),
}
"""The activations that are fused, with the names of their parameters."""


def fused_matmul(node: Node) -> SSAValue:
    """FusedMatMul and FusedMatMulActivation's product: alpha times a product of matrices that may be transposed."""
    graph = Written(node)
    for name in ("transBatchA", "transBatchB"):
        if node.flag(name):
            raise UnsupportedNode(f"'{name}' is set: axes of batches stay in front")
    sides = [
        _transposed(graph, index) if node.flag(name) else graph.input(index)
        for index, name in enumerate(("transA", "transB"))
    ]
    product = graph.one("MatMul", *sides)
    return graph.results([_scaled(graph, product, node.real("alpha", 1.0))])[0]


def _transposed(graph: Written, index: int) -> str:
    """An input whose matrices are transposed; a vector stays what it is."""
    rank = len(graph.node.shape_of(graph.node.input(index)))
    if rank < 2:
        return graph.input(index)
    order = [*range(rank - 2), rank - 1, rank - 2]
    return graph.one("Transpose", graph.input(index), perm=order)


def _scaled(graph: Written, name: str, factor: float) -> str:
    return name if factor == 1 else graph.one("Mul", name, graph.number(factor))


def _activated(graph: Written, name: str, activation: str, numbers: Sequence[float]) -> str:
    """A value after an activation, which "" leaves out."""
    if not activation:
        return name
    if activation not in _PARAMETERS:
        raise UnsupportedNode(f"'activation' is \"{activation}\"")
    stated = dict(zip(_PARAMETERS[activation], numbers, strict=False))
    if activation == "Clip":
        return graph.one("Clip", name, *map(graph.number, stated.values()))
    return graph.one(activation, name, **stated)


def fused_gemm(node: Node) -> SSAValue:
    """FusedGemm: Gemm and an activation."""
    graph = Written(node)
    activation = node.string("activation", "")
    numbers = [
        node.real(name, 0.0)
        for name in ("activation_alpha", "activation_beta", "activation_gamma")
        if node.has_attribute(name)
    ]
    attributes = {name: node.real(name, 1.0) for name in ("alpha", "beta")}
    flags = {name: int(node.flag(name)) for name in ("transA", "transB")}
    given = [graph.input(index) for index in range(node.input_count)]
    return graph.results(
        [_activated(graph, graph.one("Gemm", *given, **attributes, **flags), activation, numbers)]
    )[0]


def fused_conv(node: Node) -> SSAValue:
    """FusedConv: Conv, a tensor that is added, and an activation."""
    graph = Written(node)
    return _convolution(graph, graph.input(0))


def conv_of_pixels(node: Node) -> SSAValue:
    """NhwcFusedConv and NhwcConv: as FusedConv, of images whose channels are the last axis."""
    graph = Written(node)
    rank = len(node.shape_of(node.input(0)))
    image = graph.one("Transpose", graph.input(0), perm=[0, rank - 1, *range(1, rank - 1)])
    return _convolution(graph, image, [0, *range(2, rank), 1])


def _convolution(graph: Written, image: str, back: Sequence[int] | None = None) -> SSAValue:
    """The convolution of an image, in an order of its axes, with a tensor that is added, and an activation."""
    node = graph.node
    activation, numbers = node.string("activation", ""), node.reals("activation_params") or []
    others = (graph.input(index) for index in range(1, min(node.input_count, 3)))
    result = graph.one("Conv", image, *others)
    node.hand_on_attributes(graph.last, "activation", "activation_params")
    if back is not None:
        result = graph.one("Transpose", result, perm=back)
    if node.has_input(3):
        result = graph.one("Add", result, graph.input(3))
    return graph.results([_activated(graph, result, activation, numbers)])[0]


def gelu(node: Node, approximate: str | None = None) -> SSAValue:
    """Gelu and BiasGelu: x Phi(x), of a sum where there is a second input; FastGelu: the same by tanh."""
    graph = Written(node)
    total = graph.sum(graph.input(0), graph.input(1))
    return graph.results([graph.one("Gelu", total, approximate=approximate)])[0]


def quick_gelu(node: Node) -> SSAValue:
    """QuickGelu: x sigmoid(alpha x)."""
    graph, alpha = Written(node), node.real("alpha", 1.702)
    data = graph.input(0)
    gate = graph.one("Sigmoid", _scaled(graph, data, alpha))
    return graph.results([graph.one("Mul", data, gate)])[0]


def skip_layer_normalization(node: Node) -> list[SSAValue | None]:
    """SkipLayerNormalization: LayerNormalization of a sum, which is the fourth output."""
    graph, epsilon = Written(node), node.real("epsilon", 1e-5)
    total = graph.sum(graph.input(0), graph.input(1), graph.input(4))
    rest = [graph.input(index) for index in (2, 3)]
    outputs = graph.several(3, "LayerNormalization", total, *rest, axis=-1, epsilon=epsilon)
    return list(graph.results([*outputs, total]))


def skip_simplified_layer_normalization(node: Node) -> list[SSAValue | None]:
    """SkipSimplifiedLayerNormalization: RMSNormalization of a sum, which is the fourth output."""
    graph, epsilon = Written(node), node.real("epsilon", 1e-5)
    if node.output_count > 1 and any(node.proto.output[1:3]):
        raise UnsupportedNode("its second and third output are not supported")
    total = graph.sum(graph.input(0), graph.input(1), graph.input(3))
    scale = graph.input(2)
    normal = graph.one("RMSNormalization", total, scale, axis=-1, epsilon=epsilon)
    first, summed = graph.results([normal, total])
    return [first, None, None, summed]


def embed_layer_normalization(node: Node) -> list[SSAValue | None]:
    """
    EmbedLayerNormalization: LayerNormalization of the sum of embeddings of words, places and segments; the
    number of tokens that a mask has; the sum.
    """
    graph, epsilon = Written(node), node.real("epsilon", 1e-12)
    kind = node.integer("mask_index_type", 1 if node.has_input(7) else 0)
    if kind not in (0, 1):
        raise UnsupportedNode(f"'mask_index_type' is {kind}, supported are 0 and 1")
    batch, length = node.shape_of(node.shaped(0, "input_ids", (None, None)))
    words = graph.one("Gather", graph.input(2), graph.input(0))
    if node.has_input(8):
        places = graph.one("Gather", graph.input(3), graph.input(8))
    else:
        count = node.shape_of(node.input(3))[0]
        if length > count:
            raise OnnxImportError(f"there are {length} tokens, and embeddings of {count} places")
        numbers = graph.one("Unsqueeze", graph.counting(length), graph.integers(0))
        places = graph.one("Gather", graph.input(3), numbers)
    parts = [words, places]
    if node.has_input(1):
        parts.append(graph.one("Gather", graph.input(4), graph.input(1)))
    total = graph.sum(*parts)
    ends = [graph.input(index) for index in (5, 6)]
    normal = graph.one("LayerNormalization", total, *ends, axis=-1, epsilon=epsilon)
    if kind and node.has_input(7):
        tokens = graph.one("ReduceSum", graph.input(7), graph.integers(1), keepdims=0)
    else:
        tokens = graph.value(node.filled(np.zeros((), np.int32), (batch,)))
    return list(graph.results([normal, tokens, total]))


MICROSOFT: ConverterTable = {
    "BiasGelu": {1: gelu},
    "EmbedLayerNormalization": {1: embed_layer_normalization},
    "FastGelu": {1: partial(gelu, approximate="tanh")},
    "FusedConv": {1: fused_conv},
    "FusedGemm": {1: fused_gemm},
    "FusedMatMul": {1: fused_matmul},
    "Gelu": {1: gelu},
    "NhwcConv": {1: conv_of_pixels},
    "NhwcFusedConv": {1: conv_of_pixels},
    "QuickGelu": {1: quick_gelu},
    "SkipLayerNormalization": {1: skip_layer_normalization},
    "SkipSimplifiedLayerNormalization": {1: skip_simplified_layer_normalization},
}
