"""
Parts of programs for other compilers: decisions are explained, compilers asked, and wrong ones refused.

Random programs are in tests/properties/test_regions.py.
"""

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.ir import Block, OpOperands, Region, SSAValue
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.partition.compiler_regions import compiler_regions
from xrelay.analysis.partition.compilers import REGISTRY, Compiler, No, Yes
from xrelay.analysis.partition.region_merging import plan_merge
from xrelay.compiler import context
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.unary import AbsOp, ReluOp, TanhOp
from xrelay.interpreters.arrays import constant_op
from xrelay.interpreters.relay import interpret
from xrelay.transforms.annotate_target import AnnotateTargetPass
from xrelay.transforms.merge_compiler_regions import MergeCompilerRegionsPass
from xrelay.transforms.outline_compiler_functions import OutlineCompilerFunctionsPass
from xrelay.transforms.outline_default_regions import outline_default_regions
from xrelay.transforms.partition_graph import PartitionGraphPass

VECTOR = TensorType(f32, [4])
KINDS = ("abs", "nn.relu", "tanh", "add", "multiply", "tuple")
Step = tuple[str, int, int]


def built(steps: list[Step]) -> ModuleOp:
    """A program of one operator for each step, on values so far, that returns the last ones."""
    block = Block(arg_types=[VECTOR, VECTOR])
    constant = constant_op(np.arange(4, dtype=np.float32))
    block.add_op(constant)
    values: list[SSAValue] = [*block.args, constant.result]
    unary = {"abs": AbsOp, "nn.relu": ReluOp, "tanh": TanhOp}
    for kind, one, other in steps:
        left, right = values[one % len(values)], values[other % len(values)]
        if kind in unary:
            op = unary[kind](left)
        elif kind == "tuple":
            pair = TupleOp([left, right])
            block.add_op(pair)
            op = TupleGetItemOp(pair, one % 2)
        else:
            op = (AddOp if kind == "add" else MultiplyOp)(left, right)
        block.add_op(op)
        values.append(op.results[0])
    results = values[-3:]
    block.add_op(func.ReturnOp(*results))
    types = [value.type for value in results]
    function = func.FuncOp("main", FunctionType.from_lists([VECTOR] * 2, types), Region(block))
    return ModuleOp([function])


def partition(module: ModuleOp, operators: list[str], **options: bool) -> None:
    steps: list[ModulePass] = [
        AnnotateTargetPass(("a", "b"), operators=tuple(operators), **options),
        MergeCompilerRegionsPass(),
        PartitionGraphPass(),
    ]
    for step in steps:
        step.apply(context(), module)
        module.verify()


def test_merging_twice_changes_nothing():
    module = built([("add", 0, 1), ("abs", 3, 0), ("tanh", 3, 0), ("add", 4, 5), ("abs", 6, 0)])
    AnnotateTargetPass(("a",), operators=("a:add", "a:abs")).apply(context(), module)
    MergeCompilerRegionsPass().apply(context(), module)
    once = str(module)
    MergeCompilerRegionsPass().apply(context(), module)
    assert str(module) == once


def main_of(module: ModuleOp) -> func.FuncOp:
    return next(op for op in module.ops if isinstance(op, func.FuncOp))


def test_decisions_are_explained():
    # abs, then tanh for nobody and another abs, then their sum.
    module = built([("abs", 0, 0), ("tanh", 3, 0), ("abs", 3, 0), ("add", 5, 4)])
    AnnotateTargetPass(("a",), operators=("a:add", "a:abs")).apply(context(), module)
    plan = plan_merge(main_of(module), Effects())
    assert list(map(str, plan.decisions)) == [
        "region 0 becomes part of region 2",
        "regions 2 and 3 stay apart: region 1 of compiler 'default' in @main lies between them",
    ]


