"""
The interpreter where numbers end, tie, or are none: against exact arithmetic on Python's integers
and fractions, and against definitions written out.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import floor, isnan, trunc
from typing import Any

import numpy as np
import pytest
from operator_oracles import BF16, FLOATS, SIGNED, UNSIGNED, evaluate, same
from xdsl.dialects.builtin import i8, i16

from xrelay.dialects.nn import loss
from xrelay.dialects.pool import pool
from xrelay.dialects.qnn import conversion as qnn
from xrelay.dialects.qnn.parameters import fixed_point
from xrelay.dialects.tensor import binary, bits, indexing, reorder, sort, unary
from xrelay.dialects.tensor import reduce as reduction
from xrelay.interpreters.arrays import Array, DType, element_type_of
from xrelay.interpreters.image.interpolation import clamped as clamped_indices
from xrelay.interpreters.image.interpolation import is_inside, taps
from xrelay.interpreters.numerics import power
from xrelay.interpreters.qnn.parameters import (
    clamped,
    fixed_point_product,
    fixed_points,
    quantized,
    round_half_away,
)

F32 = np.dtype(np.float32)
NAN, INF = float("nan"), float("inf")


def wrapped(number: int, dtype: DType) -> int:
    """An integer as one of `dtype` holds it."""
    info = np.iinfo(dtype)
    return (number - int(info.min)) % (1 << info.bits) + int(info.min)


def saturated(number: Fraction | int, dtype: DType) -> int:
    """The integer of `dtype` next to a whole number."""
    info = np.iinfo(dtype)
    return int(min(max(number, int(info.min)), int(info.max)))


def half_even(number: Fraction) -> int:
    """The nearest integer; halves to even."""
    return round(number)


def half_up(number: Fraction) -> int:
    """The nearest integer; halves upward."""
    return floor(number + Fraction(1, 2))


def half_away(number: Fraction) -> int:
    """The nearest integer; halves away from zero."""
    return half_up(number) if number >= 0 else -half_up(-number)


# Integers


def shifted_left(x: int, n: int, width: int) -> int:
    return x << n if 0 <= n < width else 0


def shifted_right(x: int, n: int, width: int) -> int:
    return x >> n if 0 <= n < width else (-1 if x < 0 else 0)


def quotient(x: int, y: int, width: int) -> int:
    return trunc(Fraction(x, y)) if y else 0


INTEGER_OPERATORS: list[tuple[Any, Callable[[int, int, int], int]]] = [
    (binary.DivideOp, quotient),
    (binary.TruncDivideOp, quotient),
    (binary.FloorDivideOp, lambda x, y, _: x // y if y else 0),
    (binary.FloorModOp, lambda x, y, _: x % y if y else 0),
    (binary.ModOp, lambda x, y, width: x - quotient(x, y, width) * y if y else 0),
    (binary.TruncModOp, lambda x, y, width: x - quotient(x, y, width) * y if y else 0),
    (binary.LeftShiftOp, shifted_left),
    (binary.RightShiftOp, shifted_right),
    (binary.AddOp, lambda x, y, _: x + y),
    (binary.SubtractOp, lambda x, y, _: x - y),
    (binary.MultiplyOp, lambda x, y, _: x * y),
]


@pytest.mark.parametrize(("op", "exact"), INTEGER_OPERATORS)
@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED], ids=str)
def test_integers_at_both_ends(op: Any, exact: Callable[[int, int, int], int], dtype: DType):
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    values = {low, low + 1, -info.bits, -7, -2, -1, 0, 1, 2, 7, high - 1, high}
    values |= {info.bits - 1, info.bits, info.bits + 1}
    pairs = list(product(sorted(value for value in values if low <= value <= high), repeat=2))
    lhs, rhs = (np.array([pair[i] for pair in pairs], dtype) for i in (0, 1))
    expected = [wrapped(exact(x, y, info.bits), dtype) for x, y in pairs]
    same(evaluate(op, lhs, rhs), np.array(expected, dtype))


def test_fixed_point_multiplication_is_exact():
    x = np.array([-(2**31), -(2**31) + 1, -3, -2, -1, 0, 1, 2, 3, 2**31 - 1], np.int32)
    for multiplier, shift in product(
        (-(2**31), -(2**30), -1, 1, 2**30, 2**31 - 1), (-31, -2, -1, 0, 1, 3)
    ):
        left, right = max(shift, 0), 31 + max(-shift, 0)
        products = [wrapped((int(n) << left) * multiplier, np.dtype(np.int64)) for n in x]
        sums = [wrapped(n + (1 << (right - 1)), np.dtype(np.int64)) for n in products]
        expected = [wrapped(n >> right, np.dtype(np.int32)) for n in sums]
        found = evaluate(lambda v, m=multiplier, s=shift: bits.FixedPointMultiplyOp(v, m, s), x)
        same(found, np.array(expected, np.int32))


# Conversions and rounding


@pytest.mark.parametrize("target", [*SIGNED, *UNSIGNED], ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_conversion_saturates_and_truncates(source: DType, target: DType):
    info = np.iinfo(target)
    wide = np.dtype(np.float32) if source == BF16 else source
    values = [NAN, INF, -INF, 0.0, -0.0, 0.99, -0.99, 1.0, -1.0, 1.99, -1.99, 2.5, -2.5, 300.7]
    for end in (int(info.min), int(info.max)):
        with np.errstate(over="ignore"):
            near = np.array(end, np.float64).astype(wide)
        if np.isfinite(near):
            away = (np.nextafter(near, wide.type(side * INF)) for side in (1, -1))
            values += [float(near), *map(float, away), float(near) + 0.5, float(near) - 0.5]
    with np.errstate(over="ignore"):
        x = np.array(values, np.float64).astype(source)
    expected = [
        0
        if isnan(v)
        else int(info.max if v > 0 else info.min)
        if v in (INF, -INF)
        else saturated(trunc(v), target)
        for v in map(float, x)
    ]
    found = evaluate(lambda v: unary.CastOp(v, element_type_of(target)), x)
    same(found, np.array(expected, target))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rounding_of_halves_and_signs(dtype: DType):
    x = np.array([-2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, -0.25, 0.75, NAN, INF]).astype(dtype)
    exact = [Fraction(float(v)) for v in x[:10]]
    for op, function in (
        (unary.RoundOp, half_even),
        (unary.FloorOp, floor),
        (unary.CeilOp, lambda v: -floor(-v)),
        (unary.TruncOp, trunc),
    ):
        found = evaluate(op, x).astype(np.float64)
        np.testing.assert_array_equal(found[:10], [float(function(v)) for v in exact])
        np.testing.assert_array_equal(np.signbit(found[:4]), True)
        assert isnan(found[10]) and found[11] == INF


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_bounds_of_clip_are_rounded_to_even_and_saturate(dtype: str):
    info = np.iinfo(dtype)
    x = np.array([info.min, 0, 1, 2, 3, 4, info.max], dtype)
    for low, high in ((0.5, 3.5), (1.5, 2.5), (-1e30, 1e30), (2.0, 2.0), (3.0, 1.0), (1e30, 1e31)):
        least, most = (saturated(half_even(Fraction(end)), info.dtype) for end in (low, high))
        expected = [min(max(int(v), least), most) for v in x]
        found = evaluate(lambda v, a=low, b=high: unary.ClipOp(v, a, b), x)
        same(found, np.array(expected, dtype))


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("round", [0, 1, 2, 3, 2, 2, 2, 0]),
        ("round_prefer_ceil", [0, 1, 2, 3, 2, 2, 2, 0]),
        ("round_prefer_floor", [-1, 0, 1, 2, 2, 2, 2, 0]),
        ("even", [0, 0, 2, 2, 2, 2, 2, 0]),
        # They look a little beyond the coordinate.
        ("floor", [-1, 0, 1, 2, 2, 2, 1, 0]),
        ("ceil", [0, 1, 2, 3, 2, 2, 2, 1]),
    ],
)
def test_nearest_elements(rounding: str, expected: list[int]):
    places = np.array([-0.5, 0.5, 1.5, 2.5, 2 - 5e-6, 2 + 5e-6, 2 - 2e-5, 2e-5])
    ((indices, weights),) = taps(places, 4, "nearest_neighbor", rounding=rounding)
    assert indices.tolist() == expected and weights is None


def test_indices_at_the_ends_of_an_axis():
    places = np.array([-2, -1, 0, 1, 2, 3, 4])
    assert is_inside(places, 3).tolist() == [False, False, True, True, True, False, False]
    assert clamped_indices(places, 3).tolist() == [0, 0, 0, 1, 2, 2, 2]


# Quantised numbers


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_quantisation_of_halves_and_ends(dtype: str):
    info = np.iinfo(dtype)
    for zero_point in (0, 3, int(info.max)):
        ends = [int(info.min) - zero_point, int(info.max) - zero_point]
        halves = [n + d for n in (-3, 0, 2, *ends) for d in (-1.0, -0.5, 0.0, 0.5, 1.0)]
        x = np.array([*halves, INF, -INF, NAN], np.float32)
        expected = [saturated(half_even(Fraction(v)) + zero_point, info.dtype) for v in halves]
        expected += [int(info.max), int(info.min), 0]
        scale = np.array(0.5, np.float32)
        found = quantized(x * scale, scale, np.array(zero_point, np.int32), info.dtype)
        same(found, np.array(expected, dtype))


def test_integers_are_clamped_at_both_ends():
    x = np.array([-130, -129, -128, -127, 126, 127, 128, 129])
    same(clamped(x, np.dtype(np.int8)), np.array([-128] * 3 + [-127, 126] + [127] * 3, np.int8))


def test_halves_are_rounded_away_from_zero():
    x = np.array([-2.5, -1.5, -0.5, -0.25, 0.0, 0.25, 0.5, 1.5, 2.5, 0.49999997], np.float32)
    expected = [half_away(Fraction(float(v))) for v in x]
    np.testing.assert_array_equal(round_half_away(x), expected)


def test_fixed_point_numbers_are_the_nearest():
    rng = np.random.default_rng(30)
    numbers = [
        0.0,
        1.0,
        0.5,
        2.0**-40,
        1 - 2.0**-33,
        1 - 2.0**-32,
        *rng.random(50),
        *rng.random(9) * 1e6,
    ]
    sizes, shifts = fixed_points(np.array(numbers))
    for number, size, shift in zip(numbers, sizes.tolist(), shifts.tolist(), strict=True):
        assert (size, shift) == fixed_point(number)
        assert size == 0 == number or 2**30 <= size < 2**31
        # Half a unit of the last of 31 bits.
        assert abs(Fraction(size) * Fraction(2) ** (shift - 31) - Fraction(number)) <= (
            Fraction(2) ** (shift - 32)
        )


@pytest.mark.parametrize("rounds_up", [True, False])
def test_fixed_point_products_are_exact(rounds_up: bool):
    rng = np.random.default_rng(31)
    x = np.array([-(2**31), -7, -5, -3, -2, -1, 0, 1, 2, 3, 5, 7, 2**31 - 1], np.int32)
    rounded = half_up if rounds_up else half_away
    for number in (0.5, 0.25, 1.0, 0.75, *rng.random(20), *(rng.random(9) * 2.0**-28)):
        m, shift = fixed_point(number)
        exact = [rounded(Fraction(int(v) * m) * Fraction(2) ** (shift - 31)) for v in x]
        found = fixed_point_product(x, np.array(m), np.array(shift), rounds_up=rounds_up)
        assert found.tolist() == [wrapped(v, np.dtype(np.int32)) for v in exact], number


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
@pytest.mark.parametrize("compute", ["int64", "float32", "float64"])
def test_requantisation_of_halves_and_ends(rounding: str, compute: str):
    x = np.array([-128, -127, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 5, 126, 127], np.int8)
    rounded = half_up if rounding == "UPWARD" else half_away
    for scale, zero, new_zero, dtype in product(
        (0.5, 1.0, 4.0), (0, -3), (0, 5, -100), (np.int8, np.int16)
    ):
        exact = [Fraction(int(v) - zero) * Fraction(scale) for v in x]
        # In floating point, the zero point is added before the sum is rounded.
        first = 0 if compute == "int64" else new_zero
        expected = [
            saturated(rounded(v + first) + new_zero - first, np.dtype(dtype)) for v in exact
        ]
        parameters = [np.float32(scale), np.int32(zero), np.float32(1), np.int32(new_zero)]
        found = evaluate(
            lambda *v, d=dtype: qnn.QnnRequantizeOp(
                *v, rounding=rounding, compute_dtype=compute, out_dtype=i8 if d is np.int8 else i16
            ),
            x,
            *map(np.asarray, parameters),
        )
        same(found, np.array(expected, dtype))


# Order


def order(values: Array, ascending: bool) -> list[int]:
    """Stable, and NaN is larger than every number."""
    keys = [(isnan(v), 0.0 if isnan(v) else float(v)) for v in values]
    groups = {key: [i for i, other in enumerate(keys) if other == key] for key in keys}
    return [i for key in sorted(groups, reverse=not ascending) for i in groups[key]]


SPECIAL = [NAN, 1.0, -NAN, -0.0, 0.0, INF, -INF, NAN, 1.0, 0.0, -0.0, -1.0, INF, 2.0, -INF]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("ascending", [True, False])
def test_order_is_stable_with_nan_and_zeros(dtype: DType, ascending: bool):
    x = np.array(SPECIAL).astype(dtype)
    expected = order(x, ascending)
    found = evaluate(lambda v: sort.ArgsortOp(v, is_ascend=ascending), x)
    assert found.tolist() == expected
    values = evaluate(lambda v: sort.SortOp(v, is_ascend=ascending), x)
    np.testing.assert_array_equal(values.astype(np.float64), x[expected].astype(np.float64))
    for k in (1, 3, len(x)):
        top = evaluate(lambda v, k=k: sort.TopkOp(v, k, ret_type="indices", is_ascend=ascending), x)
        assert top.tolist() == expected[:k]


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED], ids=str)
@pytest.mark.parametrize("ascending", [True, False])
def test_order_of_integers_at_both_ends(dtype: DType, ascending: bool):
    info = np.iinfo(dtype)
    x = np.array([0, info.max, info.min, 1, info.max, info.min, info.max - 1], dtype)
    numbers = [int(v) for v in x]
    expected = sorted(range(len(x)), key=lambda i: numbers[i] if ascending else -numbers[i])
    assert evaluate(lambda v: sort.ArgsortOp(v, is_ascend=ascending), x).tolist() == expected


@pytest.mark.parametrize("right", [True, False])
def test_search_among_equal_numbers_and_nan(right: bool):
    row = np.array([-INF, -1, -0.0, 0.0, 0.0, 2, 2, INF, NAN, NAN], np.float32)
    values = np.array([-INF, -2, -1, 0.0, -0.0, 1, 2, 3, INF, NAN], np.float32)
    ranks = [(isnan(v), 0.0 if isnan(v) else float(v)) for v in row]
    expected = [
        sum(rank < wanted or (right and rank == wanted) for rank in ranks)
        for wanted in ((isnan(v), 0.0 if isnan(v) else float(v)) for v in values)
    ]
    found = evaluate(lambda s, v: sort.SearchsortedOp(s, v, right=right), row, values)
    assert found.tolist() == expected
    rows = evaluate(
        lambda s, v: sort.SearchsortedOp(s, v, right=right),
        np.stack([row, row[:1].repeat(10)]),
        np.stack([values, values]),
    )
    assert rows[0].tolist() == expected
    assert rows[1].tolist() == [10 if right else 0, *[10] * 9]


def test_unique_elements_with_nan_and_zeros():
    x = np.array([2, NAN, -0.0, 2, 0.0, -NAN, -1], np.float32)
    for ordered, firsts in ((True, [6, 2, 0, 1]), (False, [0, 1, 2, 6])):
        values, first, inverse, count, counts = evaluate(
            lambda v, o=ordered: sort.UniqueOp(v, sorted=o, return_counts=True), x
        )
        same(values, np.array([*x[firsts], 0, 0, 0], np.float32))
        assert first.tolist() == [*firsts, 0, 0, 0] and count.tolist() == [4]
        groups = {0: [0, 3], 1: [1, 5], 2: [2, 4], 6: [6]}
        assert counts.tolist() == [*(len(groups[i]) for i in firsts), 0, 0, 0]
        assert all(inverse[i] == firsts.index(key) for key, g in groups.items() for i in g)


@pytest.mark.parametrize("last", [True, False])
def test_positions_of_equal_extremes(last: bool):
    rows = [[1, 3, 3, 0, 0], [NAN, 5, NAN, 5, NAN], [7, 7, 7, 7, 7], [-INF, INF, -INF, INF, 0]]
    side = max if last else min
    for op, extreme in ((reduction.ArgmaxOp, np.max), (reduction.ArgminOp, np.min)):
        expected = [
            side(
                i
                for i, v in enumerate(row)
                if v == extreme(row) or isnan(v) and isnan(extreme(row))
            )
            for row in rows
        ]
        x = np.array(rows, np.float32)
        found = evaluate(lambda v, op=op: op(v, [1], select_last_index=last), x)
        assert found.tolist() == expected
        one = evaluate(lambda v, op=op: op(v, [1], select_last_index=last), x[:, 1:2])
        assert one.tolist() == [0] * 4


# Nothing to reduce


@pytest.mark.parametrize("dtype", [*FLOATS, *SIGNED, *UNSIGNED], ids=str)
def test_reductions_of_no_elements(dtype: DType):
    is_float = dtype in FLOATS
    least = -INF if is_float else np.iinfo(dtype).min
    most = INF if is_float else np.iinfo(dtype).max
    for op, neutral in (
        (reduction.SumOp, 0),
        (reduction.ProdOp, 1),
        (reduction.MaxOp, least),
        (reduction.MinOp, most),
        (reduction.MeanOp, NAN if is_float else 0),
    ):
        found = evaluate(lambda v, op=op: op(v, [1]), np.zeros((2, 0), dtype))
        same(found, np.full(2, neutral, dtype))
        one = np.array([[3], [0]], dtype)
        same(evaluate(lambda v, op=op: op(v, [1]), one), one[:, 0])


def test_reductions_of_no_bools():
    nothing = np.zeros((2, 0), bool)
    same(evaluate(lambda v: reduction.AllOp(v, [1]), nothing), np.array([True, True]))
    same(evaluate(lambda v: reduction.AnyOp(v, [1]), nothing), np.array([False, False]))


# Windows


@pytest.mark.parametrize("dtype", ["float64", "int8"])
def test_means_of_windows_at_the_ends(dtype: str):
    rng = np.random.default_rng(32)
    for _ in range(60):
        size, taps_, stride, dilation = (int(rng.integers(1, most)) for most in (9, 4, 4, 3))
        extent = (taps_ - 1) * dilation + 1
        before, after = rng.integers(0, extent, 2).tolist()
        if size + before + after < extent:
            continue
        ceil_mode, include = (bool(v) for v in rng.integers(0, 2, 2))
        x = rng.integers(-9, 10, size).astype(dtype)
        options: dict[str, Any] = {
            "strides": [stride],
            "dilation": [dilation],
            "padding": [before, after],
            "ceil_mode": ceil_mode,
            "count_include_pad": include,
        }
        found = evaluate(
            lambda v, n=taps_, o=options: pool.AvgPool1DOp(v, [n], **o), x.reshape(1, 1, size)
        )
        first, end = (-before, size + after) if include else (0, size)
        expected: list[float] = []
        for window in range(found.shape[2]):
            places = [window * stride - before + j * dilation for j in range(taps_)]
            count = sum(first <= place < end for place in places)
            total = sum(int(x[place]) for place in places if 0 <= place < size)
            mean = Fraction(total, count) if count else Fraction(0)
            expected.append(trunc(mean) if dtype == "int8" else float(mean))
        np.testing.assert_allclose(found[0, 0], expected, rtol=1e-15)


# Indices out of range


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64"])
def test_indices_below_and_above_an_axis(dtype: str):
    x = np.arange(4, dtype=np.float32) + 10
    signed = [-9, -5, -4, -1] if dtype.startswith("i") else []
    large = [2**64 - 1, 2**63] if dtype == "uint64" else [2**63 - 1] if dtype == "int64" else []
    numbers = [*signed, 0, 3, 4, 7, 100, *large]
    indices = np.array(numbers, dtype)
    for mode, place in (
        ("clip", lambda i: min(max(i, 0), 3)),
        ("fast", lambda i: min(max(i, 0), 3)),
        ("wrap", lambda i: i % 4),
    ):
        found = evaluate(lambda v, i, m=mode: indexing.TakeOp(v, i, axis=0, mode=m), x, indices)
        same(found, np.array([x[place(i)] for i in numbers]))
    found = evaluate(indexing.GatherNDOp, x, indices[None])
    same(found, np.array([x[min(max(i, 0), 3)] for i in numbers]))
    for i, index in enumerate(numbers):
        expected = x.copy()
        if -4 <= index < 4:
            expected[index] = 99
        update = np.array([99], np.float32)
        same(evaluate(indexing.ScatterOp, x, indices[i : i + 1], update), expected)
        found = evaluate(
            lambda *v: indexing.ScatterNDOp(*v, "update"), x, indices[None, i : i + 1], update
        )
        same(found, expected)


def test_places_outside_of_a_dense_tensor_are_left_out():
    places = np.array([[-1, 0], [0, -1], [0, 0], [1, 2], [2, 0], [0, 3], [1, 2]])
    values = np.arange(1, 8, dtype=np.float32)
    found = evaluate(
        lambda p, v, d: indexing.SparseToDenseOp(p, v, d, [2, 3]),
        places,
        values,
        np.array(-1, np.float32),
    )
    # The last one of several counts.
    same(found, np.array([[3, -1, -1], [-1, -1, 7]], np.float32))


def test_masks_at_both_ends_of_a_sequence():
    x = np.ones((3, 5), np.float32)
    lengths = np.array([-1, 0, 1, 2, 3])
    found = evaluate(lambda v, n: reorder.SequenceMaskOp(v, n, mask_value=7.0), x, lengths)
    same(found, np.where(np.arange(3)[:, None] < lengths, np.float32(1), np.float32(7)))


@pytest.mark.parametrize("reduction_", ["none", "sum", "mean"])
def test_classes_out_of_range_and_ignored_ones(reduction_: str):
    rng = np.random.default_rng(33)
    predictions = rng.normal(size=(7, 3)).astype(np.float32)
    targets, weights = np.array([-2, -1, 0, 1, 2, 3, 9]), np.array([1, 2, 4], np.float32)
    for ignored in (-1, 1, 2, 100):
        counted = [i for i, t in enumerate(targets) if t != ignored]
        classes = np.clip(targets, 0, 2)
        losses = np.zeros(7, np.float32)
        for i in counted:
            losses[i] = -predictions[i, classes[i]] * weights[classes[i]]
        total = losses.sum(dtype=np.float64)
        expected = {
            "none": losses,
            "sum": total,
            "mean": total / sum(float(weights[classes[i]]) for i in counted),
        }[reduction_]
        found = evaluate(
            lambda *v, n=ignored: loss.NllLossOp(*v, reduction=reduction_, ignore_index=n),
            *(predictions, targets, weights),
        )
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_powers_are_those_of_c(shape: tuple[int, ...]):
    """NumPy takes the square root when one exponent of 0.5 is for all, which is another number for -inf and -0."""
    base = np.array([-np.inf, -0.0, 4.0], np.float32)
    found = power(base, np.full(shape, 0.5, np.float32))
    assert found.dtype == np.float32
    assert found.tolist() == [np.inf, 0.0, 2.0]
    assert not np.signbit(found).any()
