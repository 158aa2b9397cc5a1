"""Exported models: run by onnxruntime, or by ONNX's reference evaluator where that has no kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from graphs import Graph, leaves
from onnx import ModelProto, checker
from onnx.reference import ReferenceEvaluator
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import SSAValue

from xrelay.dialects.shapes import leaf_count
from xrelay.frontends.onnx.exporter.model import export_model, reason_not_exported
from xrelay.interpreters.arrays import Array

NO_KERNEL = (
    onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented,
    onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph,
    onnxruntime.capi.onnxruntime_pybind11_state.Fail,
)
"""What onnxruntime raises for operators and dtypes that it cannot run."""


class ConstantParameters(Graph):
    """
    A graph whose vectors and scalars are constants, as ONNX has zero points and scales, and without
    NaN, which quantises to what an engine likes.
    """

    def numbers(self, dtype: Any, *shape: int) -> Array:
        x = super().numbers(dtype, *shape)
        return np.nan_to_num(x, nan=1, posinf=np.inf, neginf=-np.inf) if x.dtype.kind == "f" else x

    def input(self, value: Any) -> SSAValue:
        is_parameter = not isinstance(value, tuple) and np.ndim(value) < 2
        return self.constant(value) if is_parameter else super().input(value)


@dataclass(frozen=True)
class Part:
    """The part of a graph that can be exported."""

    module: ModuleOp
    outputs: list[int]
    """The numbers of the graph's outputs that it computes."""
    refused: dict[str, str]
    """Operators that cannot be exported, and why."""


def exportable(graph: Graph, wanted: Sequence[int] | None = None) -> Part:
    """
    A graph without the outputs that need an operation which cannot be exported, and of these the
    wanted ones only.
    """
    module = graph.module().clone()
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    block, refused = function.body.block, dict[str, str]()
    lost: set[SSAValue] = set()
    for op in block.ops:
        if isinstance(op, func.ReturnOp):
            continue
        reason = reason_not_exported(op)
        if reason is not None:
            refused[op.name] = reason
        if reason is not None or not lost.isdisjoint(op.operands):
            lost.update(op.results)
    end = block.last_op
    assert end is not None
    kept = [
        i
        for i, value in enumerate(end.operands)
        if value not in lost and (wanted is None or i in wanted)
    ]
    values = [end.operands[i] for i in kept]
    end.detach()
    end.drop_all_references()
    block.add_op(func.ReturnOp(*values))
    for op in reversed(list(block.ops)[:-1]):
        if not any(result.first_use for result in op.results):
            op.detach()
            op.drop_all_references()
    function.function_type = FunctionType.from_lists(
        [arg.type for arg in block.args], [value.type for value in values]
    )
    return Part(module, kept, refused)


def checked_export(module: ModuleOp) -> ModelProto:
    """The model of a module, which ONNX's checker accepts."""
    model = export_model(module, "test")
    checker.check_model(model, full_check=True)
    return model


def computed(graph: Graph, part: Part) -> list[list[Array]]:
    """For each of the part's outputs its arrays, as onnxruntime or the evaluator computes them."""
    inputs = [array for value in graph.inputs for array in leaves(value)]
    counts = [leaf_count(graph.outputs[i].value.type) for i in part.outputs]
    model = checked_export(part.module)
    try:
        found = run_session(model, inputs)
    except NO_KERNEL:
        if len(part.outputs) == 1:
            return [run_evaluator(model, inputs)]
        each = (exportable(graph, [i]) for i in part.outputs)
        return [arrays for one in each for arrays in computed(graph, one)]
    rest = iter(found)
    return [[next(rest) for _ in range(count)] for count in counts]


def session(model: ModelProto) -> onnxruntime.InferenceSession:
    """onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def feeds(model: ModelProto, inputs: Sequence[Array]) -> dict[str, Array]:
    """The inputs of a model by name."""
    return {value.name: array for value, array in zip(model.graph.input, inputs, strict=True)}


def run_session(model: ModelProto, inputs: Sequence[Array]) -> list[Array]:
    """What onnxruntime computes."""
    return list(map(np.asarray, session(model).run(None, feeds(model, inputs))))


def run_evaluator(model: ModelProto, inputs: Sequence[Array]) -> list[Array]:
    """What ONNX's reference evaluator computes."""
    with np.errstate(all="ignore"):
        results = ReferenceEvaluator(model).run(None, feeds(model, inputs))
    return list(map(np.asarray, results))


def run(model: ModelProto, inputs: Sequence[Array]) -> list[Array]:
    """What a model computes of its inputs, in order."""
    try:
        return run_session(model, inputs)
    except NO_KERNEL:
        return run_evaluator(model, inputs)
