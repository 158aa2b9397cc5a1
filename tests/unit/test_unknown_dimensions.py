"""Operators on tensors of unknown dimensions: the same types as far as known, and the same values."""

from collections.abc import Sequence
from typing import Any

import dyn_cases
import elementwise_cases
import image_cases
import indexing_cases
import nn_cases
import numpy as np
import pytest
import qnn_cases
import random_cases
import sort_cases
import sum_cases
import vision_cases
from graphs import Graph, leaves, value_type
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp, NoneType, TupleType
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Attribute, Block, Operation, OpResult, Region
from xdsl.ir.core import SSAValues

from xrelay.dialects.base import RelayOp
from xrelay.dialects.dyn_base import DynamicOp
from xrelay.dialects.shapes import compatible, is_tensor_type, with_shape
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
)
CASES = {
    name: case
    for cases in (*(table.cases for table in TABLES), nn_cases.CASES)
    for name, case in cases.items()
    if not name.endswith(("-float16", "-float64", "-bool", "int16", "int32", "int64", "-uint8"))
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
            np.testing.assert_array_equal(array, other, str(op))
