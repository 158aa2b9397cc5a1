"""
The ONNX graph that an export makes: nodes, initializers and their names.

Emitters (in the folders of the families) add nodes through `OutputGraph`, which looks every node up in the schemas of
the operator set: an input of a dtype that the operator does not take is refused there, for all
emitters alike. Nodes and initializers that no output needs are left out in the end.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from onnx import NodeProto, TensorProto, defs, helper
from xdsl.dialects.builtin import DYNAMIC_INDEX, TupleType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import INLINE_ELEMENTS, ConstantOp
from xrelay.dialects.dtypes import is_element_type
from xrelay.dialects.model_names import model_name
from xrelay.dialects.shapes import is_tensor_type, shape_text
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.tensors import FOLDED_ELEMENTS, data_type_of
from xrelay.interpreters import arrays
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.constants import known_array
from xrelay.interpreters.numerics import convert

OPSET = 21
"""
The operator set of exported models: the newest that the oldest onnxruntime takes which the tests
accept (1.20). onnxruntime 1.31 and OpenVINO 2026 take it, too.
"""
IR_VERSION = 10
"""The version of the file format that came with this operator set."""

DType: TypeAlias = np.dtype[Any]

INT32, INT64, UINT64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64)
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
BOOL = np.dtype(np.bool_)


@dataclass(frozen=True)
class Tensor:
    """A tensor of the ONNX graph."""

    name: str
    dtype: DType


Exported: TypeAlias = "Tensor | tuple[Exported, ...]"
"""What an SSA value becomes: a tensor, or the fields of a tuple."""

Emitter: TypeAlias = Callable[["OutputGraph", Any], Exported]
"""
Adds the nodes that compute an operation, and returns what its result becomes.

Raises NotExpressible with the reason when ONNX has no operators for it.
"""

EmitterTable: TypeAlias = Mapping[type[Operation], Emitter]


@cache
def schema(op_type: str) -> defs.OpSchema:
    """The schema of an operator in the exported operator set."""
    return defs.get_schema(op_type, OPSET, "")


def type_name(dtype: DType) -> str:
    """A dtype as schemas name it: tensor(float)."""
    return f"tensor({TensorProto.DataType.Name(data_type_of(dtype)).lower()})"


@cache
def accepts(op_type: str, dtype: DType, position: int = 0) -> bool:
    """Whether an operator takes a dtype as an input."""
    inputs = schema(op_type).inputs
    return type_name(dtype) in inputs[min(position, len(inputs) - 1)].types


def dtype_of(type_: Attribute, what: str) -> DType:
    """The NumPy type of a tensor's elements; `what` names the tensor in the refusal of others."""
    if not is_tensor_type(type_):
        raise NotExpressible(f"{what} is {type_}, which is no tensor")
    return element_dtype(type_.element_type, f"the element type of {what}")


def element_dtype(type_: Attribute, what: str) -> DType:
    """The NumPy type of an element type; `what` names it in the refusal of others."""
    if not is_element_type(type_):
        raise NotExpressible(f"{what} is {type_}, which ONNX does not have")
    return arrays.dtype_of(type_)


def leaves(exported: Exported) -> list[Tensor]:
    """The tensors in a tuple, from the left."""
    if isinstance(exported, Tensor):
        return [exported]
    return [leaf for field in exported for leaf in leaves(field)]


def label_of(op: Operation) -> str | None:
    """The ONNX name that an import left at an operation, else its name in the program."""
    return model_name(op) or (op.results[0].name_hint if op.results else None)