def test_regions_of_the_diamond():
    module = built([("abs", 0, 0), ("tanh", 3, 0), ("nn.relu", 3, 0), ("add", 5, 4)])
    AnnotateTargetPass(("a",), operators=("a:add", "a:abs", "a:nn.relu")).apply(context(), module)
    regions = compiler_regions(main_of(module), Effects()).regions
    found = [
        (
            region.compiler,
            [op.name.removeprefix("relay.") for op in region.ops if "annotation" not in op.name],
            len(region.inputs),
            len(region.outputs),
        )
        for region in regions
    ]
    assert found == [
        ("a", ["abs"], 1, 2),
        ("default", ["tanh"], 1, 2),
        ("a", ["nn.relu"], 1, 2),
        ("a", ["add"], 2, 1),
    ]
    MergeCompilerRegionsPass().apply(context(), module)
    merged = compiler_regions(main_of(module), Effects()).regions
    assert sorted(len(region.inputs) for region in merged) == [1, 1, 2]


IN_A_BRANCH = """
func.func @main(%c: i1, %x: tensor<2xf32>) -> tensor<2xf32> {
  %r = scf.if %c -> (tensor<2xf32>) {
    %b0 = relay.annotation.compiler_begin %x compiler "a" : (tensor<2xf32>) -> tensor<2xf32>
    %0 = relay.exp %b0 : (tensor<2xf32>) -> tensor<2xf32>
    %e0 = relay.annotation.compiler_end %0 compiler "a" : (tensor<2xf32>) -> tensor<2xf32>
    %b1 = relay.annotation.compiler_begin %x compiler "b" : (tensor<2xf32>) -> tensor<2xf32>
    %1 = relay.tanh %b1 : (tensor<2xf32>) -> tensor<2xf32>
    %e1 = relay.annotation.compiler_end %1 compiler "b" : (tensor<2xf32>) -> tensor<2xf32>
    %2 = relay.add %e1, %e0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  func.return %r : tensor<2xf32>
}"""


def test_operands_are_visited_in_order_in_branches_too():
    """As Relay visits expressions, which know no order of operations."""
    module = Parser(context(), IN_A_BRANCH).parse_module()
    regions = compiler_regions(main_of(module), Effects()).regions
    assert [region.compiler for region in regions] == ["b", "a"]


TENSOR = "tensor<2xf32>"


@pytest.mark.parametrize(
    ("returned", "outputs"),
    [("2", "2"), ("02", "02"), ("12", "12"), ("012", "012"), ("102", "012"), ("201", "201")],
)
def test_inputs_and_outputs_of_joined_regions(returned: str, outputs: str):
    """An operator joins the region of its first operand, and that of the second one comes behind."""

    def border(kind: str, name: str, value: str) -> str:
        return f'%{name} = relay.annotation.compiler_{kind} %{value} compiler "a" : ({TENSOR}) -> {TENSOR}'

    lines = [
        *(border("begin", "b0", "x"), f"%v0 = relay.exp %b0 : ({TENSOR}) -> {TENSOR}"),
        *(border("begin", "b1", "x"), f"%v1 = relay.tanh %b1 : ({TENSOR}) -> {TENSOR}"),
        f"%v2 = relay.add %v0, %v1 : ({TENSOR}, {TENSOR}) -> {TENSOR}",
        *(border("end", f"e{each}", f"v{each}") for each in returned),
        f"func.return {', '.join(f'%e{each}' for each in returned)} : "
        + ", ".join(TENSOR for _ in returned),
    ]
    types = ", ".join(TENSOR for _ in returned)
    text = f"func.func @main(%x: {TENSOR}) -> ({types}) {{\n" + "\n".join(lines) + "\n}"
    module = Parser(context(), text).parse_module()
    (region,) = compiler_regions(main_of(module), Effects()).regions
    assert [begin.result.name_hint for begin in region.inputs] == ["b0", "b1"]
    assert [end.result.name_hint for end in region.outputs] == [f"e{each}" for each in outputs]


@pytest.mark.slow
def test_long_chains():
    module = built([("abs" if i % 3 else "tanh", 2 + i, 0) for i in range(1200)])
    partition(module, ["a:abs"])
    # Every third operator is for nobody.
    functions = [op for op in module.ops if isinstance(op, func.FuncOp)]
    assert len(functions) == 401


