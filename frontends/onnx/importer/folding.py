"""
Arithmetic on constants, done by the interpreter while importing: exporters compute the shape that a Reshape
takes with Shape, Gather, Concat and the like.

Small results of small operands become constants at once. Other operations on constants stay in the program, where
the pass `fold-constant` finds them; they are computed here only when a converter asks for their elements.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import INLINE_ELEMENTS, ConstantOp, TupleOp
from xrelay.dialects.lengths import holds_lengths, is_open_type
from xrelay.dialects.limits import Limits
from xrelay.dialects.shapes import element_count, is_tensor_type, types_within
from xrelay.frontends.onnx.errors import ProgramTooLarge
from xrelay.frontends.onnx.importer.scaled_lengths import rounded_product
from xrelay.frontends.onnx.importer.shape_arithmetic import (
    computed,
    exact_numbers_of,
    lengths_of,
    numbers_of,
)
from xrelay.frontends.onnx.tensors import FOLDED_ELEMENTS
from xrelay.interpreters.arrays import Array, held_elements, type_bytes
from xrelay.interpreters.constants import constant_value, known_array
from xrelay.interpreters.relay import relay_interpreter

_T = TypeVar("_T")

MOST_OPERANDS = 1 << 20
"""Operands with more elements are weights."""
MOST_COMPUTED = 1 << 25
"""
Results with more elements are not computed, even where a converter asks for them; nor those of constants that repeat one
number more often.
"""


class Folding:
    """The constants of one import."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._interpreter = relay_interpreter()
        self._computed: dict[SSAValue, Any] = {}
        """What was asked for; None for what is not known."""
        self._varying: dict[SSAValue, bool] = {}
        """
        Whether that depends on more than constants, which is found out first: what a whole network makes of inputs
        is no reason to compute with its weights.
        """

    def small(self, op: RelayOp) -> Any:
        """
        What `op` computes, an array or a tuple of arrays; None when its operands are no constants or
        something is not small.
        """
        if not op.operands or isinstance(op, TupleOp):
            return None
        result = op.results[0].type
        if any(is_open_type(each.type) for each in (*op.operands, op.results[0])):
            return None
        if _elements(result) > _most(result):
            return None
        if sum(_elements(operand.type) for operand in op.operands) > MOST_OPERANDS:
            return None
        values = [constant_value(operand) for operand in op.operands]
        if all(value is not None for value in values):
            return self._run(op, values)
        if not any(map(_has_lengths, op.operands)):
            return rounded_product(op)
        values = [_with_lengths(operand) for operand in op.operands]
        is_known = all(value is not None for value in values)
        return computed(op, values, self._run) if is_known else None

    def known(self, value: SSAValue) -> Array | None:
        """
        The elements of a tensor that depends on constants alone; None for other values, and for what would be
        too large. Operations are computed once, however often they are asked for.
        """
        found = known_array(value)
        if found is None:
            found = lengths_of(value.owner)
        if found is not None:
            return found
        if _walked(value, self._varying, _varies):
            return None
        return _walked(value, self._computed, self._result)

    def is_constant(self, value: SSAValue) -> bool:
        """Whether a value depends on constants alone, which is found out without computing it."""
        return not _walked(value, self._varying, _varies)

    def _result(self, op: Operation | Block, values: list[Any]) -> Any:
        """What an operation computes of some values; None where one of them is not known."""
        if isinstance(op, ConstantOp):
            array = known_array(op.result)
            return None if array is None or _repeats(array) > MOST_COMPUTED else array
        if not isinstance(op, RelayOp) or any(value is None for value in values):
            return None
        if isinstance(op, TupleOp):
            return tuple(values)
        return self._run(op, values) if _elements(op.results[0].type) <= MOST_COMPUTED else None

    def _run(self, op: RelayOp, values: list[Any]) -> Any:
        """
        What `op` computes of some values; None where that is not defined, or has effects.

        Raises ProgramTooLarge for what exceeds the limits, and InterpretationError for what there is no memory for.
        """
        if len(op.results) != 1 or not is_side_effect_free(op) or op.undefined() is not None:
            return None
        excess = self._limits.bytes_excess(type_bytes(op.results[0].type))
        if excess is not None:
            raise ProgramTooLarge(f"{op.name}: the constant that it gives has {excess}")
        (found,) = self._interpreter.run_op(op, tuple(values))
        return found


def _has_lengths(value: SSAValue) -> bool:
    """Whether a value is a constant that holds lengths, or a tuple with one."""
    fields = value.owner.fields if isinstance(value.owner, TupleOp) else (value,)
    return any(numbers_of(each.owner) is not None for each in fields)


def _with_lengths(value: SSAValue) -> Any:
    """What a constant, or a tuple of constants, is, which may hold lengths; None for other values."""
    if isinstance(value.owner, TupleOp):
        fields = tuple(map(_with_lengths, value.owner.fields))
        return None if any(field is None for field in fields) else fields
    array = exact_numbers_of(value.owner)
    return known_array(value) if array is None else array


def _varies(op: Operation | Block, operands: list[bool]) -> bool:
    """
    Whether what an operation computes depends on more than constants, when that is known of its operands: on arguments, or
    on lengths that are not known before the program runs, as a slice that ends at one.
    """
    if not isinstance(op, RelayOp) or any(operands):
        return True
    if holds_lengths(op):
        return not isinstance(op, ConstantOp)
    return any(is_open_type(each) for each in op.result_types)


def _walked(
    value: SSAValue,
    found: dict[SSAValue, _T],
    function: Callable[[Operation | Block, list[_T]], _T],
) -> _T:
    """What a function of an owner and of what is found for its operands gives for a value; each is found once."""
    stack = [value]
    while stack:
        each = stack[-1]
        operands = () if isinstance(each.owner, Block) else each.owner.operands
        missing = [operand for operand in operands if operand not in found]
        if missing and each not in found:
            stack += missing
            continue
        stack.pop()
        if each not in found:
            found[each] = function(each.owner, [found[operand] for operand in operands])
    return found[value]


def arguments_of(value: SSAValue) -> Iterator[BlockArgument]:
    """The arguments that a value depends on, each once."""
    seen: set[SSAValue] = {value}
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, BlockArgument):
            yield each
        elif isinstance(each, OpResult):
            for operand in each.op.operands:
                if operand not in seen:
                    seen.add(operand)
                    stack.append(operand)


def _repeats(array: Array) -> int:
    """How many elements of an array only repeat others, which are not in memory but would be computed with."""
    return array.size - held_elements(array).size


def _elements(type_: Attribute) -> int:
    """How many elements a value has, more than anything small where that is not known."""
    counts = [
        element_count(leaf.get_shape()) if is_tensor_type(leaf) and leaf.has_static_shape() else -1
        for leaf in types_within(type_)
    ]
    return sum(counts) if min(counts, default=0) >= 0 else MOST_COMPUTED + 1


def _most(type_: Attribute) -> int:
    """How many elements a result may have: shapes are integers."""
    integers = all(
        is_tensor_type(leaf) and isinstance(leaf.element_type, IntegerType)
        for leaf in types_within(type_)
    )
    return FOLDED_ELEMENTS if integers else INLINE_ELEMENTS
