"""Arithmetic on shapes with lengths that are not known before the program runs."""

from collections.abc import Callable, Sequence
from math import ceil, floor
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, parser
from onnx.reference import ReferenceEvaluator
from open_shapes.numbers import program
from xdsl.dialects.builtin import TensorType, f32, i1, i8, i32, i64
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, SSAValue, TypeAttribute

import xrelay
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import hint, symbol
from xrelay.dialects.tensor import binary, indexing, transform, unary
from xrelay.dialects.tensor import reduce as reductions
from xrelay.frontends.onnx.importer.scaled_lengths import MOST_SCALED, scaled
from xrelay.frontends.onnx.importer.shape_arithmetic import computed, number_array
from xrelay.runtime.dynamic import DynamicModel


def lengths_of(body: str, result: str) -> ModelProto:
    text = f"""
    <ir_version: 8, opset_import: ["" : 17]>
    lengths (float[n, 8] x) => ({result} z) {{
        shape = Shape(x)
        {body}
    }}
    """
    return parser.parse_model(text)


@pytest.mark.parametrize("operator", ["Div", "Mod"])
def test_a_divisor_may_be_0(operator: str) -> None:
    """What it gives nobody says; the other elements are right."""
    body = f"""
        by = Constant <value_ints = [3, 0]> ()
        both = {operator}(shape, by)
        first = Constant <value_int = 0> ()
        z = Gather(both, first)
    """
    model = xrelay.compile(lengths_of(body, "int64"), cache=False)
    assert isinstance(model, DynamicModel)
    for n in (8, 11):
        found = model.run({"x": np.zeros((n, 8), np.float32)})["z"]
        assert found == (n // 3 if operator == "Div" else n % 3)


def test_coordinates_that_count_from_the_end() -> None:
    body = """
        zero = Constant <value_ints = [0]> ()
        last = Constant <value_ints = [-1]> ()
        n = Gather(shape, zero)
        back = Sub(zero, n)
        place = Concat <axis = 0> (back, last)
        z = GatherND(x, place)
    """
    model = xrelay.compile(lengths_of(body, "float"), cache=False)
    assert isinstance(model, DynamicModel)
    for n in (8, 11):
        x = np.arange(n * 8, dtype=np.float32).reshape(n, 8)
        assert model.run({"x": x})["z"] == x[-n, -1]


def test_numbers_beside_lengths_have_64_bits() -> None:
    body = """
        factors = Constant <value_ints = [2, 1152921504606846977]> ()
        more = Constant <value_ints = [1, 9]> ()
        last = Constant <value_ints = [1]> ()
        some = Mul(shape, more)
        all = Mul(some, factors)
        z = Gather(all, last)
    """
    model = xrelay.compile(lengths_of(body, "int64"), cache=False)
    assert isinstance(model, DynamicModel)
    found = model.run({"x": np.zeros((8, 8), np.float32)})["z"]
    np.testing.assert_array_equal(found, np.array([72]) * np.array([2**60 + 1]))


FOLLOWED = {
    "a slice of constants": """
        n = Shape <start = 0, end = 1> (x)
        places = Constant <value = int64[12] {7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4}> ()
        begin = Constant <value_ints = [0]> ()
        some = Slice(places, begin, n)
        z = Gather <axis = 1> (x, some)
    """,
    "a repeated constant": """
        n = Shape <start = 0, end = 1> (x)
        place = Constant <value_ints = [3]> ()
        some = Expand(place, n)
        z = Gather <axis = 1> (x, some)
    """,
    "a filled tensor": """
        n = Shape <start = 0, end = 1> (x)
        some = ConstantOfShape <value = int64[1] {2}> (n)
        z = Gather <axis = 1> (x, some)
    """,
    "computed places of 32 bits": """
        n = Shape <start = 0, end = 1> (x)
        best = ArgMax <axis = 0> (x)
        back = Sub(best, n)
        few = Cast <to = 6> (back)
        z = GatherElements <axis = 0> (x, few)
    """,
    "coordinates of every element": """
        n = Shape <start = 0, end = 1> (x)
        zero = Constant <value_int = 0> ()
        one = Constant <value_int = 1> ()
        last = Constant <value_ints = [-1]> ()
        count = Squeeze(n)
        rows = Range(zero, count, one)
        column = Unsqueeze(rows, last)
        back = Sub(column, n)
        seven = Constant <value_int = 7> ()
        other = Min(column, seven)
        both = Concat <axis = 1> (back, other)
        z = GatherND(x, both)
    """,
}


@pytest.mark.parametrize("body", FOLLOWED.values(), ids=FOLLOWED)
def test_one_program_serves_what_is_computed_of_constants_and_lengths(body: str) -> None:
    proto = lengths_of(body, "float")
    model = xrelay.compile(proto, cache=False)
    assert isinstance(model, DynamicModel)
    for n in (5, 11):
        x = np.arange(n * 8, dtype=np.float32).reshape(n, 8)
        (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
        np.testing.assert_array_equal(model.run({"x": x})["z"], wanted)
    first, second = model.specialisations
    assert first.conditions is not None and first.conditions == second.conditions


IN_FLOATING_POINT = {
    "parts keep their types": """
        reals = Cast <to = 1> (shape)
        halves = Constant <value_ints = [1, 1]> ()
        n, eight = Split(reals, halves)
        ratio = Div(eight, n)
        z = Cast <to = 11> (ratio)
    """,
    "a product of what may be negative": """
        five = Constant <value_ints = [5, 20]> ()
        less = Sub(shape, five)
        reals = Cast <to = 1> (less)
        factor = Constant <value_float = 0.7> ()
        product = Mul(reals, factor)
        whole = Cast <to = 7> (product)
        z = Cast <to = 11> (whole)
    """,
    "a truth": """
        reals = Cast <to = 1> (shape)
        quarter = Constant <value_float = 0.25> ()
        product = Mul(reals, quarter)
        truth = Cast <to = 9> (product)
        z = Cast <to = 11> (truth)
    """,
    "half precision": """
        many = Constant <value_ints = [683, 1]> ()
        lengths = Mul(shape, many)
        reals = Cast <to = 10> (lengths)
        number = Constant <value_float = 2048.0> ()
        bound = Cast <to = 10> (number)
        more = Greater(reals, bound)
        z = Cast <to = 11> (more)
    """,
    "many": """
        million = Constant <value_ints = [1000000, 1]> ()
        one = Constant <value_ints = [1, 0]> ()
        lengths = Mul(shape, million)
        others = Add(lengths, one)
        reals = Cast <to = 1> (lengths)
        others_too = Cast <to = 1> (others)
        equal = Equal(reals, others_too)
        z = Cast <to = 11> (equal)
    """,
    "zero below zero": """
        places = Constant <value_ints = [0]> ()
        n = Gather(shape, places)
        real = Cast <to = 1> (n)
        below = Constant <value_floats = [-0.0]> ()
        both = Concat <axis = 0> (real, below)
        inverse = Reciprocal(both)
        z = Cast <to = 11> (inverse)
    """,
}


@pytest.mark.parametrize("body", IN_FLOATING_POINT.values(), ids=IN_FLOATING_POINT)
def test_lengths_in_floating_point(body: str) -> None:
    """What is a whole number no more is computed when the program runs."""
    proto = lengths_of(body, "double")
    model = xrelay.compile(proto, cache=False)
    for n in (3, 2, 4, 9, 20, 21):
        x = np.zeros((n, 8), np.float32)
        (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
        np.testing.assert_array_equal(model.run({"x": x})["z"], wanted)


@pytest.mark.parametrize(
    "factor",
    [
        "",
        "real = Constant <value_float = 0.5> () half = Cast <to = 16> (real) reals = Mul(given, half)",
    ],
)
def test_lengths_as_bfloats(factor: str) -> None:
    """onnxruntime has none of these."""
    body = f"""
        given = Cast <to = 16> (shape)
        {factor}
        z = Cast <to = 7> ({"reals" if factor else "given"})
    """
    model = xrelay.compile(lengths_of(body, "int64"), cache=False)
    for n in (4, 12):
        found = model.run({"x": np.zeros((n, 8), np.float32)})["z"]
        np.testing.assert_array_equal(found, np.array([n, 8]) // (2 if factor else 1))


@pytest.mark.parametrize("by", ["sizes", "scales"])
def test_a_batch_stays_open_where_images_are_resized(by: str) -> None:
    first = """
        n = Shape <start = 0, end = 1> (x)
        rest = Constant <value_ints = [2, 6, 10]> ()
        sizes = Concat <axis = 0> (n, rest)
        z = Resize <mode = "linear"> (x, , , sizes)
    """
    second = """
        scales = Constant <value_floats = [1.0, 1.0, 2.0, 3.0]> ()
        z = Resize <mode = "nearest"> (x, , scales)
    """
    proto = parser.parse_model(f"""
    <ir_version: 8, opset_import: ["" : 17]>
    resized (float[n, 2, 3, 4] x) => (float z) {{ {first if by == "sizes" else second} }}
    """)
    model = xrelay.compile(proto, cache=False)
    assert isinstance(model, DynamicModel)
    for n in (3, 5):
        x = np.arange(n * 24, dtype=np.float32).reshape(n, 2, 3, 4)
        (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
        np.testing.assert_allclose(model.run({"x": x})["z"], wanted, rtol=1e-6)
    first_conditions, second_conditions = (each.conditions for each in model.specialisations)
    assert first_conditions is not None and first_conditions == second_conditions


# -- one operator -------------------------------------------------------------------------------

SCOPE = Scope()
N, M = symbol(SCOPE, "n", 6), symbol(SCOPE, "m", 7)


def values(*types: Attribute) -> Sequence[SSAValue]:
    return TestOp(result_types=types).results


def of(kind: Callable[..., RelayOp], *shapes: tuple[int, ...]) -> RelayOp:
    """An operator on tensors of i64 of some shapes."""
    return kind(*values(*(TensorType(i64, shape) for shape in shapes)))


def cast_to(type_: TypeAttribute) -> RelayOp:
    return unary.CastOp(values(TensorType(i64, [2]))[0], type_)


def nothing(op: RelayOp, operands: list[Any]) -> Any:
    """Nobody interprets these."""
    raise AssertionError(op.name)


def found(op: RelayOp, *operands: Any) -> tuple[list[str], tuple[int, ...]] | None:
    """What an operator makes of lengths, as people write it, and the shape; None for no arithmetic on shapes."""
    result = computed(op, operands, nothing)
    return None if result is None else ([str(each) for each in result.reshape(-1)], result.shape)


PAIR = number_array([N, 12])
ONE = (2,)
RESULTS: dict[str, tuple[RelayOp, Sequence[Any], list[str]]] = {
    "sum": (of(binary.AddOp, ONE, ONE), [PAIR, number_array([3, M])], ["n + 3", "m + 12"]),
    "difference": (of(binary.SubtractOp, ONE, ONE), [PAIR, number_array([3, M])], ["n - 3", "-m + 12"]),
    "product": (of(binary.MultiplyOp, ONE, ONE), [PAIR, number_array([3, M])], ["3*n", "12*m"]),
    "product that wraps": (
        of(binary.MultiplyOp, ONE, ONE),
        [PAIR, number_array([1, 2**62])],
        ["n", "0"],
    ),
    "sum that wraps": (
        of(binary.AddOp, ONE, ONE),
        [PAIR, number_array([1, 2**63 - 12])],
        ["n + 1", str(-(2**63))],
    ),
    "larger": (of(binary.MaximumOp, ONE, ONE), [PAIR, number_array([1, 20])], ["n", "20"]),
    "smaller": (of(binary.MinimumOp, ONE, ONE), [PAIR, number_array([1, 20])], ["1", "12"]),
    "of one number": (of(binary.SubtractOp, ONE, ()), [PAIR, np.array(5)], ["n - 5", "7"]),
    "negative": (of(unary.NegativeOp, ONE), [PAIR], ["-n", "-12"]),
    "quotient": (of(binary.DivideOp, ONE, ONE), [PAIR, np.array([4, 5])], ["n//4", "2"]),
    "quotient of 0": (
        of(binary.DivideOp, ONE, ONE),
        [number_array([N, 0]), np.array([4, 5])],
        ["n//4", "0"],
    ),
    "quotient rounded down": (of(binary.FloorDivideOp, ONE, ONE), [PAIR, np.array([4, 5])], ["n//4", "2"]),
    "rest": (of(binary.ModOp, ONE, ONE), [PAIR * 4, np.array([4, 5])], ["0", "3"]),
    "rest of a floor": (of(binary.FloorModOp, ONE, ONE), [PAIR * 4, np.array([2, 7])], ["0", "6"]),
    "all together": (reductions.ProdOp(values(TensorType(i64, [2]))[0]), [PAIR], ["12*n"]),
    "equal": (of(binary.EqualOp, ONE, ONE), [number_array([N * M, 12]), number_array([M * N, 11])], ["True", "False"]),
    "different": (of(binary.NotEqualOp, ONE, ONE), [PAIR, number_array([1, 12])], ["True", "False"]),
    "less": (of(binary.LessOp, ONE, ONE), [PAIR, number_array([2, 13])], ["False", "True"]),
    "at most": (of(binary.LessEqualOp, ONE, ONE), [PAIR, number_array([1, 12])], ["False", "True"]),
    "more": (of(binary.GreaterOp, ONE, ONE), [PAIR, number_array([1, 12])], ["True", "False"]),
    "at least": (of(binary.GreaterEqualOp, ONE, ONE), [PAIR, number_array([2, 13])], ["True", "False"]),
    "either": (
        transform.WhereOp(*values(TensorType(i1, [2]), TensorType(i64, [2]), TensorType(i64, [2]))),
        [np.array([True, False]), PAIR, number_array([5, M])],
        ["n", "m"],
    ),
    "a rest of what is negative": (
        of(binary.FloorModOp, ONE, ONE), [-PAIR, np.array([4, 5])], ["4*((n + 3)//4) - n", "3"],
    ),
    "a rest of a negative number": (
        of(binary.FloorModOp, ONE, ONE), [np.array([-1, -1]), PAIR], ["n - 1", "11"],
    ),
    "rounded already": (unary.FloorOp(values(TensorType(f32, [2]))[0]), [PAIR], ["n", "12"]),
    "another type": (cast_to(i32), [PAIR], ["n", "12"]),
    "the same type": (cast_to(i64), [PAIR], ["n", "12"]),
}  # fmt: skip


@pytest.mark.parametrize("case", RESULTS)
def test_operators_on_lengths(case: str) -> None:
    """Each element by itself, as 64 bits have it."""
    op, operands, expected = RESULTS[case]
    shape = () if case == "all together" else (2,)
    assert found(op, *operands) == (expected, shape)


REFUSED: dict[str, tuple[RelayOp, Sequence[Any]]] = {
    "a tuple": (TupleOp(values(TensorType(i64, [2]))), [PAIR]),
    "an operand that is no tensor": (of(binary.AddOp, ONE, ONE), [PAIR, (PAIR,)]),
    "an operand that is not known": (of(binary.AddOp, ONE, ONE), [PAIR, None]),
    "a quotient of what may be negative": (
        of(binary.DivideOp, ONE, ONE),
        [PAIR - 12, np.array([4, 5])],
    ),
    "a quotient by 0": (of(binary.DivideOp, ONE, ONE), [PAIR, np.array([4, 0])]),
    "a rest of 0": (of(binary.ModOp, ONE, ONE), [PAIR, np.array([0, 4])]),
    "a rest of what may be negative": (of(binary.ModOp, ONE, ONE), [PAIR - 12, np.array([4, 5])]),
    "a product of rows": (
        reductions.ProdOp(values(TensorType(i64, [2, 1]))[0], [1]),
        [PAIR.reshape(2, 1)],
    ),
    "numbers with a fraction beside lengths": (
        of(binary.LessOp, ONE, ONE),
        [PAIR, np.array([0.5, 3.0])],
    ),
    "real numbers": (cast_to(f32), [PAIR]),
    "few bits": (cast_to(i8), [number_array([N, 1])]),
    "too large": (cast_to(i32), [number_array([N, 2**31])]),
    "too small": (cast_to(i32), [number_array([N, -(2**31)])]),
    "places that are lengths": (
        indexing.TakeOp(*values(TensorType(i64, [2]), TensorType(i64, [2])), axis=0),
        [PAIR, PAIR],
    ),
    "an absolute number": (of(unary.AbsOp, ONE), [PAIR]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_arithmetic_on_shapes(case: str) -> None:
    """Whoever asks interprets it, or finds out what it is when the program runs."""
    op, operands = REFUSED[case]
    assert found(op, *operands) is None


@pytest.mark.parametrize(
    ("number", "type_"), [(2**31 - 1, i32), (-(2**31) + 1, i32), (2**63 - 1, i64)]
)
def test_numbers_that_just_fit(number: int, type_: TypeAttribute) -> None:
    """Beside a length that may not."""
    assert found(cast_to(type_), number_array([N, number])) == (["n", str(number)], (2,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [1e-5, 0.5, 0.7, 1 / 3, 1.3, 2.0, 7.77])
@pytest.mark.parametrize(("divides", "upwards"), [(False, False), (True, False), (False, True)])
def test_scaled_lengths(dtype: type, factor: float, divides: bool, upwards: bool) -> None:
    """Wherever the conditions hold, a product is what floating-point arithmetic gives."""
    number = np.dtype(dtype).type(factor)
    scope = Scope()
    length = symbol(scope, "n", 30)
    code = scaled(length, float(number), np.dtype(dtype), divides=divides, upwards=upwards)
    assert code is not None
    (low, high) = scope.atoms[0].bounds
    assert high >= MOST_SCALED and not scope.conditions()
    lengths = np.unique(np.geomspace(low, min(high, 2**31 - 1), 3000).astype(np.int64))
    numbers = lengths.astype(dtype)
    products = numbers / number if divides else numbers * number
    expected = np.ceil(products) if upwards else np.floor(products)
    table = program(scope, code)
    for each, whole in zip((0, *lengths.tolist()), (0, *expected.tolist()), strict=True):
        found = table.at([(each,)])
        assert found is not None and found.table == (whole,), each
    assert hint(code) == (ceil if upwards else floor)(30 / number if divides else 30 * number)


@pytest.mark.parametrize("factor", [0.0, -0.5, np.inf, np.nan])
def test_factors_that_scale_nothing(factor: float) -> None:
    assert scaled(symbol(Scope(), "n", 30), factor, np.dtype(np.float32)) is None


def test_lengths_for_which_no_fraction_is_right() -> None:
    """Pi is no fraction of small numbers; 0.7 is one, with which sizes are sums and products."""
    scope = Scope()
    n = symbol(scope, "n", 2**19)
    assert str(scaled(n, np.pi, np.dtype(np.float64))) == "floor(n*3.141593)"
    assert str(scaled(n + 1, float(np.float32(1.3)), np.dtype(np.float32))) == "floor((n + 1)*1.3)"
    assert str(scaled(n, float(np.float32(0.7)), np.dtype(np.float32))) == "7*n//10"
