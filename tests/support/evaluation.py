"""Single operators in the interpreter and in ONNX's evaluators."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region

from xrelay.interpreters.arrays import Array, type_of
from xrelay.interpreters.relay import interpret


def evaluate(build: Callable[..., Operation], *inputs: Array) -> Any:
    """The value of the operation that `build` makes of operands with the values `inputs`."""
    block = Block(arg_types=[type_of(array) for array in inputs])
    op = build(*block.args)
    block.add_ops([op, func.ReturnOp(op.results[0])])
    type_ = FunctionType.from_lists(block.arg_types, [op.results[0].type])
    module = ModuleOp([func.FuncOp("main", type_, Region(block))])
    module.verify()
    (value,) = interpret(module, inputs)
    return value


def onnx_model(
    op_type: str, inputs: Sequence[Array | None], outputs: int = 1, *, opset: int = 20, **attrs: Any
) -> Any:
    """A model of one node. Inputs that are None are left out."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, results, **attrs)],
        "graph",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in zip(names, inputs, strict=True)
            if value is not None
        ],
        [helper.make_empty_tensor_value_info(name) for name in results],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def _feeds(inputs: Sequence[Array | None]) -> dict[str, Array]:
    return {f"x{i}": value for i, value in enumerate(inputs) if value is not None}


def reference(op_type: str, *inputs: Array | None, **options: Any) -> Any:
    """What ONNX's reference evaluator gives for one node with one output."""
    model = onnx_model(op_type, inputs, **options)
    with np.errstate(all="ignore"):
        (result,) = ReferenceEvaluator(model).run(None, _feeds(inputs))
    return np.asarray(result)


def runtime(op_type: str, *inputs: Array | None, **options: Any) -> Any:
    """What onnxruntime gives for one node with one output."""
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = 1
    session_options.log_severity_level = 3
    model = onnx_model(op_type, inputs, **options)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), session_options, ["CPUExecutionProvider"]
    )
    (result,) = session.run(None, _feeds(inputs))
    return np.asarray(result)
