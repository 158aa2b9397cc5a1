"""What rewrite rules share: collecting the operations of a replacement, and tidying up after it."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from xrelay.dialects.model_names import joint_location
from xrelay.dialects.shapes import is_tensor_type, same_type
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.constants import constant_op

Rule: TypeAlias = Callable[[Any, "Emitter"], SSAValue | None]
"""
The value that replaces the result of an operation, None when the rule does not apply. It emits new
operations only when it applies.
"""


class Emitter:
    """The operations that replace another one, in order."""

    def __init__(self):
        self.ops: list[Operation] = []
        self._located = 0
        """How many of them stand for something already."""

    def __call__(self, op: Operation) -> SSAValue:
        """The result of a new operation."""
        self.ops.append(op)
        return op.results[0]

    def constant(self, array: Array) -> SSAValue:
        """A new constant."""
        return self(constant_op(array))

    def scalar(self, number: float, like: SSAValue) -> SSAValue:
        """A scalar constant with the dtype of another tensor."""
        assert is_tensor_type(like.type)
        return self.constant(np.asarray(number, dtype_of(like.type.element_type)))

    def located(self, *sources: Operation) -> list[Operation]:
        """The operations; those that are new since the last call stand for `sources` in messages from now on."""
        location = joint_location(sources)
        for op in self.ops[self._located :]:
            op.location = location
        self._located = len(self.ops)
        return self.ops


def is_floating(value: SSAValue) -> bool:
    """Whether a value is a tensor of floating-point elements."""
    return is_tensor_type(value.type) and isinstance(value.type.element_type, AnyFloat)


def has_static_type(value: SSAValue) -> bool:
    """Whether a value is a tensor whose dimensions are all known."""
    return is_tensor_type(value.type) and value.type.has_static_shape()


def apply_rule(rule: Rule, op: Operation, rewriter: PatternRewriter) -> bool:
    """
    Replaces the one result of `op` if `rule` applies and keeps its type, and erases what nothing
    uses any more.
    """
    emit = Emitter()
    value = rule(op, emit)
    if value is None or value is op.results[0] or not same_type(value.type, op.results[0].type):
        for new in reversed(emit.ops):
            new.drop_all_references()
        return False
    if isinstance(value, OpResult) and value.name_hint is None:
        value.name_hint = op.results[0].name_hint
    sources = tuple(dict.fromkeys(op.operands))
    rewriter.replace(op, emit.located(op), (value,))
    erase_unused(sources, rewriter)
    return True


def erase_unused(values: Iterable[SSAValue], rewriter: PatternRewriter | None = None) -> None:
    """Erases the operations that compute values which nothing uses, and what only they used."""
    erase = Rewriter.erase_op if rewriter is None else rewriter.erase
    pending = list(values)
    while pending:
        op = pending.pop().owner
        if not isinstance(op, Operation) or op.parent is None or op.regions:
            continue
        if any(result.uses for result in op.results) or not is_side_effect_free(op):
            continue
        pending.extend(dict.fromkeys(op.operands))
        erase(op)
