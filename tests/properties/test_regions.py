"""
Regions of compilers in random programs, against the rules written down naively: all ways through the graph
are followed again for each question.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from isomorphism import difference
from random_graphs import FUSIBLE, RandomProgram, Step, programs, steps
from tiers import examples
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.partition.annotation import plan_annotation
from xrelay.analysis.partition.compilers import DEFAULT, No, Targets, Yes
from xrelay.analysis.partition.region_merging import MergePlan, plan_merge
from xrelay.compiler import context
from xrelay.dialects.core.annotation import CompilerAnnotationOp, CompilerBeginOp, CompilerEndOp
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.frontends.relay_text import print_relay_text, read_relay_text
from xrelay.interpreters.relay import interpret
from xrelay.transforms.annotate_target import AnnotateTargetPass, annotate
from xrelay.transforms.inline import InlinePass
from xrelay.transforms.inline_compiler_functions import InlineCompilerFunctionsPass
from xrelay.transforms.merge_compiler_regions import MergeCompilerRegionsPass
from xrelay.transforms.outline_compiler_functions import OutlineCompilerFunctionsPass
from xrelay.transforms.partition_graph import PartitionGraphPass

Group = frozenset[Operation]

DENSE = ("binary", "binary", "unary", "field")
"""Programs of many ways from value to value."""
STRAIGHT = (*FUSIBLE, "opaque", "let")
BRANCHING = (*DENSE, "choice", "choice", "let")
CALLING = (*STRAIGHT, "call", "call", "call")
COMPILERS = ("a", "b", "c")
NO_OPERATORS = (ConstantOp, LetOp, TupleOp, TupleGetItemOp, func.ReturnOp)

choices = st.lists(st.sampled_from(["a", "a", "b", "", "c"]), min_size=11, max_size=11)
"""The compilers of operations, over and over."""
dense_choices = st.lists(st.sampled_from(["a", "a", "b"]), min_size=11, max_size=11)


def annotated(program: RandomProgram, chosen: list[str], non_call: bool) -> dict[Operation, str]:
    """Marks the regions of compilers that were chosen for each operation; returns the choices."""
    ops = list(program.module.walk())
    taken = {op: chosen[number % len(chosen)] for number, op in enumerate(ops)}

    def supports(name: str) -> object:
        return lambda op, types: Yes() if taken[op] == name else No("not chosen")

    targets = Targets({name: supports(name) for name in COMPILERS})
    for function in program.module.ops:
        assert isinstance(function, func.FuncOp)
        annotate(function, plan_annotation(function, targets, Effects(), non_call_ops=non_call))
    program.module.verify()
    return taken


# -- the graph, naively ---------------------------------------------------------------------------


def needs(function: func.FuncOp) -> dict[Operation, list[Operation]]:
    """What comes before each operation: its operands, what is nested in it, and the call before a call."""
    found: dict[Operation, list[Operation]] = {}
    last: Operation | None = None
    for op in function.body.walk():
        found[op] = [value.op for value in op.operands if isinstance(value, OpResult)]
        found[op] += [inner for region in op.regions for inner in region.walk()]
        if isinstance(op, func.CallOp):
            found[op] += [] if last is None else [last]
            last = op
    return found


def regions_of(function: func.FuncOp) -> list[Group]:
    """The operations that begins and ends enclose: what is connected inside of these borders."""
    groups: list[set[Operation]] = []
    for op in function.body.walk():
        if isinstance(op, CompilerBeginOp):
            # What `let` binds is in no region.
            if not all(isinstance(use.operation, LetOp) for use in op.result.uses):
                groups.append({op})
            continue
        if op.regions or isinstance(op, func.ReturnOp | LetOp):
            continue
        inputs = {
            value.owner for value in op.operands if not isinstance(value.owner, CompilerEndOp)
        }
        joined = [group for group in groups if group & inputs]
        if joined and op.results:
            groups = [group for group in groups if group not in joined]
            groups.append({op}.union(*joined))
    return [frozenset(group) for group in groups]


def compiler_of(group: Iterable[Operation]) -> str:
    """The one compiler of the borders of a region."""
    (name,) = {op.compiler.data for op in group if isinstance(op, CompilerAnnotationOp)}
    return name


def has_way_around(
    before: Mapping[Operation, list[Operation]],
    groups: Iterable[Group],
    producer: Group,
    user: Group,
) -> bool:
    """Whether a way leads from one region to another one through something else."""
    home = {op: group for group in groups for op in group}
    pending = [each for op in user for each in before[op] if each not in producer | user]
    seen: set[Operation] = set()
    while pending:
        op = pending.pop()
        if op in seen:
            continue
        seen.add(op)
        if op in producer:
            return True
        # Whoever needs one operation of a region needs the region.
        for each in home.get(op, (op,)):
            pending.append(each)
            pending.extend(before[each])
    return False


def has_circle(before: Mapping[Operation, list[Operation]], groups: Iterable[Group]) -> bool:
    """Whether regions, as single nodes, need each other."""
    home: dict[Operation, object] = {op: group for group in groups for op in group}
    left: dict[object, set[object]] = {}
    for op, others in before.items():
        node = home.get(op, op)
        left.setdefault(node, set()).update(home.get(each, each) for each in others)
    for node, others in left.items():
        others.discard(node)
    while left:
        ready = [node for node, others in left.items() if not others & left.keys()]
        if not ready:
            return True
        for node in ready:
            del left[node]
    return False


def borders(groups: Iterable[Group]) -> Iterator[tuple[Group, Group]]:
    """The pairs of regions of one compiler of which the second takes a result of the first."""
    home = {op: group for group in groups for op in group}
    for user in home.values():
        for op in user:
            if isinstance(op, CompilerBeginOp) and isinstance(op.data.owner, CompilerEndOp):
                producer = home[op.data.owner]
                if producer is not user and compiler_of(producer) == compiler_of(user):
                    yield producer, user


def home_of(group: Iterable[Operation]) -> Block:
    """The outermost block of a region."""
    blocks = {op.parent for op in group if op.parent is not None}
    (home,) = [each for each in blocks if all(is_within(other, each) for other in blocks)]
    return home


def is_within(inner: Block | None, outer: Block) -> bool:
    return inner is not None and (inner is outer or is_within(inner.parent_block(), outer))


def may_be_computed_at(home: Block, user: Group, groups: Iterable[Group]) -> bool:
    """Whether the inputs of a region without effects are there in a block around it, or computed there by another."""
    computed = {op: home_of(group) for group in groups for op in group}
    sources: list[Block | Operation] = []
    for op in user:
        if isinstance(op, CompilerBeginOp):
            value = op.data
            while isinstance(value.owner, CompilerAnnotationOp):
                value = value.owner.data
            if value.owner not in user:
                sources.append(value.owner)
    blocks = [
        each if isinstance(each, Block) else computed.get(each, each.parent) for each in sources
    ]
    effects = any(isinstance(op, func.CallOp) for op in user)
    return not effects and all(each is not None and is_within(home, each) for each in blocks)


def may_merge(
    before: Mapping[Operation, list[Operation]],
    groups: Iterable[Group],
    producer: Group,
    user: Group,
    speculate: bool,
) -> bool:
    """Whether a region can take in one that it gets a value from."""
    if has_way_around(before, groups, producer, user):
        return False
    outer, inner = home_of(producer), home_of(user)
    return outer is inner or (
        speculate and is_within(inner, outer) and may_be_computed_at(outer, user, groups)
    )


def replayed(
    plan: MergePlan, before: Mapping[Operation, list[Operation]], speculate: bool = True
) -> list[Group]:
    """Carries out the decisions of a plan, each of which has to be right when it is made."""
    groups = [frozenset(region.ops) for region in plan.regions.regions]
    number = {region.id: region.ops[0] for region in plan.regions.regions}
    for decision in plan.decisions:
        (producer,) = [each for each in groups if number[decision.producer] in each]
        (user,) = [each for each in groups if number[decision.user] in each]
        assert (producer, user) in set(borders(groups))
        merges = may_merge(before, groups, producer, user, speculate)
        assert merges != bool(decision.refusal), decision
        if merges:
            groups = [each for each in groups if each not in (producer, user)] + [producer | user]
    return groups


# -- merging --------------------------------------------------------------------------------------


@pytest.mark.slow
@examples(70)
@given(
    programs(DENSE, size=24, reach=8),
    dense_choices,
    st.booleans(),
)
def test_neighbours_merge_unless_something_lies_between(
    program: RandomProgram, chosen: list[str], non_call: bool
) -> None:
    check_merging(program, chosen, non_call)


def check_merging(program: RandomProgram, chosen: list[str], non_call: bool) -> None:
    """In a program without branches."""
    annotated(program, chosen, non_call)
    before = needs(program.main)
    plan = plan_merge(program.main, Effects())
    assert {frozenset(region.ops) for region in plan.regions.regions} == set(
        regions_of(program.main)
    )
    groups = replayed(plan, before)
    merged: dict[object, set[Operation]] = {}
    for region, into in plan.merged.items():
        merged.setdefault(into, set()).update(region.ops)
    assert {frozenset(group) for group in merged.values()} == set(groups)
    assert not has_circle(before, groups)
    for producer, user in borders(groups):
        # Nothing is decided of what nobody uses.
        if any(isinstance(op, CompilerEndOp) for op in user):
            assert has_way_around(before, groups, producer, user)


WAITING = [
    *(("unary", 1, 1, 1), ("unary", 4, 4, 1), ("unary", 1, 0, 0), ("binary", 2, 0, 0)),
    *(("unary", 3, 4, 0), ("unary", 4, 3, 1), ("unary", 4, 1, 0), ("binary", 3, 5, 1)),
    *(("binary", 1, 5, 1), ("unary", 0, 1, 0), ("unary", 4, 3, 0), ("unary", 0, 1, 1)),
    ("binary", 5, 4, 1),
]


def test_what_is_below_one_part_is_below_the_others() -> None:
    """
    A region takes in two, below one of which something waits for its user: that is now below the other,
    too, and below what is above that.
    """
    check_merging(RandomProgram(WAITING, (0, 1, 4)), list("aaabbaaaabb"), non_call=True)


@pytest.mark.slow
@examples(40)
@given(programs(BRANCHING, size=14, reach=6), choices | dense_choices, st.booleans(), st.booleans())
def test_merged_regions_are_those_of_the_plan(
    program: RandomProgram, chosen: list[str], non_call: bool, speculate: bool
) -> None:
    check_merged(program, chosen, non_call, speculate)


@pytest.mark.parametrize("order", range(2))
def test_the_order_of_operands_does_not_count(order: int) -> None:
    """In a branch, an operator takes a value from outside and one that the branch computes: all becomes one region."""
    program = RandomProgram([("unary", 0, 0, 0), ("choice", 0, order, 1)], (0,))
    check_merged(program, ["a"], non_call=True, speculate=True)
    assert len(regions_of(program.main)) == 1


def check_merged(
    program: RandomProgram, chosen: list[str], non_call: bool, speculate: bool
) -> None:
    """In programs with branches, too: no circle, and nothing is left to merge."""
    annotated(program, chosen, non_call)
    plan = plan_merge(program.main, Effects(), speculate=speculate)
    merged: dict[object, set[Operation]] = {}
    for region, into in plan.merged.items():
        merged.setdefault(into, set()).update(region.ops)
    before = needs(program.main)
    groups = replayed(plan, before, speculate)
    assert set(groups) == set(map(frozenset, merged.values()))
    assert not has_circle(before, groups)
    step = MergeCompilerRegionsPass(speculate)
    step.apply(context(), program.module)
    program.module.verify()
    found = regions_of(program.main)

    def inner(group: Iterable[Operation]) -> Group:
        return frozenset(op for op in group if not isinstance(op, CompilerAnnotationOp))

    assert set(map(inner, found)) == set(map(inner, merged.values()))
    for group in found:
        compiler_of(group)
        for op in group:
            assert not (isinstance(op, CompilerBeginOp) and op.data.owner in group)
    for producer, user in borders(found):
        # Nothing is decided of what nobody uses.
        if any(isinstance(op, CompilerEndOp) for op in user):
            assert not may_merge(needs(program.main), found, producer, user, speculate)
    once = str(program.module)
    step.apply(context(), program.module)
    assert str(program.module) == once


# -- partitioning -----------------------------------------------------------------------------------


def check_interface(function: func.FuncOp, call: func.CallOp) -> None:
    """A function uses what is its own, takes each value once, and all that it takes."""
    own: set[SSAValue] = set(function.body.block.args)
    for op in function.body.walk():
        assert own.issuperset(op.operands), f"{op.name} in @{function.sym_name.data}"
        own.update(op.results)
    assert all(parameter.uses for parameter in function.body.block.args)
    assert len(set(call.operands)) == len(call.operands)
    assert [value.type for value in call.operands] == list(function.function_type.inputs)
    name = function.sym_name.data
    assert function.attributes["global_symbol"] == StringAttr(name)
    for flag in ("Primitive", "Inline"):
        attribute = function.attributes[flag]
        assert isinstance(attribute, IntegerAttr) and attribute.value.data == 1
    end = function.body.block.last_op
    assert isinstance(end, func.ReturnOp)
    (value,) = end.operands
    if isinstance(value.owner, TupleOp):
        fields = value.owner.fields
        assert len(set(fields)) == len(fields)


def check_partition(
    program: RandomProgram, taken: Mapping[Operation, str], *, merge: bool, bind: bool
) -> None:
    """Everything of a program is where it belongs, and it means what it meant."""
    module = program.module
    if merge:
        MergeCompilerRegionsPass().apply(context(), module)
    PartitionGraphPass(bind_constants=bind).apply(context(), module)
    module.verify()
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    calls = {
        op.callee.root_reference.data: op for op in module.walk() if isinstance(op, func.CallOp)
    }
    for name, function in functions.items():
        compiler = function.attributes.get("Compiler", StringAttr(""))
        assert isinstance(compiler, StringAttr)
        if compiler.data:
            check_interface(function, calls[name])
        for op in function.body.walk():
            assert not isinstance(op, CompilerAnnotationOp)
            # Operations of branches may stand in those of the other functions.
            if op in taken and not isinstance(op, NO_OPERATORS) and op.name.startswith("relay."):
                assert taken[op] == compiler.data
    if bind:
        for call in calls.values():
            taking = functions[call.callee.root_reference.data]
            if "Compiler" in taking.attributes:
                assert not any(isinstance(value.owner, ConstantOp) for value in call.operands)


def results(program: RandomProgram) -> list[np.ndarray]:
    return [np.asarray(result) for result in interpret(program.module, program.inputs)]


def require_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kinds", [STRAIGHT, BRANCHING, CALLING], ids=["straight", "if", "call"])
def test_partitioned_programs_mean_the_same(kinds: tuple[str, ...]) -> None:
    options = st.tuples(st.booleans(), st.booleans(), st.booleans())
    helpers = steps(STRAIGHT, 4) if "call" in kinds else st.just([])

    @examples(20)
    @given(steps(kinds, 14, 12), helpers, choices, options)
    def check(main: list[Step], helper: list[Step], chosen: list[str], options: tuple[bool, ...]):
        merge, bind, non_call = options
        program = RandomProgram(main, (0, 1, 4), helper=[("unary", 0, 0, 0), *helper])
        expected = results(program)
        taken = annotated(program, chosen, non_call)
        check_partition(program, taken, merge=merge, bind=bind)
        require_same(results(program), expected)
        there_and_back(program, expected)

    check()


def there_and_back(program: RandomProgram, expected: list[np.ndarray]) -> None:
    """Functions of compilers can be inlined, and made again of their literals."""
    back = program.module.clone()
    InlineCompilerFunctionsPass().apply(context(), back)
    back.verify()
    assert not any("Compiler" in op.attributes for op in back.ops)
    require_same([np.asarray(each) for each in interpret(back, program.inputs)], expected)
    before = str(program.module)
    for step in (InlinePass(), OutlineCompilerFunctionsPass()):
        step.apply(context(), program.module)
        program.module.verify()
    assert sorted(str(program.module).split("\n")) == sorted(before.split("\n"))


OPERATORS = (
    "abs",
    "add",
    "multiply",
    "negative",
    "nn.dense",
    "nn.relu",
    "subtract",
    "sum",
    "tanh",
    "transpose",
)
supported = st.lists(
    st.sampled_from([f"{name}:{op}" for name in COMPILERS for op in OPERATORS]), max_size=20
)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [STRAIGHT, BRANCHING], ids=["straight", "if"])
def test_text_between_the_passes_changes_nothing(kinds: tuple[str, ...]) -> None:
    """Regions have the numbers, and their functions the parameters, that they have when each pass reads its program."""

    @examples(40)
    @given(programs(kinds, reach=12), supported, st.booleans(), st.booleans())
    def check(program: RandomProgram, operators: list[str], non_call: bool, merge: bool):
        at_once = read_relay_text(print_relay_text(program.module))
        one_by_one = at_once.clone()
        annotate = AnnotateTargetPass(COMPILERS, non_call, tuple(operators))
        for step in (annotate, *[MergeCompilerRegionsPass()] * merge, PartitionGraphPass()):
            step.apply(context(), at_once)
            step.apply(context(), one_by_one)
            one_by_one = read_relay_text(print_relay_text(one_by_one))
        assert difference(at_once, one_by_one) is None

    check()


assert DEFAULT not in COMPILERS
