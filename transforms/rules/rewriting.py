"""What rewrite rules share: collecting the operations of a replacement, and tidying up after it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
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
OpT = TypeVar("OpT", bound=Operation)


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

    def discard(self) -> None:
        """Lets go of the operations, which are not inserted."""
        for op in reversed(self.ops):
            op.drop_all_references()


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
        emit.discard()
        return False
    replace_and_tidy(op, emit.located(op), (value,), rewriter)
    return True


@dataclass(frozen=True)
class ApplyRule(RewritePattern):
    """Applies a rule to the operations of some kinds."""

    kinds: type[Operation] | tuple[type[Operation], ...] | UnionType
    rule: Rule

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, self.kinds):
            apply_rule(self.rule, op, rewriter)


def like(
    op: OpT,
    operands: Sequence[SSAValue],
    type_: Attribute,
    properties: Mapping[str, Attribute] | None = None,
) -> OpT:
    """`op` on other operands and with some other properties, whose one result has another type."""
    return type(op).create(
        operands=operands,
        result_types=[type_],
        properties={**op.properties, **(properties or {})},
        attributes=op.attributes,
    )


def replace_and_tidy(
    op: Operation,
    new: Operation | Sequence[Operation],
    results: Sequence[SSAValue] | None,
    rewriter: PatternRewriter,
) -> None:
    """
    Puts new operations in the place of one, and `results`, by default those of the last of them, in the place of its own;
    erases what nothing uses any more.
    """
    sources = tuple(dict.fromkeys(op.operands))
    rewriter.replace(op, new, results)
    erase_unused(sources, rewriter)


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
