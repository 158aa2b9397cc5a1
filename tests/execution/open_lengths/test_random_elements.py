"""Random chains of operators whose sizes are elements of inputs, at random elements: what onnxruntime runs is the same here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import xrelay
from xrelay.runtime.dynamic import DynamicModel

Random = np.random.Generator
Draw = Callable[[Random], Any]
"""Elements of an input for one call."""
CALLS = 200
"""Of which most may make no sense."""
ENOUGH = 8
"""Calls that do."""
MAKES_NO_SENSE = (
    onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument,
    onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException,
    onnxruntime.capi.onnxruntime_pybind11_state.Fail,
)
"""What onnxruntime raises of calls that do not."""
NO_SENSE = (13, 57)
"""Models of which onnxruntime runs none of these calls."""


@dataclass
class Chain:
    """A model so far."""

    random: Random
    rank: int
    value: str = "x"
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    drawn: dict[str, Draw] = field(default_factory=dict[str, Draw])
    constants: list[TensorProto] = field(default_factory=list[TensorProto])

    def input(self, draw: Draw) -> str:
        """A new input, whose elements sizes depend on."""
        name = f"e{len(self.drawn)}"
        self.drawn[name] = draw
        return name

    def constant(self, *numbers: int) -> str:
        """A list of numbers."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
        return name

    def emit(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """The first result of a new node."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op_type, inputs, names, **attributes))
        return names[0]


def sliced(chain: Chain) -> None:
    """Ends may be negative, or beyond the axis, and steps backwards."""
    ends = [chain.input(lambda random: [random.integers(-3, 12)]) for _ in range(2)]
    axis = chain.constant(int(chain.random.integers(chain.rank)))
    step = chain.constant(int(chain.random.choice([1, 1, 2, -1])))
    chain.value = chain.emit("Slice", chain.value, *ends, axis, step)


def begun(chain: Chain) -> None:
    last = chain.emit(
        "Unsqueeze", chain.input(lambda random: random.integers(0, 9)), chain.constant(0)
    )
    chain.value = chain.emit("Slice", chain.value, chain.constant(0), last, chain.constant(0))


def padded(chain: Chain) -> None:
    count = 2 * chain.rank
    pads = chain.input(lambda random: random.integers(-(random.random() < 0.2), 4, count))
    mode = str(chain.random.choice(["constant", "constant", "edge"]))
    chain.value = chain.emit("Pad", chain.value, pads, mode=mode)


def tiled(chain: Chain) -> None:
    count = chain.rank
    repeats = chain.input(lambda random: random.integers(random.random() > 0.2, 4, count))
    chain.value = chain.emit("Tile", chain.value, repeats)


def selected(chain: Chain) -> None:
    k = chain.input(lambda random: [random.integers(0, 5)])
    chain.value = chain.emit("TopK", chain.value, k, outputs=2, axis=-1)


def expanded(chain: Chain) -> None:
    ones = [1] * chain.rank
    shape = chain.input(lambda random: [random.integers(1, 4), *ones])
    chain.value, chain.rank = chain.emit("Expand", chain.value, shape), chain.rank + 1


def reshaped(chain: Chain) -> None:
    rows = chain.input(lambda random: [random.integers(1, 4)])
    shape = chain.emit("Concat", rows, chain.constant(-1), axis=0)
    chain.value, chain.rank = chain.emit("Reshape", chain.value, shape), 2


def split(chain: Chain) -> None:
    parts = chain.input(lambda random: random.integers(0, 5, 2))
    chain.value = chain.emit("Split", chain.value, parts, outputs=2, axis=0)


def counted(chain: Chain) -> None:
    """The places of a new axis are added."""
    first, step = (
        chain.emit("Squeeze", chain.constant(number), chain.constant(0)) for number in (0, 1)
    )
    places = chain.emit("Range", first, chain.input(lambda random: random.integers(0, 5)), step)
    column = chain.emit("Unsqueeze", chain.value, chain.constant(-1))
    numbers = chain.emit("Cast", places, to=TensorProto.FLOAT)
    chain.value, chain.rank = chain.emit("Add", column, numbers), chain.rank + 1


STEPS = (sliced, begun, padded, tiled, selected, expanded, reshaped, split, counted)


def model_of(chain: Chain, rank: int) -> ModelProto:
    """The model of a chain that began with a rank."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [f"d{i}" for i in range(rank)])]
    for name, draw in chain.drawn.items():
        shape = np.shape(draw(np.random.default_rng(0)))
        inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, shape))
    output = helper.make_empty_tensor_value_info("y")
    output.type.tensor_type.elem_type = TensorProto.FLOAT
    nodes = [*chain.nodes, helper.make_node("Abs", [chain.value], ["y"])]
    graph = helper.make_graph(nodes, "chain", inputs, [output], chain.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize(
    "seed",
    [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 70))],
)
def test_random_elements(seed: int):
    random = np.random.default_rng(seed)
    rank = int(random.integers(1, 4))
    chain = Chain(random, rank)
    for place in random.integers(len(STEPS), size=int(random.integers(1, 4))):
        STEPS[place](chain)
    made = model_of(chain, rank)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    oracle = onnxruntime.InferenceSession(made.SerializeToString(), options)
    model = xrelay.compile(made, cache=False)
    assert isinstance(model, DynamicModel)
    agreed = 0
    for _ in range(CALLS):
        if agreed == ENOUGH:
            break
        shape = random.integers(random.random() > 0.15, 7, rank)
        given: dict[str, Any] = {"x": random.standard_normal(shape, np.float32)}
        given |= {name: np.array(draw(random), np.int64) for name, draw in chain.drawn.items()}
        try:
            (wanted,) = oracle.run(None, given)
        except MAKES_NO_SENSE:
            continue
        np.testing.assert_array_equal(model.run(given)["y"], wanted, err_msg=str(given))
        agreed += 1
    assert agreed or seed in NO_SENSE
