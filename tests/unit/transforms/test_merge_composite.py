"""The scenarios of the original's merge-composite tests, and what composites mean."""

from itertools import permutations

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.partition.compilers import REGISTRY, Compiler
from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.analysis.patterns.language import Pattern, is_constant, is_op, wildcard
from xrelay.analysis.patterns.matching import Match
from xrelay.compiler import context
from xrelay.dialects.core.values import CompositeOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.interpreters.relay import interpret
from xrelay.transforms.merge_composite import MergeCompositePass, merge_composites

T = "tensor<4xf32>"


def program(lines: str, result: str) -> ModuleOp:
    """A function of %x, %y, %z and %w; ops are written `%r = add %x %y`."""
    body: list[str] = []
    for line in filter(None, map(str.strip, lines.split("\n"))):
        name, _, call = line.partition(" = ")
        op, *operands = call.split()
        types = ", ".join([T] * len(operands))
        body.append(f"{name} = relay.{op} {', '.join(operands)} : ({types}) -> {T}")
    params = ", ".join(f"%{name}: {T}" for name in "xyzw")
    text = f"func.func @main({params}) -> {T} {{\n" + "\n".join(body)
    return Parser(context(), f"{text}\nfunc.return {result} : {T}\n}}").parse_module()


def merged(module: ModuleOp, *table: tuple[str, Pattern]) -> list[CompositeOp]:
    """The composites of a program, which computes what it did before."""
    rng = np.random.default_rng(0)
    inputs = [rng.random(4, np.float32) + 0.5 for _ in range(4)]
    before = interpret(module, inputs)
    merge_composites(module, [CompositePattern(name, pattern) for name, pattern in table])
    module.verify()
    for one, other in zip(before, interpret(module, inputs), strict=True):
        np.testing.assert_array_equal(one, other)
    return [op for op in module.walk() if isinstance(op, CompositeOp)]


def summary(composites: list[CompositeOp]) -> list[tuple[str, str, list[str | None]]]:
    """Name, operators and inputs of each composite."""
    return [
        (
            op.composite.data,
            op.partitioned_from_pattern.data if op.partitioned_from_pattern else "",
            [arg.name_hint for arg in op.args],
        )
        for op in composites
    ]


def add_relu() -> Pattern:
    return is_op("nn.relu")(wildcard() + wildcard())


def test_simple():
    module = program("%a = add %x %y\n%r = nn.relu %a", "%r")
    (op,) = merged(module, ("add_relu", add_relu()))
    assert summary([op]) == [("add_relu", "add_nn.relu_", ["x", "y"])]
    # Value names of xDSL end before numbers that keep them apart.
    assert {arg.name_hint for arg in op.block.args} == {"FunctionVar_0"}
    main = next(each for each in module.walk() if isinstance(each, func.FuncOp))
    assert [each.name for each in main.body.block.ops] == ["relay.composite", "func.return"]


def test_branches():
    a, b = wildcard(), wildcard()
    pattern = is_op("nn.relu")((a + b) * (a - b))
    lines = "%a = add %x %y\n%s = subtract %x %y\n%m = multiply %a %s\n%r = nn.relu %m\n"
    lines += "%b = add %r %z\n%t = subtract %r %z\n%n = multiply %b %t\n%q = nn.relu %n"
    names = "add_subtract_multiply_nn.relu_"
    assert summary(merged(program(lines, "%q"), ("f", pattern))) == [
        ("f", names, ["x", "y"]),
        ("f", names, ["r", "z"]),
    ]


def test_reuse_of_a_call():
    # Like nodes of the pattern are one value: the first sum is used by two.
    lines = "%a = add %x %y\n%b = add %a %a\n%r = add %a %b"
    top = wildcard() + wildcard()
    pattern = top + (top + top)
    assert summary(merged(program(lines, "%r"), ("add_add_add", pattern))) == [
        ("add_add_add", "add_add_add_", ["x", "y"])
    ]


def test_two_patterns():
    long = is_op("tanh")(is_op("nn.relu")(wildcard() + wildcard()))
    lines = "%a = add %x %y\n%b = nn.relu %a\n%c = tanh %b\n%d = add %c %z\n%r = nn.relu %d"
    found = merged(program(lines, "%r"), ("long", long), ("add_relu", add_relu()))
    assert [op.composite.data for op in found] == ["long", "add_relu"]


def test_optional_operator():
    pattern = (is_op("exp")(wildcard()) + wildcard()).optional(is_op("nn.relu"))
    lines = "%a = exp %x\n%b = add %a %y\n%c = nn.relu %b\n%d = exp %c\n%r = add %d %z"
    names = [name for _, name, _ in summary(merged(program(lines, "%r"), ("f", pattern)))]
    assert names == ["exp_add_nn.relu_", "exp_add_"]


@pytest.mark.parametrize("order", list(permutations("ABC")))
def test_earlier_patterns_win(order: tuple[str, ...]):
    patterns = {
        "A": is_op("nn.relu")(wildcard() + wildcard()),
        "B": is_op("abs")(is_op("nn.relu")(wildcard())),
        "C": is_op("tanh")(is_op("abs")(is_op("nn.relu")(wildcard() + wildcard()))),
    }
    lines = "%a = add %x %y\n%b = nn.relu %a\n%c = abs %b\n%r = tanh %c"
    found = merged(program(lines, "%r"), *((name, patterns[name]) for name in order))
    # All of them contain the relu: the first one takes it.
    assert [op.composite.data for op in found] == [order[0]]


