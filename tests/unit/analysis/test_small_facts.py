"""Small facts: how far numbers are rounded, what only reshapes, what compilers and costs there are."""

import json
from pathlib import Path

import pytest
from guards.passes import GuardGraph
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, bf16, f16, f32, f64, i8
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from xrelay.analysis.facts.ancestors import AncestorTree
from xrelay.analysis.facts.constants import number_of, rounding
from xrelay.analysis.facts.operation_count import multiply_adds
from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.reshapes import reshaped_argument
from xrelay.analysis.fusion.plan import FusionOptions, plan
from xrelay.analysis.fusion.policy import GroupMembers, plan_of_groups
from xrelay.analysis.partition.compilers import Compiler, CompilerRegistry
from xrelay.compiler import context
from xrelay.dialects.core.values import CompositeOp, FusedOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.unary import NegativeOp, ReluOp
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.target import AVX2
from xrelay.lowering.emit.tuning import SCHEMA, TuningError, read_records
from xrelay.lowering.operators.tensor.selection import most_wanted, selection_cycles


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(f64, 2.0**-51), (f32, 2.0**-22), (f16, 2.0**-9), (bf16, 2.0**-6), (i8, 0.0)],
)
def test_rounding(dtype: Attribute, expected: float) -> None:
    """Twice the distance to the next number, relatively; integers are what was meant."""
    (value,) = TestOp(result_types=[TensorType(dtype, [2])]).results
    assert rounding(value) == expected


def test_numbers_of_constants() -> None:
    g = GuardGraph()
    values = [g.c(3.0), g.c([2.0, 2.0]), g.c([2.0, 3.0]), g.c([0.0, -0.0]), g.c([]), g.x(2)]
    assert [number_of(value) for value in values] == [3.0, 2.0, None, None, None, None]


def fused(*steps: str) -> FusedOp:
    """A kernel of two parameters, of which the last is computed with."""
    g = GuardGraph()

    def body(inner: GuardGraph, x: SSAValue, y: SSAValue) -> SSAValue:
        del x
        for step in steps:
            y = inner.op(ReluOp(y) if step == "relu" else ReshapeOp(y, [-1]))
        return y

    op = g.fused([g.x(2, 3), g.x(2, 3)], body).owner
    assert isinstance(op, FusedOp)
    return op


@pytest.mark.parametrize(
    ("steps", "number"),
    [
        ((), 1),
        (("reshape",), 1),
        (("reshape", "reshape"), 1),
        (("relu",), None),
        (("reshape", "relu"), None),
        (("relu", "reshape"), None),
    ],
)
def test_which_parameter_is_reshaped(steps: tuple[str, ...], number: int | None) -> None:
    assert reshaped_argument(fused(*steps)) == number


def test_multiply_adds_of_bodies() -> None:
    """Those of the operators within."""
    g = GuardGraph()

    def body(inner: GuardGraph, x: SSAValue, w: SSAValue) -> SSAValue:
        return inner.op(ReluOp(inner.op(DenseOp(x, w))))

    composite = g.fused([g.x(2, 3), g.x(5, 3)], body, composite="mine").owner
    assert isinstance(composite, CompositeOp)
    assert multiply_adds(composite) == 2 * 5 * 3
    assert multiply_adds(fused("relu")) == 0


@pytest.mark.parametrize("name", ["", "default"])
def test_names_that_no_compiler_has(name: str) -> None:
    registry = CompilerRegistry()
    with pytest.raises(ValueError, match=f"^'{name}' is no name for a compiler$"):
        registry.register(Compiler(name))
    assert registry.compilers == {}


def test_names_of_compilers() -> None:
    """The last one of a name is known, and one without rules for other names."""
    registry, first, second = CompilerRegistry(), Compiler("a"), Compiler("a")
    registry.register(first)
    registry.register(second)
    assert registry.get("a") is second
    assert registry.get("b").name == "b"


@pytest.mark.parametrize(
    ("length", "wanted", "is_free"),
    [(100, 0, True), (100, -1, True), (4, 5, True), (5, 5, False), (100, 1, False)],
)
def test_selections_of_nothing_cost_nothing(length: int, wanted: int, is_free: bool) -> None:
    cycles = selection_cycles(AVX2, element(f32), length, wanted)
    assert (cycles == 0.0) == is_free
    assert cycles >= 0


