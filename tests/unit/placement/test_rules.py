"""Which candidates each rule finds, on the graphs by which TVM tests its own."""

from dataclasses import replace

import numpy as np
import pytest
from placed import T, all_names, graph_of, names, program
from xdsl.dialects import func
from xdsl.ir import Operation

from xrelay.analysis.partition.compilers import No, Support, Yes
from xrelay.analysis.patterns.language import is_op, wildcard
from xrelay.backends.base import BackendError, CompositePattern, FusionStyle, PartitionRule
from xrelay.backends.checked import CheckedBackend
from xrelay.backends.numpy import NumpyBackend
from xrelay.dialects.traits import OpPatternKind
from xrelay.interpreters.relay import interpret
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.rewriting import rewrite
from xrelay.placement.graph.sub_graph import ANY_RESULTS, Limits
from xrelay.placement.rules.base import DFPattern, Host, OpCallByKind, OpPredicate, Whole
from xrelay.placement.rules.candidate import HOST, OWN
from xrelay.placement.rules.combinators import Combine, Composite, OnlyValid, Primitive, Union
from xrelay.placement.rules.combiners import Anchor, ByKind, Constant, TupleArg, TupleProj
from xrelay.placement.rules.defaults import FUSION, default_rule, own_rule, rule_of
from xrelay.placement.rules.generator import PatternGenerator, PatternRegistry
from xrelay.placement.rules.largest import Largest, pruned
from xrelay.placement.rules.rule import Rule

A, B = OpPatternKind.OUT_EWISE_FUSABLE, OpPatternKind.BROADCAST
R, I = OpPatternKind.COMM_REDUCE, OpPatternKind.INJECTIVE

CHAIN = "a = abs x\nb = nn.relu a\nc = nn.relu b\nreturn c"
RELU = DFPattern("relu", is_op("nn.relu")(wildcard()))


def chain() -> Graph:
    return graph_of(program(CHAIN))


def found(rule: Rule, graph: Graph, engine: str = "one") -> list[str]:
    """The names of the nodes of each candidate."""
    candidates = rule.candidates(graph, engine)
    assert len(set(candidates)) == len(candidates), "each is there once"
    return all_names(each.part for each in candidates)


def supports(*operators: str) -> OpPredicate:
    def answer(op: Operation, types: object) -> Support:
        return Yes() if op.name.removeprefix("relay.") in operators else No("it does not")

    return OpPredicate("some", answer)


def gpt2_operators() -> Graph:
    """A part of GPT-2: its operators are named after the numbers that TVM's test has for them."""
    wide, flat, tall = "tensor<50x32x8xf32>", "tensor<1600x8xf32>", "tensor<8x4xf32>"
    lines = [
        f"%w = relay.constant dense<0.5> : {tall}",
        "%v = relay.constant dense<0.25> : tensor<8xf32>",
        *(f"%k{i} = relay.constant dense<{i}.0> : tensor<f32>" for i in range(1, 6)),
        f"%n06 = relay.nn.dense %x, %w : (tensor<1600x4xf32>, {tall}) -> {flat}",
        f"%n08 = relay.add %n06, %v : ({flat}, tensor<8xf32>) -> {flat}",
        f"%n09 = relay.reshape %n08 {{newshape = array<i64: 50, 32, 8>}} : ({flat}) -> {wide}",
    ]
    for name, operator, *operands in (
        ("n15", "power", "n09", "k3"),
        ("n17", "multiply", "n15", "k1"),
        ("n18", "add", "n09", "n17"),
        ("n20", "multiply", "n18", "k2"),
        ("n21", "tanh", "n20"),
        ("n11", "multiply", "n09", "k4"),
        ("n23", "add", "n21", "k5"),
        ("n24", "multiply", "n11", "n23"),
    ):
        types = ", ".join("tensor<f32>" if each[0] == "k" else wide for each in operands)
        listed = ", ".join(f"%{each}" for each in operands)
        lines.append(f"%{name} = relay.{operator} {listed} : ({types}) -> {wide}")
    lines.append(f"func.return %n24 : {wide}")
    return graph_of(program("\n".join(lines), "%x: tensor<1600x4xf32>", wide))


