"""
Patterns against a matcher that tries every way and remembers nothing, on random programs. Most patterns are
made from a value, so that they describe it or nearly do.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import RandomProgram, programs, shape_of
from tiers import examples
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.analysis.patterns.groups import find_groups
from xrelay.analysis.patterns.language import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DominatorPattern,
    DtypePattern,
    NumberPattern,
    OpPattern,
    Pattern,
    RestrictedPattern,
    ShapePattern,
    ThroughPattern,
    TupleGetItemPattern,
    TuplePattern,
    VarPattern,
    WildcardPattern,
    is_constant,
    is_number,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    through,
    wildcard,
)
from xrelay.analysis.patterns.matching import Match, match, why_not
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.tensor.unary import NegativeOp, ReluOp
from xrelay.dialects.traits import pattern_kind
from xrelay.interpreters.constants import constant_array
from xrelay.interpreters.relay import interpret
from xrelay.transforms.merge_composite import merge_composites

KINDS = (
    "unary",
    "binary",
    "product",
    "product",
    "scaled",
    "constant",
    "tuple",
    "field",
    "transpose",
)
NAMES = ("add", "multiply", "divide", "nn.relu", "tanh", "negative", "subtract")

# -- a naive matcher ------------------------------------------------------------------------------

Way = tuple[dict[Pattern, SSAValue], frozenset[Operation]]
"""The values that nodes stand for, and the operations that are named."""


def name_of(op: object) -> str:
    return op.name.removeprefix("relay.") if isinstance(op, Operation) else ""


def is_same(one: SSAValue, other: SSAValue) -> bool:
    left, right = one.owner, other.owner
    if isinstance(left, ConstantOp) and isinstance(right, ConstantOp):
        same = np.array_equal(constant_array(left), constant_array(right))
        return same and one.type == other.type
    return one is other


def ways(pattern: Pattern, value: SSAValue, way: Way) -> Iterator[Way]:
    """Every way in which a value is as described, given what nodes stand for already."""
    bound, _ = way
    if pattern in bound:
        if is_same(bound[pattern], value):
            yield way
        return
    for found, ops in described(pattern, value, way):
        yield {**found, pattern: value}, ops


def described(pattern: Pattern, value: SSAValue, way: Way) -> Iterator[Way]:
    op = value.owner
    match pattern:
        case WildcardPattern():
            yield way
        case VarPattern():
            yield from [way] if isinstance(value, BlockArgument) else []
        case ConstantPattern():
            yield from [way] if isinstance(op, ConstantOp) else []
        case NumberPattern():
            numbers = set(constant_array(op).reshape(-1)) if isinstance(op, ConstantOp) else ()
            yield from [way] if len(numbers) == 1 else []
        case AltPattern():
            yield from ways(pattern.left, value, way)
            yield from ways(pattern.right, value, way)
        case CallPattern():
            yield from calls(pattern, value, way)
        case TuplePattern():
            if isinstance(op, TupleOp):
                fields = pattern.fields
                if fields is None:
                    yield named(way, op)
                elif len(fields) == len(op.fields):
                    yield from all_ways(fields, op.fields, named(way, op))
        case TupleGetItemPattern():
            if isinstance(op, TupleGetItemOp) and pattern.index in (None, op.index.value.data):
                yield from ways(pattern.tuple_value, op.tuple_value, named(way, op))
        case RestrictedPattern():
            for found in ways(pattern.pattern, value, way):
                yield from [found] if has_property(pattern, value) else []
        case ThroughPattern():
            if isinstance(op, pattern.types):
                (operand,) = op.operands
                again = ThroughPattern(pattern.types, pattern.pattern)
                for found, ops in ways(again, operand, named(way, op)):
                    yield {node: v for node, v in found.items() if node is not again}, ops
            yield from ways(pattern.pattern, value, way)
        case DominatorPattern():
            yield from dominations(pattern, value, way)
        case _:
            raise AssertionError(pattern)


def named(way: Way, *ops: Operation) -> Way:
    return way[0], way[1] | set(ops)


def all_ways(patterns: Sequence[Pattern], values: Sequence[SSAValue], way: Way) -> Iterator[Way]:
    if not patterns:
        yield way
        return
    for found in ways(patterns[0], values[0], way):
        yield from all_ways(patterns[1:], values[1:], found)


def has_property(pattern: RestrictedPattern, value: SSAValue) -> bool:
    match pattern:
        case ShapePattern():
            shape = shape_of(value)
            return len(shape) == len(pattern.shape) and all(
                wanted is None or wanted == found
                for wanted, found in zip(pattern.shape, shape, strict=True)
            )
        case DtypePattern():
            return shape_of(value) != (-1,) and pattern.dtype == "float32"
        case _:
            raise AssertionError(pattern)


def is_called(pattern: Pattern, op: Operation) -> bool:
    """Whether an operator is one that a pattern of what is called describes."""
    match pattern:
        case WildcardPattern():
            return True
        case OpPattern():
            return pattern.kind == name_of(op)
        case AltPattern():
            return is_called(pattern.left, op) or is_called(pattern.right, op)
        case AttrPattern():
            kind = pattern.attrs["TOpPattern"]
            return is_called(pattern.pattern, op) and int(pattern_kind(op)) == kind
        case _:
            return False


def calls(pattern: CallPattern, value: SSAValue, way: Way) -> Iterator[Way]:
    op = value.owner
    if not isinstance(op, Operation) or isinstance(op, ConstantOp | TupleOp | TupleGetItemOp):
        return
    yield from plain_calls(pattern, op, way)
    # a * b / c and a * (b / c) are the same.
    for other in associated(pattern):
        yield from plain_calls(other, op, way, inner_is_new=True)


def plain_calls(
    pattern: CallPattern, op: Operation, way: Way, *, inner_is_new: bool = False
) -> Iterator[Way]:
    """Without that law. The pattern within that it has made stands for no value."""
    args = pattern.args
    if not is_called(pattern.callee, op):
        return
    if args is None:
        yield named(way, op)
        return
    if len(args) != len(op.operands):
        return
    orders = [tuple(op.operands)]
    if name_of(op) in ("add", "multiply"):
        orders.append(orders[0][::-1])
    for operands in orders:
        if not inner_is_new:
            yield from all_ways(args, operands, named(way, op))
            continue
        (inner,) = [number for number, arg in enumerate(args) if isinstance(arg, New)]
        new = args[inner]
        assert isinstance(new, New)
        source = operands[inner].owner
        if isinstance(source, Operation) and not isinstance(source, ConstantOp):
            for found in plain_calls(CallPattern(new.callee, new.args), source, named(way, op)):
                yield from ways(args[1 - inner], operands[1 - inner], found)


class New(CallPattern):
    """A call that the other side of a law has."""


def associated(pattern: CallPattern) -> Iterator[CallPattern]:
    """The other side of a * b / c = a * (b / c)."""
    args = pattern.args
    if not isinstance(pattern.callee, OpPattern) or args is None or len(args) != 2:
        return
    if pattern.callee.kind == "divide" and is_pattern_of(args[0], "multiply"):
        for one, other in (args[0].args, args[0].args[::-1]):
            yield CallPattern(is_op("multiply"), (one, New(is_op("divide"), (other, args[1]))))
    if pattern.callee.kind == "multiply":
        for one, other in (args, args[::-1]):
            if is_pattern_of(other, "divide"):
                numerator, divisor = other.args
                product = New(is_op("multiply"), (one, numerator))
                yield CallPattern(is_op("divide"), (product, divisor))


def is_pattern_of(pattern: Pattern, name: str) -> bool:
    return (
        isinstance(pattern, CallPattern)
        and isinstance(pattern.callee, OpPattern)
        and pattern.callee.kind == name
        and pattern.args is not None
    )


def dominations(pattern: DominatorPattern, value: SSAValue, way: Way) -> Iterator[Way]:
    for found in ways(pattern.child, value, way):
        parents: set[SSAValue] = set()
        inside: set[Operation] = set()
        if not climbs(pattern, found, value, pattern.child, parents, inside) or len(parents) != 1:
            continue
        (parent,) = parents
        if leads_only_to(parent, value.owner, inside):
            yield from ways(pattern.parent, parent, named(found, *inside))


def climbs(
    pattern: DominatorPattern,
    way: Way,
    below: SSAValue,
    seen_as: Pattern,
    parents: set[SSAValue],
    inside: set[Operation],
) -> bool:
    """Whether all ways up from a value are as described as far as a parent; collects what is there."""
    owner = below.owner
    if isinstance(owner, Block):
        return True
    while isinstance(seen_as, RestrictedPattern):
        seen_as = seen_as.pattern
    stated = isinstance(seen_as, CallPattern) and seen_as.args is not None
    for operand in owner.operands:
        if stated and isinstance(operand.owner, Block | ConstantOp):
            continue
        if any(True for _ in ways(pattern.parent, operand, way)):
            parents.add(operand)
            continue
        if not any(True for _ in ways(pattern.path, operand, ({}, frozenset()))):
            return False
        if isinstance(operand, OpResult):
            inside.add(operand.op)
        if not climbs(pattern, way, operand, pattern.path, parents, inside):
            return False
    return True


def leads_only_to(value: SSAValue, end: object, inside: Iterable[Operation]) -> bool:
    """Whether every use of a value is within some operations, as far as the end."""
    return all(
        use.operation is end
        or (
            use.operation in inside
            and not use.operation.has_trait(IsTerminator)
            and all(leads_only_to(result, end, inside) for result in use.operation.results)
        )
        for use in value.uses
    )


# -- random patterns ------------------------------------------------------------------------------


class Patterns:
    """Patterns that describe values, or nearly do, by the numbers of a tape; 0 is the plainest choice."""

    def __init__(self, tape: Sequence[int]):
        self.tape = iter(tape)
        self.made: list[Pattern] = []

    def next(self, count: int) -> int:
        return next(self.tape, 0) % count

    def pattern(self, value: SSAValue, depth: int) -> Pattern:
        made = self.new(value, depth)
        self.made.append(made)
        return made

    def new(self, value: SSAValue, depth: int) -> Pattern:
        op = value.owner
        if depth == 0 or not isinstance(op, Operation):
            return (wildcard, wildcard, is_var, is_constant)[self.next(4)]()
        if self.next(3) == 2:
            regrouped = self.regrouped(op, depth)
            if regrouped is not None:
                return regrouped
        match self.next(17):
            case 0 | 1 | 2 | 3 | 4 | 5:
                return self.exact(op, depth)
            case 6 if self.made:
                return self.made[-1 - self.next(len(self.made))]
            case 7:
                return self.pattern(value, depth - 1) | self.exact(op, depth)
            case 8:
                return self.exact(op, depth) | self.pattern(value, depth - 1)
            case 9:
                return self.exact(op, depth).has_shape(
                    [None if self.next(2) else size for size in shape_of(value)]
                )
            case 10:
                return self.pattern(value, depth - 1).has_dtype(("float32", "int8")[self.next(2)])
            case 11 | 12 | 13:
                return self.dominator(value, op, depth)
            case 14:
                other = is_op(NAMES[self.next(len(NAMES))])
                return self.pattern(value, depth - 1).optional(lambda inner: other(inner))
            case 15:
                return through((ReluOp, NegativeOp), self.pattern(value, depth - 1))
            case _:
                return self.wrong(op, depth)

    def exact(self, op: Operation, depth: int) -> Pattern:
        """What an operation computes."""
        match op:
            case ConstantOp():
                return (is_constant, is_number)[self.next(2)]()
            case TupleOp():
                if self.next(4) == 3:
                    return is_tuple(None)
                return is_tuple([self.pattern(each, depth - 1) for each in op.fields])
            case TupleGetItemOp():
                index = (op.index.value.data, None, 0)[self.next(3)]
                return is_tuple_get_item(self.pattern(op.tuple_value, depth - 1), index)
            case _:
                pass
        callee: Pattern = is_op(name_of(op))
        match self.next(8):
            case 5:
                callee = callee.has_attr({"TOpPattern": self.next(2)})
            case 6:
                callee = is_op(NAMES[self.next(len(NAMES))]) | callee
            case 7:
                return callee.any_call()
            case _:
                pass
        operands = [self.pattern(each, depth - 1) for each in op.operands]
        return callee(*(operands[::-1] if self.next(3) == 2 else operands))

    def regrouped(self, op: Operation, depth: int) -> Pattern | None:
        """The other form of a product with a quotient, if an operation is one."""
        for number, operand in enumerate(op.operands):
            inner = operand.owner
            pair = name_of(op), name_of(inner)
            if pair not in (("multiply", "divide"), ("divide", "multiply")):
                continue
            assert isinstance(inner, Operation)
            one, other = (self.pattern(each, depth - 1) for each in inner.operands)
            rest = self.pattern(op.operands[1 - number], depth - 1)
            if pair[0] == "multiply":
                return (rest * one) / other
            if number == 0:
                return one * (other / rest)
        return None

    def dominator(self, value: SSAValue, op: Operation, depth: int) -> Pattern:
        """The value below one of those that it is computed from."""
        parent = value
        for _ in range(1 + self.next(3)):
            if isinstance(parent, OpResult) and parent.op.operands:
                parent = parent.op.operands[self.next(len(parent.op.operands))]
        unary = is_op("nn.relu")(wildcard()) | is_op("tanh")(wildcard())
        elementwise = wildcard().has_attr({"TOpPattern": 0})
        paths = [None, None, elementwise(wildcard()), unary, elementwise.any_call()]
        child = self.exact(op, 1) if self.next(2) else wildcard()
        if isinstance(child, WildcardPattern):
            child = is_op(name_of(op)).any_call()
        return child.dominates(self.pattern(parent, depth - 1), paths[self.next(len(paths))])

    def wrong(self, op: Operation, depth: int) -> Pattern:
        """A call of something else, perhaps."""
        operands = [self.pattern(each, depth - 1) for each in op.operands]
        return is_op(NAMES[self.next(len(NAMES))])(*operands)


tapes = st.lists(st.integers(0, 90), min_size=30, max_size=30)


def uses_a_law(pattern: Pattern) -> bool:
    """Whether a product of a quotient is somewhere in a pattern: the order of such ways is free."""
    own = isinstance(pattern, CallPattern) and any(True for _ in associated(pattern))
    return own or any(uses_a_law(part) for part in pattern.parts())


@examples(250)
@given(programs(KINDS, size=9), tapes, st.integers(0, 3))
def test_a_pattern_describes_what_a_naive_matcher_says(
    program: RandomProgram, tape: list[int], number: int
) -> None:
    values = [op.results[0] for op in program.block.ops if op.results]
    if not values:
        return
    value = values[-1 - number % len(values)]
    pattern = Patterns(tape).pattern(value, 3)
    for each in values[-3:] + [value]:
        found = match(pattern, each)
        expected = ways(pattern, each, ({}, frozenset()))
        first = next(expected, None)
        assert (found is None) == (first is None), str(pattern)
        assert (why_not(pattern, each) is None) == (found is not None)
        if found is None or first is None:
            continue
        way = found.bindings, frozenset(found.ops)
        if uses_a_law(pattern):
            assert way == first or way in list(islice(expected, 500))
        else:
            assert way == first


# -- groups of patterns ---------------------------------------------------------------------------


def all_nodes(pattern: Pattern) -> Iterator[Pattern]:
    yield pattern
    for part in pattern.parts():
        yield from all_nodes(part)


def describes_constants(pattern: Pattern) -> bool:
    """Whether all that a pattern describes, other than by what it is made of, are constants."""
    if isinstance(pattern, AltPattern):
        return describes_constants(pattern.left) and describes_constants(pattern.right)
    return isinstance(pattern, ConstantPattern | NumberPattern)


def operations_of(pattern: Pattern, found: Match) -> frozenset[Operation]:
    """
    What the root of a match is computed by, as far as the values that the pattern says no more about; with
    the constants that it describes. Nothing if that is not the root itself.
    """
    nodes = [node for node in all_nodes(pattern) if node in found]
    borders: set[SSAValue] = set()
    described = {found[node] for node in nodes if describes_constants(node)}
    for node in nodes:
        value = found[node]
        any_call = isinstance(node, CallPattern) and node.args is None
        if any_call or (isinstance(node, TuplePattern) and node.fields is None):
            borders.update(value.owner.operands if isinstance(value.owner, Operation) else ())
        elif not node.parts() and not isinstance(node, OpPattern):
            is_own = describes_constants(node) and isinstance(value.owner, ConstantOp)
            borders.update(() if is_own else [value])
    if any(isinstance(node, DominatorPattern) for node in all_nodes(pattern)):
        borders = {value for value in borders if value.owner not in found.ops}

    def needed(value: SSAValue) -> frozenset[Operation]:
        op = value.owner
        if value in borders or isinstance(op, Block):
            return frozenset()
        if op not in found.ops and not (isinstance(op, ConstantOp) and value in described):
            return frozenset()
        return frozenset([op]).union(*map(needed, op.operands))

    return needed(found.root) if found.root.owner in found.ops else frozenset()


def may_be_computed_together(ops: Sequence[Operation]) -> bool:
    """Whether all that is computed from the operations before the last needs the last."""
    *inner, root = ops
    pending = [use.operation for op in inner for use in op.results[0].uses]
    seen = {root}
    while pending:
        op = pending.pop()
        if op in seen:
            continue
        seen.add(op)
        following = [use.operation for result in op.results for use in result.uses]
        if not following:
            return False
        pending.extend(following)
    return True


@pytest.mark.slow
@examples(120)
@given(programs(KINDS, size=12), tapes, st.integers(0, 3))
def test_groups_are_the_matches_that_can_be_cut_out(
    program: RandomProgram, tape: list[int], number: int
) -> None:
    """From the last operation on; and the program with composites in their places means the same."""
    values = [op.results[0] for op in program.block.ops if op.results]
    if not values:
        return
    pattern = Patterns(tape).pattern(values[-1 - number % len(values)], 3)
    entry = CompositePattern("compiler.pattern", pattern)
    expected: list[frozenset[Operation]] = []
    taken: set[Operation] = set()
    for op in reversed(list(program.block.ops)):
        found = match(pattern, op.results[0]) if op.results and op not in taken else None
        ops = frozenset[Operation]() if found is None else operations_of(pattern, found)
        inside = [
            each for each in program.block.ops if each in ops and not isinstance(each, ConstantOp)
        ]
        if not taken & set(inside) and inside and may_be_computed_together(inside):
            taken.update(inside)
            expected.append(ops)
    assert [frozenset(group.ops) for group in find_groups(program.main, entry)] == expected
    before = interpret(program.module, program.inputs)
    merge_composites(program.module, [entry])
    program.module.verify()
    for one, other in zip(interpret(program.module, program.inputs), before, strict=True):
        np.testing.assert_array_equal(one, other)
    composites = [op for op in program.module.walk() if isinstance(op, CompositeOp)]
    assert len(composites) <= len(expected)
    for op in composites:
        assert all(parameter.uses for parameter in op.block.args)
        assert len(set(op.args)) == len(op.args)
