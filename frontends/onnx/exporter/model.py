"""
Exports a function of relay operations as an ONNX model.

The operations are visited in order. For each its emitter (`emitters.py`) adds the nodes that compute it;
bodies of `relay.fused`, `relay.composite` and called functions are inlined. One that ONNX cannot
express is noted with the reason, and the export goes on, so that one error names them all.
`reason_not_exported` runs the same emitter on a graph of its own: what it answers is what an export does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from reprlib import repr as shown
from typing import BinaryIO, cast

import numpy as np
from onnx import GraphProto, ModelProto, OperatorSetIdProto, TensorProto, ValueInfoProto
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TupleType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.ports import Port, entry_function, ports
from xrelay.frontends.onnx.errors import NotExpressible, OnnxExportError
from xrelay.frontends.onnx.exporter.emitters import EMITTERS
from xrelay.frontends.onnx.exporter.graph import (
    IR_VERSION,
    OPSET,
    Exported,
    OutputGraph,
    Tensor,
    dtype_of,
    label_of,
    leaves,
)
from xrelay.frontends.onnx.tensors import data_type_of
from xrelay.interpreters.arrays import Array

MAX_MODEL_BYTES = 2**31 - 2**20
"""What the weights of a model may take inside of it: protobuf's limit, and room for the graph."""
EXTERNAL_BYTES = 1024
"""Smaller tensors stay in the model when weights go to a file of their own."""
ALIGNMENT = 4096
"""Where a tensor may begin in such a file, so that it can be mapped into memory."""


@dataclass
class ExternalWeights:
    """A file beside the model that takes its weights."""

    location: str
    """The name of the file, from the folder of the model."""
    file: BinaryIO
    """Takes the bytes, from its beginning."""

    def store(self, tensor: TensorProto, array: Array) -> None:
        """Writes elements, and where they stand into the tensor."""
        padding = -self.file.tell() % ALIGNMENT
        self.file.write(b"\0" * padding)
        entries = {"location": self.location, "offset": self.file.tell(), "length": array.nbytes}
        self.file.write(array.reshape(-1).view(np.uint8).data)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))


def export_model(
    program: FuncOp | ModuleOp, name: str, *, external: ExternalWeights | None = None
) -> ModelProto:
    """
    The ONNX model, of operator set 21, that computes a function; of a module, its entry
    function.

    The function's parameters are the inputs and its results the outputs, with the names that an
    import has left at them, else those in the program, else `input0`, `output0`, …; a tuple becomes
    a tensor for each field, `name.0`, `name.1`, …. Constants are initializers, whose bytes go to the
    file `external` when one is given. `name` is the name of the graph.

    Raises OnnxExportError that lists every operation that ONNX cannot express, each with the reason,
    and for weights of more than 2 GiB without a file for them.
    """
    if not isinstance(cast(object, program), FuncOp | ModuleOp):
        raise OnnxExportError(f"the program is {shown(program)}, expected a FuncOp or a ModuleOp")
    if not isinstance(cast(object, name), str):
        raise OnnxExportError(f"the name is {shown(name)}, expected a str")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise OnnxExportError(f"the name is {shown(name)}, which is no text: {error}") from None
    if not isinstance(cast(object, external), ExternalWeights | None):
        raise OnnxExportError(f"external is {shown(external)}, expected ExternalWeights")
    try:
        entry = program if isinstance(program, FuncOp) else entry_function(program)
        return _export(entry, name, external)
    except DiagnosticException as error:
        raise OnnxExportError(f"cannot export '{name}' to ONNX: {error}") from None


def reason_not_exported(op: Operation) -> str | None:
    """
    Why an operation cannot be part of an ONNX model; None when it can. It looks at the operation,
    at its body, and at operands that are constants.
    """
    graph = OutputGraph(EMITTERS)
    try:
        graph.emit(op)
    except NotExpressible as error:  # an operand of a dtype that ONNX does not have
        return str(error)
    if not graph.problems:
        return None
    refused, reason = graph.problems[0]
    return reason if refused is op else f"its body has {refused.name}: {reason}"


