"""The work of generating code grows no faster than the program."""

import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_models import build, untyped, value_info

from xrelay.compiler import CompileOptions, lower
from xrelay.frontends.onnx import import_model


def calls(count: int, axis: int) -> int:
    """How many functions of Python are called to lower a concatenation of many inputs."""
    inputs = [value_info(f"x{i}", np.zeros((2, 4), np.float32)) for i in range(count)]
    names = [value.name for value in inputs]
    nodes = [
        helper.make_node("Concat", names, ["whole"], axis=axis),
        helper.make_node("Abs", ["whole"], ["y"]),
    ]
    module = import_model(build(nodes, inputs, [untyped("y")]))
    found = 0

    def count_calls(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal found
        found += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_calls)
    try:
        lower(module, CompileOptions(threads=1))
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("axis", [0, 1])
def test_concatenation_of_many_inputs(axis: int):
    calls(2, axis)  # imports modules
    few, twice, fourfold = (calls(count, axis) for count in (70, 140, 280))
    assert fourfold - twice < 2.2 * (twice - few)