class OutputGraph:
    """The ONNX graph while an export makes it."""

    def __init__(self, emitters: EmitterTable):
        self.emitters = emitters
        self.problems: list[tuple[Operation, str]] = []
        """The operations that ONNX cannot express, each with the reason."""
        self.nodes: list[NodeProto] = []
        self._label = ""
        self._called: list[FuncOp] = []
        """The functions whose bodies are being inlined."""
        self._values: dict[SSAValue, Exported] = {}
        self._constants: dict[str, ConstantOp | Array] = {}
        """What initializers hold, by name."""
        self._small: dict[tuple[DType, tuple[int, ...], bytes], Tensor] = {}
        self._used: dict[str, int] = {}
        """How often a base of names was asked for."""

    # Names

    def reserve(self, name: str) -> None:
        """Keeps a name for an input or an output of the graph."""
        self._used.setdefault(name, 1)

    def unique(self, base: str) -> str:
        """A name that nothing has yet: `base`, or with a number after it."""
        name = base
        while name in self._used:
            name = f"{base}_{self._used[base]}"
            self._used[base] += 1
        self._used[name] = 1
        return name

    # Values

    def value(self, value: SSAValue) -> Exported:
        """
        What a value becomes. One that is not in this graph, because a single operation is examined,
        becomes a constant or an input.
        """
        if value not in self._values:
            owner = value.owner
            self._values[value] = (
                self.weight(owner)
                if isinstance(owner, ConstantOp)
                else self._placeholder(value.type)
            )
        return self._values[value]

    def _placeholder(self, type_: Attribute) -> Exported:
        """Tensors of a type that nothing computes."""
        if isinstance(type_, TupleType):
            return tuple(map(self._placeholder, type_.types.data))
        return Tensor(self.unique("value"), dtype_of(type_, "a value"))

    def tensor(self, value: SSAValue) -> Tensor:
        """The tensor that a value becomes."""
        exported = self.value(value)
        if not isinstance(exported, Tensor):
            raise NotExpressible(f"an operand is {value.type}, which is no tensor")
        return exported

    def tensors(self, value: SSAValue) -> list[Tensor]:
        """The tensors that the fields of a tuple become."""
        return leaves(self.value(value))

    def shape(self, value: SSAValue, what: str = "data") -> tuple[int, ...]:
        """The shape of an operand, refused when a dimension is unknown."""
        assert is_tensor_type(value.type)
        shape = value.type.get_shape()
        if DYNAMIC_INDEX in shape:
            raise NotExpressible(
                f"'{what}' has the shape {shape_text(shape)}: dimension "
                f"{shape.index(DYNAMIC_INDEX)} is unknown"
            )
        return tuple(shape)

    def result_shape(self, op: Operation) -> tuple[int, ...]:
        """The shape of a result, refused when a dimension is unknown."""
        return self.shape(op.results[0], "result")

    def known(self, tensor: Tensor) -> Array | None:
        """The elements of a constant."""
        constant = self._constants.get(tensor.name)
        return known_array(constant.result) if isinstance(constant, ConstantOp) else constant

    # Constants

    def weight(self, op: ConstantOp) -> Tensor:
        """The tensor of a constant. Its bytes are not copied before they are needed."""
        dtype = dtype_of(op.result.type, "the constant")
        if op.result.type.get_shape() == ():
            array = known_array(op.result)
            if array is not None:
                return self.constant(array)
        name = self.unique(label_of(op) or "constant")
        self._constants[name] = op
        return Tensor(name, dtype)

    def constant(self, array: Array, name: str = "constant") -> Tensor:
        """A tensor with the elements of an array, one for all small ones that are equal."""
        key = None
        if array.size <= INLINE_ELEMENTS:
            key = (array.dtype, array.shape, array.tobytes())
            if key in self._small:
                return self._small[key]
        tensor = Tensor(self.unique(name), array.dtype)
        self._constants[tensor.name] = array
        if key is not None:
            self._small[key] = tensor
        return tensor

    def scalar(self, number: float | bool, dtype: DType) -> Tensor:
        """A number as a tensor of rank 0."""
        return self.constant(convert(np.asarray(number), dtype))

    def integers(self, numbers: Sequence[int]) -> Tensor:
        """Numbers as a tensor of rank 1, of i64."""
        return self.constant(np.array(numbers, np.int64))

    # Nodes

    def node(
        self, op_type: str, *inputs: Tensor | None, dtype: DType | None = None, **attributes: Any
    ) -> Tensor:
        """The first output of a new node; `dtype` where it does not follow from the inputs."""
        return self.nodes_outputs(op_type, *inputs, count=1, dtype=dtype, **attributes)[0]

    def nodes_outputs(
        self,
        op_type: str,
        *inputs: Tensor | None,
        count: int,
        dtype: DType | None = None,
        **attributes: Any,
    ) -> tuple[Tensor, ...]:
        """The outputs of a new node. An input that is absent is None."""
        found = schema(op_type)
        bound: dict[str, DType] = {}
        for position, tensor in enumerate(inputs):
            if tensor is None:
                continue
            formal = found.inputs[min(position, len(found.inputs) - 1)]
            if not accepts(op_type, tensor.dtype, position):
                raise NotExpressible(
                    f"ONNX's {op_type} takes no elements of type {tensor.dtype} as its input "
                    f"'{formal.name}'"
                )
            bound.setdefault(formal.type_str, tensor.dtype)
        outputs: list[Tensor] = []
        for position in range(count):
            formal = found.outputs[min(position, len(found.outputs) - 1)]
            own = bound.get(formal.type_str) if dtype is None else dtype
            if own is None:
                (only,) = formal.types
                own = _dtype_named(only)
            outputs.append(Tensor(self.unique(self._label or op_type), own))
        node = NodeProto(
            op_type=op_type,
            name=outputs[0].name,
            input=[tensor.name if tensor is not None else "" for tensor in inputs],
            output=[tensor.name for tensor in outputs],
        )
        for name, value in attributes.items():
            if value is not None:
                node.attribute.append(helper.make_attribute(name, value))
        self.nodes.append(node)
        return tuple(outputs)

    def cast(self, tensor: Tensor, dtype: DType) -> Tensor:
        """A tensor with elements of another dtype."""
        if tensor.dtype == dtype:
            return tensor
        known = self.known(tensor)
        if known is not None and known.size <= INLINE_ELEMENTS and known.dtype.kind in "iub":
            return self.constant(convert(known, dtype))
        return self.node("Cast", tensor, dtype=dtype, to=data_type_of(dtype))

    def reshape(self, tensor: Tensor, shape: Sequence[int]) -> Tensor:
        """A tensor with another shape, all of whose dimensions are known."""
        known = self.known(tensor)
        if known is not None and known.size <= FOLDED_ELEMENTS:
            return self.constant(known.reshape(tuple(shape)), tensor.name)
        zeros = 1 if 0 in shape else None
        return self.node("Reshape", tensor, self.integers(shape), allowzero=zeros)

    def transpose(self, tensor: Tensor, axes: Sequence[int]) -> Tensor:
        """A tensor with its axes in another order."""
        if list(axes) == list(range(len(axes))):
            return tensor
        return self.node("Transpose", tensor, perm=list(axes))

    def unsqueeze(self, tensor: Tensor, axes: Sequence[int]) -> Tensor:
        """A tensor with new axes of length 1; `axes` counts in the result."""
        if not axes:
            return tensor
        known = self.known(tensor)
        if known is not None and known.size <= FOLDED_ELEMENTS:
            return self.constant(np.expand_dims(known, tuple(axes)), tensor.name)
        return self.node("Unsqueeze", tensor, self.integers(axes))

    def along(self, tensor: Tensor, axis: int, rank: int) -> Tensor:
        """A vector shaped to broadcast along an axis of tensors of a rank."""
        return self.unsqueeze(tensor, range(1, rank - axis))

    def filled(self, tensor: Tensor, shape: Sequence[int]) -> Tensor:
        """A tensor of a shape that repeats a scalar."""
        return self.node("Expand", tensor, self.integers(shape)) if shape else tensor

    def zeros(self, op: Operation, dtype: DType) -> Tensor:
        """The result of an operation, all of whose elements are 0, or which has none."""
        return self.filled(self.scalar(0, dtype), self.result_shape(op))

    def slice(
        self, tensor: Tensor, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int]
    ) -> Tensor:
        """The elements from `starts` to `ends` along some axes."""
        return self.node("Slice", tensor, *map(self.integers, (starts, ends, axes)))

    # Operations

    def emit(self, op: Operation) -> None:
        """Adds the nodes of an operation with one result, or its problem."""
        result = op.results[0]
        self._label = label_of(op) or op.name.rpartition(".")[2]
        try:
            emitter = self.emitters.get(type(op))
            if emitter is None:
                raise NotExpressible("ONNX has no operator for it")
            undefined = op.undefined() if isinstance(op, RelayOp) else None
            if undefined is not None:
                raise NotExpressible(undefined)
            self._values[result] = emitter(self, op)
        except NotExpressible as error:
            self.problems.append((op, str(error)))
            # Its users are examined all the same: it becomes something that nothing computes, without tensors where
            # ONNX has no such type.
            self._values[result] = ()
            with suppress(NotExpressible):
                self._values[result] = self._placeholder(result.type)

    def inline(self, block: Block, arguments: Sequence[Exported]) -> list[Exported]:
        """Adds the operations of a body; what the operands of its last operation become."""
        self._values.update(zip(block.args, arguments, strict=True))
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is not last:
                self.emit(op)
        return [self.value(value) for value in last.operands]

    def inline_function(self, function: FuncOp, arguments: Sequence[Exported]) -> list[Exported]:
        """Adds the operations of a called function, as `inline`."""
        if function in self._called:
            raise NotExpressible(f"the function @{function.sym_name.data} calls itself")
        self._called.append(function)
        results = self.inline(function.body.block, arguments)
        self._called.pop()
        return results

    # The finished graph

    def needed_nodes(self, outputs: Sequence[Tensor]) -> list[NodeProto]:
        """The nodes that some tensors need, in order."""
        needed = {tensor.name for tensor in outputs}
        kept: list[NodeProto] = []
        for node in reversed(self.nodes):
            if not needed.isdisjoint(node.output):
                needed.update(node.input)
                kept.append(node)
        return kept[::-1]

    def initializers(self, names: set[str]) -> list[tuple[str, Array]]:
        """
        The constants among some names, in the order of the program.

        Raises NotExpressible when the bytes of one are missing.
        """
        found: list[tuple[str, Array]] = []
        for name in self._constants:
            if name in names:
                array = self.known(Tensor(name, BOOL))
                if array is None:
                    raise NotExpressible(f"the bytes of constant '{name}' are missing")
                found.append((name, array))
        return found


def _dtype_named(name: str) -> DType:
    """The dtype of a type as schemas name it: tensor(int64)."""
    code = TensorProto.DataType.Value(name.removeprefix("tensor(").removesuffix(")").upper())
    return np.dtype(helper.tensor_dtype_to_np_dtype(code))
