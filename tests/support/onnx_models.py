"""Small ONNX models for tests, and what the importer makes of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from xrelay.frontends.onnx import import_model
from xrelay.interpreters.relay import interpret

Array = np.ndarray


class Samples:
    """Seeded random arrays: each file of tests has its own, whichever others run."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)

    def floats(self, *shape: int, dtype: str = "float32") -> Array:
        return self.random.standard_normal(shape).astype(dtype)

    def integers(self, *shape: int, low: int = -9, high: int = 9, dtype: str = "int64") -> Array:
        return self.random.integers(low, high, shape).astype(dtype)

    def bools(self, *shape: int) -> Array:
        return self.random.integers(0, 2, shape).astype(bool)


def longs(*values: int) -> Array:
    return np.array(values, np.int64)


def value_info(name: str, array: Array) -> ValueInfoProto:
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
    )


def untyped(name: str) -> ValueInfoProto:
    return ValueInfoProto(name=name)


def build(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    initializers: Sequence[TensorProto] = (),
    opset: int = 13,
) -> ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])


def one_node(
    op: str,
    data: Sequence[Array | None],
    constants: Sequence[Array | None] = (),
    opset: int = 13,
    outputs: int = 1,
    **attributes: Any,
) -> ModelProto:
    """A model of one node whose first inputs are graph inputs, the others initializers."""
    names: list[str] = []
    inputs: list[ValueInfoProto] = []
    initializers: list[TensorProto] = []
    for i, array in enumerate([*data, *constants]):
        names.append("" if array is None else f"in{i}")
        if array is None:
            continue
        if i < len(data):
            inputs.append(value_info(f"in{i}", array))
        else:
            initializers.append(numpy_helper.from_array(array, f"in{i}"))
    results = [f"out{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, "the_node", **attributes)
    return build([node], inputs, [untyped(name) for name in results], initializers, opset)


def by_import(model: ModelProto, data: Sequence[Array], **options: Any) -> tuple[Array, ...]:
    module = import_model(model, **options)
    module.verify()
    return interpret(module, list(data))


def operations(module: ModuleOp) -> list[Operation]:
    """The operations of @main without the return."""
    function = main(module)
    return list(function.body.block.ops)[:-1]


def main(module: ModuleOp) -> FuncOp:
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    return function