GPT2 = ["n06", "n08", "n09", "n11", "n15", "n17", "n18", "n20", "n21", "n23", "n24"]


def gpt2_tuples() -> Graph:
    """Another part of GPT-2: projections, and a concatenation of two injective chains."""
    x, part, heads = "tensor<2x4x12xf32>", "tensor<2x4x4xf32>", "tensor<2x2x2x4xf32>"
    turned, deep = "tensor<2x2x4x2xf32>", "tensor<1x2x2x4x2xf32>"
    three = f"tuple<{part}, {part}, {part}>"
    lines = [
        f"%n06 = relay.split %x {{indices_or_sections = 3 : i64, axis = 2 : i64}} : ({x}) -> {three}"
    ]
    for item, index, shaped, flipped, expanded in (
        ("n07", 1, "n08", "n09", "n10"),
        ("n11", 2, "n12", "n13", "n14"),
    ):
        lines += [
            f"%{item} = relay.tuple_get_item %n06[{index}] : ({three}) -> {part}",
            f"%{shaped} = relay.reshape %{item} {{newshape = array<i64: 2, 2, 2, 4>}} : ({part}) -> {heads}",
            f"%{flipped} = relay.transpose %{shaped} {{axes = array<i64: 0, 1, 3, 2>}} : ({heads}) -> {turned}",
            f"%{expanded} = relay.expand_dims %{flipped} {{axis = 0 : i64}} : ({turned}) -> {deep}",
        ]
    both, result = f"tuple<{deep}, {deep}>", "tensor<2x2x2x4x2xf32>"
    lines += [
        f"%n15 = relay.tuple %n10, %n14 : ({deep}, {deep}) -> {both}",
        f"%n16 = relay.concatenate %n15 : ({both}) -> {result}",
        f"func.return %n16 : {result}",
    ]
    return graph_of(program("\n".join(lines), f"%x: {x}", result))


TUPLES = ["n06", "n08", "n09", "n10", "n12", "n13", "n14", "n16"]


# -- base rules -------------------------------------------------------------------------------------


def test_pattern() -> None:
    assert found(RELU, chain()) == ["b", "c"]


def test_patterns_overlap() -> None:
    relu, other = is_op("nn.relu"), is_op("abs")
    rule = DFPattern("two", relu(relu(wildcard()) | other(wildcard())))
    assert found(rule, chain()) == ["a b", "b c"]


def test_pattern_with_a_check() -> None:
    pattern = RELU.pattern
    rule = DFPattern("relu", pattern, lambda each: each.root.name_hint == "c")
    assert found(rule, chain()) == ["c"]


def test_calls_by_kind() -> None:
    graph = graph_of(program("a = abs x\nb = sort a\nc = nn.dense b x\nreturn c"))
    assert found(OpCallByKind(), graph) == ["a", "c"]
    assert found(OpCallByKind(B), graph) == ["a"]


def test_supported_calls_have_their_constants() -> None:
    text = f"%w = relay.constant dense<1.0> : {T}\na = add x w\nb = abs a\nreturn b"
    assert found(supports("add"), graph_of(program(text))) == ["a w"]
    assert found(supports("add", "abs"), graph_of(program(text))) == ["a w", "b"]


def test_host_takes_what_has_no_kernel() -> None:
    found_ = Host().candidates(gpt2_tuples(), "whatever")
    assert all_names(each.part for each in found_) == ["end", "n07", "n11", "n15", "x"]
    assert {each.engine for each in found_} == {HOST}


def test_whole_function() -> None:
    whole = Whole(supports("abs", "nn.relu").supports)
    assert found(whole, chain()) == ["a b c"]
    assert found(Whole(supports("abs").supports), chain()) == []


# -- combinators ------------------------------------------------------------------------------------


def rewritten(rule: Rule, engine: str) -> str:
    module = program(CHAIN)
    graph = graph_of(module)
    rewrite(module, graph, (each.part for each in rule.candidates(graph, engine)))
    module.verify()
    x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
    np.testing.assert_array_equal(interpret(module, [x])[0], np.abs(x))
    return str(module)


