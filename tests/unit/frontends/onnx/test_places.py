"""
Places and lengths out of range, of all operators that have such. Constant ones are refused; computed ones, for which
onnxruntime fails when it runs, give what the table of docs/onnx.md says.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper
from onnx_models import Array, by_import, by_onnxruntime, longs, one_node
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime_state

import xrelay
from xrelay.frontends.onnx import OnnxImportError, import_model


@dataclass(frozen=True)
class Case:
    """A node, one of whose inputs has places."""

    op: str
    inputs: list[Array | None]
    index: int
    """Of the input with the places, whose first element is replaced."""
    ends: tuple[int, int]
    """The least and the largest place, which constants may be."""
    computed: dict[int, list[Any]]
    """The elements of the result for places out of range that are computed."""
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    opset: int = 18
    domain: str = ""

    def at(self, place: int) -> list[Array | None]:
        """The inputs with another place."""
        places = self.inputs[self.index]
        assert places is not None
        changed = places.copy()
        changed.flat[0] = place
        return [changed if i == self.index else each for i, each in enumerate(self.inputs)]

    def model(self, place: int, *, constant: bool) -> ModelProto:
        inputs = self.at(place)
        split = self.index if constant else len(inputs)
        data, constants = inputs[:split], inputs[split:]
        model = one_node(self.op, data, constants, opset=self.opset, **self.attributes)
        model.ir_version = 10
        if self.domain:
            model.graph.node[0].domain = self.domain
            model.opset_import.append(helper.make_opsetid(self.domain, 1))
        return model


def floats(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


X, NEW = floats(1, 2, 3), floats(9, 8)
IMAGES = np.arange(8, dtype=np.float32).reshape(2, 1, 2, 2)
CACHE = np.zeros((1, 4, 1), np.float32)
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
WEIGHT = np.full((1, 1, 1), 1e-3, np.float32)
UNCHANGED = [1, 8, 3]
SCATTER = Case("ScatterElements", [X, longs(0, 1), NEW], 1, (-3, 2), {3: UNCHANGED, -4: UNCHANGED})
CASES = {
    "Gather": Case("Gather", [X, longs(0, 1)], 1, (-3, 2), {3: [1, 2], 7: [2, 2], -4: [3, 2]}),
    "GatherElements": Case(
        "GatherElements", [X, longs(0, 1)], 1, (-3, 2), {3: [3, 2], 2**62: [3, 2], -4: [1, 2]}
    ),
    "GatherND": Case(
        "GatherND", [X, longs(0, 1)[:, None]], 1, (-3, 2), {3: [3, 2], 2**62: [3, 2], -4: [1, 2]}
    ),
    "ScatterElements": SCATTER,
    "ScatterElements of a reduction": Case(
        *(SCATTER.op, SCATTER.inputs, 1, SCATTER.ends, SCATTER.computed), {"reduction": "max"}
    ),
    "Scatter": Case("Scatter", SCATTER.inputs, 1, SCATTER.ends, SCATTER.computed, opset=9),
    "ScatterND": Case(
        "ScatterND", [X, longs(0, 1)[:, None], NEW], 1, SCATTER.ends, SCATTER.computed
    ),
    "ReverseSequence": Case(
        *("ReverseSequence", [ROWS, longs(1, 2)], 1, (0, 3)),
        {4: [2, 1, 0, 4, 3, 5], -1: [0, 1, 2, 4, 3, 5]},
        {"batch_axis": 0, "time_axis": 1},
    ),
    "TensorScatter": Case(
        *("TensorScatter", [CACHE, NEW.reshape(1, 2, 1), longs(0)], 2, (-4, 2)),
        {3: [0, 0, 0, 9], 9: [0] * 4, -5: [8, 0, 0, 0]},
        opset=24,
    ),
    "RNN": Case(
        *(
            "RNN",
            [np.ones((2, 2, 1), np.float32), WEIGHT, 0 * WEIGHT, None, np.array([2, 1], np.int32)],
            4,
            (0, 2),
        ),
        {3: [1e-3, 1e-3, 1e-3, 0], -1: [0, 1e-3, 0, 0]},
        {"hidden_size": 1},
    ),
    "MaxUnpool": Case(
        *("MaxUnpool", [NEW.reshape(1, 1, 2), longs(0, 1).reshape(1, 1, 2)], 1, (0, 3)),
        {4: [0, 8, 0, 0], 9: [0, 8, 0, 0], -1: [0, 8, 0, 9], -5: [0, 8, 0, 0]},
        {"kernel_shape": [2], "strides": [2]},
    ),
    "RoiAlign": Case(
        *("RoiAlign", [IMAGES, floats(0, 0, 1, 1)[None], longs(0)], 2, (0, 1)),
        {2: [4], -1: [0]},
        {"sampling_ratio": 1},
    ),
    "RoiAlign before operator set 16": Case(
        *("RoiAlign", [IMAGES, floats(0, 0, 1, 1)[None], longs(0)], 2, (0, 1)),
        {2: [5.5], -1: [1.5]},
        {"sampling_ratio": 1},
        opset=10,
    ),
    "MaxRoiPool": Case(
        *("MaxRoiPool", [IMAGES, floats(0, 0, 0, 1, 1)[None]], 1, (0, 1)),
        {2: [7], -1: [3]},
        {"pooled_shape": [1, 1]},
    ),
    "RotaryEmbedding": Case(
        *(
            "RotaryEmbedding",
            [np.ones((1, 1, 1, 2), np.float32), X[:, None], 0 * X[:, None], longs(0)[None]],
            3,
            (-3, 2),
        ),
        {3: [1, 1], -4: [3, 3]},
        opset=23,
    ),
    "NegativeLogLikelihoodLoss": Case(
        *("NegativeLogLikelihoodLoss", [X[None], longs(0)], 1, (-3, 2)),
        {3: [-3], -4: [-1]},
        {"reduction": "none"},
    ),
    "ArrayFeatureExtractor": Case(
        *("ArrayFeatureExtractor", [X[None], longs(0, 1)], 1, (0, 2)),
        {3: [1, 2], -4: [3, 2]},
        domain="ai.onnx.ml",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_constant_places(name: str):
    case = CASES[name]
    for place in case.ends:
        import_model(case.model(place, constant=True))
    for place in case.ends[0] - 1, case.ends[1] + 1:
        message = rf"'the_node' .{case.op}.: .*input \d .* has the number {place}(.0)? at"
        with pytest.raises(OnnxImportError, match=message):
            import_model(case.model(place, constant=True))


@pytest.mark.parametrize("name", CASES)
def test_computed_places(name: str):
    case = CASES[name]
    for place, expected in case.computed.items():
        given = [each for each in case.at(place) if each is not None]
        model = case.model(place, constant=False)
        (result,) = by_import(model, given)
        np.testing.assert_allclose(result.ravel(), expected, rtol=1e-6)
        with pytest.raises(
            (onnxruntime_state.Fail, onnxruntime_state.InvalidArgument), match="the_node|Elements"
        ):
            by_onnxruntime(model, given)


def test_computed_places_in_machine_code():
    model, feeds, wanted = None, {}, {}
    for name in ("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND",
                 "ScatterElements of a reduction", "ReverseSequence", "MaxUnpool", "RoiAlign", "MaxRoiPool"):  # fmt: skip
        case = CASES[name]
        for place, expected in case.computed.items():
            one, prefix = case.model(place, constant=False), f"{name} {place} "
            names = [value.name for value in one.graph.input]
            feeds |= {
                prefix + each: array for each, array in zip(names, case.at(place), strict=True)
            }
            wanted[prefix + "out0"] = expected
            one = _renamed(one, prefix)
            if model is None:
                model = one
            else:
                model.graph.node.extend(one.graph.node)
                model.graph.input.extend(one.graph.input)
                model.graph.output.extend(one.graph.output)
    results = xrelay.compile(model, cache=False).run(feeds)
    for name, expected in wanted.items():
        np.testing.assert_allclose(results[name].ravel(), expected, err_msg=name)


def _renamed(model: ModelProto, prefix: str) -> ModelProto:
    """A model of one node with a prefix of all names."""
    (node,) = model.graph.node
    node.name = prefix
    node.input[:] = [prefix + each for each in node.input]
    node.output[:] = [prefix + each for each in node.output]
    for value in (*model.graph.input, *model.graph.output):
        value.name = prefix + value.name
    return model


def test_scalar_places_and_several_axes():
    data = np.zeros((3, 4), np.float32)
    with pytest.raises(OnnxImportError, match=r"has the number 3, accepted range is \[-3, 2\]"):
        import_model(one_node("Gather", [data], [np.array(3)]))
    model = one_node("GatherND", [data], [longs(2, 3, 3, 0).reshape(2, 2)])
    with pytest.raises(OnnxImportError, match=r"number 3 at \[1, 0\], accepted range is \[-3, 2\]"):
        import_model(model)


@pytest.mark.parametrize("axis", [0, None])
@pytest.mark.parametrize("condition", [[1, 0, 0, 1, 1], [1], [0, 0, 0, 1], []])
def test_conditions_of_another_length_than_the_axis(condition: list[int], axis: int | None):
    given = {} if axis is None else {"axis": axis}
    model = one_node("Compress", [X], [np.array(condition, bool)], **given)
    np.testing.assert_array_equal(by_import(model, [X]), by_onnxruntime(model, [X]))
