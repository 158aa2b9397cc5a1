"""Arithmetic on shapes with lengths that are not known before the program runs."""

import numpy as np
import pytest
from onnx import ModelProto, parser

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
