"""Emitters of constants, tuples, bodies that are inlined, and operators that only annotate a value."""

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from xrelay.dialects.core.annotation import (
    CheckpointOp,
    CompilerBeginOp,
    CompilerEndOp,
    StopFusionOp,
)
from xrelay.dialects.core.device import DeviceCopyOp, OnDeviceOp
from xrelay.dialects.core.values import (
    CalledBodyOp,
    CompositeOp,
    ConstantOp,
    FusedOp,
    TupleGetItemOp,
    TupleOp,
)
from xrelay.dialects.nn.norm import DropoutOp
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import EmitterTable, Exported, OutputGraph, Tensor
from xrelay.frontends.onnx.exporter.tensor.like import filled_like


def tuple_of_values(graph: OutputGraph, op: TupleOp) -> Exported:
    """A tuple has no node: ONNX knows tensors only."""
    return tuple(map(graph.value, op.fields))


def field(graph: OutputGraph, op: TupleGetItemOp) -> Exported:
    """A field of a tuple."""
    value = graph.value(op.tuple_value)
    assert not isinstance(value, Tensor)
    if op.index.value.data >= len(value):  # the tuple is not expressible itself
        raise NotExpressible("its tuple is not expressible")
    return value[op.index.value.data]


def body(graph: OutputGraph, op: CalledBodyOp) -> Exported:
    """The operations of a body, in place."""
    (result,) = graph.inline(op.block, list(map(graph.value, op.args)))
    return result


def call(graph: OutputGraph, op: CallOp) -> Exported:
    """The operations of a function of the module, in place."""
    callee = SymbolTable.lookup_symbol(op, op.callee)
    if not isinstance(callee, FuncOp) or callee.is_declaration:
        raise NotExpressible(f"the function {op.callee} is not in the module, or has no body")
    results = graph.inline_function(callee, list(map(graph.value, op.arguments)))
    if len(results) != 1:
        raise NotExpressible(f"the function {op.callee} has {len(results)} results, expected one")
    return results[0]


def annotated(graph: OutputGraph, op: Operation) -> Exported:
    """The operand itself."""
    return graph.value(op.operands[0])


def dropout(graph: OutputGraph, op: DropoutOp) -> Exported:
    """Dropout does nothing in inference; its mask is made of ones."""
    data = graph.tensor(op.data)
    return data, filled_like(graph, graph.scalar(1, data.dtype), op.data)


EMITTERS: EmitterTable = {
    CallOp: call,
    CheckpointOp: annotated,
    CompilerBeginOp: annotated,
    CompilerEndOp: annotated,
    CompositeOp: body,
    ConstantOp: OutputGraph.weight,
    DeviceCopyOp: annotated,
    DropoutOp: dropout,
    FusedOp: body,
    OnDeviceOp: annotated,
    StopFusionOp: annotated,
    TupleGetItemOp: field,
    TupleOp: tuple_of_values,
}
