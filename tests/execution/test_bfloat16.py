"""bf16 of kernels: conversions bit by bit as ml_dtypes makes them, in models that are run, saved and kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from graphs import BITS, Graph
from onnx.reference import ReferenceEvaluator
from vector_functions import targets_here
from xdsl.dialects.builtin import bf16, f16, f32, f64

import xrelay
from xrelay.dialects.dtypes import DTYPES
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.interpreters.arrays import Array
from xrelay.lowering.emit.elements import nearest_float
from xrelay.lowering.emit.target import TARGETS, named_target
from xrelay.runtime.signature import Signature, TensorSpec

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
EVERY = np.arange(2**16).astype(np.uint16)
"""The bits of all bf16 numbers, and the upper halves of all f32 numbers."""


def near_every_number() -> Array:
    """Of every bf16 number, with its NaN, infinities and subnormals: itself, f32 close to it, and ties."""
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    return ((EVERY.astype(np.uint32) << 16)[:, None] | lower).ravel().view(np.float32)


@pytest.mark.parametrize("target", (*targets_here(), "native"))
def test_conversions_are_those_of_ml_dtypes(target: str):
    graph, singles = Graph(), near_every_number()
    graph.show(CastOp(graph.input(EVERY.view(BFLOAT16)), f32), BITS)
    graph.show(CastOp(graph.input(EVERY.view(BFLOAT16)), f64))
    graph.show(CastOp(graph.input(EVERY.view(BFLOAT16)), f16))
    graph.show(CastOp(graph.input(EVERY.view(np.float16)), bf16), BITS)
    graph.show(CastOp(graph.input(singles), bf16), BITS)
    # Ties that are none in f64: it is rounded twice, to f32 and to bf16.
    with np.errstate(invalid="ignore"):
        doubles = singles[::7].astype(np.float64) * (1 + 2.0**-40)
    graph.show(CastOp(graph.input(doubles), bf16), BITS)
    graph.check(target)


@pytest.mark.filterwarnings("ignore::xrelay.precision.PrecisionWarning")
@pytest.mark.parametrize("target", (*targets_here(TARGETS), "native"))
def test_conversions_in_models_of_that_precision(target: str):
    """What products of bf16 take for zero is zero where they are computed; all else is as everywhere."""
    singles, graph = near_every_number(), Graph()
    for length in (1, 3, 9, 17, 31, len(singles) - 61):
        graph.show(CastOp(graph.input(singles[:length]), bf16))
        singles = singles[length:]
    model = xrelay.compile(graph.module(), target=target, precision="bf16", cache=False)
    names = [each.name for each in model.signature.inputs]
    found = model.run(dict(zip(names, graph.inputs, strict=True))).values()
    for single, array, (_, expected) in zip(graph.inputs, found, graph.expected(), strict=True):
        bits, is_number = expected.view(np.uint16), ~np.isnan(single)
        if named_target(target).bf16_dot:
            bits = np.where(np.abs(single) < 2.0**-126, bits & 0x8000, bits)
        np.testing.assert_array_equal(np.isnan(array), ~is_number)
        np.testing.assert_array_equal(array.view(np.uint16)[is_number], bits[is_number])


def test_constants_are_rounded_as_arrays_are():
    singles = near_every_number()[::11]
    with np.errstate(invalid="ignore"):
        expected = singles.astype(BFLOAT16).astype(np.float64)
    found = np.array([nearest_float(number, bf16) for number in singles.tolist()])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_models_take_give_and_keep_it(tmp_path: Path):
    graph = Graph(1)
    x = graph.input(graph.numbers(BFLOAT16, 3, 17))
    graph.show(AddOp(x, graph.constant(graph.numbers(BFLOAT16, 17))))
    model = xrelay.compile(graph.module(), cache=False)
    assert str(model.signature.inputs[0]) == "'input0' bfloat16[3, 17]"
    model.save(tmp_path / "sum.so")
    assert "'input0' bfloat16[3, 17]" in (tmp_path / "sum.h").read_text()
    ((_, expected),) = graph.expected()
    for each in (model, xrelay.load(tmp_path / "sum.so")):
        (found,) = each.run({"input0": graph.inputs[0]}).values()
        assert found.dtype == BFLOAT16
        np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))
    with pytest.raises(xrelay.ModelError, match="is uint16"):
        model.run({"input0": graph.inputs[0].view(np.uint16)})


def floats(*shape: int) -> Array:
    """Numbers that f16 and bf16 hold."""
    return np.random.default_rng([7, *shape]).integers(-64, 65, shape).astype(np.float32) / 32


NODES: Sequence[tuple[str, Sequence[Array], dict[str, Any]]] = (
    ("Add", (floats(3, 17), floats(17)), {}),
    ("AveragePool", (floats(1, 3, 8, 8),), {"kernel_shape": [2, 2]}),
    ("Concat", (floats(2, 3), floats(2, 4)), {"axis": 1}),
    ("Conv", (floats(1, 4, 9, 9), floats(8, 4, 3, 3)), {"pads": [1] * 4}),
    ("Conv", (floats(1, 16, 9, 9), floats(16, 1, 3, 3)), {"group": 16}),
    ("Div", (floats(3, 17), np.abs(floats(3, 1)) + 1), {}),
    ("Erf", (floats(33),), {}),
    ("Exp", (floats(33),), {}),
    ("Gather", (floats(5, 3), np.array([0, 4])), {}),
    ("Gemm", (floats(5, 33), floats(7, 33), floats(7)), {"transB": 1}),
    ("GlobalAveragePool", (floats(1, 3, 8, 8),), {}),
    ("LayerNormalization", (floats(4, 19), floats(19), floats(19)), {}),
    ("LeakyRelu", (floats(33),), {}),
    ("Less", (floats(9), floats(9)[::-1]), {}),
    ("MatMul", (floats(2, 5, 33), floats(2, 33, 7)), {}),
    ("MaxPool", (floats(1, 3, 8, 8),), {"kernel_shape": [2, 2]}),
    ("ReduceMax", (floats(4, 19),), {}),
    ("ReduceMean", (floats(4, 19),), {}),
    ("ReduceSum", (floats(4, 19),), {}),
    ("Sigmoid", (floats(33),), {}),
    ("Softmax", (floats(4, 19),), {}),
    ("Tanh", (floats(33),), {}),
    ("Transpose", (floats(4, 19),), {}),
    ("Where", (floats(9) < 0, floats(9), floats(9)[::-1]), {}),
)


SEVERAL_ROUNDINGS = {"Gemm": 3}
"""What rounds in between, and how many units of the last place that may cost."""


def stored_in(dtype: np.dtype[Any]) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model of all nodes on numbers of a type, and the inputs."""
    feeds: dict[str, Array] = {}
    nodes: list[onnx.NodeProto] = []
    for i, (name, operands, attributes) in enumerate(NODES):
        own = {f"x{i}_{j}": array for j, array in enumerate(operands)}
        feeds.update(
            (key, array.astype(dtype) if array.dtype == np.float32 else array)
            for key, array in own.items()
        )
        nodes.append(onnx.helper.make_node(name, list(own), [f"y{i}"], **attributes))
    inputs = [
        onnx.helper.make_tensor_value_info(
            key, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for key, array in feeds.items()
    ]
    outputs = [onnx.ValueInfoProto(name=f"y{i}") for i in range(len(NODES))]
    graph = onnx.helper.make_graph(nodes, "stored", inputs, outputs)
    opsets = [onnx.helper.make_opsetid("", 20)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), feeds


@pytest.mark.parametrize("dtype", [BFLOAT16, np.dtype(np.float16)], ids=str)
def test_models_stored_in_it(dtype: np.dtype[Any]):
    """onnx.reference computes the same model in f64; one rounding lies between, of what f32 gives."""
    model, feeds = stored_in(dtype)
    found = xrelay.compile(model, cache=False).run(feeds)
    exact, wide = stored_in(np.dtype(np.float64))
    expected = ReferenceEvaluator(exact).run(None, wide)
    eps = float(ml_dtypes.finfo(dtype).eps)
    for (name, *_), (key, array), other in zip(NODES, found.items(), expected, strict=True):
        assert array.dtype == (bool if name == "Less" else dtype), name
        np.testing.assert_allclose(
            *(array.astype(np.float64), other),
            rtol=SEVERAL_ROUNDINGS.get(name, 0.51) * eps,
            atol=1e-5,
            err_msg=f"{key} {name}",
        )


def test_descriptions_of_models_have_every_element_type():
    """The run time imports no dialect: it has the names once more."""
    specs = tuple(
        TensorSpec(dtype.name, (2,), np.dtype(getattr(ml_dtypes, dtype.name, dtype.name)))
        for dtype in DTYPES
    )
    signature = Signature("every", specs, (), 0, 0, "x86-64", ())
    assert Signature.from_json(signature.to_json()).inputs == specs
