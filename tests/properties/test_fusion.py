"""
Fusion of random programs: Relay's rules as an oracle that follows them to the letter (docs/fusion.md has their
numbers), and what holds for groups by any rules.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from isomorphism import difference
from random_graphs import FUSIBLE, RandomProgram, Step, programs
from tiers import examples
from xdsl.dialects.builtin import TensorType, TupleType, f32, f64, i1, i32, i64
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from xrelay.analysis.fusion.plan import (
    FusionGroup,
    FusionOptions,
    FusionPlan,
    may_fuse,
    plan_fusion,
)
from xrelay.compiler import context
from xrelay.dialects.core.annotation import StopFusionOp
from xrelay.dialects.core.values import CalledBodyOp, ConstantOp, FusedOp, TupleGetItemOp, TupleOp
from xrelay.dialects.traits import pattern_kind
from xrelay.interpreters.relay import interpret
from xrelay.transforms.defuse_ops import DefuseOpsPass
from xrelay.transforms.fuse_ops import FuseOpsPass

ELEMWISE, BROADCAST, INJECTIVE, REDUCE, COMPLEX = range(5)
TUPLE, OPAQUE = 7, 8
ALL = (*FUSIBLE, "opaque", "stop", "choice")
MEETING = (
    *("unary", "unary", "binary", "binary", "binary", "binary"),
    *("dense", "dense", "dense", "reduce", "scaled", "softmax", "choice"),
)
"""Programs in which ways from complex operators meet others again."""
JOINING = ("unary", "binary", *("concatenate",) * 3, "slice", "flatten", "tuple", "field", "split")
"""Programs of tuples within chains of what moves elements."""
RULES = ("relay", "cpu", "extended")

depths = st.sampled_from([256, 256, 256, 9, 6, 5, 4, 3, 2, 1])


# -- the rules, naively ---------------------------------------------------------------------------


def has_tensors(tuple_type: object) -> bool:
    assert isinstance(tuple_type, TupleType)
    return all(isinstance(each, TensorType) for each in tuple_type.types.data)


def kind_of(op: Operation) -> int:
    """Rules 4, 6, 8, 9 and 27."""
    match op:
        case ConstantOp():
            scalar = not op.result.type.get_shape()
            known = op.result.type.element_type in (i1, i32, i64, f32, f64)
            return ELEMWISE if scalar and known else OPAQUE
        case TupleOp():
            return TUPLE
        case TupleGetItemOp():
            return INJECTIVE if has_tensors(op.tuple_value.type) else OPAQUE
        case StopFusionOp():
            return OPAQUE
        case _:
            return int(pattern_kind(op)) if op.name.startswith("relay.") else OPAQUE


def edge_kind(producer: Operation, user: Operation) -> int | None:
    """How an operation uses another one (rules 3, 7, 8, 9); None when it is no dataflow."""
    value = producer.results[0]
    if user.parent is not producer.parent or user.has_trait(IsTerminator):
        return None
    if user.regions and not isinstance(user, CalledBodyOp):
        return None
    if isinstance(user, TupleOp):
        return INJECTIVE if isinstance(value.type, TensorType) else None
    if isinstance(user, TupleGetItemOp):
        return INJECTIVE if has_tensors(value.type) else None
    kind = kind_of(user)
    shapes = [
        each.type.get_shape()
        for each in (value, user.results[0])
        if isinstance(each.type, TensorType)
    ]
    return ELEMWISE if kind == BROADCAST and len(shapes) == 2 and shapes[0] == shapes[1] else kind


class Oracle:
    """The groups of a block, by rules 1 to 25."""

    def __init__(self, block: Block, max_depth: int, level: int):
        self.ops = list(block.ops)
        self.users: dict[Operation, list[Operation]] = {}
        self.edges: dict[tuple[Operation, Operation], int] = {}
        self.extern: set[Operation] = set()
        for op in self.ops:
            users = [use.operation for result in op.results for use in result.uses]
            self.users[op] = [user for user in users if user.parent is block]
            for user in users:
                kind = edge_kind(op, user)
                if kind is None:
                    self.extern.add(op)
                else:
                    self.edges[op, user] = kind
        self.max_depth = max_depth
        self.dominators = self.post_dominators()
        # The record of each node, which is that of its group as long as it is its root.
        self.root = {op: op for op in self.ops}
        self.kind = {op: kind_of(op) for op in self.ops}
        self.count = dict.fromkeys(self.ops, 1)
        self.anchor = {op: op if kind_of(op) == COMPLEX else None for op in self.ops}
        for sweep in range(3 if level else 0):
            for op in self.ops:
                self.visit(op, sweep)

    def post_dominators(self) -> dict[Operation, Operation | None]:
        """Rules 12 and 13: the first of those that all ways to the end pass."""
        passed: dict[Operation, list[Operation]] = {}
        for op in reversed(self.ops):
            ways = [passed[user] for user in self.users[op]]
            common = [each for each in ways[0] if all(each in way for way in ways)] if ways else []
            passed[op] = [op, *(() if op in self.extern else common)]
        return {op: (way[1:] or [None])[0] for op, way in passed.items()}

    def on_the_way(self, op: Operation, sink: Operation) -> list[Operation]:
        """What lies between an operation and its dominator, without both."""
        found: dict[Operation, None] = {}
        pending = [op]
        while pending:
            new = [each for each in self.users[pending.pop()] if each is not sink]
            pending.extend(each for each in new if each not in found)
            found.update(dict.fromkeys(new))
        return list(found)

    def visit(self, op: Operation, sweep: int) -> None:
        """Rules 17 to 25."""
        sink, own = self.dominators[op], self.kind[op]
        if own == OPAQUE or sink is None:
            return
        between = self.on_the_way(op, sink)
        size = self.count[self.root[sink]] + sum(self.count[each] for each in (op, *between))
        if size > self.max_depth:
            return
        if sweep == 2:
            tuples = self.kind[sink] == TUPLE and self.kind[self.root[sink]] <= INJECTIVE
            if own <= INJECTIVE and tuples:
                self.try_to_merge(op, between, sink, INJECTIVE, INJECTIVE)
            return
        if self.root[op] is self.root[sink] or self.kind[sink] == TUPLE:
            return
        inside = [op, *between]
        path = max(kind for (one, _), kind in self.edges.items() if one in inside)
        if own == COMPLEX:
            if sweep == 0 and path == ELEMWISE:
                self.try_to_merge(op, between, sink, BROADCAST, BROADCAST)
        elif own <= BROADCAST:
            if path <= REDUCE:
                self.try_to_merge(op, between, sink, INJECTIVE, COMPLEX)
        elif own in (INJECTIVE, TUPLE) and sweep == 1:
            self.try_to_merge(op, between, sink, INJECTIVE, INJECTIVE)

    def try_to_merge(
        self, op: Operation, between: list[Operation], sink: Operation, inner: int, last: int
    ) -> None:
        """Rules 16, 18 and 19, where no group on the way may be higher than `inner`, `last` at its end."""
        if any(self.kind[self.root[each]] > inner for each in between):
            return
        if self.kind[self.root[sink]] > last:
            return
        upper = self.root[sink]
        for each in (op, *between):
            lower = self.root[each]
            if lower is upper:
                continue
            self.count[upper] += self.count[lower]
            if self.anchor[lower] is not None:
                assert self.anchor[upper] is None
                self.anchor[upper] = self.anchor[lower]
                self.kind[upper] = max(self.kind[upper], self.kind[lower])
            self.root = {x: upper if root is lower else root for x, root in self.root.items()}

    def groups(self) -> dict[Operation, tuple[set[Operation], Operation | None, int]]:
        """By root: the members, the anchor and the kind."""
        ordered = sorted(self.ops, key=lambda op: self.ops.index(self.root[op]))
        return {
            root: (set(members), self.anchor[root], self.kind[root])
            for root, members in groupby(ordered, key=self.root.__getitem__)
        }


@examples(200)
@given(
    programs(ALL, size=16)
    | programs(MEETING, size=14, reach=3)
    | programs(JOINING, size=14, reach=3),
    depths,
    st.sampled_from([0, 1, 2, 2, 2, 2]),
)
def test_groups_are_those_of_relay(program: RandomProgram, depth: int, level: int) -> None:
    found = plan_fusion(program.block, FusionOptions(level, depth))
    groups = {
        group.root: (set(group.members), group.anchor, int(group.kind)) for group in found.groups
    }
    assert groups == Oracle(program.block, depth, level).groups()


THIN: dict[str, tuple[Sequence[Step], Sequence[int]]] = {
    "a chain": ([("unary", 0, 0, i) for i in range(5)], [0]),
    "a diamond": ([("unary", 0, 0, 0), ("unary", 0, 0, 1), ("binary", 0, 1, 0)], [0]),
    "a wide diamond": (
        [("unary", 0, 0, 0), *(("unary", i, 0, 1) for i in range(4)), *[("binary", 0, 1, 0)] * 4],
        [0],
    ),
    "a diamond behind a product": (
        [("dense", 0, 1, 0), ("unary", 0, 0, 1), ("unary", 1, 0, 2), ("binary", 0, 1, 0)],
        [0],
    ),
    "a scaled product": ([("dense", 0, 1, 0), ("scaled", 0, 0, 1), ("scaled", 0, 0, 0)], [0]),
    "before a product": ([("unary", 0, 0, 0), ("dense", 0, 1, 0)], [0]),
    "before a softmax": ([("unary", 0, 0, 0), ("scaled", 0, 0, 0), ("softmax", 0, 0, 1)], [0]),
    "moved before a softmax": ([("transpose", 0, 0, 0), ("softmax", 0, 0, 1)], [0]),
    "on two ways to a product": (
        [("unary", 0, 0, 0), ("unary", 0, 0, 1), ("unary", 1, 0, 2), ("dense", 0, 1, 0)],
        [0],
    ),
    "moved, beside a product": (
        [("transpose", 0, 0, 0), ("dense", 1, 2, 0), ("binary", 0, 2, 0)],
        [0],
    ),
    "two products that meet": ([("dense", 0, 1, 0), ("dense", 1, 2, 0), ("binary", 0, 2, 0)], [0]),
    "moved, then joined": (
        [
            ("transpose", 0, 0, 0),
            ("transpose", 1, 0, 0),
            ("concatenate", 0, 1, 0),
            ("unary", 0, 0, 0),
        ],
        [0],
    ),
    "joined twice": (
        [
            *(("unary", 0, 0, 0), ("unary", 1, 0, 1), ("concatenate", 0, 1, 0)),
            *(("unary", 0, 0, 0), ("concatenate", 0, 1, 0), ("flatten", 0, 0, 0)),
        ],
        [0],
    ),
    "joined with itself on two ways": (
        [
            *(("unary", 0, 0, 0), ("concatenate", 0, 0, 0), ("concatenate", 1, 1, 0)),
            ("binary", 0, 1, 0),
        ],
        [0],
    ),
    "a pair and its fields": (
        [
            ("unary", 0, 0, 0),
            ("tuple", 0, 1, 0),
            ("field", 0, 0, 0),
            ("field", 0, 0, 1),
            ("binary", 0, 1, 0),
        ],
        [0],
    ),
    "a pair of which one field is used": (
        [
            ("unary", 0, 0, 0),
            ("transpose", 0, 0, 0),
            ("tuple", 0, 1, 0),
            ("field", 0, 0, 0),
            ("unary", 0, 0, 1),
        ],
        [0],
    ),
    "a pair in a pair": (
        [
            ("unary", 0, 0, 0),
            ("tuple", 0, 1, 0),
            ("tuple", 0, 1, 3),
            ("field", 0, 0, 1),
            ("unary", 0, 0, 1),
        ],
        [0],
    ),
    "reduced, then shared": (
        [("unary", 0, 0, 0), ("reduce", 0, 0, 3), ("unary", 0, 0, 1), ("binary", 0, 2, 0)],
        [0, 1],
    ),
    "joined and reduced": (
        [("unary", 0, 0, 0), ("concatenate", 0, 1, 0), ("reduce", 0, 1, 3), ("unary", 0, 0, 0)],
        [0],
    ),
}
"""Steps and results of programs in which one node more or less decides."""


@pytest.mark.parametrize("name", THIN)
def test_groups_of_all_sizes_are_those_of_relay(name: str) -> None:
    """Where a group has just as many nodes as it may, or one more."""
    steps, results = THIN[name]
    for depth in range(1, 12):
        program = RandomProgram(steps, results)
        found = plan_fusion(program.block, FusionOptions(2, depth))
        groups = {
            group.root: (set(group.members), group.anchor, int(group.kind))
            for group in found.groups
        }
        assert groups == Oracle(program.block, depth, 2).groups(), depth


# -- any rules ------------------------------------------------------------------------------------


def check_plan(plan: FusionPlan) -> None:
    """What holds for the groups of any rules."""
    for group in plan.groups:
        computed = plan.computed(group)
        assert len(computed) <= max(1, plan.options.max_depth)
        if len(group.members) == 1:
            continue
        check_kinds(group, plan.options.rules)
        for op in computed:
            assert may_fuse(op) or isinstance(op, ConstantOp | TupleOp | TupleGetItemOp)
        # Only outputs are seen from outside; all else leads to one of them.
        for op in group.members:
            users = [use.operation for use in op.results[0].uses]
            homes = [home for user in users for home in places(plan, user)]
            assert (op in group.outputs) == (not homes or any(home is not group for home in homes))
        if plan.options.rules == "relay":
            assert group.outputs == (group.root,)
    check_computable(plan)


def places(plan: FusionPlan, op: Operation) -> Iterable[FusionGroup | None]:
    """The groups that compute an operation, None for one of another block."""
    return plan.homes(op) if op in plan.nodes else (None,)


def check_kinds(group: FusionGroup, rules: str) -> None:
    """Which kinds of operators may be in one group."""
    kinds = [kind_of(op) for op in group.members]
    complex_ones = [op for op in group.members if kind_of(op) == COMPLEX]
    assert OPAQUE not in kinds
    assert kinds.count(COMPLEX) <= 1
    assert group.anchor is (complex_ones[0] if complex_ones else None)
    reductions = [op for op in group.members if kind_of(op) == REDUCE]
    if rules == "extended":
        assert len(reductions) <= 2
        return
    # Nothing follows a reduction, and what moves elements does not come before one or an anchor.
    assert reductions in ([], [group.root])
    if reductions or complex_ones:
        assert (
            all(kind in (ELEMWISE, BROADCAST, REDUCE, COMPLEX) for kind in kinds)
            or rules == "relay"
        )


def check_computable(plan: FusionPlan) -> None:
    """There is an order of the groups: so none is left and entered again."""
    waiting = [group for group in plan.groups if group.outputs]
    done: set[Operation] = set()
    while waiting:
        ready: list[FusionGroup] = []
        for group in waiting:
            computed = plan.computed(group)
            inner = {each for op in computed for each in op.walk()}
            needed = {value.owner for op in inner for value in op.operands} - inner
            if all(each in done for each in needed if isinstance(each, Operation)):
                ready.append(group)
        assert ready, "groups need each other"
        for group in ready:
            done.update(group.outputs)
        waiting = [group for group in waiting if group not in ready]


@pytest.mark.parametrize("rules", RULES)
def test_groups_can_be_computed_one_after_another(rules: str) -> None:
    @examples(25)
    @given(programs(ALL, size=18), depths, st.booleans())
    def check(program: RandomProgram, depth: int, link: bool) -> None:
        check_plan(plan_fusion(program.block, FusionOptions(2, depth, link, rules=rules)))

    check()


@pytest.mark.slow
@examples(45)
@given(
    programs((*ALL, "call"), size=16),
    st.builds(
        FuseOpsPass,
        opt_level=st.sampled_from([0, 2, 2, 2]),
        max_depth=depths,
        link_params=st.booleans(),
        max_function_args=st.sampled_from([0, 0, 3, 5]),
        rules=st.sampled_from(RULES),
    ),
)
def test_meaning_stays(program: RandomProgram, fusion: FuseOpsPass) -> None:
    """And fusing twice changes nothing; undoing it gives the program back, but for what was copied."""
    expected = interpret(program.module, program.inputs)
    original = program.module.clone()
    fusion.apply(context(), program.module)
    program.module.verify()
    require_same(interpret(program.module, program.inputs), expected)
    once = str(program.module)
    fusion.apply(context(), program.module)
    assert str(program.module) == once
    for op in program.module.walk():
        if isinstance(op, FusedOp):
            check_function(op)
    DefuseOpsPass().apply(context(), program.module)
    program.module.verify()
    require_same(interpret(program.module, program.inputs), expected)
    assert not any(isinstance(op, FusedOp) for op in program.module.walk())
    names = [op.name for op in original.walk()]
    left = [op.name for op in program.module.walk()]
    assert left.count(TupleOp.name) <= names.count(TupleOp.name)
    if StopFusionOp.name not in names and fusion.rules == "relay" and not fusion.link_params:
        assert difference(original, program.module) is None
        assert sorted(names) == sorted(left)


def check_function(op: FusedOp) -> None:
    """A fused function takes what it uses, once, and says rightly whether it only reshapes."""
    assert all(parameter.uses for parameter in op.block.args)
    assert len(set(op.args)) == len(op.args)
    own = {*op.block.args, *(result for inner in op.block.ops for result in inner.results)}
    assert all(own.issuperset(inner.operands) for inner in op.block.ops)
    computing = [
        inner
        for inner in op.block.ops
        if not isinstance(inner, ConstantOp | TupleOp | TupleGetItemOp)
        and not inner.has_trait(IsTerminator)
    ]
    tuples = [inner for inner in op.block.ops if isinstance(inner, TupleOp | TupleGetItemOp)]
    shapes = {"relay.reshape", "relay.expand_dims"}
    if not tuples:
        only_reshapes = {inner.name for inner in computing} <= shapes
        assert (op.reshape_only is not None) == only_reshapes


def require_same(found: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
