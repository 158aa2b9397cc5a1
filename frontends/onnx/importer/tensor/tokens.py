"""Sequences of tokens."""

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xrelay.dialects.nn.dense import MatmulOp
from xrelay.dialects.tensor.binary import AddOp, EqualOp, GreaterOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reduce import AllOp, SumOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_table
from xrelay.frontends.onnx.tensors import Array


def count_grams(node: Node) -> SSAValue:
    """
    TfIdfVectorizer of numbers: how often each of some sequences of tokens, which may skip the same number of tokens
    after each, occurs in a row; as it is ("TF"), or its weight ("IDF"), or both multiplied. Each sequence has a weight and
    a column, which several may add to.
    """
    mode = node.string("mode", "")
    shortest, longest = node.integer("min_gram_length"), node.integer("max_gram_length")
    skips = node.integer("max_skip_count")
    columns, weights = node.integers("ngram_indexes"), node.reals("weights")
    if mode not in ("TF", "IDF", "TFIDF") or not columns or min(columns) < 0:
        raise OnnxImportError(f"'mode' is \"{mode}\" and 'ngram_indexes' {columns}")
    if not 1 <= shortest <= longest or skips < 0:
        raise OnnxImportError(
            f"lengths are {shortest} to {longest}, and {skips} tokens are skipped"
        )
    width = max(columns) + 1
    if mode == "TF" or weights is None:
        weights = [1.0] * len(columns)
    if mode == "IDF" and len(set(columns)) < len(columns):
        raise UnsupportedNode("several sequences have one column, of which each has a weight")
    if len(weights) != len(columns):
        raise OnnxImportError(f"there are {len(weights)} weights for {len(columns)} sequences")
    data = node.input(0)
    shape = node.shape_of(data)
    if not 1 <= len(shape) <= 2:
        raise OnnxImportError(f"its input has the shape {list(shape)}, expected rank 1 or 2")
    rows = reshaped(node, data, (1, *shape) if len(shape) == 1 else shape)
    require_table((len(columns), width), "the table of sequences")
    total = node.constant(np.zeros((node.shape_of(rows)[0], width), np.float32))
    for length, first, grams in _grams(node, len(columns)):
        if shortest <= length <= longest and len(grams):
            places = _windows(node.shape_of(rows)[1], length, skips, first_only=length == 1)
            part = slice(first, first + len(grams))
            spread = np.eye(width)[columns[part]] * np.array(weights[part])[:, None]
            spread = spread.astype(np.float32)
            counts = _counts(node, rows, grams, places)
            if mode == "IDF":
                counts = _whether_positive(node, counts)
            total = node.emit(AddOp(total, node.emit(MatmulOp(counts, node.constant(spread)))))
    return reshaped(node, total, (*shape[:-1], width))


def _whether_positive(node: Node, value: SSAValue) -> SSAValue:
    """1 for numbers above 0, 0 for others."""
    return node.emit(CastOp(node.emit(GreaterOp(value, node.scalar(0, value))), f32))


def _grams(node: Node, count: int) -> list[tuple[int, int, Array]]:
    """The sequences by length, with the number of the first one."""
    pool, starts = node.integers("pool_int64s"), node.integers("ngram_counts")
    if pool is None or starts is None:
        raise UnsupportedNode("its tokens are no integers")
    found: list[tuple[int, int, Array]] = []
    first = 0
    for length, (start, end) in enumerate(zip(starts, [*starts, len(pool)][1:], strict=True), 1):
        if not 0 <= start <= end <= len(pool) or (end - start) % length:
            raise OnnxImportError(f"'ngram_counts' is {starts} for {len(pool)} tokens")
        grams = np.array(pool[start:end], np.int64).reshape(-1, length)
        found.append((length, first, grams))
        first += len(grams)
    if first != count:
        raise OnnxImportError(
            f"there are {first} sequences, and {count} numbers in 'ngram_indexes'"
        )
    return found


def _windows(tokens: int, length: int, skips: int, *, first_only: bool) -> Array:
    """The places of sequences of a length: [sequence, token]."""
    found: list[Array] = []
    # From some step on there are no such sequences, however many tokens may be skipped.
    most = 1 if first_only else min(skips + 1, max(tokens // (length - 1), 1))
    count = most * max(tokens, 0) - (length - 1) * most * (most + 1) // 2
    require_table((max(count, 0), length), "the places of sequences")
    for step in range(1, most + 1):
        starts = np.arange(max(tokens - step * (length - 1), 0))
        found.append(starts[:, None] + step * np.arange(length))
    return np.concatenate(found).astype(np.int64)


def _counts(node: Node, rows: SSAValue, grams: Array, places: Array) -> SSAValue:
    """How often each row has each sequence: [row, sequence]."""
    count = node.shape_of(rows)[0]
    if not len(places):
        return node.constant(np.zeros((count, len(grams)), np.float32))
    windows = node.emit(TakeOp(rows, node.constant(places), axis=1))
    wanted = node.constant(grams.astype(node.element_dtype(rows))[None, None])
    same = node.emit(EqualOp(node.emit(ExpandDimsOp(windows, 2)), wanted))
    found = node.emit(AllOp(same, [3]))  # [row, window, sequence]
    return node.emit(SumOp(node.emit(CastOp(found, f32)), [1]))


CONVERTERS: ConverterTable = {
    "TfIdfVectorizer": {9: count_grams},
}