def test_parallel_branches_stay_parallel():
    lines = "%a = add %x %y\n%b = nn.relu %a\n%c = add %x %y\n%d = nn.relu %c\n%r = multiply %b %d"
    assert summary(merged(program(lines, "%r"), ("f", add_relu()))) == [
        ("f", "add_nn.relu_", ["x", "y"]),
        ("f", "add_nn.relu_", ["x", "y"]),
    ]


@pytest.mark.parametrize("inputs", ["xyxyxyxy", "xyyzzwwx"])
def test_four_sub_graphs_feed_one(inputs: str):
    lines = ""
    for index in range(4):
        lines += f"%a{index} = add %{inputs[2 * index]} %{inputs[2 * index + 1]}\n"
        lines += f"%b{index} = nn.relu %a{index}\n"
    lines += "%c = add %b0 %b1\n%d = add %b2 %b3\n%e = multiply %c %d\n%r = nn.relu %e"
    found = merged(program(lines, "%r"), ("f", add_relu()))
    assert len(found) == 4


def test_tuple_get_item():
    text = """
    func.func @main(%x: tensor<1x2x2x2xf32>, %s: tensor<2xf32>) -> tensor<1x2x2x2xf32> {
      %0 = relay.nn.batch_norm %x, %s, %s, %s, %s : (tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>>
      %1 = relay.tuple_get_item %0[0] : (tuple<tensor<1x2x2x2xf32>, tensor<2xf32>, tensor<2xf32>>) -> tensor<1x2x2x2xf32>
      %2 = relay.nn.relu %1 : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
      func.return %2 : tensor<1x2x2x2xf32>
    }"""
    module = Parser(context(), text).parse_module()
    pattern = is_op("nn.relu")(is_op("nn.batch_norm").any_call()[0])
    merge_composites(module, [CompositePattern("bn_relu", pattern)])
    module.verify()
    assert summary([op for op in module.walk() if isinstance(op, CompositeOp)]) == [
        ("bn_relu", "nn.batch_norm_TupleGetItem0_nn.relu_", ["x", "s"])
    ]


@pytest.mark.parametrize("supported", [True, False])
def test_check(supported: bool):
    def check(found: Match) -> bool:
        # A check can read the types.
        assert is_tensor_type(found.root.type)
        return found.root.type.get_shape() == (4,) and supported

    module = program("%a = add %x %y\n%r = nn.relu %a", "%r")
    merge_composites(module, [CompositePattern("f", add_relu(), check)])
    assert any(isinstance(op, CompositeOp) for op in module.walk()) == supported


def test_a_failed_check_masks_nothing():
    def check(found: Match) -> bool:
        return found.root.name_hint == "b"

    lines = "%a = nn.relu %x\n%b = nn.relu %a\n%r = nn.relu %b"
    module = program(lines, "%r")
    pattern = is_op("nn.relu")(is_op("nn.relu")(wildcard()))
    merge_composites(module, [CompositePattern("f", pattern, check)])
    (op,) = [op for op in module.walk() if isinstance(op, CompositeOp)]
    assert op.result.name_hint == "b"


def test_another_diamond_does_not_match():
    top = is_op("exp")(wildcard())
    pattern = is_op("nn.relu")(top) + is_op("tanh")(is_op("nn.relu")(top))
    lines = "%e = exp %x\n%a = nn.relu %e\n%b = tanh %e\n%r = add %a %b"
    assert merged(program(lines, "%r"), ("f", pattern)) == []


def test_values_used_elsewhere():
    # %a is used behind the root: a composite has one result.
    lines = "%a = add %x %y\n%b = nn.relu %a\n%r = multiply %a %b"
    assert merged(program(lines, "%r"), ("f", add_relu())) == []
    # What uses %a leads to the root only: it keeps a copy of it.
    pattern = is_op("subtract")(is_op("nn.relu")(wildcard() + wildcard()), wildcard())
    lines = "%a = add %x %y\n%b = nn.relu %a\n%c = exp %a\n%r = subtract %b %c"
    assert summary(merged(program(lines, "%r"), ("f", pattern))) == [
        ("f", "add_nn.relu_subtract_", ["x", "y", "c"])
    ]


def test_dominated_paths():
    elemwise = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    pattern = (wildcard() + wildcard()).dominates(is_op("exp")(wildcard()), elemwise)
    lines = "%e = exp %x\n%a = nn.relu %e\n%b = tanh %e\n%r = add %a %b"
    assert summary(merged(program(lines, "%r"), ("f", pattern))) == [
        ("f", "exp_nn.relu_tanh_add_", ["x"])
    ]


def test_constants():
    text = f"""
    func.func @main(%x: {T}) -> {T} {{
      %c = relay.constant dense<2.0> : {T}
      %0 = relay.add %x, %c : ({T}, {T}) -> {T}
      func.return %0 : {T}
    }}"""
    for pattern, inputs in ((wildcard() + is_constant(), 1), (wildcard() + wildcard(), 2)):
        module = Parser(context(), text).parse_module()
        merge_composites(module, [CompositePattern("f", pattern)])
        module.verify()
        (op,) = [op for op in module.walk() if isinstance(op, CompositeOp)]
        assert len(op.args) == inputs


def test_tables_by_name_of_compiler():
    REGISTRY.register(Compiler("test", patterns=(CompositePattern("test.f", add_relu()),)))
    module = program("%a = add %x %y\n%r = nn.relu %a", "%r")
    MergeCompositePass(("test",)).apply(context(), module)
    assert any(isinstance(op, CompositeOp) for op in module.walk())
    with pytest.raises(PassFailedException, match="'targets' has 'nobody', which has no patterns"):
        MergeCompositePass(("nobody",)).apply(context(), module)
