"""Element types of 8 bits or fewer: ml_dtypes knows what their bits and roundings are."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx_models import build, longs

import xrelay
from xrelay.frontends.onnx import OnnxImportError
from xrelay.frontends.onnx.narrow import NARROW, Narrow

FLOATS = [code for code, narrow in NARROW.items() if narrow.is_float]
INTEGERS = [code for code, narrow in NARROW.items() if not narrow.is_float]
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
"""All numbers of f16, with NaN and infinities; those between the numbers of narrower types among them."""


def tensor(name: str, code: int, *shape: int) -> Any:
    return helper.make_tensor_value_info(name, code, shape)


def through(nodes: list[NodeProto], given: int, wanted: int, count: int, **more: Any) -> ModelProto:
    return build(nodes, [tensor("x", given, count)], [tensor("y", wanted, count)], opset=25, **more)


def cast(to: int, **attributes: Any) -> NodeProto:
    return helper.make_node("Cast", ["x"], ["y"], "cast", to=to, **attributes)


def interpreted(model: ModelProto, x: np.ndarray) -> np.ndarray:
    return xrelay.interpret(model, {"x": x})["y"]


def require_same(found: np.ndarray, wanted: np.ndarray) -> None:
    """The same numbers, and zeros of the same signs."""
    assert found.dtype == wanted.dtype
    found, wanted = found.astype(np.float32), wanted.astype(np.float32)
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("code", FLOATS, ids=TensorProto.DataType.Name)
def test_every_half_is_rounded(code: int) -> None:
    narrow = NARROW[code]
    numbers = HALVES if narrow.signed else HALVES[~np.signbit(HALVES) & (HALVES != 0)]
    if narrow.bits < 8:  # There is no NaN to become.
        numbers = numbers[~np.isnan(numbers)]
    rounds = {} if narrow.signed else {"round_mode": "nearest"}
    model = through([cast(code, saturate=0, **rounds)], TensorProto.FLOAT16, code, len(numbers))
    with np.errstate(invalid="ignore"):
        wanted = numbers.astype(np.float32).astype(narrow.dtype)
    require_same(interpreted(model, numbers), wanted)


@pytest.mark.parametrize("code", FLOATS, ids=TensorProto.DataType.Name)
def test_numbers_that_are_too_large_saturate(code: int) -> None:
    narrow = NARROW[code]
    values = np.arange(1 << narrow.bits, dtype=np.uint8).view(narrow.dtype).astype(np.float32)
    largest = values[np.isfinite(values)].max()
    numbers = np.array([largest, np.inf, 3e38, -np.inf if narrow.signed else 1], np.float32)
    found = interpreted(through([cast(code)], TensorProto.FLOAT, code, 4), numbers)
    wanted = [largest, largest, largest, -largest if narrow.signed else 1]
    np.testing.assert_array_equal(found.astype(np.float32), np.array(wanted, np.float32))


@pytest.mark.parametrize("code", NARROW, ids=TensorProto.DataType.Name)
def test_every_pattern_of_bits_is_read(code: int) -> None:
    """Those of inputs, whatever is in the upper bits of their bytes, and of stored tensors."""
    narrow = NARROW[code]
    every = np.arange(1 << narrow.bits, dtype=np.uint8).view(narrow.dtype)
    wanted = every.astype(np.float32)
    raised = (every.view(np.uint8) | ~np.uint8(narrow.mask)).view(narrow.dtype)
    model = through([cast(TensorProto.FLOAT)], code, TensorProto.FLOAT, len(every))
    np.testing.assert_array_equal(interpreted(model, every), wanted)
    np.testing.assert_array_equal(interpreted(model, raised), wanted)
    stored = build(
        [cast(TensorProto.FLOAT)],
        [],
        [tensor("y", TensorProto.FLOAT, len(every))],
        [numpy_helper.from_array(every, "x")],
        opset=25,
    )
    np.testing.assert_array_equal(xrelay.interpret(stored, {})["y"], wanted)


@pytest.mark.parametrize("code", INTEGERS, ids=TensorProto.DataType.Name)
def test_integers_keep_their_low_bits(code: int) -> None:
    narrow = NARROW[code]
    numbers = np.arange(-40, 40)
    found = interpreted(through([cast(code)], TensorProto.INT64, code, 80), numbers)
    np.testing.assert_array_equal(
        found.astype(np.int64), numbers.astype(narrow.dtype).astype(np.int64)
    )


def moves() -> list[NodeProto]:
    return [
        helper.make_node("Reshape", ["x", "shape"], ["a"]),
        helper.make_node("Transpose", ["a"], ["b"]),
        helper.make_node("Concat", ["b", "b"], ["c"], axis=0),
        helper.make_node("Reshape", ["c", "line"], ["y"]),
    ]


@pytest.mark.parametrize("code", [TensorProto.FLOAT8E5M2, TensorProto.INT4])
def test_elements_are_moved_by_machine_code(code: int) -> None:
    narrow: Narrow = NARROW[code]
    x = np.arange(6, dtype=np.uint8).view(narrow.dtype)
    given = [tensor("x", code, 6)]
    constants = [
        numpy_helper.from_array(longs(2, 3), "shape"),
        numpy_helper.from_array(longs(-1), "line"),
    ]
    model = build(moves(), given, [tensor("y", code, 12)], constants, opset=25)
    compiled = xrelay.compile(model, cache=False)
    wanted = np.tile(x.view(np.uint8).reshape(2, 3).T.reshape(-1), 2)
    for found in (compiled.run({"x": x})["y"], interpreted(model, x)):
        assert found.dtype == narrow.dtype
        np.testing.assert_array_equal(found.view(np.uint8), wanted)


@pytest.mark.parametrize(
    ("nodes", "wanted", "message"),
    [
        (
            [helper.make_node("Add", ["x", "x"], ["y"], "sum")],
            TensorProto.INT4,
            "'sum': op type Add.*: input 0 has elements of type int4, which are moved and converted",
        ),
        (
            [helper.make_node("Identity", ["x"], ["y"])],
            TensorProto.INT8,
            "output 'y' is stated with elements of type i8, but has those of int4",
        ),
        (
            [helper.make_node("Identity", ["x"], ["y"])],
            TensorProto.UINT4,
            "output 'y' is stated with elements of type uint4, but has those of int4",
        ),
        (
            [cast(TensorProto.FLOAT8E8M0, round_mode="odd")],
            TensorProto.FLOAT8E8M0,
            "'round_mode' is \"odd\"",
        ),
    ],
)
def test_what_is_refused(nodes: list[NodeProto], wanted: int, message: str) -> None:
    with pytest.raises(OnnxImportError, match=message):
        xrelay.compile(through(nodes, TensorProto.INT4, wanted, 2), cache=False)