def test_composite_and_primitive_rewrite_all() -> None:
    assert rewritten(Composite("one.relu", RELU), "one").count('relay.composite "one.relu"') == 2
    assert rewritten(Primitive(RELU), OWN).count("relay.fused") == 2
    text = rewritten(Primitive(RELU), "one")
    assert text.count("func.call @tvmgen_default_one_main_0") == 2, "equal functions share a name"
    assert 'Compiler = "one"' in text and "Primitive = 1 : i32" in text


def test_names_of_nested_rules_are_joined() -> None:
    rule = Composite("one.relu", RELU)
    assert {each.rule for each in rule.candidates(chain(), "one")} == {"one.relu.relu"}
    assert {each.rule for each in supports("abs").candidates(chain(), "one")} == {"some.abs"}


def test_union() -> None:
    rule = Union((supports("abs"), RELU, supports("abs", "nn.relu")))
    assert found(rule, chain()) == ["a", "b", "c"]


def test_rules_print() -> None:
    rule = Primitive(
        OnlyValid(Combine(Union((Composite("one.relu", RELU), supports())), (FUSION,), 3))
    )
    assert str(rule) == (
        "Primitive(OnlyValid(Combine(Union(Composite(one.relu, DFPattern(relu)), OpPredicate(some)), "
        "ByKind(out_ewise_fusable->broadcast, broadcast->comm_reduce, injective->injective), depth=3), "
        "exits=1, taps=False, depth=0))"
    )


def test_combined_by_kind() -> None:
    rule = Combine(OpCallByKind(), (ByKind(((A, B),)),), 3)
    # What TVM's test expects, and on the last line what it misses: an old candidate with a new one.
    expected = [
        *GPT2,
        *("n06 n08", "n09 n11", "n09 n15", "n09 n11 n15", "n09 n15 n17", "n09 n11 n15 n17"),
        *("n11 n24", "n15 n17", "n17 n18", "n18 n20", "n20 n21", "n21 n23", "n23 n24"),
        *("n15 n17 n18", "n17 n18 n20", "n18 n20 n21", "n20 n21 n23", "n21 n23 n24"),
        *("n11 n23 n24", "n11 n21 n23 n24"),
    ]
    assert found(rule, gpt2_operators()) == sorted(expected)


def test_tuple_arguments_need_all_producers() -> None:
    rule = Combine(OpCallByKind(), (TupleArg(),), 3)
    assert found(rule, gpt2_tuples()) == sorted([*TUPLES, "n10 n14 n15 n16"])
    some = supports("concatenate", "split")
    assert found(Combine(some, (TupleArg(),), 3), gpt2_tuples()) == ["n06", "n16"]


def test_tuple_projections() -> None:
    rule = Combine(OpCallByKind(), (TupleProj(),), 3)
    expected = [*TUPLES, "n06 n07", "n06 n11", "n06 n07 n11"]
    assert found(rule, gpt2_tuples()) == sorted(expected)


def test_constants() -> None:
    rule = Combine(OpCallByKind(), (Constant(),), 3)
    assert found(rule, gpt2_operators()) == sorted([*GPT2, "n06 w", "n08 v"])
    both = Combine(OpCallByKind(), (ByKind(((A, B),)), Constant()), 3)
    assert {"n06 n08 v w", "n06 n08", "n06 w", "n08 v"} <= set(found(both, gpt2_operators()))


def test_only_valid_ones() -> None:
    text = "a = nn.relu x\nb = exp a\nc = tanh a\nd = abs c\ne = add b d\nreturn e"
    combined = Combine(OpCallByKind(), (FUSION,), 3)
    assert found(OnlyValid(combined, Limits(max_depth=2)), graph_of(program(text))) == [
        *("a", "b", "b d e", "b e", "c", "c d", "d", "d e", "e"),
    ]
    tapped = found(OnlyValid(combined, ANY_RESULTS), graph_of(program(text)))
    assert {"a b", "a b c"} <= set(tapped)