def test_a_compiler_asks_for_types():
    def supports(op: object, types: object) -> Yes | No:
        assert isinstance(types, tuple | list)
        return Yes() if isinstance(op, AddOp) and list(types) == [VECTOR] * 2 else No("no vector")

    REGISTRY.register(Compiler("typed", supports))
    module = built([("add", 0, 1), ("abs", 3, 0)])
    AnnotateTargetPass(("typed",)).apply(context(), module)
    regions = compiler_regions(main_of(module), Effects()).regions
    assert [region.compiler for region in regions] == ["typed", "default"]


@pytest.mark.parametrize("what", ["removed", "changed the type of", "added functions to", "made"])
def test_a_hook_that_breaks_its_function_is_refused(what: str):
    def optimize(module: ModuleOp) -> None:
        function = main_of(module)
        if what == "removed":
            function.detach()
        elif what == "added functions to":
            module.body.block.add_op(func.FuncOp("helper", ([], [])))
        elif what == "made":
            end = function.body.block.last_op
            assert end is not None
            end.detach()
        else:
            function.function_type = FunctionType.from_lists([], [])

    REGISTRY.register(Compiler("broken", optimize=optimize))
    module = built([("add", 0, 1)])
    AnnotateTargetPass(("broken",), operators=("broken:add",)).apply(context(), module)
    with pytest.raises(DiagnosticException, match=f"compiler 'broken' has {what} @tvmgen"):
        PartitionGraphPass().apply(context(), module)


def test_a_compiler_optimizes_its_functions():
    def optimize(module: ModuleOp) -> None:
        for op in list(module.walk()):
            if isinstance(op, AddOp):
                op.result.replace_all_uses_with(op.lhs)
                op.detach()
                op.erase()

    REGISTRY.register(Compiler("lazy", optimize=optimize))
    module = built([("add", 0, 1)])
    AnnotateTargetPass(("lazy",), operators=("lazy:add",)).apply(context(), module)
    PartitionGraphPass().apply(context(), module)
    assert not any(isinstance(op, AddOp) for op in module.walk())


def test_operands_of_wide_tuples_are_not_set_one_by_one(monkeypatch: pytest.MonkeyPatch):
    copied = 0
    set_one = OpOperands.__setitem__

    def counted(operands: OpOperands, index: int, value: SSAValue) -> None:
        nonlocal copied
        copied += len(operands)
        set_one(operands, index, value)

    monkeypatch.setattr(OpOperands, "__setitem__", counted)
    width = 300
    block = Block(arg_types=[VECTOR])
    ops = [AbsOp(block.args[0]) if i % 3 else TanhOp(block.args[0]) for i in range(width)]
    for_a = TupleOp([op.result for op in ops if isinstance(op, AbsOp)])
    both = TupleOp([op.result for op in ops])
    block.add_ops([*ops, for_a, both, func.ReturnOp(for_a.result, both.result)])
    types = [for_a.result.type, both.result.type]
    function = func.FuncOp("main", FunctionType.from_lists([VECTOR], types), Region(block))
    module = ModuleOp([function])
    inputs = [np.arange(-2, 2, dtype=np.float32)]
    before = interpret(module, inputs)
    partition(module, ["a:abs"])
    outline_default_regions(module, main_of(module))
    assert copied < 10 * width
    module.verify()
    for value, expected in zip(interpret(module, inputs), before, strict=True):
        np.testing.assert_array_equal(np.stack(value), np.stack(expected))


def test_closures_with_the_same_name():
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %f = relay.closure attributes {"Compiler" = "a", "global_symbol" = "g"} : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>> {
      ^bb0(%p: tensor<4xf32>):
        %e = relay.OP %p : (tensor<4xf32>) -> tensor<4xf32>
        relay.yield %e : tensor<4xf32>
      }
      %0 = relay.apply %f(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    func.func private @g(%p: tensor<4xf32>) -> tensor<4xf32> attributes {"Compiler" = "a", "global_symbol" = "g"} {
      %e = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32>
      func.return %e : tensor<4xf32>
    }"""
    module = Parser(context(), text.replace("OP", "exp")).parse_module()
    OutlineCompilerFunctionsPass().apply(context(), module)
    module.verify()
    assert [op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)] == ["main", "g"]
    module = Parser(context(), text.replace("OP", "log")).parse_module()
    with pytest.raises(DiagnosticException, match="global_symbol g, which the module has"):
        OutlineCompilerFunctionsPass().apply(context(), module)
