"""
Running one operator in the NumPy interpreter, and what to compare it with: ONNX's reference
evaluator, onnxruntime, and values with extreme ones among them.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
from hypothesis import HealthCheck
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator
from tiers import fixed_examples
from xdsl.builder import ImplicitBuilder
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, scf, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser

from xrelay.dialects.relay import Relay
from xrelay.interpreters.arrays import Array, type_of
from xrelay.interpreters.relay import interpret

BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(name) for name in ("float16", "float32", "float64")] + [BF16]
SIGNED = [np.dtype(f"int{width}") for width in (8, 16, 32, 64)]
UNSIGNED = [np.dtype(f"uint{width}") for width in (8, 16, 32, 64)]
BOOL = np.dtype(bool)
INTEGERS = [*SIGNED, *UNSIGNED, BOOL]
F32 = np.dtype(np.float32)

run_settings = fixed_examples(30, HealthCheck.too_slow, HealthCheck.filter_too_much)

# Running operators and oracles


def evaluate(
    build: Callable[..., Operation], *inputs: Array, types: Sequence[Attribute] | None = None
) -> Any:
    """The value of the operation that `build` makes of operands with the values `inputs`."""
    module = ModuleOp([])
    function = func.FuncOp("main", ([*(types or map(type_of, inputs))], []))
    module.body.block.add_op(function)
    with ImplicitBuilder(function.body) as arguments:
        result = build(*arguments).results[0]
        func.ReturnOp(result)
    function.update_function_type()
    module.verify()
    (value,) = interpret(module, inputs)
    return value


def same(found: Array, expected: Array) -> None:
    """Equal bit for bit, apart from the payload of NaN and the sign of 0."""
    close(found, expected, 0, 0)


def close(found: Array, expected: Array, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if found.dtype == BF16:
        found, expected = found.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_allclose(found, expected, rtol, atol, equal_nan=True)


def onnx_model(op_type: str, inputs: Sequence[Array], outputs: int, **attributes: Any) -> Any:
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, results, **attributes)],
        "graph",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in zip(names, inputs, strict=True)
        ],
        [helper.make_empty_tensor_value_info(name) for name in results],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def reference(op_type: str, *inputs: Array, outputs: int = 1, **attributes: Any) -> Any:
    """What ONNX's reference evaluator gives for one node."""
    model = onnx_model(op_type, inputs, outputs, **attributes)
    with np.errstate(all="ignore"):
        results = ReferenceEvaluator(model).run(
            None, {f"x{i}": value for i, value in enumerate(inputs)}
        )
    arrays = [np.asarray(result) for result in results]
    return arrays[0] if outputs == 1 else tuple(arrays)


def runtime(op_type: str, *inputs: Array, outputs: int = 1, **attributes: Any) -> Any:
    """What onnxruntime gives for one node."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    model = onnx_model(op_type, inputs, outputs, **attributes)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    results = session.run(None, {f"x{i}": value for i, value in enumerate(inputs)})
    arrays = [np.asarray(result) for result in results]
    return arrays[0] if outputs == 1 else tuple(arrays)


# Values

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 127.5, 1e9, -1e30, 3e38, 1e-30]
EDGES += [np.inf, -np.inf, np.nan]


def sample(seed: int, shape: Sequence[int], dtype: np.dtype[Any], *, edges: bool = True) -> Array:
    """Random values of a dtype, a part of them extreme."""
    rng = np.random.default_rng(seed)
    count = math.prod(shape)
    if dtype == BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        values = rng.integers(max(info.min, -9), 10, count).astype(dtype)
        if edges and count:
            special = np.array([info.min, info.max, info.max - 1, 0], dtype)
            chosen = rng.random(count) < 0.3
            values[chosen] = rng.choice(special, int(chosen.sum()))
        return values.reshape(shape)
    values = rng.normal(0, 2, count)
    if edges and count:
        chosen = rng.random(count) < 0.3
        values[chosen] = rng.choice(np.array(EDGES), int(chosen.sum()))
    with np.errstate(all="ignore"):
        return values.astype(dtype).reshape(shape)


def ints(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    """Whole numbers from `low` to `high`."""
    return rng.integers(low, high + 1, count).tolist()


def pick(rng: np.random.Generator, low: int, high: int) -> int:
    """One of them."""
    return int(rng.integers(low, high + 1))


seeds = st.integers(0, 2**32)
dims = st.integers(0, 4)
shapes = st.lists(dims, max_size=4)
full_shapes = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@st.composite
def broadcastable(draw: st.DrawFn, count: int) -> list[list[int]]:
    """Shapes that broadcast together."""
    whole = draw(shapes)
    result: list[list[int]] = []
    for _ in range(count):
        shape = [draw(st.sampled_from([dim, 1])) for dim in whole]
        result.append(shape[draw(st.integers(0, len(shape))) :])
    return result


def bits(dtype: np.dtype[Any]) -> int:
    return 1 if dtype == BOOL else 8 * dtype.itemsize


def wrapped(value: int, dtype: np.dtype[Any]) -> int:
    """`value` modulo the range of an integer dtype."""
    value %= 1 << bits(dtype)
    return value - (1 << bits(dtype)) if dtype in SIGNED and value >> (bits(dtype) - 1) else value


def by_integers(function: Callable[..., int], dtype: np.dtype[Any], *inputs: Array) -> Array:
    """`function` of Python's integers for each element, then modulo the range of `dtype`."""
    operands = np.broadcast_arrays(*inputs)
    columns = [[int(x) for x in operand.reshape(-1)] for operand in operands]
    values = [wrapped(function(*row), dtype) for row in zip(*columns, strict=True)]
    return np.array(values, dtype).reshape(operands[0].shape)


def by_floats(function: Callable[..., Any], dtype: np.dtype[Any], *inputs: Array) -> Array:
    """`function` of float64 values for each element, rounded to `dtype` once."""
    operands = np.broadcast_arrays(*(value.astype(np.float64) for value in inputs))
    columns = [operand.reshape(-1).tolist() for operand in operands]
    values = [function(*row) for row in zip(*columns, strict=True)]
    with np.errstate(all="ignore"):
        return np.array(values, np.float64).astype(dtype).reshape(operands[0].shape)


@st.composite
def windows(draw: st.DrawFn) -> dict[str, Any]:
    """Sizes of an image and of windows over it, of which at least one fits."""
    kernel = [draw(st.integers(1, 3)) for _ in range(2)]
    dilation = [draw(st.integers(1, 2)) for _ in range(2)]
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    padding = [draw(st.integers(0, kernel[i % 2] - 1)) for i in range(4)]
    return {
        "image": [e + draw(st.integers(0, 5)) for e in extent],
        "kernel": kernel,
        "strides": [draw(st.integers(1, 3)) for _ in range(2)],
        "dilation": dilation,
        "padding": padding,
    }


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (builtin.Builtin, func.Func, scf.Scf, tensor.Tensor, arith.Arith, Relay):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module