def test_old_and_new_candidates_are_combined() -> None:
    """The original skipped such pairs: m with p is new in the round in which a is to join it."""
    graph = graph_of(program("a = nn.relu x\nm = exp x\np = add m a\nreturn p"))
    assert "a m p" in found(Combine(OpCallByKind(), (FUSION,), 0), graph)


def test_anchors_in_a_row_and_side_by_side() -> None:
    text = "a = nn.dense x x\nb = nn.relu a\nc = nn.dense x x\nd = nn.dense b c\nreturn d"
    graph = graph_of(program(text))
    rule = Combine(OpCallByKind(), (ByKind(((A, B),)), Anchor(("nn.dense",))), 0)
    combined = found(rule, graph)
    assert {"a c", "a b c", "a b d", "c d", "a b c d"} <= set(combined)
    assert "a d" not in combined and "a b c" in combined
    none = Combine(OpCallByKind(), (Anchor(("nn.conv2d",)),), 0)
    assert found(none, graph) == ["a", "b", "c", "d"]


def test_number_of_candidates_is_bounded() -> None:
    lines = "\n".join(f"v{i + 1} = nn.relu v{i}" for i in range(40))
    graph = graph_of(program(f"{lines}\nreturn v40", f"%v0: {T}"))
    assert len(Combine(OpCallByKind(), (FUSION,), 0, most=100).candidates(graph, "one")) == 100
    assert len(Combine(OpCallByKind(), (FUSION,), 3).candidates(graph, "one")) == 40 + 39 + 38


# -- patterns that are found by looking -------------------------------------------------------------


def test_generator_climbs_post_dominators() -> None:
    text = "a = nn.dense x x\nb = exp a\nc = tanh a\nd = add b c\ne = sort d\nreturn e"
    rule = PatternGenerator("looks", lambda node: True)
    assert found(rule, graph_of(program(text))) == [
        *("a", "a b c d", "b", "b d", "c", "c d", "d", "e"),
    ]
    some = PatternGenerator("looks", lambda node: node.label != "tanh")
    assert found(some, graph_of(program(text))) == ["a", "b", "b d", "d", "e"]
    small = PatternGenerator("looks", lambda node: True, verify=lambda part: part.depth < 2)
    assert found(small, graph_of(program(text))) == ["a", "b", "c", "d", "e"]


def test_generator_skips_tuples_as_sinks() -> None:
    rule = PatternGenerator("looks", lambda node: node.label in ("expand_dims", "concatenate"))
    assert found(rule, gpt2_tuples()) == ["n10", "n10 n15 n16", "n14", "n14 n15 n16", "n16"]


def test_generator_stops_at_a_number_of_operators() -> None:
    rule = PatternGenerator("looks", lambda node: True)
    assert rule.most == 256
    assert found(replace(rule, most=2), chain()) == ["a", "a b", "b", "b c", "c"]
    assert "a b c" in found(rule, chain())


def test_registry_knows_equal_patterns() -> None:
    text = "a = exp x\nb = nn.relu a\nc = exp b\nd = nn.relu c\nreturn d"
    rule = PatternGenerator("looks", lambda node: node.label == "exp")
    registry = PatternRegistry()
    graph = graph_of(program(text))
    keys = [
        registry.add(each) for engine in ("one", "two") for each in rule.candidates(graph, engine)
    ]
    assert len(keys) == 4 and len(set(keys)) == 1
    assert registry.engines_of(keys[0]) == ("one", "two")


# -- engines ----------------------------------------------------------------------------------------


class Engine(NumpyBackend):
    """Runs some operators, and a pattern."""

    name = "engine"

    def __init__(self, style: FusionStyle, rule: PartitionRule | None = None):
        super().__init__()
        self.fusion_style = style
        self.rule = rule

    def patterns(self) -> list[CompositePattern]:
        return [CompositePattern("engine.two", is_op("nn.relu")(is_op("abs")(wildcard())))]

    def supports(self, op: Operation, types: object) -> Support:
        return supports("abs", "nn.relu").supports(op, [])

    def partition_rule(self) -> PartitionRule | None:
        return self.rule


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        (FusionStyle.NONE, ["a", "a b", "b", "c"]),
        (FusionStyle.RELAY, ["a", "a b", "a b", "a b c", "a b c", "b", "b c", "c"]),
        (FusionStyle.ANY, ["a", "a b", "a b", "a b c", "a b c", "b", "b c", "c"]),
    ],
)
def test_default_rules(style: FusionStyle, expected: list[str]) -> None:
    """What has a composite in it is another candidate than the same without."""
    assert found(default_rule(Engine(style)), chain(), "engine") == expected


