"""Walks, passes and verification do work in proportion to a program, however deep its regions nest."""

from collections import deque
from collections.abc import Callable
from itertools import product

import pytest
from work import calls_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from xrelay.analysis.facts.verification import verify, verify_program
from xrelay.analysis.facts.walking import walk
from xrelay.frontends.relay_text import read_relay_text
from xrelay.transforms.annotate_target import AnnotateTargetPass
from xrelay.transforms.cpu_pipeline import cpu_pipeline
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.infer_type import InferTypePass
from xrelay.transforms.inline import InlinePass
from xrelay.transforms.merge_compiler_regions import MergeCompilerRegionsPass
from xrelay.transforms.partition_graph import PartitionGraphPass


def branches(depth: int) -> ModuleOp:
    """Conditionals in conditionals."""
    return read_relay_text(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(2), float32], %c: bool) -> Tensor[(2), float32] {\n"
        + "if (%c) {\n" * depth
        + "exp(%x)\n"
        + "} else { add(%x, %x) }\n" * depth
        + "}\n"
    )


def optimise(module: ModuleOp) -> None:
    ctx = Context()
    for each in (*cpu_pipeline(), FuseOpsPass()):
        each.apply(ctx, module)


WORK: dict[str, Callable[[ModuleOp], None]] = {
    "walk": lambda module: deque(walk(module), 0).clear(),
    "verify": verify_program,
    "passes": optimise,
}


@pytest.mark.parametrize("name", WORK)
def test_work_is_linear_in_the_depth(name: str):
    work = WORK[name]
    work(branches(2))
    depths = (15, 30, 60)
    small, medium, large = (
        calls_of(lambda module=module: work(module)) for module in map(branches, depths)
    )
    # Twice the levels are twice the work; with work for the depth of each it would be four times as much.
    assert large - medium < 2.2 * (medium - small)


@pytest.mark.parametrize(("reverse", "region_first"), list(product((False, True), repeat=2)))
def test_order_is_that_of_xdsl(reverse: bool, region_first: bool):
    module = branches(3)
    scopes = (module, module.body, module.body.block)
    for scope in scopes:
        found = list(walk(scope, reverse=reverse, region_first=region_first))
        assert found == list(scope.walk(reverse=reverse, region_first=region_first))


def test_operations_may_go_while_they_are_visited():
    module = branches(1)
    expected = [op.name for op in walk(module)]
    seen: list[str] = []
    for op in walk(module, reverse=True, region_first=False):
        seen.append(op.name)
        if (
            op.parent is not None
            and not any(result.uses for result in op.results)
            and not op.regions
        ):
            op.detach()
            op.erase()
    assert sorted(seen) == sorted(expected)


def test_values_of_outside_are_found():
    inner, outer = branches(1), branches(1)
    (function,) = inner.ops
    (other,) = outer.ops
    exp = next(op for op in walk(function) if op.name == "relay.exp")
    exp.operands[0] = other.regions[0].block.args[0]
    with pytest.raises(VerifyException, match="IsolatedFromAbove"):
        verify(inner)
    assert "is_ancestor" not in vars(function)


def test_empty_blocks_are_found():
    module = branches(1)
    branch = next(op for op in walk(module) if op.name == "scf.if")
    branch.detach_region(branch.regions[1])
    branch.add_region(Region(Block()))
    with pytest.raises(VerifyException, match="empty block"):
        verify(module)


def functions(count: int) -> ModuleOp:
    """Functions that call each other in a chain."""
    type_ = "Tensor[(2), float32]"
    return read_relay_text(
        f'#[version = "0.0.5"]\ndef @f0(%x: {type_}) -> {type_} {{ exp(%x) }}\n'
        + "".join(
            f"def @f{i + 1}(%x: {type_}) -> {type_} {{ @f{i}(exp(%x)) }}\n" for i in range(count)
        )
    )


def constructors(count: int) -> ModuleOp:
    """A data type of many constructors, as many values of it, and conditionals around as many clauses."""
    text = '#[version = "0.0.5"]\ntype T {\n'
    text += "".join(f"C{i}(float32),\n" for i in range(count))
    text += "}\ndef @main(%x: float32, %c: bool) -> float32 {\n"
    text += "".join(f"let %v{i} = C{i}(%x);\n" for i in range(count))
    text += "if (%c) {\n" * count + f"match (%v{count - 1}) {{\n"
    text += "".join(f"C{i}(%y) => %y,\n" for i in range(count)) + "}\n"
    return read_relay_text(text + "} else { %x }\n" * count + "}\n")


def branch(count: int) -> ModuleOp:
    """Neighbours in a branch, each of which takes another value from outside; their first input is not known there."""
    outside = "".join(f"%{i} = abs(%x);\n" for i in range(count))
    inside = "".join(f"%{count + i + 1} = add(%{count + i}, %{i});\n" for i in range(count))
    module = read_relay_text(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(2), float32], %c: bool) -> Tensor[(2), float32] {\n"
        f"{outside}if (%c) {{\n%{count} = exp(%x);\n{inside}%{2 * count}\n"
        f"}} else {{ {' + '.join(f'%{i}' for i in range(count))} }}\n}}\n"
    )
    AnnotateTargetPass(("a",), operators=("a:add", "a:abs")).apply(Context(), module)
    return module


def parts(count: int) -> ModuleOp:
    """A tensor that is split into many parts."""
    return read_relay_text(
        f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({count}), float32]) {{\n'
        f"%0 = split(%x, indices_or_sections={count}, axis=0);\n"
        + "".join(f"%{i + 1} = %0.{i};\n" for i in range(count))
        + f"({', '.join(f'%{i + 1}' for i in range(count))})\n}}\n"
    )


def partition(module: ModuleOp) -> None:
    context = Context()
    AnnotateTargetPass(("a",), operators=("a:exp",)).apply(context, module)
    MergeCompilerRegionsPass().apply(context, module)
    PartitionGraphPass().apply(context, module)


def apply(step: ModulePass) -> Callable[[ModuleOp], None]:
    return lambda module: step.apply(Context(), module)


GROWTH: dict[str, tuple[Callable[[int], ModuleOp], Callable[[ModuleOp], None]]] = {
    "verified calls": (functions, verify),
    "inlined calls": (functions, apply(InlinePass(calls=True))),
    "partitioned functions": (functions, partition),
    "fused parts": (parts, apply(FuseOpsPass())),
    "verified constructors": (constructors, verify),
    "inferred constructors": (constructors, apply(InferTypePass())),
    "merged in a branch": (branch, apply(MergeCompilerRegionsPass())),
}


@pytest.mark.parametrize("name", GROWTH)
def test_work_is_linear_in_the_size(name: str):
    program, work = GROWTH[name]
    work(program(2))
    small, medium, large = (
        calls_of(lambda module=module: work(module)) for module in map(program, (25, 50, 100))
    )
    # With a look at all others for each it would be four times as much.
    assert large - medium < 2.2 * (medium - small)


def test_what_is_inlined_along_a_chain_is_one_body():
    module = functions(5)
    InlinePass(calls=True).apply(Context(), module)
    (last,) = module.ops
    assert [op.name for op in walk(last)] == ["func.func", *["relay.exp"] * 6, "func.return"]


def test_functions_that_are_not_there_are_found():
    module = functions(3)
    first = next(op for op in walk(module) if op.name == "func.func")
    first.detach()
    call = next(op for op in walk(module) if op.name == "func.call")
    with pytest.raises(VerifyException, match="'@f0' could not be found in symbol table"):
        verify(module)
    assert "parent_op" not in vars(call)
