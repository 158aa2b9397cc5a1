"""GroupQueryAttention, whose keys and values several heads of queries share, and which keeps them in caches."""

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto
from xdsl.ir import SSAValue

from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.microsoft.attention import (
    by_heads,
    by_tokens,
    hidden_from,
    joined,
    mask_of,
    past_mask,
    scale_of,
)
from xrelay.frontends.onnx.importer.microsoft.written import Written
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


@dataclass(frozen=True)
class _Cache:
    """
    Where the tokens of a call stand. A cache that holds its past alone grows by them, and they stand at the same places
    in each sequence; in others they are written from place `first` of each sequence on.
    """

    graph: Written
    batch: int
    length: int
    """How many tokens a call has of each sequence."""
    past: int
    """How many tokens the given caches have room for, 0 where there are none."""
    total: int
    """How many tokens the longest sequence has with its past."""
    keys: int
    """How many tokens the caches of the results have room for, `total` or more."""
    first: str
    """For each sequence the place of its first token; "" where that is `past`."""

    def places(self) -> str:
        """The place of each token: [batch, length]."""
        graph = self.graph
        first = graph.integers(self.past)
        if self.first:
            first = graph.one("Unsqueeze", self.first, graph.integers(1))
        places = graph.one("Add", graph.counting(self.length), first)
        return graph.one("Expand", places, graph.integers(self.batch, self.length))

    def updated(self, index: int, new: str) -> str:
        """The keys or values [batch, heads, length, size] of the past, which are an input, and the new ones."""
        graph = self.graph
        past = graph.input(index) if self.past else ""
        if not self.first:
            return joined(graph, past, new)
        more = self.keys - self.past
        if more > 0:
            past = graph.one("Pad", past, graph.integers(0, 0, 0, 0, 0, 0, more, 0))
        return graph.one("TensorScatter", past, new, self.first, axis=2)

    def seen(self, cache: str) -> str:
        """What may be seen of keys or values: [batch, heads, total, size], 0 behind the end of a shorter sequence."""
        graph = self.graph
        if not self.first:
            return cache
        part = graph.one("Slice", cache, *(graph.integers(each) for each in (0, self.total, 2)))
        if self.batch == 1:
            return part
        # What nothing was written to may be NaN, which a weight of 0 does not hide.
        last = graph.one("Unsqueeze", _ends(graph, self.batch), graph.integers(1))
        written = graph.one("LessOrEqual", graph.counting(self.total), last)
        written = graph.one("Unsqueeze", written, graph.integers(1, 3))
        return graph.one("Where", written, part, graph.number(0.0))

    def mask(self, *, causal: bool, window: int) -> str:
        """What is added to scores [batch, heads, length, total] for keys that a token does not see."""
        graph = self.graph
        if causal and not self.first:
            return past_mask(graph, self.length, self.total, window)
        if causal:
            hidden = hidden_from(graph, self.places(), self.total, window)
            return mask_of(graph, graph.one("Unsqueeze", hidden, graph.integers(1)))
        last = graph.one("Unsqueeze", _ends(graph, self.batch), graph.integers(1, 2, 3))
        return mask_of(graph, graph.one("Greater", graph.counting(self.total), last))


def _ends(graph: Written, batch: int) -> str:
    """For each sequence the place of its last token."""
    ends = graph.value(graph.node.shaped(5, "seqlens_k", (batch,)))
    return graph.one("Cast", ends, to=TensorProto.INT64)


def _cache(graph: Written, batch: int, length: int) -> _Cache:
    """
    Where the tokens of a call with as many sequences and tokens stand.

    Raises UnknownValue where there is a past, and how many tokens there are in all is not known.
    """
    node = graph.node
    past = node.shape_of(node.input(3))[2] if node.has_input(3) else 0
    if not past:
        return _Cache(graph, batch, length, 0, length, length, "")
    numbers = node.known_lengths(6, "total_sequence_length")
    if len(numbers) != 1 or numbers[0] < length:
        raise OnnxImportError(
            f"input 6 ('total_sequence_length') is {numbers}, expected one number that is at least {length}, the number of tokens"
        )
    total = numbers[0]
    if batch == 1 and total == past + length:
        return _Cache(graph, batch, length, past, total, total, "")
    first = graph.one("Add", _ends(graph, batch), graph.integers(1 - length))
    first = graph.one("Max", first, graph.integers(0))
    keys = max(past, total)
    return _Cache(graph, batch, length, past, total, keys, first)