def _export(function: FuncOp, name: str, external: ExternalWeights | None) -> ModelProto:
    if function.is_declaration:
        raise OnnxExportError(f"function @{function.sym_name.data} has no body")
    block = function.body.blocks[0]
    if len(function.body.blocks) > 1 or not isinstance(block.last_op, ReturnOp):
        raise OnnxExportError(
            f"function @{function.sym_name.data} is not one block that ends in func.return"
        )
    graph = OutputGraph(EMITTERS)
    inputs, outputs = ports(function)
    model = GraphProto(name=name)
    for port in (*inputs, *outputs):
        graph.reserve(port.name)
    try:
        model.input.extend(map(_value_info, inputs))
        model.output.extend(map(_value_info, outputs))
    except NotExpressible as error:
        raise OnnxExportError(str(error)) from None

    tensors = iter([Tensor(port.name, dtype_of(port.type, port.name)) for port in inputs])
    results = graph.inline(block, [_argument(arg.type, tensors) for arg in block.args])
    if graph.problems:
        count = len(graph.problems)
        lines = "".join(f"\n  {_what(op)}: {reason}" for op, reason in graph.problems)
        raise OnnxExportError(
            f"{count} operation{'s' if count > 1 else ''} cannot be expressed:{lines}"
        )
    found = [leaf for result in results for leaf in leaves(result)]
    names = [port.name for port in outputs]
    _name_outputs(graph, names, found, {port.name for port in inputs})
    ends = [Tensor(end, tensor.dtype) for end, tensor in zip(names, found, strict=True)]
    model.node.extend(graph.needed_nodes(ends))
    _add_initializers(model, graph, external)
    return ModelProto(
        ir_version=IR_VERSION,
        producer_name="xrelay",
        opset_import=[OperatorSetIdProto(domain="", version=OPSET)],
        graph=model,
    )


def _what(op: Operation) -> str:
    label = label_of(op)
    return f"{op.name} '{label}'" if label else op.name


def _argument(type_: Attribute, tensors: Iterator[Tensor]) -> Exported:
    """A parameter made of the next tensors."""
    if isinstance(type_, TupleType):
        return tuple(_argument(field, tensors) for field in type_.types.data)
    return next(tensors)


def _value_info(port: Port) -> ValueInfoProto:
    """The description of an input or output; unknown dimensions are left open."""
    value = ValueInfoProto(name=port.name)
    tensor = value.type.tensor_type
    tensor.elem_type = data_type_of(dtype_of(port.type, f"'{port.name}'"))
    tensor.shape.SetInParent()
    for dim in port.type.get_shape():
        if dim == DYNAMIC_INDEX:
            tensor.shape.dim.add()
        elif dim < 1 << 63:
            tensor.shape.dim.add(dim_value=dim)
        else:
            raise OnnxExportError(
                f"'{port.name}' is {port.type}, ONNX has no dimensions of 2**63 or more"
            )
    return value


def _name_outputs(
    graph: OutputGraph, names: Sequence[str], tensors: Sequence[Tensor], inputs: set[str]
) -> None:
    """Gives tensors the names of the outputs: new ones, or a copy where they have to keep theirs."""
    computed = {name for node in graph.nodes for name in node.output}
    renamed: dict[str, str] = {}
    for name, tensor in zip(names, tensors, strict=True):
        if name in inputs and tensor.name == name:
            continue
        if name in inputs:
            raise OnnxExportError(f"'{name}' is the name of an input and of an output")
        if tensor.name in computed and tensor.name not in renamed:
            renamed[tensor.name] = name
        else:
            copy = graph.node("Identity", tensor)
            renamed[copy.name] = name
    for node in graph.nodes:
        for side in (node.input, node.output):
            for position, old in enumerate(side):
                if old in renamed:
                    side[position] = renamed[old]


def _add_initializers(
    model: GraphProto, graph: OutputGraph, external: ExternalWeights | None
) -> None:
    used = {name for node in model.node for name in node.input}
    try:
        arrays = graph.initializers(used)
    except NotExpressible as error:
        raise OnnxExportError(str(error)) from None
    size = sum(array.nbytes for _, array in arrays)
    if external is None and size > MAX_MODEL_BYTES:
        raise OnnxExportError(
            f"the weights take {size} bytes, a model holds at most {MAX_MODEL_BYTES}: they need a "
            "file of their own (external data)"
        )
    for name, array in arrays:
        tensor = model.initializer.add(
            name=name, data_type=data_type_of(array.dtype), dims=array.shape
        )
        # Bytes are little-endian: the dtypes of `tensors.py` are.
        packed: Array = np.ascontiguousarray(array).reshape(array.shape)
        if external is not None and packed.nbytes >= EXTERNAL_BYTES:
            external.store(tensor, packed)
        else:
            tensor.raw_data = packed.tobytes()