def test_rules_that_backends_state() -> None:
    stated = CheckedBackend(Engine(FusionStyle.NONE, Primitive(RELU)))
    assert found(rule_of(stated), chain()) == ["b", "c"]
    with pytest.raises(
        BackendError, match="partition_rule\\(\\) returns an int, expected None or a rule"
    ):
        rule_of(CheckedBackend(Engine(FusionStyle.NONE, 7)))
    with pytest.raises(BackendError, match="returns a PartitionRule, expected a rule of"):
        rule_of(CheckedBackend(Engine(FusionStyle.NONE, PartitionRule())))
    with pytest.raises(
        BackendError, match="fusion_style is 'any', expected one of FusionStyle.NONE"
    ):
        CheckedBackend(Engine("any"))


@pytest.mark.parametrize("rule", [RELU, Composite("engine.two", Primitive(RELU))], ids=str)
def test_rules_that_make_no_functions_of_their_engine(rule: Rule) -> None:
    """Own code would run such regions, whatever was measured."""
    stated = rule_of(CheckedBackend(Engine(FusionStyle.NONE, rule)))
    with pytest.raises(
        BackendError, match=r"candidate 'nn.relu' that is no function of the engine"
    ):
        stated.candidates(chain(), "engine")
    assert str(stated) == f"Union({rule})"


def test_own_rule_covers_all_calls() -> None:
    graph = graph_of(program("a = nn.dense x x\nb = nn.relu a\nc = sort b\nreturn c"))
    assert found(own_rule(), graph, OWN) == ["a", "a b", "b", "c"]


def test_largest_regions() -> None:
    text = "a = abs x\nb = nn.relu a\nc = exp a\nd = add b c\ne = abs d\nreturn e"
    rule = Largest(supports("abs", "nn.relu", "add"))
    assert found(rule, graph_of(program(text))) == ["a b", "d e"]
    assert found(Largest(supports("split", "reshape")), gpt2_tuples()) == ["n06 n07 n08 n11 n12"]


def test_library_calls_within_larger_kernels() -> None:
    """A use that the rules can express: composites of a library in kernels of own code."""
    rule = OnlyValid(
        Combine(Union((OpCallByKind(), Composite("lib.abs", supports("abs")))), (FUSION,))
    )
    made = [each for each in rule.candidates(chain(), OWN) if each.part.inside.bit_count() == 3]
    assert {str(len(each.part.nested)) for each in made} == {"0", "1"}


def test_pruning_may_lose_the_best() -> None:
    graph = chain()
    one = OnlyValid(Combine(supports("abs"), (FUSION,))).candidates(graph, "one")
    two = OnlyValid(Combine(supports("abs", "nn.relu"), (FUSION,))).candidates(graph, "two")
    kept = [(each.engine, names(graph, each.inside)) for each in pruned([*one, *two])]
    assert ("two", "a b c") not in kept or ("one", "a") not in kept
    assert ("two", "b c") not in kept, "A on the first engine, B and C on the second is lost"
    assert ("two", "b c") in [(each.engine, names(graph, each.inside)) for each in two]


def test_functions_of_rules_compute_the_same() -> None:
    for rule in (default_rule(Engine(FusionStyle.ANY)), own_rule()):
        for each in rule.candidates(chain(), "engine"):
            module = program(CHAIN)
            graph = graph_of(module)
            moved = each.part.substituted(graph, {i: i for i in range(len(graph))})
            rewrite(module, graph, [moved])
            module.verify()
            x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
            np.testing.assert_array_equal(interpret(module, [x])[0], np.abs(x))
            assert all(isinstance(op, func.FuncOp) for op in module.ops)
