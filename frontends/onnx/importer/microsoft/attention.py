"""Attention of several heads as onnxruntime's optimiser and its exporters write it, as ONNX's Attention."""

from math import prod

import numpy as np
from onnx import TensorProto
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.microsoft.written import Written
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_table


def by_heads(graph: Written, name: str, shape: tuple[int, int], heads: int) -> str:
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    split = graph.one("Reshape", name, graph.integers(*shape, heads, -1))
    return graph.one("Transpose", split, perm=[0, 2, 1, 3])


def by_tokens(graph: Written, name: str, shape: tuple[int, int]) -> str:
    """[batch, heads, length, size] as [batch, length, heads * size]."""
    rows = graph.one("Transpose", name, perm=[0, 2, 1, 3])
    return graph.one("Reshape", rows, graph.integers(*shape, -1))


def past_mask(graph: Written, queries: int, keys: int, window: int = -1) -> str:
    """-inf where a key comes after the query, or is `window` places or more before it; the last query belongs to the last key."""
    if is_open(queries) or is_open(keys):
        places = graph.one("Add", graph.counting(queries), graph.integers(keys - queries))
        return mask_of(graph, hidden_from(graph, places, keys, window))
    require_table((queries, keys), "the mask of attention")
    behind = np.arange(queries)[:, None] + (keys - queries) - np.arange(keys)
    hidden = (behind < 0) | (behind >= window if window > 0 else False)
    dtype = graph.node.element_dtype(graph.node.input(0))
    return graph.constant(np.where(hidden, -np.inf, 0).astype(dtype))


def hidden_from(graph: Written, places: str, keys: int, window: int = -1) -> str:
    """Whether a key comes after queries of the places [..., queries], or is `window` or more before: [..., queries, keys]."""
    behind = graph.one(
        "Sub", graph.one("Unsqueeze", places, graph.integers(-1)), graph.counting(keys)
    )
    hidden = graph.one("Less", behind, graph.integers(0))
    if window > 0:
        far = graph.one("GreaterOrEqual", behind, graph.integers(window))
        hidden = graph.one("Or", hidden, far)
    return hidden


def mask_of(graph: Written, hidden: str) -> str:
    """What is added to scores: -inf where a key is hidden."""
    return graph.one("Where", hidden, graph.number(-np.inf), graph.number(0.0))


def _padding_mask(
    graph: Written, mask: SSAValue | None, batch: int, queries: int, keys: int, value: float
) -> str:
    """
    What is added to scores for a mask of tokens: 0 where it is not 0, else `value`. It has an element for each key, for
    each query and key, or the number of keys of each batch.
    """
    if mask is None:
        return ""
    name, shape = graph.value(mask), graph.node.shape_of(mask)
    if shape == (batch,) and shape != (batch, keys):
        lengths = graph.one("Cast", name, to=TensorProto.INT64)
        lengths = graph.one("Reshape", lengths, graph.integers(batch, 1))
        name, shape = graph.one("Less", graph.counting(keys), lengths), (batch, keys)
    else:
        name = graph.one("Cast", name, to=TensorProto.BOOL)
    if shape == (batch, keys):
        name = graph.one("Reshape", name, graph.integers(batch, 1, 1, keys))
    elif shape == (batch, queries, keys):
        name = graph.one("Reshape", name, graph.integers(batch, 1, queries, keys))
    else:
        raise UnsupportedNode(
            f"its mask has the shape {list(shape)}, supported are {[batch]}, {[batch, keys]} and "
            f"{[batch, queries, keys]}"
        )
    return graph.one("Where", name, graph.number(0.0), graph.number(value))


def _mask(
    graph: Written, tokens: SSAValue | None, shape: tuple[int, int, int], *, forward: bool
) -> str:
    """What is added to scores: for a mask of tokens, as input 5 says, and with `forward` for keys behind their query."""
    batch, queries, keys = shape
    hidden = graph.node.real("mask_filter_value", -10000.0)
    given = _padding_mask(graph, tokens, batch, queries, keys, hidden)
    later = past_mask(graph, queries, keys) if forward else ""
    return graph.sum(given, graph.input(5), later)


def scale_of(node: Node) -> float | None:
    """The attribute, of which 0 stands for its default."""
    return node.real("scale", 0.0) or None


def joined(graph: Written, past: str, new: str) -> str:
    return graph.one("Concat", past, new, axis=2) if past else new


