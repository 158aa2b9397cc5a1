"""
Arithmetic on constants, done by the interpreter while importing: exporters compute the shape that a Reshape
takes with Shape, Gather, Concat and the like.

Small results of small operands become constants at once. Other operations on constants stay in the program, where
the pass `fold-constant` finds them; they are computed here only when a converter asks for their elements.
"""

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import INLINE_ELEMENTS, ConstantOp, TupleOp
from xrelay.dialects.lengths import is_open_type
from xrelay.dialects.shapes import element_count, is_tensor_type, types_within
from xrelay.frontends.onnx.tensors import FOLDED_ELEMENTS
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.constants import constant_value, known_array
from xrelay.interpreters.relay import relay_interpreter

MOST_OPERANDS = 1 << 20
"""Operands with more elements are weights."""
MOST_COMPUTED = 1 << 25
"""Results with more elements are not computed, even where a converter asks for them."""


class Folding:
    """The constants of one import."""

    def __init__(self):
        self._interpreter = relay_interpreter()
        self._computed: dict[SSAValue, Any] = {}
        """What was asked for; None for what depends on more than constants."""

    def small(self, op: RelayOp) -> Any:
        """
        What `op` computes, an array or a tuple of arrays; None when its operands are no constants or
        something is not small.
        """
        if not op.operands or isinstance(op, TupleOp):
            return None
        result = op.results[0].type
        if any(is_open_type(each.type) for each in op.operands):
            return None
        if _elements(result) > _most(result):
            return None
        if sum(_elements(operand.type) for operand in op.operands) > MOST_OPERANDS:
            return None
        values = [constant_value(operand) for operand in op.operands]
        return None if any(value is None for value in values) else self._run(op, values)

    def known(self, value: SSAValue) -> Array | None:
        """
        The elements of a tensor that depends on constants alone; None for other values, and for what would be
        too large. Operations are computed once, however often they are asked for.
        """
        found = known_array(value)
        if found is not None:
            return found
        stack = [value]
        while stack:
            each = stack[-1]
            op = each.owner
            if each in self._computed or isinstance(op, Block):
                self._computed.setdefault(each, None)
                stack.pop()
                continue
            missing = next((found for found in op.operands if found not in self._computed), None)
            if missing is not None:
                stack.append(missing)
                continue
            self._computed[each] = self._result(op)
            stack.pop()
        return self._computed[value]

    def _result(self, op: Operation) -> Any:
        """What an operation computes whose operands were looked at; None where one of them is not known."""
        if isinstance(op, ConstantOp):
            return known_array(op.result)
        values = [self._computed[operand] for operand in op.operands]
        if not isinstance(op, RelayOp) or any(value is None for value in values):
            return None
        if isinstance(op, TupleOp):
            return tuple(values)
        return self._run(op, values) if _elements(op.results[0].type) <= MOST_COMPUTED else None

    def _run(self, op: RelayOp, values: list[Any]) -> Any:
        """What `op` computes of some values; None where that is not defined, or has effects."""
        if len(op.results) != 1 or not is_side_effect_free(op) or op.undefined() is not None:
            return None
        (found,) = self._interpreter.run_op(op, tuple(values))
        return found


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


def _elements(type_: Attribute) -> int:
    """How many elements a value has, more than anything small where that is not known."""
    counts = [
        element_count(leaf.get_shape()) if is_tensor_type(leaf) and leaf.has_static_shape() else -1
        for leaf in types_within(type_)
    ]
    return sum(counts) if min(counts, default=0) >= 0 else MOST_COMPUTED + 1


def _most(type_: Attribute) -> int:
    """How many elements a result may have: shapes are integers."""
    leaves = types_within(type_)
    integers = all(
        is_tensor_type(leaf) and isinstance(leaf.element_type, IntegerType) for leaf in leaves
    )
    return FOLDED_ELEMENTS if integers else INLINE_ELEMENTS
