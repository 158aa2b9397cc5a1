"""Outside oracles for the meaning of operators: ONNX nodes, and sums written out one by one."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.interpreters.arrays import Array, type_of
from xrelay.interpreters.relay import interpret


def evaluate(build: Callable[..., Operation], *inputs: Any) -> Any:
    """The value of the operation that `build` makes of operands with the values `inputs`."""
    module = ModuleOp([])
    function = func.FuncOp("main", ([type_of(value) for value in inputs], []))
    module.body.block.add_op(function)
    with ImplicitBuilder(function.body) as arguments:
        result = build(*arguments).results[0]
        func.ReturnOp(result)
    function.update_function_type()
    module.verify()
    (value,) = interpret(module, inputs)
    return value


def close(found: Array, expected: Array, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Equal in dtype and shape, and in value within a tolerance; NaN equals NaN."""
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if found.dtype.kind == "V" or found.dtype.name == "bfloat16":
        found, expected = found.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol, atol, equal_nan=True)


def same(found: Array, expected: Array) -> None:
    """Equal numbers."""
    close(found, expected, 0, 0)


def onnx_node(
    op_type: str, inputs: Sequence[Array | None], opset: int = 20, **attributes: Any
) -> Any:
    """A model of one node with one output; operands that are None are left out."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, ["y"], **attributes)],
        "graph",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in zip(names, inputs, strict=True)
            if value is not None
        ],
        [helper.make_empty_tensor_value_info("y")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def runtime(op_type: str, *inputs: Array | None, opset: int = 20, **attributes: Any) -> Array:
    """What onnxruntime gives for one node."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    model = onnx_node(op_type, inputs, opset, **attributes)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    (result,) = session.run(
        None, {f"x{i}": value for i, value in enumerate(inputs) if value is not None}
    )
    return np.asarray(result)


def reference(op_type: str, *inputs: Array | None, opset: int = 20, **attributes: Any) -> Array:
    """What ONNX's reference evaluator gives for one node."""
    model = onnx_node(op_type, inputs, opset, **attributes)
    with np.errstate(all="ignore"):
        (result,) = ReferenceEvaluator(model).run(
            None, {f"x{i}": value for i, value in enumerate(inputs) if value is not None}
        )
    return np.asarray(result)


def expected_of(folder: Path, x: Any) -> Any:
    """relu(conv(x, w) + b) of the conv.onnx in a folder (tests/unit/conftest.py), straight from the definition."""
    weights = onnx.load(folder / "conv.onnx").graph.initializer
    w, b = (numpy_helper.to_array(tensor) for tensor in weights)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.maximum(np.einsum("nchwij,ocij->nohw", windows, w) + b[:, None, None], 0)


def sample(seed: int, shape: Sequence[int], dtype: Any = "float32") -> Array:
    """Random values: whole numbers from -9 to 9, or normal ones."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind in "iub":
        low = -9 if dtype.kind == "i" else 0
        return np.asarray(rng.integers(low, 10, shape)).astype(dtype)
    return np.asarray(2 * rng.standard_normal(tuple(shape))).astype(dtype)


def random_x(*shape: int, seed: int = 0) -> Any:
    """An input of standard normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def every_index(shape: Sequence[int]) -> Any:
    """All indices of a shape, as tuples."""
    assert math.prod(shape) < 100_000, "an oracle that is written out takes too long"
    return np.ndindex(*shape)


def to_layout(array: Any, names: str, layout: str) -> Any:
    """An array with the axes `names` in a layout."""
    return np.ascontiguousarray(array.transpose([names.index(name) for name in layout]))


def from_layout(array: Any, names: str, layout: str) -> Any:
    """An array in a layout with the axes `names`."""
    return array.transpose([layout.index(name) for name in names])
