"""Exported models: run by onnxruntime, or by ONNX's reference evaluator where that has no kernel."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnxruntime
from graphs import Graph
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import SSAValue

from xrelay.frontends.onnx.exporter import reason_not_exported
from xrelay.interpreters.arrays import Array

NO_KERNEL = (
    onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented,
    onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph,
    onnxruntime.capi.onnxruntime_pybind11_state.Fail,
)
"""What onnxruntime raises for operators and dtypes that it cannot run."""


@dataclass(frozen=True)
class Exportable:
    """The part of a graph that can be exported."""

    module: ModuleOp
    outputs: list[int]
    """The numbers of the graph's outputs that it computes."""
    refused: dict[str, str]
    """An operator that cannot be exported, and why."""


def exportable(graph: Graph) -> Exportable:
    """Takes away the outputs that need an operation which cannot be exported."""
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
    kept = [i for i, value in enumerate(end.operands) if value not in lost]
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
    return Exportable(module, kept, refused)


def session(model: ModelProto) -> onnxruntime.InferenceSession:
    """onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run(model: ModelProto, inputs: Sequence[Array]) -> list[Array]:
    """What a model computes of its inputs, in order."""
    feeds = {value.name: array for value, array in zip(model.graph.input, inputs, strict=True)}
    try:
        return session(model).run(None, feeds)
    except NO_KERNEL:
        with np.errstate(all="ignore"):
            return list(map(np.asarray, ReferenceEvaluator(model).run(None, feeds)))