def group_query_attention(node: Node) -> list[SSAValue | None]:
    """
    GroupQueryAttention of keys and values that several heads of queries share. Several sequences may have pasts of other
    lengths, and a cache may have room for more than it holds. What stands behind the end of a shorter sequence is computed
    as its next tokens, which those before do not see. Without a past, and where the total of one sequence is what past and
    tokens are together, the places of tokens follow from these lengths, whatever `seqlens_k` says.
    """
    graph, heads = Written(node), node.integer("num_heads")
    groups, window = node.integer("kv_num_heads"), node.integer("local_window_size", -1)
    causal = node.flag("causal", default=True)
    for index in range(12, node.input_count):
        if node.has_input(index):
            raise UnsupportedNode(f"its input {index} is not supported")
    if node.integer("qk_output", 0) or node.flag("sliding_window_cache"):
        raise UnsupportedNode("'qk_output' and 'sliding_window_cache' are not supported")
    if window > 0 and not causal:
        raise OnnxImportError(f"'local_window_size' is {window} and 'causal' 0")
    batch, length, width = node.shape_of(node.shaped(0, "query", (None, None, None)))
    if groups < 1 or heads % groups:
        raise OnnxImportError(f"'num_heads' is {heads}, 'kv_num_heads' is {groups}")
    if node.has_input(1):
        names = [graph.input(index) for index in range(3)]
    else:
        size = width // (heads + 2 * groups)
        sizes = graph.integers(heads * size, groups * size, groups * size)
        names = graph.several(3, "Split", graph.input(0), sizes, axis=2)
    counts = heads, groups, groups
    query, key, value = (
        by_heads(graph, name, (batch, length), count)
        for name, count in zip(names, counts, strict=True)
    )
    cache = _cache(graph, batch, length)
    if node.flag("do_rotary"):
        places = graph.input(9) or cache.places()
        query, key = (_turned(graph, each, places, cache.total) for each in (query, key))
    else:
        node.ignore("rotary_interleaved")
    key, value = cache.updated(3, key), cache.updated(4, value)
    mask = graph.sum(cache.mask(causal=causal, window=window), graph.input(10))
    sinks = _sinks(graph, heads)
    seen = [cache.seen(each) for each in (key, value)]
    if sinks:
        mask = _with_sinks(graph, mask, sinks, (batch, heads, length, cache.total))
        rest = graph.integers(0, 0, 0, 0, 0, 0, 1, 0)
        seen = [graph.one("Pad", each, rest) for each in seen]
    scale, cap = scale_of(node), node.real("softcap", 0.0)
    found = graph.one("Attention", query, *seen, mask, scale=scale, softcap=cap)
    return list(graph.results([by_tokens(graph, found, (batch, length)), key, value]))


def _turned(graph: Written, name: str, places: str, tokens: int) -> str:
    """Queries or keys by heads, turned by the angles of their places."""
    node = graph.node
    cosines = node.shape_of(node.input(7))
    if tokens > cosines[0]:
        raise OnnxImportError(f"there are {tokens} tokens, and angles of {cosines[0]} places")
    return graph.one(
        "RotaryEmbedding",
        *(name, graph.input(7), graph.input(8), places),
        interleaved=int(node.flag("rotary_interleaved")),
        rotary_embedding_dim=2 * cosines[1],
    )


def _sinks(graph: Written, heads: int) -> str:
    """The score for each head of a key of no value, which takes a part of what softmax gives; "" for none."""
    node = graph.node
    smooth = node.integer("smooth_softmax", -1) > 0
    if node.has_input(11):
        return graph.value(node.shaped(11, "head_sink", (heads,)))
    return graph.constant(np.zeros(heads, node.element_dtype(node.input(0)))) if smooth else ""


def _with_sinks(graph: Written, mask: str, sinks: str, scores: tuple[int, int, int, int]) -> str:
    """What is added to scores [batch, heads, length, keys], and those of another key behind them."""
    *rows, keys = scores
    mask = mask or graph.number(0.0)
    mask = graph.one("Expand", mask, graph.integers(*rows, keys))
    last = graph.one("Reshape", sinks, graph.integers(1, rows[1], 1, 1))
    last = graph.one("Expand", last, graph.integers(*rows, 1))
    return graph.one("Concat", mask, last, axis=3)


MICROSOFT: ConverterTable = {"GroupQueryAttention": {1: group_query_attention}}
