"""Arithmetic on shapes with lengths that are not known before the program runs."""

import numpy as np
import pytest
from onnx import ModelProto, parser
from onnx.reference import ReferenceEvaluator

import xrelay
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
