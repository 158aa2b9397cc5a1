"""Means of quantised tensors: what exact arithmetic gives, of integers where all means are of as many elements."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import onnx
import pytest
from _pytest.mark import ParameterSet
from onnx import helper, numpy_helper
from vector_functions import targets_here
from xdsl.context import Context

import xrelay
from xrelay.frontends.onnx import import_model
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.relay import interpret
from xrelay.lowering.emit.target import TARGETS
from xrelay.transforms.cpu_pipeline import CpuPipelinePass

SHAPE = (1, 19, 7, 9)
IN, OUT = np.float32(0.0371), np.float32(0.0583)
"""The scales."""
Kind: TypeAlias = tuple[str, int, int]
KINDS: tuple[Kind, ...] = (
    ("uint8", 255, 0),
    ("uint8", 3, 255),
    ("int8", -128, 127),
    ("int8", 0, -5),
)
"""The type, the zero point before, and that of the result."""
WINDOWS: dict[str, dict[str, Any]] = {
    "plain": {"kernel_shape": [3, 3], "strides": [2, 2]},
    "padded": {"kernel_shape": [2, 3], "pads": [1, 0, 0, 2], "count_include_pad": 1},
    "dilated": {"kernel_shape": [2, 2], "dilations": [3, 2]},
    "whole": {"kernel_shape": [7, 9]},
}
FEWER: dict[str, dict[str, Any]] = {
    "border": {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
    "ceiling": {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1},
}
"""Windows at whose borders fewer elements count."""


def window_sums(data: Array, window: dict[str, Any]) -> tuple[Array, int]:
    """Sums of the integers in windows, whose zero point is 0, and of how many each is."""
    rows, columns = window["kernel_shape"]
    top, left, bottom, right = window.get("pads", [0] * 4)
    (down, along), (far, wide) = window.get("strides", [1, 1]), window.get("dilations", [1, 1])
    padded = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)))
    height = (padded.shape[2] - (rows - 1) * far - 1) // down + 1
    width = (padded.shape[3] - (columns - 1) * wide - 1) // along + 1
    total = np.zeros((*data.shape[:2], height, width), np.int64)
    for i, j in np.ndindex(rows, columns):
        y, x = i * far, j * wide
        total += padded[:, :, y : y + height * down : down, x : x + width * along : along][
            ..., :height, :width
        ]
    return total, rows * columns


def model_of(windows: dict[str, dict[str, Any]], kinds: Sequence[Kind] = KINDS) -> onnx.ModelProto:
    """Averages of an input of each of some kinds, between DequantizeLinear and QuantizeLinear and as onnxruntime's operators."""
    graph = helper.make_graph([], "pools", [], [])
    names = iter(range(1000))

    def constant(value: Any) -> str:
        name = f"c{next(names)}"
        graph.initializer.append(numpy_helper.from_array(np.array(value), name))
        return name

    def output(node: onnx.NodeProto, result: str) -> None:
        node.output[0] = result
        graph.output.append(onnx.ValueInfoProto(name=result))

    for number, (dtype, before, after) in enumerate(kinds):
        kind = np.dtype(dtype)
        x, type_ = f"x{number}", helper.np_dtype_to_tensor_dtype(kind)
        graph.input.append(helper.make_tensor_value_info(x, type_, SHAPE))
        own, other = (
            (constant(IN), constant(kind.type(before))),
            (constant(OUT), constant(kind.type(after))),
        )
        for name, options in {**windows, "global": {}}.items():
            op, value = "AveragePool" if options else "GlobalAveragePool", f"{x}_{name}"
            graph.node.append(helper.make_node("DequantizeLinear", [x, *own], [f"{value}_numbers"]))
            graph.node.append(
                helper.make_node(op, [f"{value}_numbers"], [f"{value}_means"], **options)
            )
            node = helper.make_node("QuantizeLinear", [f"{value}_means", *other], [""])
            output(node, value)
            graph.node.append(node)
            if name != "dilated":
                node = helper.make_node(
                    f"QLinear{op}", [x, *own, *other], [""], domain="com.microsoft", **options
                )
                output(node, f"{value}_operator")
                graph.node.append(node)
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def inputs(kinds: Sequence[Kind]) -> dict[str, Array]:
    """Random integers of each of some kinds, with channels that are as small and as large as can be."""
    random, found = np.random.default_rng(5), dict[str, Array]()
    for number, (dtype, _, _) in enumerate(kinds):
        info = np.iinfo(dtype)
        data = random.integers(info.min, info.max + 1, SHAPE)
        data[:, 0], data[:, 1] = info.min, info.max
        found[f"x{number}"] = data.astype(dtype)
    return found


def places() -> Iterator[ParameterSet]:
    """Each target with a kind, which take turns, and with all of them."""
    for number, target in enumerate(targets_here(TARGETS)):
        kind = KINDS[number % len(KINDS)]
        yield pytest.param(target, (kind,), id="-".join((target, *map(str, kind))))
        yield pytest.param(target, KINDS, id=target, marks=pytest.mark.extensive)


@pytest.mark.parametrize(("target", "kinds"), list(places()))
def test_means_are_those_of_exact_arithmetic(target: str, kinds: Sequence[Kind]):
    """But beside halves, where the quotient of the scales is rounded."""
    model, feeds = model_of(WINDOWS, kinds), inputs(kinds)
    compiled = xrelay.compile(model, target=target, cache=False)
    assert not any("avg" in step.name for step in compiled.signature.steps)
    found = compiled.run(feeds)
    module = import_model(model)
    CpuPipelinePass(TARGETS[target].lanes(4)).apply(Context(), module)
    for (name, array), meant in zip(
        found.items(), interpret(module, list(feeds.values())), strict=True
    ):
        np.testing.assert_array_equal(array, meant, err_msg=name)
        x, window, *_ = name.split("_")
        dtype, before, after = kinds[int(x[1:])]
        data = feeds[x].astype(np.int64) - before
        sums, count = window_sums(data, WINDOWS.get(window, WINDOWS["whole"]))
        info, ratio = np.iinfo(dtype), Fraction(float(IN)) / Fraction(float(OUT)) / count
        exact = {sum_: sum_ * ratio + after for sum_ in np.unique(sums).tolist()}
        for number, sum_ in {*zip(array.ravel().tolist(), sums.ravel().tolist(), strict=True)}:
            wanted = min(max(exact[sum_], Fraction(info.min)), Fraction(info.max))
            assert abs(number - wanted) <= Fraction(1, 2) + Fraction(1, 1000), name


def test_windows_of_fewer_elements_are_means_of_numbers():
    model = model_of(FEWER)
    names = [step.name for step in xrelay.compile(model, cache=False).signature.steps]
    assert sum("avg_pool" in name for name in names) >= len(FEWER)
