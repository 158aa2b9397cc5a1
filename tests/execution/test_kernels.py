"""
Compiled kernels against the NumPy interpreter, for every operator of the dialect.

A *case* fills a graph with uses of one or several operators; it is compiled for every named
target and all results are compared: bit for bit where elements are moved, as numbers where
arithmetic is exact (integers, and small whole numbers in floating point, whose sums are exact in
every order), and within a few units of the last place otherwise.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from _pytest.mark import ParameterSet
from cases import dyn as dyn_cases
from cases import edges as edge_cases
from cases import image as image_cases
from cases import nn as nn_cases
from cases import qnn as qnn_cases
from cases import random as random_cases
from cases import vision as vision_cases
from cases.kernel import extensive_repeats, share, turn
from cases.tensor import COVERED as TENSOR_OPERATORS
from graphs import Graph
from vector_functions import targets_here
from xdsl.dialects.builtin import f16, f32, i32, i64
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv import conv
from xrelay.dialects.core import annotation, references
from xrelay.dialects.core import values as core
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.nn import dense, dilate, norm, space, upsampling
from xrelay.dialects.pool import pool
from xrelay.dialects.qnn import conversion as qnn
from xrelay.dialects.relay import Relay
from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor import binary, creation, indexing, layout, reshape, transform, unary
from xrelay.dialects.tensor import reduce as reduction
from xrelay.interpreters.arrays import element_type_of
from xrelay.lowering.program.registry import (
    INTERPRETER_ONLY,
    REWRITTEN,
    RULES,
    STAGED,
    STRATEGIES,
    STRUCTURE,
    how_lowered,
)

Case: TypeAlias = Callable[[Graph], None]

BITS = -1
FLOATS = ("bfloat16", "float16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
DTYPES = (*FLOATS, *INTEGERS, "bool")
SHAPES = ((), (0,), (1,), (7,), (15,), (17,), (31,), (33,), (3, 5, 7), (2, 0, 3), (2, 1, 16))

CASES: dict[str, Case] = {**nn_cases.CASES}
COVERED: set[type[Operation]] = {*nn_cases.COVERED}


def case(*ops: type[Operation]) -> Callable[[Case], Case]:
    """Registers a case, and the operators that it is about."""

    def register(build: Case) -> Case:
        COVERED.update(ops)
        CASES[build.__name__] = build
        return build

    return register


def cases(ops: Sequence[type[Operation]], values: Sequence[Any]) -> Callable[[Any], Any]:
    """Registers a case for each of `values`, which `build` gets as its second argument."""

    def register(build: Any) -> Any:
        COVERED.update(ops)
        for value in values:
            name = value.__name__ if isinstance(value, type) else str(value)
            CASES[f"{build.__name__}-{name}"] = lambda g, value=value: build(g, value)
        return build

    return register


def subsets(items: Sequence[int]) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(items, n) for n in range(len(items) + 1)))


# One operand

EXACT_FLOAT = (unary.SqrtOp, unary.FloorOp, unary.CeilOp, unary.RoundOp, unary.TruncOp)
ROUNDED_FLOAT = {
    unary.ExpOp: 8,
    unary.LogOp: 4,
    unary.RsqrtOp: 2,
    unary.TanhOp: 8,
    unary.SigmoidOp: 8,
    unary.ErfOp: 4,
    unary.SinOp: 4,
    unary.CosOp: 4,
}
ANY_DTYPE = (unary.NegativeOp, unary.AbsOp, unary.SignOp, unary.ReluOp)


@cases((*EXACT_FLOAT, *ROUNDED_FLOAT, unary.LeakyReluOp), FLOATS)
def float_functions(g: Graph, dtype: str) -> None:
    for i, op in enumerate((*EXACT_FLOAT, *ROUNDED_FLOAT)):
        for shape in ((65,), SHAPES[i % len(SHAPES)]):
            x = g.numbers(dtype, *shape)
            if op in (unary.SinOp, unary.CosOp):
                # Arguments whose reduction to a period is exact enough in every library.
                x = np.where(np.abs(x) < 1e4, x, np.where(np.isfinite(x), np.ones_like(x), x))
            g.show(op(g.input(x)), ROUNDED_FLOAT.get(op, 0))
    for alpha in (0.25, -1.5, 0.01):
        g.show(unary.LeakyReluOp(g.input(g.numbers(dtype, 33)), alpha))


@cases(ANY_DTYPE, DTYPES)
def sign_functions(g: Graph, dtype: str) -> None:
    for i, op in enumerate(ANY_DTYPE):
        for shape in ((67,), SHAPES[i % len(SHAPES)], SHAPES[(i + 4) % len(SHAPES)]):
            g.show(op(g.input(g.numbers(dtype, *shape))))


@cases((unary.CopyOp,), DTYPES)
def copies(g: Graph, dtype: str) -> None:
    for shape in SHAPES:
        g.show(unary.CopyOp(g.input(g.numbers(dtype, *shape))), BITS)


@case(unary.LogicalNotOp)
def logical_not(g: Graph) -> None:
    for shape in SHAPES:
        g.show(unary.LogicalNotOp(g.input(g.numbers("bool", *shape))))


@cases((unary.ClipOp,), DTYPES)
def clip(g: Graph, dtype: str) -> None:
    bounds = [(-1, 1), (0, 6), (-2.5, 2.5), (1.5, 100.75), (3, -3), (-1e300, 1e300)]
    bounds += [(-np.inf, np.inf), (-65510, 65510), (np.nan, 1)]
    for low, high in bounds:
        g.show(unary.ClipOp(g.input(g.numbers(dtype, 35)), low, high))


@cases((unary.CastOp,), DTYPES)
def cast(g: Graph, dtype: str) -> None:
    rounding = np.array([1 + 2**-11, 1 + 2**-11 + 2**-40, 2049, 2051, 65519.99, 65520, 2.0**-25])
    for other in DTYPES:
        x = g.numbers(dtype, 70)
        if dtype in FLOATS:
            with np.errstate(all="ignore"):
                exact = np.array(
                    [127.5, -128.9, 255.99, 2.0**31, -(2.0**31), 2.0**63, 2.0**64, -0.5]
                )
                tiny = [*rounding, *-rounding, 6e-8, 3e-8, 5.9e-5]
                x = np.concatenate([x, exact.astype(dtype), np.array(tiny).astype(dtype)])
        g.show(unary.CastOp(g.input(x), element_type_of(np.dtype(other))))
        g.show(unary.CastOp(g.input(x[3]), element_type_of(np.dtype(other))))


@case(unary.CastOp)
def cast_every_half(g: Graph) -> None:
    every = np.arange(2**16).astype(np.uint16).view(np.float16)
    g.show(unary.CastOp(g.input(every), f32))
    # Numbers halfway between two halves, and their neighbours.
    bits = np.arange(0, 0x7C01, 7).astype(np.uint16).view(np.float16).astype(np.float32)
    halfway = (bits[1:] + bits[:-1]) / 2
    with np.errstate(all="ignore"):
        near = [halfway, np.nextafter(halfway, np.float32(0)), -np.nextafter(halfway, np.inf)]
    g.show(unary.CastOp(g.input(np.concatenate(near).astype(np.float32)), f16))
    g.show(unary.CastOp(g.input(np.concatenate(near).astype(np.float64)), f16))


# Two operands

PATTERNS = (
    ((33,), (33,)),
    ((), ()),
    ((), (17,)),
    ((0,), (1,)),
    ((5, 7), (7,)),
    ((5, 7), (5, 1)),
    ((3, 5, 16), (5, 1)),
    ((3, 5, 7), (3, 1, 7)),
    ((3, 1, 7), (1, 5, 1)),
    ((2, 1, 3, 1), (4, 1, 5)),
    ((1, 33), (3, 1)),
    ((2, 3, 4, 5), (4, 5)),
    ((2, 3, 4, 5), (1, 3, 1, 1)),
    ((1, 1), (1,)),
    ((15, 1), (1, 31)),
)

ARITHMETIC = (
    binary.AddOp,
    binary.SubtractOp,
    binary.MultiplyOp,
    binary.DivideOp,
    binary.FloorDivideOp,
    binary.FloorModOp,
    binary.ModOp,
    binary.MaximumOp,
    binary.MinimumOp,
)
COMPARISONS = (
    binary.EqualOp,
    binary.NotEqualOp,
    binary.LessOp,
    binary.LessEqualOp,
    binary.GreaterOp,
    binary.GreaterEqualOp,
)
SHIFTS = (binary.LeftShiftOp, binary.RightShiftOp)
BITWISE = (binary.BitwiseAndOp, binary.BitwiseOrOp, binary.BitwiseXorOp)
LOGICAL = (binary.LogicalAndOp, binary.LogicalOrOp, binary.LogicalXorOp)


@cases((*ARITHMETIC, *COMPARISONS), DTYPES)
def arithmetic(g: Graph, dtype: str) -> None:
    for i, op in enumerate((*ARITHMETIC, *COMPARISONS)):
        for j in (0, i + 1, i + 8):
            shapes = PATTERNS[j % len(PATTERNS)]
            if j == 0:
                shapes = ((131,), (131,))
            x, y = (g.numbers(dtype, *shape) for shape in shapes)
            if op in (binary.FloorDivideOp, binary.FloorModOp, binary.ModOp) and is_float(
                element_type_of(x.dtype)
            ):
                # Quotients that are exact: others round up to whole numbers now and then.
                y = np.where(np.abs(y) < 1e3, np.exp2(np.rint(np.clip(y, -4, 4))).astype(dtype), y)
            g.show(op(g.input(np.asarray(x)), g.input(np.asarray(y))))


@cases((*SHIFTS, *BITWISE), (*INTEGERS, "bool"))
def bits(g: Graph, dtype: str) -> None:
    for i, op in enumerate((*SHIFTS, *BITWISE)):
        for j in (0, i + 5):
            x, y = (g.numbers(dtype, *shape) for shape in PATTERNS[j % len(PATTERNS)])
            if op in SHIFTS and dtype != "bool":
                width = 8 * np.dtype(dtype).itemsize
                low = 0 if dtype in UNSIGNED else -3
                y = g.rng.integers(low, width + 4, y.shape).astype(dtype)
            g.show(op(g.input(x), g.input(np.asarray(y))))
        if dtype != "bool":
            g.show(op(g.input(g.numbers(dtype, 40)), g.input(g.numbers(dtype, 40))))


@case(*LOGICAL)
def logical(g: Graph) -> None:
    for op in LOGICAL:
        for shapes in PATTERNS:
            g.show(op(*(g.input(g.numbers("bool", *shape)) for shape in shapes)))


@cases((binary.PowerOp,), FLOATS)
def power(g: Graph, dtype: str) -> None:
    for shapes in (((70,), (70,)), ((7, 5), (5,))):
        g.show(binary.PowerOp(*(g.input(g.numbers(dtype, *shape)) for shape in shapes)), 16)


@cases((binary.AddOp, transform.WhereOp), ("float32", "int8", "float64"))
def broadcasts(g: Graph, dtype: str) -> None:
    for shapes in PATTERNS:
        x, y = (g.input(g.numbers(dtype, *shape)) for shape in shapes)
        g.show(binary.AddOp(x, y))
        g.show(binary.SubtractOp(y, x))
        for where in {shapes[0], shapes[1], ()}:
            g.show(transform.WhereOp(g.input(g.numbers("bool", *where)), x, y), BITS)


@cases((transform.WhereOp,), DTYPES)
def where(g: Graph, dtype: str) -> None:
    for shape in ((), (0,), (33,), (3, 1, 5)):
        choice = g.input(g.numbers("bool", *shape[-1:]))
        x, y = (g.input(g.numbers(dtype, *shape)) for _ in range(2))
        g.show(transform.WhereOp(choice, x, y), BITS)


# Reductions


def _axes(rank: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{}, {"keepdims": True}]
    for i, axes in enumerate(subsets(range(rank))):
        found.append({"axis": axes, "keepdims": bool(i % 2), "exclude": False})
        found.append({"axis": [a - rank for a in axes], "keepdims": not i % 2, "exclude": True})
    return found


SHAPES_TO_REDUCE = ((3, 4, 17), (2, 33), (5,), (), (2, 3, 1, 4), (31, 2))


@cases(
    (reduction.SumOp, reduction.MaxOp, reduction.MinOp, reduction.ProdOp, reduction.MeanOp),
    (*FLOATS, "int8", "int64", "uint8", "uint32", "bool"),
)
def reductions(g: Graph, dtype: str) -> None:
    for i, shape in enumerate(SHAPES_TO_REDUCE):
        whole = g.input(g.small(dtype, *shape))
        special = g.input(g.numbers(dtype, *shape))
        signs = g.input(g.small(dtype, *shape, low=1, high=2) * g.small(dtype, *shape, low=-1))
        options = _axes(len(shape))
        for option in options if dtype == "float32" and i else options[i % 3 :: 3]:
            g.show(reduction.SumOp(whole, **option))
            g.show(reduction.MaxOp(special, **option))
            g.show(reduction.MinOp(special, **option))
            g.show(reduction.ProdOp(signs, **option))
            if dtype in FLOATS:
                g.show(reduction.MeanOp(whole, **option))
            else:
                g.show(reduction.SumOp(special, **option))
                g.show(reduction.ProdOp(special, **option))


@cases((reduction.SumOp, reduction.MeanOp, reduction.MaxOp, reduction.MinOp), FLOATS)
def reductions_of_nothing_and_of_specials(g: Graph, dtype: str) -> None:
    for shape, axes in (((0,), None), ((3, 0), [1]), ((0, 3), [1]), ((2, 0, 17), [1])):
        x = g.input(g.numbers(dtype, *shape))
        for op in (reduction.SumOp, reduction.MeanOp, reduction.MaxOp, reduction.MinOp):
            g.show(op(x, axes))
        g.show(reduction.ProdOp(x, axes, keepdims=True))
    for number in (np.nan, np.inf, -np.inf, -0.0):
        array = g.small(dtype, 3, 41)
        array[1, 37] = number
        x = g.input(array)
        for axes in ([0], [1], [0, 1]):
            for op in (reduction.SumOp, reduction.MeanOp, reduction.MaxOp, reduction.MinOp):
                g.show(op(x, axes))


@cases((reduction.SumOp, reduction.ProdOp, reduction.MeanOp), FLOATS)
def rounded_reductions(g: Graph, dtype: str) -> None:
    x = g.input(g.rng.standard_normal((7, 203)).astype(dtype))
    for axes in ([0], [1], [0, 1]):
        g.show(reduction.SumOp(x, axes), 200)
        g.show(reduction.MeanOp(x, axes), 16)
    g.show(reduction.ProdOp(x, [0]), 32)


@case(reduction.AllOp, reduction.AnyOp)
def bool_reductions(g: Graph) -> None:
    for shape in (*SHAPES_TO_REDUCE, (0,), (3, 0)):
        few = g.input(g.rng.random(shape) < 0.1)
        many = g.input(g.rng.random(shape) < 0.9)
        for option in _axes(len(shape)):
            g.show(reduction.AllOp(many, **option))
            g.show(reduction.AnyOp(few, **option))


@cases((reduction.ArgmaxOp, reduction.ArgminOp), DTYPES)
def arg_reductions(g: Graph, dtype: str) -> None:
    for i, shape in enumerate(SHAPES_TO_REDUCE):
        ties = g.input(g.small(dtype, *shape))
        special = g.input(g.numbers(dtype, *shape))
        variants = product(_axes(len(shape))[i % 3 :: 3], (ties, special), (0, 1))
        for option, x, last in share(dtype, variants):
            g.show(reduction.ArgmaxOp(x, **option, select_last_index=bool(last)))
            g.show(reduction.ArgminOp(x, **option, select_last_index=bool(last)))
    if dtype in FLOATS:
        for pattern in ([np.nan, 1, np.nan], [1, np.nan], [-np.inf] * 3, [0.0, -0.0], [np.inf] * 2):
            x = g.input(np.array(pattern, dtype))
            for op, last in product((reduction.ArgmaxOp, reduction.ArgminOp), (False, True)):
                g.show(op(x, select_last_index=last))


# Moving elements


@cases(
    (
        reshape.ReshapeOp,
        reshape.BatchFlattenOp,
        reshape.SqueezeOp,
        reshape.ExpandDimsOp,
        transform.TransposeOp,
    ),
    ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool"),
)
def shapes(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 2, 3, 5, 4))
    for codes in ([-1], [0, -1], [-3, -2], [2, -4, 3, 1, -2], [4, 30], [1, 120, 1]):
        g.show(reshape.ReshapeOp(x, codes), BITS)
    g.show(reshape.ReshapeOp(g.input(g.numbers(dtype, 0, 4)), [4, 0], allowzero=True), BITS)
    g.show(reshape.ReshapeOp(g.input(g.numbers(dtype)), [1, 1]), BITS)
    g.show(reshape.BatchFlattenOp(x), BITS)
    thin = g.input(g.numbers(dtype, 1, 3, 1, 5))
    for axis in (None, [0], [2], [-2, 0]):
        g.show(reshape.SqueezeOp(thin, axis), BITS)
    for axis, count in ((0, 1), (2, 2), (-1, 1), (4, 0)):
        g.show(reshape.ExpandDimsOp(x, axis, num_newaxis=count), BITS)
    for axes in (None, [0, 2, 3, 1], [1, 0, 2, 3], [3, 2, 1, 0], [0, 1, 2, 3], [-2, -1, 0, 1]):
        g.show(transform.TransposeOp(x, axes), BITS)
    g.show(transform.TransposeOp(g.input(g.numbers(dtype))), BITS)
    g.show(transform.TransposeOp(g.input(g.numbers(dtype, 33, 17))), BITS)
    g.show(transform.TransposeOp(g.input(g.numbers(dtype, 3, 0))), BITS)


@cases(
    (transform.BroadcastToOp, transform.TileOp, transform.RepeatOp, transform.StridedSliceOp),
    ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool"),
)
def repetitions_and_slices(g: Graph, dtype: str) -> None:
    row, scalar = g.input(g.numbers(dtype, 1, 7)), g.input(g.numbers(dtype))
    for shape in ((3, 7), (2, 3, 7), (1, 7), (0, 7)):
        g.show(transform.BroadcastToOp(row, shape), BITS)
    g.show(transform.BroadcastToOp(scalar, (17,)), BITS)
    g.show(transform.BroadcastToOp(g.input(g.numbers(dtype, 3, 1, 2)), (4, 3, 5, 2)), BITS)
    x = g.input(g.numbers(dtype, 3, 19))
    for reps in ([1], [2], [2, 1], [2, 3], [2, 1, 3], [0, 1], []):
        g.show(transform.TileOp(x, reps), BITS)
    g.show(transform.TileOp(scalar, [5]), BITS)
    for repeats, axis in ((1, 0), (2, 0), (3, 1), (3, -2), (0, 1)):
        g.show(transform.RepeatOp(x, repeats, axis), BITS)
    y = g.input(g.numbers(dtype, 5, 6, 18))
    for slices in (
        ([0, 0, 0], [5, 6, 18], None),
        ([1], [3], None),
        ([-1], [-100], [-1]),
        ([4, 5, 17], [-100, -100, -100], [-2, -1, -3]),
        ([1, -4, 2], [100, -1, 17], [2, 1, 1]),
        ([0, 0, 1], [5, 6, 18], [1, 1, 5]),
        ([3], [1], [1]),
    ):
        g.show(transform.StridedSliceOp(y, *slices), BITS)
    g.show(transform.StridedSliceOp(y, [2, -3], [2, -1], axes=[2, 0], slice_mode="size"), BITS)
    g.show(transform.StridedSliceOp(y, [10], [-5], [-2], axes=[-1]), BITS)


@cases(
    (transform.ConcatenateOp, transform.StackOp, transform.SplitOp),
    ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool"),
)
def joints(g: Graph, dtype: str) -> None:
    def joined(*shapes: tuple[int, ...]) -> SSAValue:
        return g.op(core.TupleOp([g.input(g.numbers(dtype, *shape)) for shape in shapes]))

    for axis in (0, 1, -1):
        other = [(2, 3, 5), (2, 3, 5)]
        other.append(tuple(4 if d == axis % 3 else n for d, n in enumerate((2, 3, 5))))
        other.append(tuple(0 if d == axis % 3 else n for d, n in enumerate((2, 3, 5))))
        g.show(transform.ConcatenateOp(joined(*other), axis=axis), BITS)
    g.show(transform.ConcatenateOp(joined((17,)), axis=0), BITS)
    g.show(transform.ConcatenateOp(joined((0, 3), (0, 3)), axis=0), BITS)
    g.show(transform.ConcatenateOp(joined((0, 3), (5, 3)), axis=0), BITS)
    for axis in (0, 1, 2, -1):
        g.show(transform.StackOp(joined((3, 17), (3, 17), (3, 17)), axis=axis), BITS)
    g.show(transform.StackOp(joined((), ())), BITS)
    g.show(transform.StackOp(joined((1, 2))), BITS)
    x = g.input(g.numbers(dtype, 4, 6, 20))
    for sections, axis in ((2, 0), (3, 1), (5, -1), ([1, 1, 17], 2), ([], 0), ([6], 1), (1, 0)):
        g.show(transform.SplitOp(x, sections, axis=axis), BITS)
    g.show(transform.SplitOp(g.input(g.numbers(dtype, 0, 2)), 2), BITS)
    # A tuple that comes as a tuple.
    arrays = (g.numbers(dtype, 2, 3), g.numbers(dtype, 2, 1))
    g.show(transform.ConcatenateOp(g.input(arrays), axis=1), BITS)


@cases((indexing.TakeOp, indexing.GatherNDOp), ("int8", "int32", "int64", "uint8", "uint64"))
def gathers(g: Graph, index: str) -> None:
    def indices(*shape: int) -> SSAValue:
        found = g.small(index, *shape, low=-20, high=20)
        return g.input(np.where(g.rng.random(shape) < 0.2, g.numbers(index, *shape), found))

    for dtype in ("float32", "int8" if index == "int32" else "bool"):
        x = g.input(g.numbers(dtype, 4, 5, 17))
        for mode in ("clip", "wrap", "fast"):
            for axis, shape in product((None, 0, 1, -1), ((), (3,), (2, 3), (0,))):
                if mode != "fast" or shape == (3,):
                    g.show(indexing.TakeOp(x, indices(*shape), axis=axis, mode=mode), BITS)
            g.show(indexing.TakeOp(x, indices(4, 3), axis=1, batch_dims=1, mode=mode), BITS)
            g.show(indexing.TakeOp(x, indices(4, 5), axis=2, batch_dims=2, mode=mode), BITS)
        g.show(indexing.TakeOp(g.input(g.numbers(dtype)), indices(2)), BITS)
        for shape in ((1, 6), (2, 3), (3, 2, 2), (3,), (0, 2)):
            g.show(indexing.GatherNDOp(x, indices(*shape)), BITS)
        g.show(indexing.GatherNDOp(x, indices(1, 4, 2), batch_dims=1), BITS)
        g.show(indexing.GatherNDOp(x, indices(2, 4), batch_dims=1), BITS)
        g.show(indexing.GatherNDOp(x, indices(1, 4, 5), batch_dims=2), BITS)


@cases((space.PadOp,), ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool"))
def pad(g: Graph, dtype: str) -> None:
    value = g.input(g.numbers(dtype))
    x = g.input(g.numbers(dtype, 3, 4, 17))
    for widths in (
        [(0, 0), (0, 0), (0, 0)],
        [(1, 2), (0, 0), (0, 0)],
        [(0, 0), (2, 1), (0, 0)],
        [(2, 2), (3, 3), (1, 0)],
        [(0, 1), (0, 2), (0, 3)],
    ):
        for mode in ("constant", "edge", "reflect"):
            if mode != "reflect" or max(widths[0]) < 3:
                g.show(space.PadOp(x, value, widths, pad_mode=mode), BITS)
    empty = g.input(g.numbers(dtype, 0, 3))
    g.show(space.PadOp(empty, value, [(1, 1), (0, 0)]), BITS)
    g.show(space.PadOp(g.input(g.numbers(dtype)), value, []), BITS)


@cases((upsampling.UpsamplingOp,), ("bfloat16", "float16", "float32", "int8", "bool"))
def upsampling_of_images(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 2, 3, 5, 7))
    for scales in ((2, 2), (1, 3), (3, 1), (1.5, 2.3), (0.5, 0.4), (1, 1), (0.01, 1)):
        g.show(upsampling.UpsamplingOp(x, *scales), BITS)


@cases(
    (
        creation.ZerosOp,
        creation.OnesOp,
        creation.FullOp,
        creation.ZerosLikeOp,
        creation.OnesLikeOp,
    ),
    DTYPES,
)
def filled(g: Graph, dtype: str) -> None:
    type_ = element_type_of(np.dtype(dtype))
    for shape in SHAPES:
        g.show(creation.ZerosOp(shape, type_), BITS)
        g.show(creation.OnesOp(shape, type_), BITS)
        g.show(creation.FullOp(g.input(g.numbers(dtype)), shape), BITS)
        g.show(creation.ZerosLikeOp(g.input(g.numbers(dtype, *shape))), BITS)
        g.show(creation.OnesLikeOp(g.input(g.numbers(dtype, *shape))), BITS)


# Windows

GEOMETRIES = (
    # image, window, strides, padding, dilation
    ((5, 7), (1, 1), (1, 1), [0, 0], (1, 1)),
    ((5, 7), (1, 1), (2, 2), [0, 0], (1, 1)),
    ((9, 17), (3, 3), (1, 1), [1, 1], (1, 1)),
    ((8, 33), (3, 3), (2, 2), [1], (1, 1)),
    ((15, 31), (7, 7), (2, 2), [3, 3], (1, 1)),
    ((11, 13), (3, 3), (1, 1), [2, 2], (2, 2)),
    ((7, 9), (2, 5), (3, 1), [0, 1, 2, 3], (1, 2)),
    ((6, 40), (1, 3), (1, 3), [0, 2], (1, 1)),
    ((1, 1), (3, 3), (1, 1), [1, 1], (1, 1)),
    ((4, 16), (4, 16), (1, 1), [0, 0], (1, 1)),
    ((5, 5), (2, 2), (4, 4), [3, 0, 0, 3], (1, 1)),
)
CHANNELS = ((3, 5, 1), (1, 1, 1), (6, 4, 2), (5, 5, 5), (9, 9, 3), (4, 8, 4), (8, 17, 1))


def _convolution(
    g: Graph, dtype: str, geometry: Any, channels: tuple[int, int, int], batch: int
) -> conv.Conv2DOp:
    image, window, strides, padding, dilation = geometry
    inputs, outputs, groups = channels
    return conv.Conv2DOp(
        g.input(g.small(dtype, batch, inputs, *image)),
        g.input(g.small(dtype, outputs, inputs // groups, *window)),
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )


@cases(
    (conv.Conv2DOp,),
    ("bfloat16", "float16", "float32", "float64", "int8", "int32", "uint16", "bool"),
)
def convolutions(g: Graph, dtype: str) -> None:
    for i, geometry in enumerate(GEOMETRIES):
        for j in (0, 3) if dtype == "float32" else (0,):
            channels = CHANNELS[(i + j) % len(CHANNELS)]
            g.show(_convolution(g, dtype, geometry, channels, 1 + (i + j) % 2))


@cases((conv.Conv2DOp,), (("int8", i32), ("uint8", i32), ("float16", f32), ("float32", f16)))
def convolutions_into_another_dtype(g: Graph, dtypes: tuple[str, Any]) -> None:
    for i, geometry in enumerate(GEOMETRIES[1::3]):
        op = _convolution(g, dtypes[0], geometry, CHANNELS[i + 2], 2)
        typed = conv.Conv2DOp.build(
            operands=op.operands,
            result_types=[_with_dtype(op.result.type, dtypes[1])],
            properties={**op.properties, "out_dtype": dtypes[1]},
        )
        op.drop_all_references()
        g.show(typed)


def _with_dtype(type_: Any, dtype: Any) -> Any:
    return type(type_)(dtype, type_.get_shape())


@case(conv.Conv2DOp)
def convolutions_of_nothing(g: Graph) -> None:
    for image, weight in (((0, 3, 5, 5), (4, 3, 3, 3)), ((2, 3, 5, 5), (0, 3, 3, 3))):
        g.show(
            conv.Conv2DOp(g.input(g.small("float32", *image)), g.input(g.small("float32", *weight)))
        )
    empty = g.input(g.small("float32", 1, 0, 5, 5)), g.input(g.small("float32", 4, 0, 3, 3))
    g.show(conv.Conv2DOp(*empty))


@case(conv.Conv2DOp)
def rounded_convolution(g: Graph) -> None:
    x, w = g.rng.standard_normal((1, 16, 9, 9)), g.rng.standard_normal((7, 16, 3, 3))
    x[0, 3, 4, 5] = np.nan
    for dtype in FLOATS:
        operands = (g.input(array.astype(dtype)) for array in (x, w))
        g.show(conv.Conv2DOp(*operands, padding=(1, 1)), 40)


@cases((conv.Conv1DOp,), ("float32", "float64", "int32"))
def convolutions_of_lines(g: Graph, dtype: str) -> None:
    for i, ((_, width), (_, window), (_, stride), *_, (_, gap)) in enumerate(GEOMETRIES[:10]):
        inputs, outputs, groups = CHANNELS[i % len(CHANNELS)]
        x = g.input(g.small(dtype, 1 + i % 2, inputs, width))
        w = g.input(g.small(dtype, outputs, inputs // groups, window))
        options: dict[str, Any] = {"strides": (stride,), "dilation": (gap,), "groups": groups}
        g.show(conv.Conv1DOp(x, w, padding=[i % 3, window - 1], **options))


@cases((conv.Conv2DTransposeOp,), ("float32", "float64", "int32"))
def transposed_convolutions(g: Graph, dtype: str) -> None:
    for i, (image, window, strides, padding, dilation) in enumerate(GEOMETRIES[:8]):
        inputs, outputs, groups = CHANNELS[i % len(CHANNELS)]
        x = g.input(g.small(dtype, 1 + i % 2, inputs, *image))
        layout_ = ("IOHW", "OIHW")[i % 2]
        shape = (inputs, outputs // groups)[:: 1 if layout_ == "IOHW" else -1]
        w = g.input(g.small(dtype, *shape, *window))
        options: dict[str, Any] = {"strides": strides, "padding": padding, "dilation": dilation}
        extra = [stride - 1 for stride in strides]
        options.update(groups=groups, kernel_layout=layout_, output_padding=extra)
        g.show(conv.Conv2DTransposeOp(x, w, **options))
    # More is cut off than windows reach beyond the image.
    x, w = g.input(g.small(dtype, 1, 2, 5, 6)), g.input(g.small(dtype, 3, 2, 2, 2))
    g.show(conv.Conv2DTransposeOp(x, w, padding=[2, 3, 1, 2]))


@cases((dilate.DilateOp,), DTYPES)
def gaps(g: Graph, dtype: str) -> None:
    for shape in SHAPES:
        for number in (0.0, 2.5):
            strides = [1 + (len(shape) + axis) % 3 for axis in range(len(shape))]
            g.show(dilate.DilateOp(g.input(g.numbers(dtype, *shape)), strides, number), BITS)
    g.show(dilate.DilateOp(g.input(g.numbers(dtype, 3, 33)), (2, 1), -1.0), BITS)


LAYOUTS = (
    # shape, layouts
    ((2, 20, 5, 7), "NCHW", "NCHW16c"),
    ((1, 32, 9, 9), "NCHW", "NCHW16c"),
    ((1, 17, 1, 3), "NCHW", "NCHW8c"),
    ((2, 2, 5, 7, 16), "NCHW16c", "NCHW"),
    ((1, 1, 4, 4, 8), "NCHW8c", "NCHW"),
    ((1, 3, 6, 9, 4), "NCHW4c", "NCHW"),
    ((1, 3, 4, 5, 8), "NCHW8c", "NCHW16c"),
    ((1, 3, 4, 5, 16), "NCHW16c", "NCHW4c"),
    ((2, 3, 17, 5), "NCHW", "NHWC"),
    ((2, 5, 3, 17), "NHWC", "NCHW4c"),
    ((33, 20, 3, 2), "OIHW", "OIHW16i16o"),
    ((2, 3, 33), "NCW", "NCW4c2w"),
    ((0, 3, 4, 4), "NCHW", "NCHW8c"),
)


@cases((layout.LayoutTransformOp,), DTYPES)
def layouts(g: Graph, dtype: str) -> None:
    for shape, source, result in LAYOUTS:
        data = g.input(g.numbers(dtype, *shape))
        g.show(layout.LayoutTransformOp(data, source, result), BITS)


@case(layout.LayoutTransformOp)
def layouts_between_elementwise_operators(g: Graph) -> None:
    for lanes in (4, 8, 16):
        blocked, image = f"NCHW{lanes}c", (1, 40, 5, 9)
        x = g.op(unary.ReluOp(g.input(g.numbers("float32", *image))))
        inside = g.op(layout.LayoutTransformOp(x, "NCHW", blocked))
        g.show(binary.AddOp(inside, g.input(g.numbers("float32", 1, lanes))))
        y = g.input(g.numbers("float32", 1, 3, 7, 5, lanes))
        outside = g.op(layout.LayoutTransformOp(g.op(unary.ReluOp(y)), blocked, "NCHW"))
        scaled = g.op(binary.MultiplyOp(outside, g.input(g.numbers("float32", 3 * lanes, 1, 1))))
        g.show(transform.StridedSliceOp(scaled, [1], [2 * lanes], axes=[1]))


@cases(
    (pool.MaxPool2DOp, pool.AvgPool2DOp),
    ("bfloat16", "float16", "float32", "float64", "int8", "int32", "uint8", "uint64", "bool"),
)
def pools(g: Graph, dtype: str) -> None:
    for i, (image, window, strides, padding, dilation) in share(dtype, enumerate(GEOMETRIES)):
        shape = (1 + i % 2, 3, *image)
        options: dict[str, Any] = {"strides": strides, "padding": padding, "dilation": dilation}
        for ceil in (False, True):
            special = g.input(g.numbers(dtype, *shape))
            g.show(pool.MaxPool2DOp(special, window, **options, ceil_mode=ceil))
            for count in (False, True) if dtype == "float32" else (bool(i % 2),):
                whole = g.input(g.small(dtype, *shape, low=-100, high=100))
                average = pool.AvgPool2DOp(
                    whole, window, **options, ceil_mode=ceil, count_include_pad=count
                )
                g.show(average, 0 if dtype not in FLOATS else 1)
    for op in (pool.MaxPool2DOp, pool.AvgPool2DOp):
        empty = g.input(g.numbers(dtype, 2, 0, 4, 4))
        g.show(op(empty, (2, 2)))
        # The corner windows meet nothing but padding.
        g.show(op(g.input(g.small(dtype, 1, 1, 3, 3)), (2, 2), padding=[2, 3]))
        g.show(op(g.input(g.small(dtype, 1, 2, 0, 3)), (2, 2), padding=[1, 1]))


@cases((pool.AvgPool2DOp,), ("int64", "uint64", "int8"))
def average_of_large_numbers(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 1, 3, 9, 9))
    g.show(pool.AvgPool2DOp(x, (1, 1), strides=(2, 2)))
    g.show(pool.AvgPool2DOp(x, (3, 3), padding=(1, 1)))
    g.show(pool.GlobalAvgPool2DOp(x))


@cases((pool.GlobalAvgPool2DOp, pool.GlobalMaxPool2DOp), DTYPES)
def global_pools(g: Graph, dtype: str) -> None:
    for shape in ((2, 3, 5, 7), (1, 2, 1, 1), (1, 17, 3, 11), (2, 0, 3, 3), (1, 2, 0, 4)):
        whole = g.input(g.small(dtype, *shape, low=-100, high=100))
        g.show(pool.GlobalAvgPool2DOp(whole))
        g.show(pool.GlobalMaxPool2DOp(g.input(g.numbers(dtype, *shape))))


# Products


@cases(
    (dense.DenseOp,),
    ("bfloat16", "float16", "float32", "float64", "int8", "int64", "uint16", "bool"),
)
def dense_layers(g: Graph, dtype: str) -> None:
    for shape, units in (
        ((33,), 5),
        ((3, 17), 9),
        ((1, 64), 31),
        ((2, 3, 7), 8),
        ((4, 1), 1),
        ((2, 0), 3),
        ((0, 4), 3),
        ((17, 15), 0),
    ):
        data, weight = g.small(dtype, *shape), g.small(dtype, units, shape[-1])
        g.show(dense.DenseOp(g.input(data), g.input(weight)))


@cases(
    (dense.MatmulOp, dense.BatchMatmulOp),
    ("bfloat16", "float16", "float32", "float64", "int8", "int64", "uint16", "bool"),
)
def matrix_products(g: Graph, dtype: str) -> None:
    sizes = ((5, 17, 33), (1, 7, 1), (9, 1, 15), (3, 0, 2), (0, 2, 3), (16, 31, 70))
    for i, (rows, depth, columns) in enumerate(sizes):
        for a, b in share(dtype, product((False, True), repeat=2)):
            left = (depth, rows) if a else (rows, depth)
            right = (columns, depth) if b else (depth, columns)
            transposed = {"transpose_a": a, "transpose_b": b}
            x, y = g.small(dtype, *left), g.small(dtype, *right)
            g.show(dense.MatmulOp(g.input(x), g.input(y), **transposed))
            batches = ((2, 2), (1, 3), (3, 1), (1, 1), (0, 1), (2, 1))[(i + 2 * a + b) % 6]
            x, y = g.small(dtype, batches[0], *left), g.small(dtype, batches[1], *right)
            g.show(dense.BatchMatmulOp(g.input(x), g.input(y), **transposed))


@case(dense.DenseOp, dense.MatmulOp, dense.BatchMatmulOp)
def products_into_another_dtype(g: Graph) -> None:
    for op_type, left, right in (
        (dense.DenseOp, (3, 17), (5, 17)),
        (dense.MatmulOp, (3, 17), (17, 5)),
        (dense.BatchMatmulOp, (2, 3, 17), (1, 17, 5)),
    ):
        for dtype, out in (("int8", i32), ("uint8", i64), ("float16", f32), ("int32", f32)):
            op = op_type(g.input(g.small(dtype, *left)), g.input(g.small(dtype, *right)))
            g.show(
                op_type.build(
                    operands=op.operands,
                    result_types=[_with_dtype(op.result.type, out)],
                    properties={**op.properties, "out_dtype": out},
                )
            )
            op.drop_all_references()


@case(dense.DenseOp, dense.MatmulOp)
def rounded_products(g: Graph) -> None:
    x, y = g.rng.standard_normal((9, 130)), g.rng.standard_normal((33, 130))
    x[2, 3] = np.inf
    for dtype in FLOATS:
        left, right = x.astype(dtype), y.astype(dtype)
        g.show(dense.DenseOp(g.input(left), g.input(right)), 100)
        g.show(dense.MatmulOp(g.input(left), g.input(right.T.copy())), 100)


# Normalisation


@cases((norm.BiasAddOp,), ("bfloat16", "float16", "float32", "float64", "int8", "uint64", "bool"))
def bias_add(g: Graph, dtype: str) -> None:
    for shape in ((3, 5, 7), (2, 17), (33,), (2, 3, 4, 5), (0, 3), (1, 16, 1, 1)):
        x = g.input(g.numbers(dtype, *shape))
        for axis in range(-len(shape), len(shape)):
            g.show(norm.BiasAddOp(x, g.input(g.numbers(dtype, shape[axis])), axis=axis))


@cases((norm.BatchNormOp,), FLOATS)
def batch_norm(g: Graph, dtype: str) -> None:
    for shape in ((2, 3, 4, 5), (3, 17), (33,), (2, 0)):
        for axis in range(-len(shape), len(shape)):
            scale, center = ((True, True), (False, True), (True, False))[axis % 3]
            channels = shape[axis]
            x, gamma, beta, mean = (
                g.input(g.rng.standard_normal(size).astype(dtype))
                for size in (shape, channels, channels, channels)
            )
            variance = g.input(g.rng.random(channels).astype(dtype))
            options = {"axis": axis, "scale": scale, "center": center, "epsilon": 1e-3}
            g.show(norm.BatchNormOp(x, gamma, beta, mean, variance, **options), 8)


@cases((norm.SoftmaxOp, norm.LogSoftmaxOp), FLOATS)
def softmax(g: Graph, dtype: str) -> None:
    for shape in ((3, 5, 7), (2, 33), (17,), (1, 1), (4, 2, 16), (3, 0), (0, 3)):
        for axis in share(dtype, range(-len(shape), len(shape))):
            x = (3 * g.rng.standard_normal(shape)).astype(dtype)
            large = np.where(g.rng.random(shape) < 0.2, x.dtype.type(-np.inf), 1000 * x)
            for op in (norm.SoftmaxOp, norm.LogSoftmaxOp):
                g.show(op(g.input(x), axis=axis), 8)
                g.show(op(g.input(large.astype(dtype)), axis=axis), 8)
    for pattern in ([np.nan, 1], [np.inf, 1], [-np.inf, -np.inf], [6e4, -6e4, 6e4]):
        for op in (norm.SoftmaxOp, norm.LogSoftmaxOp):
            g.show(op(g.input(np.array(pattern, dtype))), 8)


@cases((norm.SoftmaxOp, norm.LogSoftmaxOp), FLOATS)
def softmax_of_long_rows(g: Graph, dtype: str) -> None:
    """They are kept in the memory of the result, unless something is computed of it."""
    x = g.input((3 * g.rng.standard_normal((2, 2051))).astype(dtype))
    y = g.input((3 * g.rng.standard_normal((3, 4500))).astype(dtype))
    for op in (norm.SoftmaxOp, norm.LogSoftmaxOp):
        for data in (x, y):
            g.show(op(data), 8)
            g.show(op(g.op(unary.NegativeOp(data))), 8)
            g.show(unary.NegativeOp(g.op(op(data))), 8)


@cases((norm.LrnOp,), FLOATS)
def lrn(g: Graph, dtype: str) -> None:
    x = g.input(g.rng.standard_normal((2, 5, 3, 17)).astype(dtype))
    for axis, size in ((0, 3), (1, 5), (1, 4), (2, 9), (3, 3), (-1, 2), (1, 1)):
        for beta in (0.6, 0.75, 1.0):
            g.show(norm.LrnOp(x, size=size, axis=axis, bias=1.5, alpha=0.3, beta=beta), 16)
    g.show(norm.LrnOp(g.input(g.numbers(dtype, 33)), axis=0), 16)


@cases((norm.LayerNormOp, norm.InstanceNormOp, norm.GroupNormOp, norm.RmsNormOp), FLOATS)
def standardization(g: Graph, dtype: str) -> None:
    def show(op: Any, shape: Sequence[int], axis: int, options: Any) -> None:
        x = (3 * g.rng.standard_normal(shape) + 2).astype(dtype)
        gamma, beta = (g.rng.standard_normal(shape[axis]).astype(dtype) for _ in range(2))
        values = map(g.input, (x, gamma, beta))
        g.show(op(*values, axis=axis, **options), 32)

    flags: Any = [{}, {"scale": False}, {"center": False}, {"scale": False, "center": False}]
    shapes = [(2, 6, 5, 7), (3, 4, 33), (2, 6, 17), (1, 2, 129), (2, 4, 1, 1)]
    for i, shape in share(dtype, enumerate(shapes)):
        for axis in range(1, len(shape)):
            options = {**flags[(i + axis) % 4], "epsilon": 0.01}
            show(norm.LayerNormOp, shape, axis, options)
            show(norm.InstanceNormOp, shape, axis, options)
            x = g.input((3 * g.rng.standard_normal(shape) + 2).astype(dtype))
            gamma = g.input(g.rng.standard_normal(shape[axis]).astype(dtype))
            g.show(norm.RmsNormOp(x, gamma, axis=axis, epsilon=0.01, scale=bool(axis % 2)), 32)
        for axis in (1, -1):
            for groups in {1, 2 - shape[axis] % 2, shape[axis]}:
                show(norm.GroupNormOp, shape, axis, {"num_groups": groups})
    show(norm.LayerNormOp, (0, 5), 1, {})
    special = g.input(np.array([[1, np.nan, 2], [1, np.inf, 2], [4, 4, 4]], dtype))
    unit = g.input(np.ones(3, dtype))
    g.show(norm.LayerNormOp(special, unit, unit), 8)
    g.show(norm.RmsNormOp(special, unit), 8)
    g.show(norm.RmsNormOp(g.input(np.ones((3, 0), dtype)), g.input(np.ones(0, dtype))))


@cases((norm.DropoutOp,), FLOATS)
def dropout(g: Graph, dtype: str) -> None:
    for shape in ((), (17,), (0,)):
        g.show(norm.DropoutOp(g.input(g.numbers(dtype, *shape)), rate=0.3), BITS)


# Values: constants, tuples, references, bodies, annotations


@cases((core.ConstantOp,), DTYPES)
def constants(g: Graph, dtype: str) -> None:
    splat = np.full((3, 5), g.numbers(dtype, 30)[-1])
    for array in (
        g.numbers(dtype),
        g.numbers(dtype, 0),
        g.numbers(dtype, 7),
        g.numbers(dtype, 5, 9),
        splat,
    ):
        g.returns(g.constant(array), BITS)
        # In a kernel: as the number itself, or in memory.
        g.show(unary.CopyOp(g.constant(array)), BITS)
        g.returns(g.fused([], lambda b, array=array: b.op(unary.CopyOp(b.constant(array)))), BITS)
    same = g.constant(np.arange(40).astype(dtype)), g.constant(np.arange(40).astype(dtype))
    g.show(binary.AddOp(*same))


@case(core.ConstantOp)
def special_numbers_in_kernels(g: Graph) -> None:
    for dtype in FLOATS:
        info = ml_dtypes.finfo(dtype)
        for number in (np.nan, np.inf, -np.inf, -0.0, info.max, info.smallest_subnormal, 0.1):
            x, constant = g.input(g.numbers(dtype, 19)), np.array(number, dtype)
            g.show(binary.MaximumOp(x, g.constant(constant)))
            g.show(transform.WhereOp(g.input(g.numbers("bool", 19)), x, g.constant(constant)), BITS)
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        for number in (info.min, info.max):
            x, constant = g.input(g.numbers(dtype, 19)), np.array(number, dtype)
            g.show(binary.SubtractOp(x, g.constant(constant)))


@case(core.TupleOp, core.TupleGetItemOp)
def tuples(g: Graph) -> None:
    a, b, c = (g.numbers(dtype, 2, 5) for dtype in ("float32", "int8", "bool"))
    nested = g.input((a, (b, c), ()))
    inner = g.op(core.TupleGetItemOp(nested, 1))
    g.returns(nested, BITS)
    g.show(core.TupleGetItemOp(inner, 1), BITS)
    g.show(unary.NegativeOp(g.op(core.TupleGetItemOp(inner, 0))))
    x = g.op(unary.AbsOp(g.op(core.TupleGetItemOp(nested, 0))))
    pair = g.op(core.TupleOp([x, g.op(core.TupleOp([inner, x]))]))
    g.returns(pair)
    g.returns(pair)
    g.show(core.TupleOp([]))
    g.returns(g.op(core.TupleGetItemOp(g.op(core.TupleGetItemOp(pair, 1)), 1)))


@case()
def results_that_are_no_kernel(g: Graph) -> None:
    x = g.input(g.numbers("float32", 3, 5))
    y = g.op(unary.AbsOp(x))
    g.returns(x, BITS)
    g.returns(x, BITS)
    g.returns(y)
    g.returns(y)
    g.show(reshape.ReshapeOp(x, [5, 3]), BITS)
    g.show(reshape.ReshapeOp(y, [15]))
    g.show(reshape.ExpandDimsOp(g.op(reshape.ReshapeOp(y, [1, 15])), 0))
    constant = g.constant(g.numbers("int16", 4, 9))
    g.returns(constant, BITS)
    g.show(reshape.SqueezeOp(g.op(reshape.ReshapeOp(constant, [36, 1]))), BITS)


@case(references.RefCreateOp, references.RefReadOp, references.RefWriteOp)
def cells(g: Graph) -> None:
    x = g.input(g.numbers("float32", 17))
    cell = g.op(references.RefCreateOp(x))
    before = g.show(references.RefReadOp(cell), BITS)
    g.show(references.RefWriteOp(cell, g.op(unary.NegativeOp(before))))
    after = g.show(references.RefReadOp(cell))
    g.show(references.RefWriteOp(cell, g.op(binary.AddOp(after, after))))
    g.returns(before, BITS)
    g.show(binary.AddOp(g.op(references.RefReadOp(cell)), x))
    pair = g.op(core.TupleOp([x, g.constant(g.numbers("int8", 3))]))
    cell = g.op(references.RefCreateOp(pair))
    g.op(references.RefWriteOp(cell, g.op(core.TupleOp([after, g.input(g.numbers("int8", 3))]))))
    g.show(references.RefReadOp(cell))
    empty = g.op(references.RefCreateOp(g.op(core.TupleOp([]))))
    g.show(references.RefReadOp(empty))


@case(annotation.StopFusionOp, annotation.CompilerBeginOp, annotation.CompilerEndOp)
def annotations(g: Graph) -> None:
    x = g.op(annotation.CompilerBeginOp(g.input(g.numbers("float32", 4, 5)), "test"))
    y = g.op(annotation.CompilerEndOp(g.op(unary.AbsOp(x)), "test"))
    g.show(unary.NegativeOp(g.op(annotation.StopFusionOp(y))))
    g.returns(y)
    pair = g.op(annotation.CompilerBeginOp(g.op(core.TupleOp([x, y])), "test"))
    g.show(core.TupleGetItemOp(pair, 1))
    g.show(annotation.StopFusionOp(x), BITS)

    def body(b: Graph, p: SSAValue) -> SSAValue:
        begun = b.op(annotation.CompilerBeginOp(p, "test"))
        return b.op(unary.ReluOp(b.op(annotation.CompilerEndOp(begun, "test"))))

    g.returns(g.fused([x], body))


@case(core.CompositeOp, core.YieldOp)
def composites(g: Graph) -> None:
    data, weight = g.input(g.small("float32", 1, 3, 5, 5)), g.input(g.small("float32", 4, 3, 3, 3))

    def body(b: Graph, p: SSAValue, w: SSAValue) -> SSAValue:
        return b.op(unary.ReluOp(b.op(conv.Conv2DOp(p, w))))

    composite = g.fused([data, weight], body, composite="test.conv2d_relu")
    g.returns(composite)
    g.show(unary.NegativeOp(composite))


@case(core.FusedOp)
def bodies_that_only_reshape(g: Graph) -> None:
    x = g.input(g.numbers("float32", 3, 5))

    def body(b: Graph, x: SSAValue) -> SSAValue:
        return b.op(reshape.ExpandDimsOp(b.op(reshape.ReshapeOp(x, [5, 3])), 1))

    y = g.fused([x], body, reshape_only=True)
    g.returns(y, BITS)
    g.show(unary.NegativeOp(y))
    g.returns(g.fused([g.op(unary.AbsOp(x))], body, reshape_only=True))
    g.returns(g.fused([x], lambda b, p: p, reshape_only=True), BITS)
    g.returns(g.fused([x], lambda b, p: p), BITS)


@cases((qnn.QnnConcatenateOp,), ("int8", "uint8"))
def quantised_concatenation(g: Graph, dtype: str) -> None:
    def scalars(dtype: str, *values: float) -> SSAValue:
        return g.op(core.TupleOp([g.input(np.array(value, dtype)) for value in values]))

    for axis in (0, 1):
        fields = [g.input(g.numbers(dtype, 3, 17)) for _ in range(3)]
        data = g.op(core.TupleOp(fields))
        scales, zeros = scalars("float32", 0.5, 0.25, 0.75), scalars("int32", 3, 3, -2)
        out = g.input(np.float32(0.25)), g.input(np.int32(3))
        g.show(qnn.QnnConcatenateOp(data, scales, zeros, *out, axis=axis))


for table in (
    dyn_cases.TABLE,
    edge_cases.TABLE,
    image_cases.TABLE,
    qnn_cases.TABLE,
    random_cases.TABLE,
    vision_cases.TABLE,
):
    CASES.update(table.cases)
    COVERED.update(table.covered)


@pytest.mark.parametrize(
    "op", sorted(Relay.operations, key=lambda op: op.name), ids=lambda op: op.name
)
def test_every_operator_has_code_and_a_case(op: type[Operation]):
    # Those of no kernel are steps, places or bodies in `xrelay.lowering.program.program`, or replaced.
    program = {*STRUCTURE, *REWRITTEN}
    if op is LetOp:
        return  # `to-graph-normal-form` erases it.
    if op in INTERPRETER_ONLY or op in STAGED:
        assert op not in RULES and op not in STRATEGIES
        return
    assert op in RULES or op in STRATEGIES or op in program
    assert op in COVERED or op in TENSOR_OPERATORS


def test_operators_of_the_first_levels_have_code():
    """Relay sorts its operators by how common they are: of levels 1 to 5, 95 % run as code."""
    path = Path(__file__).parent.parent / "unit" / "data" / "relay_ops.csv"
    with path.open(newline="") as file:
        names = {f"relay.{row['op']}" for row in csv.DictReader(file) if int(row["level"]) <= 5}
    common = [op for op in Relay.operations if op.name in names]
    assert len(common) == len(names) > 150
    without = [op.name for op in common if not how_lowered(op).has_code]
    assert len(without) <= 0.05 * len(names), without


ONE_DTYPE = [name for name in CASES if not re.search(r"-(u?int|b?float16|float64|bool)", name)]
"""Cases of f32 and no dtype."""


def places() -> Iterator[ParameterSet]:
    """
    The cases with targets, which take turns, and threads. What threads share does not depend on the
    dtype: two of them compute the cases of f32 and of no dtype. LLVM makes fast code of these; for
    other dtypes, whose kernels are ours in the same way, it makes plain code (see RawCode). Extensive:
    cases of f32 for the other targets, and with one thread; other dtypes in fast code; f16 for the
    target that has no instructions for it; and dtypes that are like others.
    """
    targets = targets_here()
    for name, (j, target) in product(CASES, enumerate(targets)):
        if name in ONE_DTYPE:
            if turn(name, len(targets)) == j:
                yield pytest.param(name, target, 2, True)
            else:
                yield pytest.param(name, target, 1 + j % 2, True, marks=pytest.mark.extensive)
        elif turn(name, len(targets)) == j:
            yield pytest.param(name, target, 1, False, marks=extensive_repeats(name, CASES))
            yield pytest.param(name, target, 1, True, marks=pytest.mark.extensive)
        elif "float16" in name and j == 0:
            yield pytest.param(name, target, 1, True, marks=pytest.mark.extensive)


@pytest.mark.parametrize(
    ("name", "target", "threads", "optimized"), list(places()), indirect=["target"]
)
def test_agrees_with_the_interpreter(
    name: str, target: str, threads: int, optimized: bool, graph: Graph
):
    CASES[name](graph)
    graph.check(target, threads, optimized=optimized)


def test_inputs_lie_in_memory_as_they_like(graph: Graph):
    graph.show(unary.NegativeOp(graph.input(graph.small("float32", 5, 33))))
    model = graph.compile("x86-64")
    ((_, expected),) = graph.expected()
    unaligned = np.frombuffer(b"." + graph.inputs[0].tobytes(), np.uint8)[1:].view(np.float32)
    strided = np.repeat(graph.inputs[0], 2, axis=1)[:, ::2]
    for array in (unaligned.reshape(5, 33), strided, np.asfortranarray(graph.inputs[0])):
        (found,) = model.run({"input0": array}).values()
        assert np.array_equal(found, expected)
