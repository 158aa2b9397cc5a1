"""
Elementary functions on all f16 numbers, and the operators that use them, against their formulas in
float64: the errors that docs/numerics.md states, special values, and the signs of zeros.
`tests/conformance/vector_math.py` takes more f32 numbers.
"""

from typing import Any

import numpy as np
import pytest
from activations import ACTIVATIONS, ROWS, Activation, largest_error, model, numbers, rows
from evaluation import onnx_model, reference
from float_errors import ORACLES, errors, unreached
from graphs import Graph
from onnx.reference import ReferenceEvaluator
from vector_functions import OPERATORS

from xrelay.compile_model import compile_model
from xrelay.frontends.onnx import import_model
from xrelay.interpreters.relay import interpret

LARGEST_F16 = 0.5002
"""Of elementary functions, in units of the last place."""

BY_NUMPY = 6
"""Units of the last place by which the interpreter may be wrong."""

STEP = 10007
"""One of so many f32 numbers."""

DTYPES = [np.float16, np.float32, np.float64]
TABLES = pytest.mark.parametrize("table", [ACTIVATIONS, ROWS], ids=["numbers", "rows"])


def data_of(table: tuple[Activation, ...], dtype: Any) -> Any:
    """What the operators of a table are tried on."""
    x = numbers(dtype, STEP)
    return rows(x) if table is ROWS else x


@pytest.mark.slow
def test_functions_of_all_f16_numbers(graph: Graph, target: str):
    data = numbers(np.float16, 1)
    x = graph.input(data)
    for op in OPERATORS.values():
        graph.show(op.create(operands=[x], result_types=[x.type]))
    found = graph.compile(target).run({"input0": data}).values()
    with np.errstate(all="ignore"):
        expected = [array for _, array in graph.expected()]
    for name, array, interpreted in zip(OPERATORS, found, expected, strict=True):
        with np.errstate(all="ignore"):
            exact = ORACLES[name](data.astype(np.float64))
        for result in (array, interpreted):
            assert errors(result, exact)[1].max(initial=0) <= LARGEST_F16, name
            assert not unreached(name, result, exact).any(), name


@pytest.mark.in_turn
@TABLES
@pytest.mark.parametrize("dtype", DTYPES)
def test_activations(table: tuple[Activation, ...], dtype: Any, target: str):
    x = data_of(table, dtype)
    found = compile_model(model(table, x), target=target, cache=False).run({"x": x})
    for activation, result in zip(table, found.values(), strict=True):
        error, where = largest_error(activation, x, result)
        assert error <= activation.largest(dtype), (activation.label, where)


@TABLES
@pytest.mark.parametrize("dtype", DTYPES)
def test_activations_in_the_interpreter(table: tuple[Activation, ...], dtype: Any):
    x = data_of(table, dtype)
    found = interpret(import_model(model(table, x)), [x])
    for activation, result in zip(table, found, strict=True):
        error, where = largest_error(activation, x, result)
        assert error <= BY_NUMPY, (activation.label, where)


@pytest.mark.in_turn
def test_special_values_are_those_of_the_reference(target: str):
    limit = np.finfo(np.float32).max
    size = np.array([0, 1e10, limit, np.inf, np.nan], np.float32)
    x = np.concatenate([size, -size])
    proto = model(ACTIVATIONS, x)
    found = compile_model(proto, target=target, cache=False).run({"x": x})
    with np.errstate(all="ignore"):
        expected = ReferenceEvaluator(proto).run(None, {"x": x})
    for activation, result, other in zip(ACTIVATIONS, found.values(), expected, strict=True):
        np.testing.assert_allclose(result, other, 1e-6, err_msg=activation.label)
        zero = result == 0
        assert (np.signbit(result) == np.signbit(other))[zero].all(), activation.label


@pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization"])
def test_normalization_of_infinite_and_huge_numbers(op: str, target: str):
    limit = np.finfo(np.float32).max
    firsts = [np.inf, -np.inf, np.nan, limit, 1e20, 1e-40]
    x = np.array([[first, 0, 1, -0.0] for first in firsts], np.float32)
    scale = np.ones(4, np.float32)
    inputs = {"x0": x, "x1": scale}
    proto = onnx_model(op, [x, scale], opset=23)
    (found,) = compile_model(proto, target=target, cache=False).run(inputs).values()
    np.testing.assert_allclose(found, reference(op, x, scale, opset=23), 1e-6)
