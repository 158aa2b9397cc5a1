"""
Arithmetic on constant shapes, done while importing: exporters compute the shape that a Reshape
takes with Shape, Gather, Concat and the like. The interpreter computes it. Only elements that are
moved, computed one by one, or summed up are folded, small results of small operands; products and
work on weights are left to the pass `fold-constant`.
"""

from typing import Any

from xdsl.dialects.builtin import IntegerType
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute
from xdsl.traits import is_side_effect_free

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import INLINE_ELEMENTS, TupleOp
from xrelay.dialects.shapes import element_count, is_tensor_type, types_within
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.frontends.onnx.tensors import FOLDED_ELEMENTS
from xrelay.interpreters.constants import constant_value

MOST_OPERANDS = 1 << 20
"""Operands with more elements are weights."""


def fold(op: RelayOp, interpreter: Interpreter) -> Any:
    """
    What `op` computes, an array or a tuple of arrays; None when its operands are no constants or
    something is not small.
    """
    if not op.operands or isinstance(op, TupleOp) or not is_side_effect_free(op):
        return None
    if pattern_kind(op) > OpPatternKind.COMM_REDUCE:
        return None
    result = op.results[0].type
    if _elements(result) > _most(result):
        return None
    if sum(_elements(operand.type) for operand in op.operands) > MOST_OPERANDS:
        return None
    values = [constant_value(operand) for operand in op.operands]
    if any(value is None for value in values) or op.undefined() is not None:
        return None
    (found,) = interpreter.run_op(op, tuple(values))
    return found


def _elements(type_: Attribute) -> int:
    """How many elements a value has, more than anything small where that is not known."""
    counts = [
        element_count(leaf.get_shape()) if is_tensor_type(leaf) and leaf.has_static_shape() else -1
        for leaf in types_within(type_)
    ]
    return sum(counts) if min(counts, default=0) >= 0 else MOST_OPERANDS + 1


def _most(type_: Attribute) -> int:
    """How many elements a result may have: shapes are integers."""
    leaves = types_within(type_)
    integers = all(
        is_tensor_type(leaf) and isinstance(leaf.element_type, IntegerType) for leaf in leaves
    )
    return FOLDED_ELEMENTS if integers else INLINE_ELEMENTS
