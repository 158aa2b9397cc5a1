"""Sequences of tokens."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open, larger, smaller
from xrelay.dialects.nn.dense import MatmulOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.tensor.binary import AddOp, EqualOp, GreaterOp, LogicalAndOp, MultiplyOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.core.looping import index, number_of_round, repeated
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import require_table
from xrelay.interpreters.arrays import Array

MOST_UNROLLED = 4
"""So many numbers of tokens that are skipped take operators each; more take a loop."""


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
    total = node.filled(np.zeros((), np.float32), (node.shape_of(rows)[0], width))
    for length, first, grams in _grams(node, len(columns)):
        if shortest <= length <= longest and len(grams):
            part = slice(first, first + len(grams))
            spread = np.eye(width)[columns[part]] * np.array(weights[part])[:, None]
            spread = spread.astype(np.float32)
            counts = _counts(node, rows, grams, 0 if length == 1 else skips)
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


def _counts(node: Node, rows: SSAValue, grams: Array, skips: int) -> SSAValue:
    """
    How often each row has each sequence, after each of whose tokens as many are skipped, from none to `skips`: [row, sequence].
    """
    tokens, length = node.shape_of(rows)[1], grams.shape[1]
    # From some step on there are no such sequences, however many tokens may be skipped.
    steps = smaller(skips + 1, larger(tokens // max(length - 1, 1), 1, of_empty=True))
    other = node.constant(_other_number(grams, node.element_dtype(rows)))
    padded = node.emit(PadOp(rows, other, [(0, 0), (0, 1)]))
    places = node.counting(tokens)

    def at_step(step: SSAValue) -> SSAValue:
        """How often each row has each sequence, of tokens so many places apart; behind a row is one that no sequence has."""
        same: SSAValue | None = None
        for number in range(length):
            offset = node.emit(MultiplyOp(step, node.scalar(number, step)))
            place = node.emit(AddOp(places, offset))
            token = node.emit(ExpandDimsOp(node.emit(TakeOp(padded, place, axis=1)), 2))
            wanted = node.constant(grams[None, None, :, number].astype(node.element_dtype(rows)))
            equal = node.emit(EqualOp(token, wanted))
            same = equal if same is None else node.emit(LogicalAndOp(same, equal))
        assert same is not None
        return node.emit(SumOp(node.emit(CastOp(same, f32)), [1]))

    if not is_open(steps) and steps <= MOST_UNROLLED:
        found = [at_step(node.constant(np.array(step))) for step in range(1, steps + 1)]
        return reduce(lambda sum_, each: node.emit(AddOp(sum_, each)), found)

    def make(number: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        step = number_of_round(node, number)
        step = node.emit(AddOp(step, node.scalar(1, step)))
        return [node.emit(AddOp(carried[0], at_step(step)))]

    begin = node.filled(np.zeros((), np.float32), (node.shape_of(rows)[0], len(grams)))
    return repeated(node, index(node, steps), [begin], steps, [], make)[0]


def _other_number(numbers: Array, dtype: np.dtype[Any]) -> Array:
    """A number of a type that is none of these."""
    known = set(map(int, np.unique(numbers)))
    return np.array(next(each for each in range(len(known) + 1) if each not in known), dtype)


CONVERTERS: ConverterTable = {
    "TfIdfVectorizer": {9: count_grams},
}
