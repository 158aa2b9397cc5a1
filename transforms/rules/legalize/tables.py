"""
Legalization by tables: what a target has in place of operators that it does not, or not well, compute.

    TARGETS = TargetTables({"cpu": {L2NormalizeOp: l2_normalize, …}})
    TARGETS.register("mine", {Conv2DOp: conv2d})

A rule gives the value that replaces an operator, or None to keep it. The value has the type of the operator's result
and is the result of an operator itself.

Source: Relay's `FTVMLegalize`, which a target registers for an operator.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import belongs_to_backend
from xrelay.analysis.facts.suggestions import PassOptionError, unknown_choice
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.device import OnDeviceOp
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import is_tensor_type, types_within
from xrelay.transforms.rules.rewriting import Emitter, Rule, apply_rule

LegalTable: TypeAlias = Mapping[type[Operation], Rule]

NO_CALLS = (ConstantOp, LetOp, TupleGetItemOp, TupleOp)
"""Operations of the dialect that are no operators."""


class TargetTables:
    """The tables of a pass, by the names of targets."""

    def __init__(self, tables: Mapping[str, LegalTable]):
        self.tables = dict(tables)

    def register(self, target: str, table: LegalTable) -> None:
        """Adds a target, in the place of one of the same name."""
        self.tables[target] = table

    @contextmanager
    def using(self, target: str, table: LegalTable) -> Generator[None]:
        """Knows a target for a while."""
        before = dict(self.tables)
        self.register(target, table)
        try:
            yield
        finally:
            self.tables = before

    def rewrite(self, op: ModuleOp, target: str) -> None:
        """Replaces the operators of a module. Raises PassOptionError for a target without a table."""
        if target not in self.tables:
            raise PassOptionError(unknown_choice("target", target, sorted(self.tables)))
        pattern = Outside(belongs_to_backend, Legalize(self.tables[target]))
        PatternWalker(pattern, apply_recursively=False).rewrite_module(op)


class Legalize(RewritePattern):
    """Replaces an operator that has a rule."""

    def __init__(self, table: LegalTable):
        self.table = table

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        rule = self.table.get(type(op))
        if rule is not None:
            apply_rule(lambda op, emit: self.checked(op, rule(op, emit)), op, rewriter)

    def checked(self, op: Operation, value: SSAValue | None) -> SSAValue | None:
        """What a rule gives for `op`. Raises PassFailedException where that cannot replace it."""
        if value is None or isinstance(op, OnDeviceOp):
            return value  # What is on a device is passed on, whatever it is.
        problem = None
        if value.type != op.results[0].type:
            problem = f"of type {value.type}, expected {op.results[0].type}"
        elif not isinstance(value, OpResult) or not is_call(value.op):
            problem = "that is no result of an operator"
        if problem is not None:
            raise PassFailedException(f"the rule for {operation_text(op)} gives a value {problem}")
        return value


def is_call(op: Operation) -> bool:
    """Whether an operation is what Relay calls an operator for."""
    return isinstance(op, RelayOp) and not isinstance(op, NO_CALLS)


def of_static_shapes(rule: Rule) -> Rule:
    """A rule that keeps operators on tensors, or tuples, with unknown dimensions."""

    def checked(op: Operation, emit: Emitter) -> SSAValue | None:
        values = (*op.operands, *op.results)
        types = (each for value in values for each in types_within(value.type))
        static = all(is_tensor_type(each) and each.has_static_shape() for each in types)
        return rule(op, emit) if static else None

    return checked