def test_what_is_selected_costs_more_of_longer_rows() -> None:
    kind = element(f32)
    costs = [selection_cycles(AVX2, kind, length, 8) for length in (100, 1000, 10000)]
    assert costs == sorted(set(costs))
    assert most_wanted(AVX2, kind) > 8


@pytest.mark.parametrize("machine", ["mine", None, [1]])
def test_records_of_a_machine_that_is_not_described(machine: object, tmp_path: Path) -> None:
    """What stands in the place of a machine is none."""
    path = tmp_path / "records.json"
    path.write_text(json.dumps({"schema": SCHEMA, "machine": machine, "records": {}}))
    assert read_records(path).measured == {}
    with pytest.raises(
        TuningError,
        match=r"^'.*records\.json' was measured on another machine: not described; this is .*cpu core",
    ):
        read_records(path, "core")


@pytest.mark.parametrize(
    ("rules", "more"),
    [
        ("relay", ""),
        ("extended", ", or between the nearest siblings that limits allow (rule 42)"),
    ],
)
def test_what_no_value_connects(rules: str, more: str) -> None:
    g = GuardGraph()
    one, other = ReluOp(g.x(2)), ReluOp(g.x(3))
    g.show(one)
    g.show(other)
    (function,) = g.module().ops
    assert isinstance(function, func.FuncOp)
    found = plan(function, FusionOptions(rules=rules)).why_not_fused(one, other)
    assert found is not None
    sentence = (
        "no value goes from relay.nn.relu to relay.nn.relu, and groups grow along uses" + more
    )
    assert (found.refusal.rule, found.refusal.sentence) == (19, sentence)
    assert (found.producer, found.consumer) == (one, other)


def test_groups_of_two_blocks() -> None:
    """The operations of a group, and those that it repeats, stand in the block of the plan."""
    own, other = GuardGraph(), GuardGraph()
    first = NegativeOp(own.x(2))
    second = ReluOp(own.op(first))
    own.show(second)
    far = ReluOp(other.x(2))
    other.show(far)
    (function,) = own.module().ops
    other.module()
    assert isinstance(function, func.FuncOp)
    block = function.body.block
    together = plan_of_groups(block, [GroupMembers([second, first, first])])
    assert together.group_of[first] is together.group_of[second]
    assert together.group_of[first].members == (first, second)
    for members in (GroupMembers([second, far]), GroupMembers([first, second], [far])):
        with pytest.raises(
            PassFailedException, match=r"^relay\.nn\.relu stands in another block than its group$"
        ):
            plan_of_groups(block, [members])
    end = block.last_op
    assert end is not None
    with pytest.raises(
        PassFailedException,
        match=r"^func\.return cannot be fused: expected an operator with a kernel, one result and no side effects, "
        "a constant, a tuple or a projection$",
    ):
        plan_of_groups(block, [GroupMembers([second, end])])


@pytest.mark.parametrize(
    ("functions", "found"),
    [
        (["private @far", "@near {}"], "near"),
        (["@far", "private @near {}"], "near"),
        (["@main", "@near {}"], "near"),
        (["@first {}", "private @second {}"], "first"),
        (["@far", "@first {}", "@second {}"], "no function 'main'; the module has first, second"),
        (["@far"], "no function 'main'; the module has none"),
    ],
)
def test_where_a_program_begins(functions: list[str], found: str) -> None:
    """Functions without a body are not asked."""
    text = "\n".join(
        f"func.func {each.removesuffix(' {}')}()" + " { func.return }" * each.endswith("{}")
        for each in functions
    )
    module = Parser(context(), text).parse_module()
    try:
        name = entry_function(module).sym_name.data
    except DiagnosticException as error:
        name = str(error)
    assert name == found


def test_the_root_of_a_tree_is_its_own_parent() -> None:
    """That stands for no node; others are leaves of it until they are added."""
    tree = AncestorTree(3)
    tree.add(2, tree.root, 5)
    tree.add(1, 2, 7)
    tree.add(0, 2, 6)
    assert tree.parents == [2, 2, 3, 3]
    assert tree.common_ancestor(0, 1) == (2, 7)
    assert tree.common_ancestor(0, tree.root) == (3, 6)
