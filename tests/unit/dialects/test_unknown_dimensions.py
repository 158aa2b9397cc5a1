"""Operators on tensors of unknown dimensions: the same types as far as known, and the same values."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from bounds.tables import SUBJECTS
from cases import dyn as dyn_cases
from cases import elementwise as elementwise_cases
from cases import image as image_cases
from cases import indexing as indexing_cases
from cases import nn as nn_cases
from cases import qnn as qnn_cases
from cases import random as random_cases
from cases import sort as sort_cases
from cases import sum as sum_cases
from cases import vision as vision_cases
from graphs import Graph, leaves, value_type
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp, NoneType, TupleType
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Attribute, Block, Operation, OpResult, Region
from xdsl.ir.core import SSAValues
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, tuple_type
from xrelay.dialects.core.references import RefType
from xrelay.dialects.dyn.base import DynamicOp
from xrelay.dialects.shapes import compatible, is_tensor_type, with_shape
from xrelay.interpreters.numerics import is_float
from xrelay.interpreters.relay import interpret

TABLES = (
    dyn_cases.TABLE,
    elementwise_cases.ELEMENTWISE,
    image_cases.TABLE,
    indexing_cases.INDEXING,
    qnn_cases.TABLE,
    random_cases.TABLE,
    sort_cases.SORT,
    sum_cases.SUMS,
    vision_cases.TABLE,
    nn_cases.TABLE,
)
CASES = {
    name: case
    for table in TABLES
    for name, case in table.cases.items()
    if not name.endswith(("float16", "-float64", "-bool", "int16", "int32", "int64", "-uint8"))
}
OF_EACH = 3
"""How many uses of an operator a case is asked about."""
RANK = "ranks follow from its length"
TAPS = "the matrices that it was, or is, multiplied by depend on its taps"
WINOGRAD = "relay.nn.contrib_conv{}_winograd_{}weight_transform"
KNOWN_OPERANDS = {
    "relay.collapse_sum_to": (1, RANK),
    "relay.gather_nd": (1, RANK),
    "relay.scatter_nd": (1, RANK),
    WINOGRAD.format("2d", ""): (0, TAPS),
    WINOGRAD.format("2d", "without_"): (1, TAPS),
    WINOGRAD.format("3d", ""): (0, TAPS),
    WINOGRAD.format("3d", "without_"): (1, TAPS),
    "relay.memory.alloc_tensor": (2, RANK),
    "relay.nn.contrib_conv2d_NCHWc": (1, "its last axes say what the layout does not"),
    "relay.nn.contrib_depthwise_conv2d_NCHWc": (1, "its last axes say what the layout does not"),
}
"""Operands whose shapes have to be known, and why."""


class Uses(Interpreter.Listener):
    """The uses of operators in a program, and the values of their operands."""

    def __init__(self) -> None:
        self.found: dict[str, list[tuple[RelayOp, PythonValues]]] = {}

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        if isinstance(op, RelayOp) and op.operands and not op.regions:
            uses = self.found.setdefault(op.name, [])
            if len(uses) < OF_EACH:
                uses.append((op, args))


def unknown(type_: Attribute) -> Attribute:
    """A type without its dimensions."""
    if isinstance(type_, TupleType):
        return TupleType(tuple(map(unknown, type_.types.data)))
    if not is_tensor_type(type_):
        return type_
    return with_shape(type_, [DYNAMIC_INDEX] * type_.get_num_dims())


def again(op: RelayOp, types: Sequence[Attribute], args: Sequence[Any]) -> tuple[Attribute, Any]:
    """The type and the value of the same operator on operands of other types."""
    block = Block(arg_types=types)
    other = type(op).create(
        operands=block.args, result_types=[NoneType()], properties=dict(op.properties)
    )
    other.results = SSAValues((OpResult(other.infer_type(), other, 0),))
    type_ = other.results[0].type
    block.add_ops([other, func.ReturnOp(other.results[0])])
    function = func.FuncOp("main", FunctionType.from_lists(types, [type_]), Region(block))
    module = ModuleOp([function])
    module.verify()
    return type_, interpret(module, args)[0]


def kept_operands(op: RelayOp) -> Sequence[int]:
    """The operands whose types stay as they are."""
    if isinstance(op, DynamicOp):
        return [op.operands.index(value) for value in op.deciding]
    return [KNOWN_OPERANDS[op.name][0]] if op.name in KNOWN_OPERANDS else []


@pytest.mark.parametrize("name", CASES)
def test_types_and_values_stay(name: str):
    graph = Graph()
    CASES[name](graph)
    uses = Uses()
    interpret(graph.module(), graph.inputs, listeners=[uses])
    for op, args in (use for found in uses.found.values() for use in found):
        kept = kept_operands(op)
        stated = [value_type(arg) for arg in args]
        types = [type_ if i in kept else unknown(type_) for i, type_ in enumerate(stated)]
        (known_type, expected), (type_, found) = again(op, stated, args), again(op, types, args)
        assert compatible(type_, known_type), op
        for array, other in zip(leaves(found), leaves(expected), strict=True):
            if is_float(array.dtype):  # NumPy does not know that NaN of bf16 are equal.
                array, other = array.astype(np.float64), other.astype(np.float64)
            np.testing.assert_array_equal(array, other, str(op))


# One dimension after the other

LENGTHS = 0, 1, 2, 4, 9
"""What an unknown dimension may turn out to be."""


def with_dimension(type_: Attribute, place: Sequence[int], length: int) -> Attribute:
    """A type with another length of the axis at a place: of a tensor, or of a field of a tuple."""
    if isinstance(type_, TupleType):
        fields: list[Attribute] = list(type_.types.data)
        fields[place[0]] = with_dimension(fields[place[0]], place[1:], length)
        return tuple_type(fields)
    assert is_tensor_type(type_)
    shape = type_.get_shape()
    return with_shape(type_, [*shape[: place[0]], length, *shape[place[0] + 1 :]])


def places(type_: Attribute) -> Iterator[list[int]]:
    """The places of all axes of known length."""
    if isinstance(type_, TupleType):
        for i, field in enumerate(type_.types.data):
            yield from ([i, *place] for place in places(field))
    elif is_tensor_type(type_):
        yield from ([axis] for axis, dim in enumerate(type_.get_shape()) if dim != DYNAMIC_INDEX)


def inferred(op: RelayOp, operand: int, type_: Attribute) -> Attribute:
    """The type of the result of the same operator on another operand."""
    types = [*op.operand_types[:operand], type_, *op.operand_types[operand + 1 :]]
    other = type(op).create(
        operands=Block(arg_types=types).args,
        result_types=[NoneType()],
        properties=dict(op.properties),
    )
    return other.infer_type()


def accepted_uses(operator: str) -> Iterator[RelayOp]:
    """Uses of an operator whose operands are no constants, all of them accepted."""
    for subject in SUBJECTS[operator]:
        if not all(isinstance(type_, str) for type_ in subject.operands):
            continue
        yield subject.build()
        for name, bound in subject.bounds.items():
            for value in bound.accepted:
                if isinstance(value, str) or name not in subject.operand_names:
                    yield subject.build(**{name: value})


def held(type_: Attribute) -> Attribute:
    """A type, of a cell what it holds: cells of other types are others, known dimensions or not."""
    return type_.value if isinstance(type_, RefType) else type_


def depends_on_axes(op: RelayOp) -> bool:
    """Whether the rank of the result depends on which axes have length 1."""
    return op.name == "relay.squeeze" and "axis" not in op.properties


@pytest.mark.parametrize("operator", SUBJECTS)
def test_an_unknown_dimension_is_taken_and_gives_no_wrong_one(operator: str):
    """A result type of operands with an unknown dimension describes those of all its lengths."""
    tried: set[tuple[object, ...]] = set()
    for op in accepted_uses(operator):
        kept = kept_operands(op)
        for i, stated in enumerate(op.operand_types):
            for place in [] if i in kept or depends_on_axes(op) else places(stated):
                unknown_length = with_dimension(stated, place, DYNAMIC_INDEX)
                key = frozenset(op.properties.items()), op.operand_types, i, unknown_length
                if key in tried:
                    continue
                tried.add(key)
                found = held(inferred(op, i, unknown_length))
                assert compatible(found, held(op.results[0].type)), op
                for length in LENGTHS:
                    try:
                        known = held(inferred(op, i, with_dimension(stated, place, length)))
                    except VerifyException:
                        continue
                    assert compatible(found, known), f"{op}: {found} for {length}, {known}"
