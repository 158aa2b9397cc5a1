"""Laws of the smaller analyses on random programs: common subexpressions, orders, call graphs, names."""

import re

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import RandomProgram, programs
from tiers import examples
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.parser import Parser

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.names import sanitized, unused_name
from xrelay.analysis.facts.scopes import in_evaluation_order
from xrelay.analysis.partition.region_merging import plan_merge
from xrelay.compiler import context
from xrelay.dialects.core.values import ConstantOp
from xrelay.interpreters.constants import constant_array
from xrelay.interpreters.relay import interpret
from xrelay.transforms.eliminate_common_subexpr import EliminateCommonSubexprPass

ALIKE = ("unary", "unary", "binary", "reduce", "tuple", "field", "transpose", "scaled")
"""Programs of few different operators on few values."""


def expressions(program: RandomProgram) -> dict[Operation, str]:
    """What each operation of the main block computes, written out."""
    texts: dict[SSAValue, str] = {arg: f"%{arg.index}" for arg in program.block.args}
    found: dict[Operation, str] = {}
    for op in program.block.ops:
        if isinstance(op, ConstantOp):
            array = constant_array(op)
            texts[op.result] = f"{array.dtype}{array.shape}{array.tobytes().hex()}"
        elif op.results:
            operands = ", ".join(texts[value] for value in op.operands)
            properties = sorted((name, str(value)) for name, value in op.properties.items())
            texts[op.results[0]] = found[op] = f"{op.name}{properties}({operands})"
    return found