def attention(node: Node) -> list[SSAValue | None]:
    """Attention: a product makes queries, keys and values of the input, which may follow those of the past."""
    graph, heads = Written(node), node.integer("num_heads")
    forward = node.flag("unidirectional")
    sizes = node.integers("qkv_hidden_sizes")
    if node.flag("do_rotary") or node.has_input(6):
        raise UnsupportedNode("'do_rotary' and a buffer for the past are not supported")
    node.ignore("past_present_share_buffer", "rotary_embedding_dim")
    data = node.shaped(0, "input", (None, None, None))
    batch, length, _ = node.shape_of(data)
    width = node.shape_of(node.shaped(1, "weights", (None, None)))[1]
    if sizes is None:
        sizes = [width // 3] * 3
    if sum(sizes) != width or len(sizes) != 3 or heads < 1 or any(each % heads for each in sizes):
        raise OnnxImportError(f"'num_heads' is {heads}, weights make rows of {width} elements")
    product = graph.one("MatMul", graph.value(data), graph.input(1))
    product = graph.sum(product, graph.input(2))
    parts = graph.several(3, "Split", product, graph.integers(*sizes), axis=2)
    query, key, value = (by_heads(graph, part, (batch, length), heads) for part in parts)
    keys = length
    if node.has_input(4):
        past = node.shaped(4, "past", (2, batch, heads, None, None))
        halves = graph.several(2, "Split", graph.value(past), axis=0, num_outputs=2)
        axes = graph.integers(0)
        before = [graph.one("Squeeze", half, axes) for half in halves]
        key, value = (joined(graph, *pair) for pair in zip(before, (key, value), strict=True))
        keys += node.shape_of(past)[3]
    mask = _mask(graph, node.optional(3), (batch, length, keys), forward=forward)
    found = graph.one("Attention", query, key, value, mask, scale=scale_of(node))
    outputs = [by_tokens(graph, found, (batch, length))]
    if node.output_count > 1:
        axes = graph.integers(0)
        both = (graph.one("Unsqueeze", each, axes) for each in (key, value))
        outputs.append(graph.one("Concat", *both, axis=0))
    return list(graph.results(outputs))


def multi_head_attention(node: Node) -> list[SSAValue | None]:
    """MultiHeadAttention of separate queries, keys and values, or of keys and values by heads."""
    graph, heads = Written(node), node.integer("num_heads")
    forward = node.flag("unidirectional")
    if not node.has_input(1) or not node.has_input(2):
        raise UnsupportedNode("its queries, keys and values are one tensor")
    if node.input_count > 8 and any(node.has_input(index) for index in range(8, node.input_count)):
        raise UnsupportedNode("a buffer for the past is not supported")
    batch, length, width = node.shape_of(node.shaped(0, "query", (None, None, None)))
    if heads < 1 or width % heads:
        raise OnnxImportError(f"'num_heads' is {heads}, the queries have {width} elements")
    biases = [""] * 3
    if node.has_input(3):
        last = node.shape_of(node.input(2))
        rest = last[2] if len(last) == 3 else heads * last[3]
        sizes = graph.integers(width, width, rest)
        biases = graph.several(3, "Split", graph.input(3), sizes, axis=0)
    query = by_heads(graph, graph.sum(graph.input(0), biases[0]), (batch, length), heads)
    key, value = (_keys_by_heads(graph, index, biases[index], batch, heads) for index in (1, 2))
    keys = node.shape_of(node.input(1))[-2]
    pasts = [graph.input(index) for index in (6, 7)]
    if node.has_input(6):
        keys += node.shape_of(node.input(6))[2]
    key, value = (joined(graph, *pair) for pair in zip(pasts, (key, value), strict=True))
    mask = _mask(graph, node.optional(4), (batch, length, keys), forward=forward)
    found = graph.one("Attention", query, key, value, mask, scale=scale_of(node))
    return list(graph.results([by_tokens(graph, found, (batch, length)), key, value]))


def _keys_by_heads(graph: Written, index: int, bias: str, batch: int, heads: int) -> str:
    """Keys or values [batch, heads, length, size], which may be given so."""
    shape = graph.node.shape_of(graph.node.input(index))
    name = graph.input(index)
    if len(shape) == 4:
        if bias:
            raise UnsupportedNode("keys or values by heads, and a bias of them")
        return name
    return by_heads(graph, graph.sum(name, bias), (batch, shape[1]), heads)


def rotary_embedding(node: Node) -> SSAValue:
    """RotaryEmbedding, whose places are those of each token, or that of the first one."""
    graph, interleaved = Written(node), node.flag("interleaved")
    heads, part = node.integer("num_heads", 0), node.integer("rotary_embedding_dim", 0)
    scale = node.real("scale", 1.0)
    node.ignore("is_packed_batching")
    if scale != 1:
        raise UnsupportedNode(f"'scale' is {scale}")
    shape = node.shape_of(node.input(0))
    batch, length = (shape[0], shape[1]) if len(shape) == 3 else (shape[0], shape[2])
    places = graph.input(1)
    if prod(node.shape_of(node.input(1))) == 1 and (batch, length) != (1, 1):
        first = graph.one("Reshape", places, graph.integers(1, 1))
        places = graph.one("Add", graph.counting(length), first)
        places = graph.one("Expand", places, graph.integers(batch, length))
    size = 2 * node.shape_of(node.input(2))[1]
    if len(shape) == 3 and not heads:
        heads = shape[2] // (size if not part else part)
    found = graph.one(
        "RotaryEmbedding",
        *(graph.input(0), graph.input(2), graph.input(3), places),
        interleaved=int(interleaved),
        num_heads=heads if len(shape) == 3 else None,
        rotary_embedding_dim=part,
    )
    return graph.results([found])[0]


MICROSOFT: ConverterTable = {
    "Attention": {1: attention},
    "MultiHeadAttention": {1: multi_head_attention},
    "RotaryEmbedding": {1: rotary_embedding},
}
