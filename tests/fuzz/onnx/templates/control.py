"""Nodes with graphs inside."""

from collections.abc import Mapping

import numpy as np
from onnx import GraphProto, TensorProto, helper

from tests.fuzz.onnx.growth import Growth, Tensor, longs
from tests.fuzz.onnx.templates.template import Template
from tests.fuzz.onnx.values import Array


def _float_tensor(g: Growth) -> Tensor:
    found = g.find(lambda a: a.dtype == np.float32 and 0 < a.size < 500)
    return g.choice(*found) if found and g.chance(0.85) else g.new("float32", (2, 3))


def _value(name: str, array: Array) -> object:
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
    )


def _branch(g: Growth, data: Tensor) -> GraphProto:
    """Operators on a value of the graph around."""
    prefix, first, second = (g.name("b") for _ in range(3))
    nodes = [
        helper.make_node(g.choice("Relu", "Neg", "Abs", "Sigmoid"), [data.name], [first]),
        helper.make_node(g.choice("Add", "Mul", "Sub"), [first, data.name], [second]),
    ]
    return helper.make_graph(nodes, prefix, [], [_value(second, data.array)])


def branch(g: Growth, op: str) -> None:
    """A constant condition."""
    data = _float_tensor(g)
    then, other = _branch(g, data), _branch(g, data)
    condition = np.array(g.chance(0.5))
    g.node(op, cond=condition, then_branch=then, else_branch=other)


def loop(g: Growth, op: str) -> None:
    """A number of rounds, a value that is carried, a result of each round."""
    data = _float_tensor(g)
    names = [g.name("b") for _ in range(6)]
    number, condition, carried, still, following, shown = names
    nodes = [
        helper.make_node("Identity", [condition], [still]),
        helper.make_node(g.choice("Tanh", "Neg", "Relu"), [carried], [shown]),
        helper.make_node(g.choice("Add", "Sub", "Max"), [shown, data.name], [following]),
    ]
    inputs = [
        helper.make_tensor_value_info(number, TensorProto.INT64, []),
        helper.make_tensor_value_info(condition, TensorProto.BOOL, []),
        _value(carried, data.array),
    ]
    outputs = [
        helper.make_tensor_value_info(still, TensorProto.BOOL, []),
        _value(following, data.array),
        _value(shown, data.array),
    ]
    body = helper.make_graph(nodes, g.name("b"), inputs, outputs)
    rounds = longs(g.choice(1, 2, 3)).reshape(())
    condition_ = None if g.chance(0.5) else np.array(True)
    g.raw_node(op, [rounds, condition_, data], 2, body=body)


def scan(g: Growth, op: str) -> None:
    """One state and the rows of one tensor."""
    rows, width = g.choice(1, 2, 3), g.choice(1, 2, 5)
    state, row, following, shown = (g.name("b") for _ in range(4))
    initial, data = g.new("float32", (width,)), g.new("float32", (rows, width))
    nodes = [
        helper.make_node(g.choice("Add", "Sub", "Max"), [state, row], [following]),
        helper.make_node(g.choice("Relu", "Tanh"), [following], [shown]),
    ]
    element = np.zeros(width, np.float32)
    body = helper.make_graph(
        nodes,
        g.name("b"),
        [_value(state, element), _value(row, element)],
        [_value(following, element), _value(shown, element)],
    )
    directions = {"scan_input_directions": [1]} if g.chance(0.3) else {}
    g.raw_node(op, [initial, data], 2, body=body, num_scan_inputs=1, **directions)


CONTROL_TEMPLATES: Mapping[str, Template] = {"If": branch, "Loop": loop, "Scan": scan}
