"""
Which operands of a function get `compiler_begin` and `compiler_end`, and for which compiler.

    %0 = relay.nn.relu %x          %b = begin %x       "a"       the target of an operator is the
    %1 = relay.exp %0              %0 = relay.nn.relu %b         first compiler that supports it;
    return %1                 ──►  %e = end %0         "a"       an operand leaves the region of
                                   %c = begin %e       "default" its producer and enters that of
                                   %1 = relay.exp %c             its user, each use by its own
                                   %d = end %1         "default" pair
                                   return %d

- Operators, calls and composites have a target of their own. With `non_call_ops` tuples, projections and
  references take the common target of their operands, `default` where these differ. What has no
  operands, constants and parameters need no `compiler_end`.
- What a `let` binds leaves its region and enters one that has nothing else in it: `compiler_regions` takes it for none.
- What is not Relay's own (other dialects, terminators, control flow) is outside of all regions:
  its operands only leave.
- Operands that begin a region of another compiler than `default` are kept, and so is an operator whose
  first operand is one: annotations for one compiler after the other add up. `default` is redone.

One walk over the program. Source: Relay's AnnotateTarget.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Operation, OpResult, SSAValue

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.scopes import in_evaluation_order
from xrelay.analysis.partition.compilers import DEFAULT, Targets
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.adt import ConstructOp
from xrelay.dialects.core.annotation import CompilerBeginOp, CompilerEndOp
from xrelay.dialects.core.functional import FUNCTIONAL_OPS, ApplyOp, ClosureOp, LetOp
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import CalledBodyOp, ConstantOp, TupleGetItemOp, TupleOp

NON_CALL_OPS = (TupleOp, TupleGetItemOp, RefCreateOp, RefReadOp, RefWriteOp)
"""Operations that are expressions in Relay, but not calls."""


@dataclass(frozen=True)
class OperandAnnotation:
    """What comes between a value and one use of it."""

    index: int
    """Which operand."""
    end: str | None = None
    """The compiler whose region the value leaves."""
    begin: str | None = None
    """The compiler whose region the value enters."""


@dataclass
class AnnotationPlan:
    """The annotations of a function."""

    operands: dict[Operation, list[OperandAnnotation]] = field(
        default_factory=dict[Operation, list[OperandAnnotation]]
    )
    """What is inserted, for each user."""
    ends: dict[CompilerEndOp, str] = field(default_factory=dict[CompilerEndOp, str])
    """The compilers of ends that were there before and change theirs."""


def is_call(op: Operation) -> bool:
    """Whether `op` is what Relay has as a call."""
    if isinstance(op, func.CallOp | CalledBodyOp | ApplyOp | ConstructOp):
        return True
    others = (ConstantOp, *NON_CALL_OPS, *FUNCTIONAL_OPS)
    return not isinstance(op, others) and isinstance(op, RelayOp) and not op.regions


def arguments(op: Operation) -> Iterator[tuple[int, SSAValue]]:
    """The operands that are values for `op`, with their places: not the function that it calls."""
    for index, value in enumerate(op.operands):
        if index or not isinstance(op, ApplyOp):
            yield index, value


@dataclass
class _Walk:
    """The walk over one function."""

    targets: Targets
    effects: Effects
    non_call_ops: bool
    plan: AnnotationPlan = field(default_factory=AnnotationPlan)
    known: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """The compilers of values that are computed in a region."""

    def visit(self, op: Operation) -> None:
        match op:
            case CompilerBeginOp() | ConstantOp() | ClosureOp():
                pass
            case CompilerEndOp():
                target = self.known.get(op.data, op.compiler.data)
                if target != op.compiler.data:
                    self.plan.ends[op] = target
            case LetOp() if isinstance(op.value.owner, ClosureOp):
                pass
            case ApplyOp() if not self.non_call_ops and not isinstance(
                op.function.owner, ClosureOp
            ):
                self.leave(op)
            case LetOp() if self.non_call_ops:
                self.enter(op, None)
            case _ if self.effects.keeps_place(op) and not any(r.uses for r in op.results):
                # No region would be left by its result.
                self.leave(op)
            case _ if is_call(op):
                if not _is_taken(op):
                    target = self.enter(op, self.targets.target_of(op))
                    self.known.update(dict.fromkeys(op.results, target))
            case _ if isinstance(op, NON_CALL_OPS) and self.non_call_ops:
                target = self.enter(op, None)
                self.known.update(dict.fromkeys(op.results, target))
            case _:
                self.leave(op)

    def enter(self, op: Operation, target: str | None) -> str:
        """
        The operands enter the region of `op`, whose compiler is that of the operands when it is not
        given. Returns the compiler, which is empty when nothing says it.
        """
        common: str | None = None
        entering: list[tuple[int, str | None]] = []
        for index, value in arguments(op):
            owner = value.owner
            source, end = DEFAULT, None
            if isinstance(owner, CompilerBeginOp):
                before = owner.data.owner
                if isinstance(before, CompilerEndOp):
                    source = self.plan.ends.get(before, before.compiler.data)
                if owner.compiler.data == DEFAULT:
                    entering.append((index, None))
            else:
                if value in self.known:
                    source = self.known[value]
                    end = source if _has_inputs(value) else None
                entering.append((index, end))
            common = source if common in (None, source) else DEFAULT
        chosen = (common or "") if target is None else target
        for index, end in entering:
            self.add(op, OperandAnnotation(index, end, chosen))
        return chosen

    def leave(self, op: Operation) -> None:
        """The operands leave the regions of their producers."""
        for index, value in arguments(op):
            if value in self.known and _has_inputs(value):
                self.add(op, OperandAnnotation(index, self.known[value]))

    def add(self, op: Operation, annotation: OperandAnnotation) -> None:
        self.plan.operands.setdefault(op, []).append(annotation)


def _has_inputs(value: SSAValue) -> bool:
    """Whether what computes a value takes operands; Relay treats the others as inputs."""
    return isinstance(value, OpResult) and any(True for _ in arguments(value.op))


def _is_taken(op: Operation) -> bool:
    """Whether another compiler has `op` already."""
    first = next((value for _, value in arguments(op)), None)
    owner = None if first is None else first.owner
    return isinstance(owner, CompilerBeginOp) and owner.compiler.data != DEFAULT


def plan_annotation(
    function: func.FuncOp, targets: Targets, effects: Effects, *, non_call_ops: bool = True
) -> AnnotationPlan:
    """The annotations of a function for some compilers. `effects` are those of the program."""
    walk = _Walk(targets, effects, non_call_ops)
    for op in in_evaluation_order(function):
        walk.visit(op)
    return walk.plan
