"""Calls within each other, powers of whole numbers, and windows of nothing."""

from itertools import pairwise

import numpy as np
import pytest
from operator_oracles import evaluate, parse, same
from xdsl.utils.exceptions import InterpretationError

from xrelay.dialects.pool import adaptive
from xrelay.interpreters import relay
from xrelay.interpreters.numerics import power


def counting(calls: int) -> str:
    """A function that calls another one, which calls another one, and so on."""
    head = "(%x: tensor<f32>) -> tensor<f32> {"
    names = ["main", *(f"f{i}" for i in range(calls))]
    functions = [
        f"func.func @{name}{head}\n%y = func.call @{other}(%x) : (tensor<f32>) -> tensor<f32>\n"
        "func.return %y : tensor<f32> }"
        for name, other in pairwise(names)
    ]
    return "\n".join([*functions, f"func.func @{names[-1]}{head} func.return %x : tensor<f32> }}"])


def test_calls_within_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the limit says, and one more; calls one after the other do not count."""
    monkeypatch.setattr(relay, "MOST_CALLS", 4)
    x = np.array(3, np.float32)
    assert relay.interpret(parse(counting(4)), [x]) == (x,)
    message = "^@main: functions call themselves more than 4 calls deep$"
    with pytest.raises(InterpretationError, match=message):
        relay.interpret(parse(counting(5)), [x])
    calls = "".join(
        f"%y{i + 1} = func.call @f(%y{i}) : (tensor<f32>) -> tensor<f32>\n" for i in range(6)
    )
    text = (
        "func.func @f(%x: tensor<f32>) -> tensor<f32> { func.return %x : tensor<f32> }\n"
        f"func.func @main(%y0: tensor<f32>) -> tensor<f32> {{\n{calls}func.return %y6 : tensor<f32> }}"
    )
    assert relay.interpret(parse(text), [x]) == (x,)


def test_powers_of_whole_numbers() -> None:
    """They have no roots, and keep their type."""
    found = power(np.array([2, -3, 0], np.int32), np.array([3, 2, 0], np.int32))
    assert (found.dtype, found.tolist()) == (np.int32, [8, 9, 1])


def test_powers_of_one_half() -> None:
    """As C has them: of an infinity below 0 and of -0."""
    base = np.array([-np.inf, -0.0, 4, -4, np.inf], np.float32)
    found = power(base, np.array(0.5, np.float32))
    np.testing.assert_array_equal(found, np.array([np.inf, 0, 2, np.nan, np.inf], np.float32))
    assert not np.signbit(found[1]) and found.dtype == np.float32


@pytest.mark.parametrize("op", [adaptive.AdaptiveMaxPool2DOp, adaptive.AdaptiveAvgPool2DOp])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_windows_of_nothing(op: type[adaptive.AdaptivePoolOp], layout: str) -> None:
    """As many windows as elements, of which there are none."""
    x = np.zeros((1, 2, 0, 3) if layout == "NCHW" else (1, 0, 3, 2), np.float32)
    same(evaluate(lambda v: op(v, layout=layout), x), x)
