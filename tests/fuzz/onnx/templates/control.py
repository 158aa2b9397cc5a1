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
    """A constant condition, or one that is computed."""
    data = _float_tensor(g)
    then, other = _branch(g, data), _branch(g, data)
    condition = _is_small(g, data) if g.chance(0.6) else np.array(g.chance(0.5))
    g.node(op, cond=condition, then_branch=then, else_branch=other)


def _is_small(g: Growth, data: Tensor) -> Tensor:
    """A condition that depends on the inputs."""
    (largest,) = g.raw_node("ReduceMax", [data], keepdims=0)
    (small,) = g.raw_node("Less", [largest, np.array(g.choice(0.0, 0.5, 1.0), np.float32)])
    return small


def loop(g: Growth, op: str) -> None:
    """
    A value that is carried, and a number of rounds: a few or many that are known, with a result of each; or one
    that is an input, with a condition that is computed.
    """
    data, known = _float_tensor(g), g.chance(0.6)
    names = [g.name("b") for _ in range(8)]
    number, condition, carried, still, following, shown, total, bound = names
    nodes = [
        helper.make_node(g.choice("Tanh", "Neg", "Relu"), [carried], [shown]),
        helper.make_node(g.choice("Add", "Sub", "Max"), [shown, data.name], [following]),
    ]
    if known or g.chance(0.3):
        nodes.append(helper.make_node("Identity", [condition], [still]))
    else:
        value = helper.make_tensor(bound, TensorProto.FLOAT, [], [g.choice(-1.0, 0.5, 3.0)])
        nodes.append(helper.make_node("ReduceMax", [following], [total], keepdims=0))
        nodes.append(helper.make_node("Constant", [], [bound], value=value))
        nodes.append(helper.make_node("Less", [total, bound], [still]))
    inputs = [
        helper.make_tensor_value_info(number, TensorProto.INT64, []),
        helper.make_tensor_value_info(condition, TensorProto.BOOL, []),
        _value(carried, data.array),
    ]
    outputs = [
        helper.make_tensor_value_info(still, TensorProto.BOOL, []),
        _value(following, data.array),
        *([_value(shown, data.array)] if known else []),
    ]
    body = helper.make_graph(nodes, g.name("b"), inputs, outputs)
    rounds = longs(g.choice(1, 2, 3, 70) if known else g.choice(-1, 0, 1, 5)).reshape(())
    condition_ = None if g.chance(0.5) else np.array(known or g.chance(0.8))
    limit = g.leaf(rounds, float(known))
    g.raw_node(op, [limit, condition_, data], 2 if known else 1, body=body)


def scan(g: Growth, op: str) -> None:
    """One state and the rows of one tensor."""
    rows, width = g.choice(1, 2, 3, 70), g.choice(1, 2, 5)
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
