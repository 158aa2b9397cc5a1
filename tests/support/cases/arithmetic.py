"""Kernel cases of arithmetic, comparisons and reductions."""

from collections.abc import Sequence
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
from graphs import BITS, Graph
from xdsl.dialects.builtin import f16, f32

from cases.kernel import DTYPES, FLOATS, INTEGERS, SHAPES, UNSIGNED, CaseTable, share
from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor import binary, transform, unary
from xrelay.dialects.tensor import reduce as reduction
from xrelay.interpreters.arrays import element_type_of

TABLE = CaseTable()


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


@TABLE.each((*EXACT_FLOAT, *ROUNDED_FLOAT, unary.LeakyReluOp), FLOATS)
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


@TABLE.each(ANY_DTYPE, DTYPES)
def sign_functions(g: Graph, dtype: str) -> None:
    for i, op in enumerate(ANY_DTYPE):
        for shape in ((67,), SHAPES[i % len(SHAPES)], SHAPES[(i + 4) % len(SHAPES)]):
            g.show(op(g.input(g.numbers(dtype, *shape))))


@TABLE.each((unary.CopyOp,), DTYPES)
def copies(g: Graph, dtype: str) -> None:
    for shape in SHAPES:
        g.show(unary.CopyOp(g.input(g.numbers(dtype, *shape))), BITS)


@TABLE.case(unary.LogicalNotOp)
def logical_not(g: Graph) -> None:
    for shape in SHAPES:
        g.show(unary.LogicalNotOp(g.input(g.numbers("bool", *shape))))


@TABLE.each((unary.ClipOp,), DTYPES)
def clip(g: Graph, dtype: str) -> None:
    bounds = [(-1, 1), (0, 6), (-2.5, 2.5), (1.5, 100.75), (3, -3), (-1e300, 1e300)]
    bounds += [(-np.inf, np.inf), (-65510, 65510), (np.nan, 1)]
    for low, high in bounds:
        g.show(unary.ClipOp(g.input(g.numbers(dtype, 35)), low, high))


@TABLE.each((unary.CastOp,), DTYPES)
def cast(g: Graph, dtype: str) -> None:
    rounding = np.array([1 + 2**-11, 1 + 2**-11 + 2**-40, 2049, 2051, 65519.99, 65520, 2.0**-25])
    for other in DTYPES:
        x = g.numbers(dtype, 70)
        if dtype in FLOATS:
            with np.errstate(all="ignore"):
                exact = np.array(
                    [127.5, -128.9, 255.99, 2.0**31, -(2.0**31), 2.0**63, 2.0**64, -0.5]
                )
                ends = exact[3:7].astype(dtype)  # And what is beside the bounds of integers.
                beside = [np.nextafter(ends, ends.dtype.type(end)) for end in (0, np.inf)]
                tiny = [*rounding, *-rounding, 6e-8, 3e-8, 5.9e-5]
                x = np.concatenate([x, exact.astype(dtype), np.array(tiny).astype(dtype), *beside])
        g.show(unary.CastOp(g.input(x), element_type_of(np.dtype(other))))
        g.show(unary.CastOp(g.input(x[3]), element_type_of(np.dtype(other))))


@TABLE.case(unary.CastOp)
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


@TABLE.each((*ARITHMETIC, *COMPARISONS), DTYPES)
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


@TABLE.each((*SHIFTS, *BITWISE), (*INTEGERS, "bool"))
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


@TABLE.case(*LOGICAL)
def logical(g: Graph) -> None:
    for op in LOGICAL:
        for shapes in PATTERNS:
            g.show(op(*(g.input(g.numbers("bool", *shape)) for shape in shapes)))


@TABLE.each((binary.PowerOp,), FLOATS)
def power(g: Graph, dtype: str) -> None:
    for shapes in (((70,), (70,)), ((7, 5), (5,))):
        g.show(binary.PowerOp(*(g.input(g.numbers(dtype, *shape)) for shape in shapes)), 16)


@TABLE.each((binary.AddOp, transform.WhereOp), ("float32", "int8", "float64"))
def broadcasts(g: Graph, dtype: str) -> None:
    for shapes in PATTERNS:
        x, y = (g.input(g.numbers(dtype, *shape)) for shape in shapes)
        g.show(binary.AddOp(x, y))
        g.show(binary.SubtractOp(y, x))
        for where in {shapes[0], shapes[1], ()}:
            g.show(transform.WhereOp(g.input(g.numbers("bool", *where)), x, y), BITS)


@TABLE.each((transform.WhereOp,), DTYPES)
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


@TABLE.each(
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


@TABLE.each((reduction.SumOp, reduction.MeanOp, reduction.MaxOp, reduction.MinOp), FLOATS)
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


@TABLE.each((reduction.SumOp, reduction.ProdOp, reduction.MeanOp), FLOATS)
def rounded_reductions(g: Graph, dtype: str) -> None:
    x = g.input(g.rng.standard_normal((7, 203)).astype(dtype))
    for axes in ([0], [1], [0, 1]):
        g.show(reduction.SumOp(x, axes), 200)
        g.show(reduction.MeanOp(x, axes), 16)
    g.show(reduction.ProdOp(x, [0]), 32)


@TABLE.case(reduction.AllOp, reduction.AnyOp)
def bool_reductions(g: Graph) -> None:
    for shape in (*SHAPES_TO_REDUCE, (0,), (3, 0)):
        few = g.input(g.rng.random(shape) < 0.1)
        many = g.input(g.rng.random(shape) < 0.9)
        for option in _axes(len(shape)):
            g.show(reduction.AllOp(many, **option))
            g.show(reduction.AnyOp(few, **option))


@TABLE.each((reduction.ArgmaxOp, reduction.ArgminOp), DTYPES)
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
            _show_arg_reductions(g, np.array(pattern, dtype), None)
        return
    # Integers that no other one is below, or above, in all lanes and behind the last vector.
    info = np.iinfo(dtype) if dtype != "bool" else np.iinfo("uint8")
    for length in (1, 17, 70, 130):
        least, most = (np.full((2, length), end).astype(dtype) for end in (info.min, info.max))
        mixed = np.where(g.rng.random((2, length)) < 0.1, most, least)
        for x in (least, most, mixed, mixed.T.copy()):
            _show_arg_reductions(g, x, [1])
        _show_arg_reductions(g, mixed, None)


def _show_arg_reductions(g: Graph, x: npt.NDArray[Any], axis: list[int] | None) -> None:
    value = g.input(x)
    for op, last in product((reduction.ArgmaxOp, reduction.ArgminOp), (False, True)):
        g.show(op(value, axis, select_last_index=last))
