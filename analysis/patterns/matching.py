"""
Whether a pattern describes a value, and if not, why.

Here is what each kind of node asks of a value; `pattern_search` tries the ways. Patterns are small, so that
they are followed by recursion; the path of `dominates`, which can be as long as the program, is not.

Source: Relay's DFPatternMatcher.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects import scf, tensor
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.constants import number_of
from xrelay.analysis.patterns.checks import (
    callee_attributes,
    leaf_mismatch,
    restriction,
    value_text,
)
from xrelay.analysis.patterns.language import (
    AltPattern,
    AttrPattern,
    CallPattern,
    DominatorPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    OpPattern,
    Pattern,
    RestrictedPattern,
    ThroughPattern,
    TupleGetItemPattern,
    TuplePattern,
    WildcardPattern,
)
from xrelay.analysis.patterns.nodes import self_contained
from xrelay.analysis.patterns.search import Mismatch, Search, Ways
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.functional import ClosureOp, LetOp
from xrelay.dialects.core.values import CalledBodyOp, ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp

COMMUTATIVE = (AddOp, MultiplyOp)


@dataclass(frozen=True)
class Match:
    """What a pattern found."""

    root: SSAValue
    """The value that the pattern describes."""
    bindings: Mapping[Pattern, SSAValue]
    """The value of each node that took part."""
    ops: tuple[Operation, ...]
    """The operations that the pattern names, the root first; one may occur twice."""

    def __getitem__(self, pattern: Pattern) -> SSAValue:
        """The value that a node stands for."""
        return self.bindings[pattern]

    def __contains__(self, pattern: Pattern) -> bool:
        """Whether a node took part."""
        return pattern in self.bindings

    def number(self, pattern: Pattern) -> float:
        """The number that all elements of a constant are."""
        found = number_of(self.bindings[pattern])
        assert found is not None
        return found


def is_call(op: object) -> bool:
    """Whether an operation is a call of an operator or of a function literal."""
    if isinstance(op, CalledBodyOp):
        return True
    values = (ConstantOp, TupleOp, TupleGetItemOp, LetOp)
    return isinstance(op, RelayOp) and not isinstance(op, values)


def _has_kind(op: Operation, pattern: OpPattern) -> bool:
    if isinstance(pattern.kind, str):
        return op.name.removeprefix("relay.") == pattern.kind.removeprefix("relay.")
    return isinstance(op, pattern.kind)


class Matcher(Search):
    """The rules of the kinds of nodes."""

    def ways(self, pattern: Pattern, value: SSAValue) -> Ways:
        """The ways in which `value` is as described, for a node that stands for nothing yet."""
        match pattern:
            case WildcardPattern():
                yield
            case AltPattern():
                yield from self.match(pattern.left, value)
                yield from self.match(pattern.right, value)
            case CallPattern():
                yield from self.call(pattern, value)
            case RestrictedPattern():
                for _ in self.match(pattern.pattern, value):
                    reason = restriction(pattern, value)
                    yield from self.check(not reason, pattern, value, reason)
            case TuplePattern():
                yield from self.fields(pattern, value)
            case TupleGetItemPattern():
                yield from self.projection(pattern, value)
            case IfPattern():
                yield from self.choice(pattern, value)
            case LetPattern():
                yield from self.let(pattern, value)
            case FunctionPattern():
                holds = isinstance(value.owner, ClosureOp)
                for _ in self.check(holds, pattern, value, "it is no function literal"):
                    assert isinstance(value.owner, ClosureOp)
                    yield from self.literal(pattern, value.owner, value)
            case ThroughPattern():
                yield from self.through(pattern, value)
            case DominatorPattern():
                yield from self.dominated(pattern, value)
            case _:
                reason = leaf_mismatch(pattern, value)
                yield from self.check(not reason, pattern, value, reason)

    def call(self, pattern: CallPattern, value: SSAValue) -> Ways:
        op, args = value.owner, pattern.args
        if not isinstance(op, Operation) or not is_call(op):
            self.fail(pattern, value, "it is no call")
            return
        for _ in self.naming(op):
            for _ in self.callee(pattern.callee, op, value):
                operands = op.operands
                if args is None:
                    yield
                    continue
                if len(args) != len(operands):
                    reason = f"it has {len(operands)} operands, expected {len(args)}"
                    self.fail(pattern, value, reason)
                    continue
                yield from self.all(args, operands)
                if isinstance(op, COMMUTATIVE):
                    yield from self.all(args, tuple(reversed(operands)))
            yield from self.associated(pattern, op)

    def callee(self, pattern: Pattern, op: Operation, value: SSAValue) -> Ways:
        """The ways in which `op` calls what is described."""
        match pattern:
            case OpPattern():
                holds = _has_kind(op, pattern)
                yield from self.check(holds, pattern, value, f"found {op.name}")
            case WildcardPattern():
                yield
            case AltPattern():
                yield from self.callee(pattern.left, op, value)
                yield from self.callee(pattern.right, op, value)
            case FunctionPattern():
                if isinstance(op, CalledBodyOp):
                    yield from self.literal(pattern, op, value)
                else:
                    self.fail(pattern, value, f"found {op.name}")
            case AttrPattern():
                for _ in self.callee(pattern.pattern, op, value):
                    reason = callee_attributes(pattern, op)
                    yield from self.check(not reason, pattern, value, reason)
            case _:
                self.fail(pattern, value, "it describes no operator and no function")

    def literal(
        self, pattern: FunctionPattern, op: CalledBodyOp | ClosureOp, value: SSAValue
    ) -> Ways:
        """The ways in which a function literal is as described."""
        params = op.params if isinstance(op, ClosureOp) else op.block.args
        if pattern.params is not None and len(pattern.params) != len(params):
            expected = len(pattern.params)
            self.fail(pattern, value, f"it has {len(params)} parameters, expected {expected}")
            return
        for _ in self.all(pattern.params or (), params if pattern.params is not None else ()):
            count = len(self.ops)
            for _ in self.match(pattern.body, op.yielded):
                # The operation that has the body stands for what is in it.
                inner = self.ops[count:]
                del self.ops[count:]
                yield
                self.ops[count:] = inner

    def associated(self, pattern: CallPattern, op: Operation) -> Ways:
        """a * b / c as a * (b / c), and the other way round."""
        callee, args = pattern.callee, pattern.args
        if not isinstance(callee, OpPattern) or args is None or len(args) != 2:
            return
        if isinstance(op, MultiplyOp) and _is_named(callee, DivideOp):
            parts = _stated_operands(args[0], MultiplyOp)
            if parts is None:
                return
            for index in (0, 1):
                quotient = op.operands[index].owner
                if isinstance(quotient, DivideOp):
                    factors = (op.operands[1 - index], quotient.lhs)
                    for _ in self.naming(quotient):
                        for pair in (factors, factors[::-1]):
                            yield from self.all((*parts, args[1]), (*pair, quotient.rhs))
        if isinstance(op, DivideOp) and _is_named(callee, MultiplyOp):
            product = op.lhs.owner
            if not isinstance(product, MultiplyOp):
                return
            for index in (0, 1):
                parts = _stated_operands(args[index], DivideOp)
                if parts is not None:
                    for pair in (product.operands, tuple(reversed(product.operands))):
                        for _ in self.naming(product):
                            yield from self.all((args[1 - index], *parts), (*pair, op.rhs))

    def fields(self, pattern: TuplePattern, value: SSAValue) -> Ways:
        op = value.owner
        if not isinstance(op, TupleOp):
            self.fail(pattern, value, "it is no tuple")
        elif pattern.fields is not None and len(pattern.fields) != len(op.fields):
            expected = len(pattern.fields)
            self.fail(pattern, value, f"it has {len(op.fields)} fields, expected {expected}")
        else:
            for _ in self.naming(op):
                fields = op.fields if pattern.fields is not None else ()
                yield from self.all(pattern.fields or (), fields)

    def projection(self, pattern: TupleGetItemPattern, value: SSAValue) -> Ways:
        op = value.owner
        if not isinstance(op, TupleGetItemOp):
            self.fail(pattern, value, "it is no field of a tuple")
        elif pattern.index not in (None, op.index.value.data):
            self.fail(pattern, value, f"it is field {op.index.value.data}")
        else:
            for _ in self.naming(op):
                yield from self.match(pattern.tuple_value, op.tuple_value)

    def choice(self, pattern: IfPattern, value: SSAValue) -> Ways:
        op = value.owner
        if not isinstance(op, scf.IfOp) or not isinstance(value, OpResult):
            self.fail(pattern, value, "it is no result of scf.if")
            return
        condition, reader = op.cond, op.cond.owner
        if isinstance(reader, tensor.ExtractOp) and not reader.indices:
            condition = reader.tensor
        yields = [region.block.last_op for region in (op.true_region, op.false_region)]
        results = [end.operands[value.index] for end in yields if end is not None]
        for _ in self.naming(op):
            parts = (pattern.condition, pattern.true_branch, pattern.false_branch)
            yield from self.all(parts, (condition, *results))

    def let(self, pattern: LetPattern, value: SSAValue) -> Ways:
        for _ in self.match(pattern.body, value):
            bound = self.bindings.get(pattern.var)
            if bound is None or not isinstance(bound.owner, LetOp):
                self.fail(pattern.var, value, "no variable that relay.let binds stands for it")
                continue
            for _ in self.naming(bound.owner):
                yield from self.match(pattern.value, bound.owner.value)

    def through(self, pattern: ThroughPattern, value: SSAValue) -> Ways:
        chain = [value]
        while isinstance(op := chain[-1].owner, pattern.types) and len(op.operands) == 1:
            chain.append(op.operands[0])
        for count in range(len(chain) - 1, -1, -1):
            before = len(self.ops)
            self.ops.extend(_owner(each) for each in chain[:count])
            yield from self.match(pattern.pattern, chain[count])
            del self.ops[before:]

    def dominated(self, pattern: DominatorPattern, value: SSAValue) -> Ways:
        for _ in self.match(pattern.child, value):
            found = self.way_to_parent(pattern, value)
            if found is None:
                continue
            parent, between = found
            count = len(self.ops)
            self.ops.extend(between)
            for _ in self.match(pattern.parent, parent):
                if _only_leads_to(parent, between, value):
                    yield
                else:
                    reason = f"something else uses it or what is between it and {pattern.child}"
                    self.fail(pattern.parent, parent, reason)
            del self.ops[count:]

    def way_to_parent(
        self, pattern: DominatorPattern, value: SSAValue
    ) -> tuple[SSAValue, dict[Operation, None]] | None:
        """The one parent above a value, and the operations between, when all are as described."""
        parent: SSAValue | None = None
        between: dict[Operation, None] = {}
        pending = _inputs(value, pattern.child)
        seen: set[SSAValue] = set()
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            if self.describes(pattern.parent, current):
                if parent is not None and parent is not current:
                    self.fail(pattern.parent, current, f"{value_text(parent)} is the parent")
                    return None
                parent = current
                continue
            # What a path is made of may repeat: its nodes stand for nothing in the end.
            step = match(pattern.path, current)
            if step is None:
                self.fail(pattern.path, current, "it is neither the parent nor on the path")
                return None
            between.update(dict.fromkeys(step.ops))
            if isinstance(current, OpResult):
                between[current.op] = None
                pending.extend(_inputs(current, pattern.path))
        if parent is None:
            self.fail(pattern.parent, value, "nothing above it is the parent")
            return None
        return parent, between


def _owner(value: SSAValue) -> Operation:
    owner = value.owner
    assert isinstance(owner, Operation)
    return owner


def _inputs(value: SSAValue, pattern: Pattern) -> list[SSAValue]:
    """
    The operands of what computes a value, from the last to the first. A pattern that states the
    operands has looked at parameters and constants, which no path goes through.
    """
    owner = value.owner
    if isinstance(owner, Block):
        return []
    while isinstance(pattern, RestrictedPattern):
        pattern = pattern.pattern
    stated = isinstance(pattern, CallPattern) and pattern.args is not None
    return [
        operand
        for operand in reversed(owner.operands)
        if not (stated and isinstance(operand.owner, Block | ConstantOp))
    ]


def _only_leads_to(parent: SSAValue, inside: Container[Operation], child: SSAValue) -> bool:
    """Whether all ways on from `parent` are within some operations until they reach `child`."""
    end = _owner(child)
    pending, seen = [parent], {parent}
    while pending:
        for use in pending.pop().uses:
            user = use.operation
            if user is end:
                continue
            if user not in inside or user.has_trait(IsTerminator):
                return False
            pending.extend(result for result in user.results if result not in seen)
            seen.update(user.results)
    return True


def _is_named(pattern: OpPattern, type_: type[Operation]) -> bool:
    if isinstance(pattern.kind, str):
        return pattern.kind.removeprefix("relay.") == type_.name.removeprefix("relay.")
    return pattern.kind is type_


def _stated_operands(pattern: Pattern, type_: type[Operation]) -> tuple[Pattern, ...] | None:
    """The operands of a pattern for calls of an operator, if it is one and states them."""
    match pattern:
        case CallPattern(callee=OpPattern() as callee) if _is_named(callee, type_):
            return pattern.args
        case _:
            return None


_self_contained = lru_cache(maxsize=256)(self_contained)


def _matcher_after_first_way(pattern: Pattern, value: SSAValue) -> tuple[Matcher, bool]:
    """A matcher at the first way, and whether there is one."""
    matcher = Matcher(_self_contained(pattern))
    try:
        for _ in matcher.match(pattern, value):
            return matcher, True
    except RecursionError:
        raise DiagnosticException(
            "a pattern nests too deeply to be matched: expected some hundred levels at most, "
            f"found {_depth(pattern)}"
        ) from None
    return matcher, False


def _depth(pattern: Pattern) -> int:
    """How many nodes are on the longest way down a pattern."""
    depth: dict[Pattern, int] = {}
    pending = [pattern]
    while pending:
        node = pending[-1]
        missing = [part for part in node.parts() if part not in depth]
        pending.extend(missing)
        if not missing:
            depth[pending.pop()] = 1 + max((depth[part] for part in node.parts()), default=0)
    return depth[pattern]


def match(pattern: Pattern, value: SSAValue) -> Match | None:
    """
    The first way in which a pattern describes a value, None when it does not.

    Raises DiagnosticException for a pattern that nests too deeply.
    """
    matcher, matches = _matcher_after_first_way(pattern, value)
    if not matches:
        return None
    return Match(value, dict(matcher.bindings), tuple(matcher.ops))


def why_not(pattern: Pattern, value: SSAValue) -> Mismatch | None:
    """
    The node of a pattern that failed after most others had matched, and what it was compared with; None
    when the pattern describes the value.

    Raises DiagnosticException for a pattern that nests too deeply.
    """
    matcher, matches = _matcher_after_first_way(pattern, value)
    return None if matches else matcher.furthest
