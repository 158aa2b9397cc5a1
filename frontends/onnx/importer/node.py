"""What a converter sees of an ONNX node: attributes, operands, and a way to emit relay ops."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto
from xdsl.dialects.builtin import IntegerType, NameLoc, StringAttr, TensorType, TupleType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.blob import stored_bytes
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.dtypes import ElementType, is_element_type
from xrelay.dialects.lengths import LengthsAttr, is_open
from xrelay.dialects.limits import Limits
from xrelay.dialects.shapes import array_refusal, is_float, is_tensor_type, tensor_type
from xrelay.dialects.tensor.creation import ArangeOp, FullOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.errors import (
    OnnxImportError,
    ProgramTooLarge,
    UnknownOperand,
    UnknownValue,
    UnsupportedNode,
)
from xrelay.frontends.onnx.importer.flags import FLAGS
from xrelay.frontends.onnx.importer.folding import Folding
from xrelay.frontends.onnx.importer.names import identifier
from xrelay.frontends.onnx.importer.placing import place_in_post_dfs_order
from xrelay.frontends.onnx.importer.sequence_forms import Form
from xrelay.frontends.onnx.importer.shape_arithmetic import has_lengths, number_array
from xrelay.frontends.onnx.importer.sizes import MAX_ELEMENTS, require_size, require_table
from xrelay.frontends.onnx.narrow import NARROW, Narrow
from xrelay.frontends.onnx.tensors import element_type_of, tensor_array
from xrelay.interpreters.arrays import Array, dtype_of, type_of
from xrelay.interpreters.constants import constant_op
from xrelay.interpreters.numerics import convert
from xrelay.runtime.arguments import few
from xrelay.runtime.signature import InputValue, OpenValue, stored

Converter: TypeAlias = Callable[["Node"], SSAValue | Sequence[SSAValue | None]]
"""
Emits the operations of a node and returns its outputs, or the one that it has; None for outputs
that nothing uses.
"""

ConverterTable: TypeAlias = Mapping[str, Mapping[int, Converter]]
"""For each op type its converters, by the first operator set version that each is for."""


def holds(number: float, dtype: np.dtype[Any]) -> bool:
    """Whether a type of integers or bools has a number."""
    if dtype.kind == "b":
        return number in (0, 1)
    info = np.iinfo(dtype)
    return float(number).is_integer() and info.min <= number <= info.max


class Builder:
    """Creates operations that are in no block yet, and constants instead of arithmetic on these."""

    def __init__(self, limits: Limits, *, unrolls: bool = False):
        self.limits = limits
        self.unrolls = unrolls
        """Whether loops become their rounds wherever that can be."""
        self.copies = 1
        """How often small loops that are unrolled repeat what is being imported."""
        self.created: list[Operation] = []
        self._constant_bytes = 0
        self._folding = Folding(limits)
        self.narrow: dict[SSAValue, Narrow] = {}
        """The element types of values that hold others for them."""

        self.rounds: dict[SSAValue, int] = {}
        """How many rounds loops make, by the numbers of their rounds."""
        self.sequences: dict[SSAValue, Form] = {}
        """Those that are one tensor."""

    def constant(self, array: Array, name: str) -> SSAValue:
        """A new constant, also of whole numbers that are not known before the program runs."""
        if has_lengths(array):
            return self._lengths(array, i64, name)
        op = constant_op(array)
        self._constant_bytes += stored_bytes(op.value)
        excess = self.limits.bytes_excess(self._constant_bytes)
        if excess is not None:
            raise ProgramTooLarge(f"with '{name}' the constants have {excess}")
        return self.add(op, name)

    def given(self, value: InputValue, name: str) -> SSAValue:
        """A new constant of the elements of an input, some of which may be lengths."""
        if isinstance(value, OpenValue):
            return self._lengths(value.array, IntegerType(8 * value.dtype.itemsize), name)
        return self.constant(stored(value.array), name)

    def _lengths(self, array: Array, dtype: ElementType, name: str) -> SSAValue:
        type_ = TensorType(dtype, array.shape)
        return self.add(ConstantOp(LengthsAttr(tuple(array.reshape(-1))), type_), name)

    def emit(self, op: RelayOp, name: str) -> SSAValue:
        """The result of `op`, or a constant when `op` is arithmetic on constant shapes."""
        if isinstance(op, TupleGetItemOp) and isinstance(op.tuple_value.owner, TupleOp):
            value = op.tuple_value.owner.fields[op.index.value.data]
            op.drop_all_references()
            return value
        type_ = op.results[0].type
        if is_tensor_type(type_):
            require_size(type_.get_shape(), f"the result of {op.name}")
        folded = self._folding.small(op)
        if folded is None:
            return self.add(op, name)
        op.drop_all_references()
        if isinstance(folded, tuple):
            assert isinstance(type_, TupleType)
            arrays = zip(cast(tuple[Array, ...], folded), type_.types.data, strict=True)
            return self.add(TupleOp([self._of_type(*each, name) for each in arrays]), name)
        return self._of_type(folded, type_, name)

    def _of_type(self, array: Array, type_: Attribute, name: str) -> SSAValue:
        """A constant of some type, also of whole numbers that are not known before the program runs."""
        assert is_tensor_type(type_) and is_element_type(type_.element_type)
        if not has_lengths(array):
            return self.constant(array.astype(dtype_of(type_.element_type), copy=False), name)
        if not is_float(type_.element_type):
            return self._lengths(array, type_.element_type, name)
        return self.add(CastOp(self._lengths(array, i64, name), type_.element_type), name)

    def tensor(self, tensor: TensorProto, base_dir: Path | None, name: str) -> SSAValue:
        """A new constant for a stored tensor."""
        value = self.constant(tensor_array(tensor, base_dir), name)
        narrow = NARROW.get(tensor.data_type)
        if narrow is not None:
            self.narrow[value] = narrow
        return value

    def require_operations(self, count: int, name: str) -> None:
        """Raises ProgramTooLarge when as many operations more would be too many."""
        excess = self.limits.nodes_excess(len(self.created) + count)
        if excess is not None:
            raise ProgramTooLarge(f"with '{name}' the program has {excess}")

    def known(self, value: SSAValue) -> Array | None:
        """The elements of a value that depends on constants alone, None for other values."""
        return self._folding.known(value)

    def is_constant(self, value: SSAValue) -> bool:
        """Whether a value depends on constants and shapes alone, also where it is too large to be computed here."""
        return self._folding.is_constant(value)

    def add(self, op: Operation, name: str) -> SSAValue:
        """The first result of `op`, which is taken as it is."""
        op.location = NameLoc(StringAttr(name), op.location)
        op.results[0].name_hint = identifier(name)
        self.created.append(op)
        self.require_operations(0, name)
        return op.results[0]


@dataclass(frozen=True)
class Body:
    """The nodes of a graph or of a function, with the values that are given to its inputs."""

    nodes: Sequence[NodeProto]
    initializers: Sequence[TensorProto] = ()
    inputs: Mapping[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    outputs: Sequence[str] = ()
    opsets: Mapping[str, int] | None = None
    """The operator set of each domain; None for a graph in a node, which shares those around it."""


class Node:
    """
    One node of the graph, as its converter reads it. Attributes that the converter never asks
    for are reported as unsupported.
    """

    def __init__(
        self,
        proto: NodeProto,
        opset: int,
        operands: Mapping[str, SSAValue | None],
        builder: Builder,
        base_dir: Path | None,
        prefix: str,
        inline: Callable[[Body, str], list[SSAValue]],
    ):
        self.proto = proto
        self.opset = opset
        self.name = proto.name or next(filter(None, proto.output), proto.op_type)
        self.label = prefix + self.name
        self.output_count = len(proto.output)
        self._input_names = list(proto.input)
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}
        self._unread = set(self._attributes) - {"consumed_inputs"}
        self._operands = operands
        self._builder = builder
        self._base_dir = base_dir
        self._inline, self._prefix = inline, prefix

    # Attributes

    def has_attribute(self, name: str) -> bool:
        """Whether the node states the attribute."""
        return name in self._attributes

    def _attribute(self, name: str, kind: int) -> AttributeProto | None:
        attribute = self._attributes.get(name)
        self._unread.discard(name)
        # Models of IR version 1 leave the type out.
        if attribute is not None and attribute.type not in (kind, AttributeProto.UNDEFINED):
            stated = AttributeProto.AttributeType.Name(attribute.type)
            expected = AttributeProto.AttributeType.Name(kind)
            raise OnnxImportError(f"attribute '{name}' is of type {stated}, expected {expected}")
        return attribute

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer attribute; one without default is required."""
        attribute = self._attribute(name, AttributeProto.INT)
        if attribute is not None:
            return attribute.i
        if default is None:
            raise OnnxImportError(f"attribute '{name}' is missing")
        return default

    def flag(self, name: str, *, default: bool = False) -> bool:
        """An attribute of FLAGS, which is 0 or 1: other numbers were refused with the node."""
        assert name in FLAGS
        return bool(self.integer(name, int(default)))

    def integers(self, name: str) -> list[int] | None:
        """A list of integers, None when absent."""
        attribute = self._attribute(name, AttributeProto.INTS)
        return None if attribute is None else list(attribute.ints)

    def required_integers(self, name: str) -> list[int]:
        """A list of integers that the node must state."""
        integers = self.integers(name)
        if integers is None:
            raise OnnxImportError(f"attribute '{name}' is missing")
        return integers

    def stated_type(self, name: str, default: int | None = None) -> ElementType:
        """The element type whose code of ONNX's is an integer attribute."""
        return element_type_of(self.integer(name, default), f"attribute '{name}'")

    def real(self, name: str, default: float) -> float:
        """A floating-point attribute, in single precision as ONNX has them: its default too."""
        attribute = self._attribute(name, AttributeProto.FLOAT)
        return float(np.float32(default)) if attribute is None else attribute.f

    def reals(self, name: str) -> list[float] | None:
        """A list of floating-point numbers, None when absent."""
        attribute = self._attribute(name, AttributeProto.FLOATS)
        return None if attribute is None else list(attribute.floats)

    def string(self, name: str, default: str) -> str:
        """A string attribute."""
        attribute = self._attribute(name, AttributeProto.STRING)
        return default if attribute is None else attribute.s.decode("utf-8", "replace")

    def strings(self, name: str) -> list[str] | None:
        """A list of strings, None when absent."""
        attribute = self._attribute(name, AttributeProto.STRINGS)
        if attribute is None:
            return None
        return [text.decode("utf-8", "replace") for text in attribute.strings]

    def tensor(self, name: str) -> Array | None:
        """A tensor attribute, None when absent."""
        attribute = self._attribute(name, AttributeProto.TENSOR)
        return None if attribute is None else tensor_array(attribute.t, self._base_dir)

    def tensor_constant(self, name: str) -> SSAValue | None:
        """A constant of a tensor attribute, None when that is absent."""
        attribute = self._attribute(name, AttributeProto.TENSOR)
        if attribute is None:
            return None
        return self._builder.tensor(attribute.t, self._base_dir, self.label)

    def graph(self, name: str) -> GraphProto:
        """A graph attribute."""
        attribute = self._attribute(name, AttributeProto.GRAPH)
        if attribute is None:
            raise OnnxImportError(f"attribute '{name}' is missing")
        return attribute.g

    def ignore(self, *names: str) -> None:
        """States that attributes do not matter for inference."""
        self._unread.difference_update(names)

    def hand_on_attributes(self, op: NodeProto, *without: str) -> None:
        """Gives another node the attributes of this one, but for some."""
        attributes = [each for each in self.proto.attribute if each.name not in without]
        op.attribute.extend(attributes)
        self.ignore(*(each.name for each in attributes))

    def require_known_attributes(self) -> None:
        """Refuses the node when it has attributes that the converter did not read."""
        if self._unread:
            names = few(f"'{name}'" for name in sorted(self._unread))
            raise UnsupportedNode(f"it has the attribute {names}")

    # Operands

    @property
    def input_count(self) -> int:
        """How many inputs the node lists, absent ones included."""
        return len(self._input_names)

    def has_input(self, index: int) -> bool:
        """Whether an optional input is present."""
        return index < len(self._input_names) and self._input_names[index] != ""

    def input(self, index: int) -> SSAValue:
        """A required input."""
        if not self.has_input(index):
            raise OnnxImportError(f"input {index} is missing")
        value = self._operands[self._input_names[index]]
        if value is None:
            raise UnknownOperand
        return value

    def shaped(self, index: int, what: str, shape: Sequence[int | None]) -> SSAValue:
        """
        A required input of a rank, and of those lengths that are not None.

        Raises OnnxImportError that names the input as `what`.
        """
        value = self.input(index)
        found = self.shape_of(value)
        if len(found) != len(shape) or any(
            length not in (None, dim) for length, dim in zip(shape, found, strict=True)
        ):
            expected = ", ".join("?" if length is None else str(length) for length in shape)
            raise OnnxImportError(
                f"input {index} ('{what}') has the shape {list(found)}, expected [{expected}]"
            )
        return value

    def optional(self, index: int) -> SSAValue | None:
        """An input, None when it is absent."""
        return self.input(index) if self.has_input(index) else None

    def inputs(self) -> list[SSAValue]:
        """All inputs of a node that takes one or more of a kind."""
        if not self._input_names:
            raise OnnxImportError("it has no inputs")
        return [self.input(index) for index in range(len(self._input_names))]

    def type_of(self, value: SSAValue) -> TensorType[Attribute]:
        """The tensor type of a value. All values of a graph are tensors."""
        return tensor_type(value, "the value")

    def element_type(self, value: SSAValue) -> ElementType:
        """The element type of a value."""
        element_type = self.type_of(value).element_type
        assert is_element_type(element_type)
        return element_type

    def shape_of(self, value: SSAValue) -> tuple[int, ...]:
        """The shape of a value, in which every dimension is known."""
        return self.type_of(value).get_shape()

    def known_value(self, value: SSAValue) -> Array | None:
        """The elements of a value, when it depends on constants alone."""
        return self._builder.known(value)

    def known(self, index: int, what: str, *, decides_sizes: bool = False) -> Array:
        """
        The elements of an input that must be a constant: a shape, an axis, a number; or with `decides_sizes` data that the size
        of the result depends on: their places, which a table of this size can hold.
        """
        value = self.input(index)
        array = self.known_value(value)
        if array is None:
            reason = f"input {index} ('{what}') is not a constant"
            raise UnknownValue(reason, value, decides_sizes=decides_sizes)
        if decides_sizes:
            require_table(array.shape, f"what is computed of input {index} ('{what}')")
        return array

    def known_number(self, index: int, what: str, *, decides_sizes: bool = False) -> Any:
        """The number in an input of one element, which must be a constant as for `known`."""
        array = self.known(index, what, decides_sizes=decides_sizes)
        if array.size != 1:
            raise OnnxImportError(
                f"input {index} ('{what}') has {array.size} elements, expected one"
            )
        return array.item()

    def known_lengths(self, index: int, what: str) -> list[int]:
        """The numbers of a constant input that holds a shape or repetitions."""
        lengths = self.known_integers(index, what)
        if any(not 0 <= length <= MAX_ELEMENTS for length in lengths):
            raise OnnxImportError(
                f"input {index} ('{what}') is {lengths}, expected numbers that are not negative "
                f"or larger than {MAX_ELEMENTS}"
            )
        return lengths

    def known_scalar(self, index: int) -> float | None:
        """The number in an input of one element, when it is a constant."""
        array = self.known_value(self.input(index))
        return None if array is None or array.size != 1 else float(array.reshape(-1)[0])

    def input_as_scalar(self, index: int) -> SSAValue:
        """An input of one element, which some exporters give a shape, as a scalar."""
        value = self.input(index)
        return self.emit(ReshapeOp(value, [])) if self.shape_of(value) else value

    def known_integers(self, index: int, what: str) -> list[int]:
        """The numbers of a constant integer input of rank 1 (or a scalar)."""
        array = self.known(index, what)
        if array.ndim > 1 or not (has_lengths(array) or array.dtype.kind in "iu"):
            raise OnnxImportError(
                f"input {index} ('{what}') has type {self.type_of(self.input(index))}, "
                "expected a list of integers"
            )
        return [number if is_open(number) else int(number) for number in array.reshape(-1)]

    def known_integer(self, index: int, what: str, *, is_length: bool = False) -> int:
        """The one number of a constant integer input, or of one that holds a length."""
        numbers = (self.known_lengths if is_length else self.known_integers)(index, what)
        if len(numbers) != 1:
            raise OnnxImportError(f"input {index} ('{what}') is {numbers}, expected one number")
        return numbers[0]

    # Element types of 8 bits or fewer

    def narrow(self, value: SSAValue) -> Narrow | None:
        """The element type of ONNX that a value holds bits or numbers of, None for one that it has itself."""
        return self._builder.narrow.get(value)

    def as_narrow(self, value: SSAValue, narrow: Narrow) -> SSAValue:
        """A value, from now on of an element type of 8 bits or fewer."""
        self._builder.narrow[value] = narrow
        return value

    # Sequences

    def form(self, value: SSAValue) -> Form | None:
        """How a sequence is one tensor; None for other values."""
        return self._builder.sequences.get(value)

    def sequence(self, form: Form) -> SSAValue:
        """A sequence that is one tensor."""
        value = self.emit(TupleOp([form.tensor]))
        self._builder.sequences[value] = form
        return value

    # Loops

    def rounds_of(self, number: SSAValue) -> int | None:
        """How many rounds a loop makes that has the number of a round; None where that is not known."""
        return self._builder.rounds.get(number)

    def note_rounds(self, number: SSAValue, count: int) -> None:
        """Notes how many rounds a loop makes that has the number of a round."""
        self._builder.rounds[number] = count

    # Operations

    def like(self, proto: NodeProto) -> "Node":
        """A node in the place of this one, with operands of the same names."""
        return Node(
            proto,
            self.opset,
            self._operands,
            self._builder,
            self._base_dir,
            self._prefix,
            self._inline,
        )

    @property
    def unrolls(self) -> bool:
        """Whether loops become their rounds wherever that can be: the program goes where there are no loops."""
        return self._builder.unrolls

    def known_around(self, name: str) -> Array | None:
        """The elements of a value around the node, by its name, when it depends on constants alone."""
        value = self._operands.get(name)
        return None if value is None else self._builder.known(value)

    def varying(self, names: Iterable[str]) -> SSAValue | None:
        """The first of some values, by their names around the node, that depends on inputs of the graph."""
        values = map(self._operands.get, names)
        varying = (
            each for each in values if each is not None and not self._builder.is_constant(each)
        )
        return next(varying, None)

    @property
    def is_of_graph(self) -> bool:
        """Whether the node is one of the graph, and not of a body or function."""
        return not self._prefix

    @property
    def copies(self) -> int:
        """How often small loops around the node that are unrolled repeat it."""
        return self._builder.copies

    @contextmanager
    def copied(self, rounds: int) -> Generator[None]:
        """While bodies in the node are imported once for each round, because these are few."""
        before = self._builder.copies
        self._builder.copies = before * max(rounds, 1)
        try:
            yield
        finally:
            self._builder.copies = before

    @property
    def operation_count(self) -> int:
        """How many operations the import has made so far."""
        return len(self._builder.created)

    def require_operations(self, count: int) -> None:
        """Raises ProgramTooLarge when the operations that a node is about to make would be too many."""
        self._builder.require_operations(count, self.label)

    def inline(self, body: Body) -> list[SSAValue]:
        """The outputs of a function that defines the node."""
        return self._inline(body, self.label)

    def inline_graph(self, graph: GraphProto, inputs: Sequence[SSAValue]) -> list[SSAValue]:
        """The outputs of a graph attribute for some inputs; it sees the names around the node."""
        if len(inputs) != len(graph.input):
            raise OnnxImportError(
                f"its graph '{graph.name}' has {len(graph.input)} inputs, expected {len(inputs)}"
            )
        given = {value.name: operand for value, operand in zip(graph.input, inputs, strict=True)}
        outputs = [value.name for value in graph.output]
        return self.inline(Body(graph.node, graph.initializer, given, outputs))

    def emit(self, op: RelayOp) -> SSAValue:
        """The result of a new operation."""
        return self._builder.emit(op, self.label)

    def add(self, op: Operation) -> SSAValue:
        """The first result of a new operation of another dialect: control flow, and single numbers."""
        return self._builder.add(op, self.label)

    def close(self, block: Block, end: Operation, first: int) -> None:
        """
        Ends a block of a region with an operation, and puts in front what that needs of the operations that
        were made since there were `first`.
        """
        place_in_post_dfs_order(block, end, frozenset(self._builder.created[first:]))

    def constant(self, array: Array) -> SSAValue:
        """A new constant."""
        return self._builder.constant(array, self.label)

    def computed(self, value: SSAValue) -> SSAValue:
        """A value as a constant where it depends on constants alone: a table that lengths known only later do not decide."""
        array = self.known_value(value)
        return value if array is None else self.constant(array)

    def scalar(self, number: float, like: SSAValue) -> SSAValue:
        """A scalar with the dtype of another value: a constant, or a length, which may be known when the program runs only."""
        dtype = self.element_dtype(like)
        if is_open(number):
            length = self.constant(number_array([cast(int, number)], ()))
            element_type = self.element_type(like)
            return length if element_type == i64 else self.emit(CastOp(length, element_type))
        if dtype.kind in "iub" and not holds(number, dtype):
            raise OnnxImportError(f"{number} is no number of type {self.element_type(like)}")
        return self.constant(convert(np.asarray(number), dtype))

    def counting(self, length: int) -> SSAValue:
        """The whole numbers of 64 bits from 0 up to a length."""
        if not is_open(length):
            require_table((length,), "the array of places on an axis")
            return self.constant(np.arange(length, dtype=np.int64))
        start, step = (self.constant(np.array(each, np.int64)) for each in (0, 1))
        stop = self.constant(number_array([length], ()))
        return self.emit(ArangeOp(start, stop, step, i64))

    def zeros(self, shape: Sequence[int], like: SSAValue) -> SSAValue:
        """Zeros with the dtype of another value."""
        return self.filled(np.zeros((), self.element_dtype(like)), shape)

    def filled(self, number: Array, shape: Sequence[int]) -> SSAValue:
        """A tensor all elements of which are one number, which is stored once: a constant where the shape is known."""
        if any(map(is_open, shape)):
            return self.emit(FullOp(self.constant(number), shape))
        refusal = array_refusal(TensorType(type_of(number).element_type, shape))
        if refusal is not None:
            raise OnnxImportError(refusal)
        return self.constant(np.broadcast_to(number, shape))

    def element_dtype(self, value: SSAValue) -> np.dtype[Any]:
        """The NumPy dtype of a value."""
        return dtype_of(self.element_type(value))