@examples(40)
@given(programs(ALIKE, size=14, reach=2))
def test_one_operation_of_each_expression_stays(program: RandomProgram) -> None:
    before, expected = expressions(program), interpret(program.module, program.inputs)
    EliminateCommonSubexprPass().apply(context(), program.module)
    program.module.verify()
    after = expressions(program)
    assert list(after.values()) == list(dict.fromkeys(before.values()))
    assert all(before[op] == text for op, text in after.items())
    for one, other in zip(interpret(program.module, program.inputs), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@examples(25)
@given(programs((*ALIKE, "choice", "choice"), size=12, reach=3))
def test_common_subexpressions_of_branches(program: RandomProgram) -> None:
    """Equal operations around a branch are used in it, and none of a branch outside."""
    expected = interpret(program.module, program.inputs)
    EliminateCommonSubexprPass().apply(context(), program.module)
    program.module.verify()
    for one, other in zip(interpret(program.module, program.inputs), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    once = str(program.module)
    EliminateCommonSubexprPass().apply(context(), program.module)
    assert str(program.module) == once
    order = list(in_evaluation_order(program.main))
    assert len(set(order)) == len(order)
    assert set(order) == set(program.main.body.walk())
    done: set[Operation] = set()
    for op in order:
        needed = {value.owner for value in op.operands if isinstance(value.owner, Operation)}
        needed.update(inner for region in op.regions for inner in region.walk())
        assert needed <= done
        done.add(op)


# -- functions that call each other -----------------------------------------------------------------


def calling(edges: list[tuple[int, int]], inline: list[bool]) -> ModuleOp:
    """Functions of which each calls others."""
    functions: list[func.FuncOp] = []
    for number, flag in enumerate(inline):
        calls = [func.CallOp(f"f{other}", [], []) for one, other in edges if one == number]
        function = func.FuncOp(f"f{number}", ([], []), Region(Block([*calls, func.ReturnOp()])))
        if flag:
            function.attributes["Inline"] = IntegerAttr(1, i32)
        functions.append(function)
    return ModuleOp(functions)


@examples(80)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=9),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_call_graphs(edges: list[tuple[int, int]], inline: list[bool]) -> None:
    graph = igraph.Graph(6, edges, directed=True)
    found = CallGraph.of_module(calling(edges, inline))
    below = [set(graph.subcomponent(number, mode="out")) for number in range(6)]
    for number in range(6):
        assert found.reachable([f"f{number}"]) == {f"f{each}" for each in below[number]}
    order = [int(name[1:]) for name in found.callees_first()]
    assert sorted(order) == list(range(6))
    for user, used in edges:
        assert user in below[used] or order.index(used) < order.index(user)
    loops = {
        number for number in range(6) if any(number in below[e] for s, e in edges if s == number)
    }
    for calls in (False, True):
        allowed = [
            f"f{number}"
            for number in range(6)
            if (
                number not in loops
                if calls
                else all(inline[each] and each not in loops for each in below[number])
            )
        ]
        assert sorted(found.inlinable(calls=calls)) == allowed


# -- names --------------------------------------------------------------------------------------------


@examples(60)
@given(st.text(st.sampled_from("a_0.é-"), max_size=5), st.sets(st.integers(-1, 4)))
def test_names(name: str, taken: set[int]) -> None:
    clean = sanitized(name)
    assert re.fullmatch(r"([A-Za-z_][0-9A-Za-z_]*)?", clean)
    assert sanitized(clean) == clean
    assert clean.removeprefix("_").endswith(re.sub(r"[^0-9A-Za-z_]", "_", name).removeprefix("_"))
    used = {name if number < 1 else f"{name}_{number}" for number in taken}
    free = [each for each in (name, *(f"{name}_{n}" for n in range(1, 7))) if each not in used]
    assert unused_name(name, used) == free[0]


# -- regions of branches ------------------------------------------------------------------------------

T = "tensor<4xf32>"


def border(kind: str, result: str, value: str) -> str:
    """A line that begins or ends a region."""
    return f'{result} = relay.annotation.compiler_{kind} {value} compiler "a" : ({T}) -> {T}'


def refusals(*lines: str, attributes: str = "") -> list[str]:
    """What keeps regions of a branch apart from one outside, whose result is %e."""
    inside = "\n".join(lines)
    text = f"""
      func.func @main(%x: {T}, %c: i1) -> {T} {{
        {border("begin", "%b", "%x")}
        %0 = relay.abs %b : ({T}) -> {T}
        {border("end", "%e", "%0")}
        %r = scf.if %c -> ({T}) {{
          {inside}
          scf.yield %last : {T}
        }} else {{
          scf.yield %x : {T}
        }}
        func.return %r : {T}
      }}
      func.func private @called({T}) -> {T} {attributes}
    """
    module = Parser(context(), text).parse_module()
    module.verify()
    main = module.body.block.first_op
    assert isinstance(main, func.FuncOp)
    return [decision.refusal for decision in plan_merge(main, Effects()).decisions]


@pytest.mark.parametrize(
    "attributes, refusal",
    [
        ("", "one is in a branch, and func.call %call has effects"),
        ("attributes {Primitive = 0 : i32}", "one is in a branch, and func.call %call has effects"),
        ("attributes {Primitive = 1 : i32}", ""),
    ],
)
def test_effects_stay_in_their_branch(attributes: str, refusal: str) -> None:
    call = f"%call = func.call @called(%d) : ({T}) -> {T}"
    lines = border("begin", "%d", "%e"), call, border("end", "%last", "%call")
    assert refusals(*lines, attributes=attributes) == [refusal]


def test_regions_of_a_branch_leave_it_together() -> None:
    """The last one takes in another one of the branch, whose result it needs, and then the one outside."""
    assert refusals(
        border("begin", "%d", "%x"),
        f"%1 = relay.exp %d : ({T}) -> {T}",
        border("end", "%f", "%1"),
        border("begin", "%g", "%f"),
        border("begin", "%h", "%e"),
        f"%2 = relay.add %g, %h : ({T}, {T}) -> {T}",
        border("end", "%last", "%2"),
    ) == ["", ""]


def test_what_a_branch_computes_keeps_a_region_there() -> None:
    assert refusals(
        f"%i = relay.exp %x : ({T}) -> {T}",
        border("begin", "%d", "%e"),
        border("begin", "%g", "%i"),
        f"%1 = relay.add %d, %g : ({T}, {T}) -> {T}",
        border("end", "%last", "%1"),
    ) == ["one is in a branch, where the operand of relay.annotation.compiler_begin %g is computed"]
