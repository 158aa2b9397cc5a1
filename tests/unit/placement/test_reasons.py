"""Why a plan is as it is, to the last word; and rules, graphs and regions at their edges."""

from dataclasses import replace
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest
from placed import T, graph_of, names, nodes, part, program
from xdsl.parser import Parser

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import context
from xrelay.dialects.traits import OpPatternKind
from xrelay.placement.costs.borders import NoBorders, Place
from xrelay.placement.costs.cost import FREE, UNKNOWN, Cost, TableCosts, invalid
from xrelay.placement.costs.model import EngineModel
from xrelay.placement.errors import PlacementError
from xrelay.placement.explain import (
    Alternative,
    Row,
    alternative_text,
    alternatives,
    elsewhere,
    elsewhere_text,
    explanations_in,
    micro,
)
from xrelay.placement.graph.dataflow import Graph, kind_and_label
from xrelay.placement.graph.extraction import exit_values
from xrelay.placement.graph.onnx_parts import name_of
from xrelay.placement.graph.sub_graph import SubGraph, in_dependence_order
from xrelay.placement.placing import Request, memory_of, place, solve, with_regions
from xrelay.placement.rules import combiners
from xrelay.placement.rules.base import is_call
from xrelay.placement.rules.candidate import HOST, OWN, Candidate, Pool
from xrelay.placement.rules.combiners import Anchor
from xrelay.placement.rules.defaults import OWN_KERNELS
from xrelay.placement.rules.generator import Step, relay_like
from xrelay.placement.rules.largest import largest_of, merged
from xrelay.placement.search.problem import Choice, Problem

CHAIN = "a = exp x\nb = nn.relu a\nc = tanh b\nreturn c"


def chain() -> Graph:
    return graph_of(program(CHAIN))


def candidate(graph: Graph, names: str, engine: str = "one") -> Candidate:
    return Candidate("test", part(graph, names), engine)


# -- why --------------------------------------------------------------------------------------------


def problem(*choices: tuple[int, str, float]) -> Any:
    """A placement of a chain of three nodes behind a given one."""
    listed = [Choice(inside, Place(engine), cost) for inside, engine, cost in choices]
    return SimpleNamespace(problem=Problem([0, 1, 2, 4], listed, given=1))


@pytest.mark.parametrize(
    ("found", "seconds", "expected"),
    [
        (problem((0b1110, "one", 1.0)), 0.0, (None, "there was no time to look")),
        (problem((0b1110, "one", 1.0)), -1.0, (None, "there was no time to look")),
        (problem((0b1110, "one", 1.0)), 9.0, (None, "no other engine runs it")),
        (
            problem((0b1110, "one", 1.0), (0b0110, "two", 1.0), (0b1100, "two", 1.0)),
            9.0,
            (None, "no other plan covers the model"),
        ),
        (
            problem(
                *((0b1110, "one", 1.0), (0b0110, "two", 3.0), (0b1000, "one", 2.0)),
                *((0b0010, "three", 4.0), (0b1100, "one", 0.5)),
            ),
            9.0,
            (4.5, "three"),
        ),
        (
            problem((0b0110, "one", 1.0), (0b0110, "two", 3.0), (0b1000, "one", 2.0)),
            9.0,
            (5.0, "two"),
        ),
    ],
)
def test_where_else_an_operator_could_be(
    found: Any, seconds: float, expected: tuple[float | None, str]
) -> None:
    """The cheapest plan that has it on another engine, or why there is none."""
    assert elsewhere(found, 1, "one", seconds) == expected


def test_candidates_that_were_not_taken() -> None:
    """Each with the regions in its place, what these cost, and what it would."""
    graph = chain()
    table = {
        ("one", "exp"): 4e-6,
        ("one", "nn.relu"): 2e-6,
        ("one", "tanh"): 1e-6,
        ("two", "exp"): 5e-6,
        ("two", "nn.relu"): 1e-6,
        ("two", "nn.relu+tanh"): 9e-6,
        ("one", "exp+nn.relu"): 5.5e-6,
        ("two", "exp+nn.relu"): 6e-6,
    }
    rules: dict[str, Any] = {}

    class Listed:
        def __init__(self, *parts: str):
            self.parts = parts

        def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
            return [candidate(graph, each, engine) for each in self.parts]

    rules["one"] = Listed("a", "b", "c", "a b")
    rules["two"] = Listed("a", "b", "b c", "a b", "c", "a b c")

    class Costs(TableCosts):
        def estimate(self, candidate: Candidate) -> Cost:
            if candidate.engine == "two" and candidate.part.label == "tanh":
                return UNKNOWN
            return super().estimate(candidate)

    placed = place(graph, rules, Costs(table))
    regions = {each.part.label: each for each in placed.regions() if each.engine != HOST}
    assert {n: each.engine for n, each in regions.items()} == {
        "exp": "one",
        "nn.relu": "two",
        "tanh": "one",
    }
    assert placed.outcome.plans[0].cost == pytest.approx(6e-6)
    index = next(
        iter(graph.nodes[i].index for i in range(len(graph)) if nodes(graph, "b") >> i & 1)
    )
    others = alternatives(placed, placed.regions())
    assert others[index] == [
        Alternative("one", "nn.relu", 2e-6, "in its place: 1 region of 1.0 µs; it costs 2.0 µs"),
        Alternative(
            "one", "exp+nn.relu", 5.5e-6, "in its place: 2 regions of 5.0 µs; it costs 5.5 µs"
        ),
        Alternative(
            "two", "nn.relu+tanh", 9e-6, "in its place: 2 regions of 2.0 µs; it costs 9.0 µs"
        ),
        Alternative(
            "two", "exp+nn.relu", 6e-6, "in its place: 2 regions of 5.0 µs; it costs 6.0 µs"
        ),
        Alternative(
            "two",
            "exp+nn.relu+tanh",
            None,
            "it cannot run: the table has no 'exp+nn.relu+tanh' for two",
        ),
    ]
    last = next(i for i in range(len(graph)) if nodes(graph, "c") >> i & 1)
    reasons = [(each.operators, each.seconds, each.reason) for each in others[last]]
    assert reasons[1] == ("tanh", None, "its cost is unknown")


def test_texts_of_reasons() -> None:
    """Times in microseconds, with one digit behind the point."""
    assert (micro(0.0), micro(1.25e-6), micro(0.5)) == ("0.0 µs", "1.2 µs", "500000.0 µs")
    row = Row(3, "exp", "e", "one", 1, 2e-6, 7.5e-6, "two", ())
    assert elsewhere_text(row) == "on two: the whole plan would cost 7.5 µs"
    assert elsewhere_text(replace(row, elsewhere_seconds=None, elsewhere="no other")) == (
        "elsewhere: no other"
    )
    other = Alternative("two", "exp+tanh", None, "it cannot run: it hangs")
    assert alternative_text(other) == "not exp+tanh on two: it cannot run: it hangs"


ROW: dict[str, Any] = {
    "node": 3, "operator": "exp", "name": "e", "engine": "one", "region": 1, "region_seconds": 2e-6,
    "elsewhere_seconds": None, "elsewhere": "no other engine runs it", "alternatives": [],
}  # fmt: skip
OTHER: dict[str, Any] = {"engine": "two", "operators": "exp", "seconds": 1, "reason": "it is slow"}


def test_reasons_that_a_plan_carries() -> None:
    """They are read as written, by their nodes."""
    assert explanations_in({}) == {} == explanations_in({"explanation": []})
    row = Row(3, "exp", "e", "one", 1, 2e-6, None, "no other engine runs it", ())
    other = Alternative("two", "exp", 1, "it is slow")
    rows = [ROW, {**ROW, "node": 5, "elsewhere_seconds": 3, "alternatives": [OTHER, OTHER]}]
    assert explanations_in({"explanation": rows}) == {
        3: row,
        5: replace(row, node=5, elsewhere_seconds=3, alternatives=(other, other)),
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alternatives": 3}, "'alternatives' of 'explanation[1]' is 3, expected a list"),
        ({"node": "3"}, "'node' of 'explanation[1]' is '3', which it cannot be"),
        ({"node": True}, "'node' of 'explanation[1]' is True, which it cannot be"),
        ({"node": 1.0}, "'node' of 'explanation[1]' is 1.0, which it cannot be"),
        ({"region_seconds": None}, "'region_seconds' of 'explanation[1]' is None, which it cannot be"),
        ({"elsewhere_seconds": "1"}, "'elsewhere_seconds' of 'explanation[1]' is '1', which it cannot be"),
        (
            {"alternatives": [{**OTHER, "seconds": "1"}]},
            "'seconds' of 'explanation[1]' is '1', which it cannot be",
        ),
        (
            {"alternatives": [3]},
            "'explanation[1]' is 3, expected an object with engine, operators, seconds, reason",
        ),
        (
            {"alternatives": [{"engine": "two"}]},
            "'explanation[1]' is {'engine': 'two'}, expected an object with engine, operators, seconds, reason",
        ),
    ],
)  # fmt: skip
def test_reasons_that_are_damaged(change: dict[str, Any], message: str) -> None:
    """The field and the row are named."""
    with pytest.raises(PlacementError) as caught:
        explanations_in({"explanation": [ROW, {**ROW, **change}]})
    assert str(caught.value) == message


# -- plans ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["exact", "operator-level", "shortest-path", "integer-program"])
def test_candidates_that_do_not_fit_together(method: str) -> None:
    """All nodes are in some of them, and no plan covers the model."""
    graph = Problem(
        [0, 1, 2, 4], [Choice(6, Place("a"), 1.0), Choice(12, Place("a"), 1.0)], given=1
    )
    message = "no plan covers the model: the candidates of the rules do not fit together"
    with pytest.raises(PlacementError) as caught:
        solve(graph, Request(method=method))
    assert str(caught.value) == message
    graph.memory_limit = 64
    with pytest.raises(PlacementError) as caught:
        solve(graph, Request(method=method))
    assert str(caught.value) == (
        "no plan keeps to the memory limit of 64 bytes, expected a higher one"
    )


def test_memory_of_regions() -> None:
    """Constants and results are kept; the host keeps nothing."""
    text = f"%w = relay.constant dense<1.5> : {T}\na = nn.dense x w\nb = nn.relu a\nreturn b"
    graph = graph_of(program(text))
    sizes = [10**node.index for node in graph.nodes]
    weight, first, second = (sizes[i] for i in range(len(graph)) if nodes(graph, "w a b") >> i & 1)
    assert memory_of(graph, candidate(graph, "a"), sizes) == weight + first
    assert memory_of(graph, candidate(graph, "a w"), sizes) == weight + first
    assert memory_of(graph, candidate(graph, "b"), sizes) == second
    assert memory_of(graph, candidate(graph, "a b w"), sizes) == weight + second
    assert memory_of(graph, candidate(graph, "w", HOST), sizes) == 0


def test_regions_that_leave_something_out() -> None:
    """Without own code for the rest there is no placement; with it, the cheapest of those that overlap is taken."""
    graph = chain()
    table = {(OWN, n): 1.0 for n in ("exp", "nn.relu", "tanh")} | {("one", "exp+nn.relu"): 0.5}
    table |= {(OWN, f"{a}+{b}"): 3.0 for a, b in (("exp", "nn.relu"), ("nn.relu", "tanh"))}
    found = place(graph, {OWN: OWN_KERNELS}, TableCosts(table))
    regions = [candidate(graph, "a b"), candidate(graph, "b c")]
    assert with_regions(found, regions, [Cost(1.0), Cost(1.0)]) is None
    assert with_regions(found, [candidate(graph, "b c")], [invalid("no")]) is None
    only = with_regions(found, regions[:1], [Cost(0.25)])
    assert only is not None and only.outcome.plans[0].cost == 1.25
    assert [(e.engine, e.part.label) for e in only.regions() if e.engine != HOST] == [
        ("one", "exp+nn.relu"),
        (OWN, "tanh"),
    ]
    assert only.costs[only.candidates.index(regions[0])] == Cost(0.25)
    assert isinstance(only.borders, NoBorders) and FREE in only.costs


@pytest.mark.parametrize(
    ("flops", "moved", "seconds"), [(0.0, 0.0, 1e-5), (2e9, 0.0, 1.00001), (0.0, 3e9, 0.50001)]
)
def test_models_of_engines(flops: float, moved: float, seconds: float) -> None:
    """To start, and the longer one of to compute and to move, or both."""
    model = EngineModel(1e-5, 2e9, 6e9)
    assert model.seconds(flops, moved) == pytest.approx(seconds)


# -- graphs -----------------------------------------------------------------------------------------


def parsed(text: str) -> Graph:
    module = Parser(context(), text.replace("T", T)).parse_module()
    module.verify()
    return Graph.of(entry_function(module))


PAIR = """
func.func private @pair(T) -> (T, T, T)
func.func @main(%x: T) -> (T, T) {
  %p:3 = func.call @pair(%x) : (T) -> (T, T, T)
  %a = relay.exp %p#0 : (T) -> T
  %b = relay.add %a, %p#0 : (T, T) -> T
  %c = relay.tanh %p#2 : (T) -> T
  func.return %b, %c : T, T
}
"""


def test_values_that_leave_a_part() -> None:
    """Of a node with several values those that something outside uses."""
    graph = parsed(PAIR)
    labels = [node.label for node in graph.nodes]
    (call,) = (node for node in graph.nodes if len(node.values) == 3)
    assert is_call(call.op)

    def leaving(*others: str) -> list[int]:
        inside = 1 << call.index | sum(1 << labels.index(name) for name in others)
        found = exit_values(SubGraph(graph, inside))
        return [call.values.index(v) if v in call.values else -1 for v in found]

    assert leaving() == [0, 2]
    assert leaving("exp") == [0, 2, -1]
    assert sorted(leaving("exp", "add")) == [-1, 2]
    assert sorted(leaving("tanh")) == [-1, 0]
    assert sorted(leaving("exp", "add", "tanh")) == [-1, -1]


def test_small_parts_of_graphs() -> None:
    """Orders of nothing, names without a model, and constants that nothing uses."""
    assert in_dependence_order([]) == []
    graph = chain()
    assert name_of(graph, graph.nodes[1].values[0]) == ""
    unused = graph_of(program(f"%w = relay.constant dense<1.0> : tensor<f32>\n{CHAIN}"))
    assert [node.label for node in unused.nodes] == [node.label for node in graph.nodes]


def test_kinds_of_calls() -> None:
    """What has a shape that depends on data is never fused."""
    text = """
    func.func @main(%x: T) -> (tensor<?x2xi32>, T) {
      %a = relay.argwhere %x : (T) -> tensor<?x2xi32>
      %b = relay.exp %x : (T) -> T
      func.return %a, %b : tensor<?x2xi32>, T
    }
    """
    graph = parsed(text)
    kinds = {node.label: node.kind for node in graph.nodes}
    assert kinds["argwhere"] is OpPatternKind.OPAQUE and kinds["exp"] is OpPatternKind.ELEMWISE
    exp = next(node.op for node in graph.nodes if node.label == "exp")
    assert exp is not None and kind_and_label(exp) == (OpPatternKind.ELEMWISE, "exp")


# -- rules ------------------------------------------------------------------------------------------

KINDS = (
    OpPatternKind.ELEMWISE,
    OpPatternKind.BROADCAST,
    OpPatternKind.INJECTIVE,
    OpPatternKind.COMM_REDUCE,
    OpPatternKind.OUT_EWISE_FUSABLE,
    OpPatternKind.OPAQUE,
)
ACCEPTED = {
    OpPatternKind.ELEMWISE: (3, 4),
    OpPatternKind.BROADCAST: (3, 4),
    OpPatternKind.INJECTIVE: (3, 3),
    OpPatternKind.TUPLE: (3, 3),
    OpPatternKind.OUT_EWISE_FUSABLE: (2, 3),
    OpPatternKind.COMM_REDUCE: (0, 0),
    OpPatternKind.OPAQUE: (0, 0),
}
"""For each kind so far, how many of KINDS may be on the way, and how many may be the sink."""


@pytest.mark.parametrize("kind", ACCEPTED)
def test_what_relay_fuses(kind: OpPatternKind) -> None:
    """Kinds on the way and of the sink, up to a limit for each."""
    most_way, most_sink = ACCEPTED[kind]
    for first, between in enumerate(KINDS):
        for other, end in enumerate(KINDS):
            graph: Any = {2: SimpleNamespace(kind=between)}
            sink: Any = SimpleNamespace(kind=end, index=5)
            accepts = first < most_way and other < most_sink
            found = relay_like(Step(graph, sink, sink, 1 << 2, kind, 1))
            assert found == (0b100100 if accepts else None), (kind, between, end)
            # Without a node on the way the sink alone decides.
            alone = relay_like(Step(graph, sink, sink, 0, kind, 1))
            assert alone == (0b100000 if other < most_sink else None)


def test_parts_that_overlap() -> None:
    """Parts that share a node are not disjoint, and merging takes the first of those that do."""
    graph = chain()
    disjoint = vars(combiners)["_are_disjoint"]
    first, second, third = (candidate(graph, each) for each in ("a b", "b c", "c"))
    assert disjoint([]) and disjoint([first, third]) and disjoint([third, first])
    assert not disjoint([first, second]) and not disjoint([first, third, second])
    found = merged([part(graph, "a"), part(graph, "a b"), part(graph, "b"), part(graph, "c")])
    assert [names(graph, each.inside) for each in found] == ["a b c"]
    found = merged([part(graph, "a b"), part(graph, "b c"), part(graph, "c")])
    assert [names(graph, each.inside) for each in found] == ["a b c"]
    found = merged([part(graph, "a"), part(graph, "c")])
    assert [names(graph, each.inside) for each in found] == ["a", "c"]


def test_largest_candidates() -> None:
    """Those that another one of the same engine contains are none; equal ones both are."""
    graph = chain()
    listed = [
        *(candidate(graph, each) for each in ("a", "a b", "b c", "c")),
        *(candidate(graph, each, "two") for each in ("a", "a b c")),
    ]
    found = [(names(graph, each.inside), each.engine) for each in largest_of(listed)]
    assert found == [("a b", "one"), ("b c", "one"), ("a b c", "two")]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (("b", "c"), ["b c"]),
        (("c", "b"), ["b c"]),
        (("b", "d"), []),
        (("d", "b"), []),
        (("b", "e"), []),
        (("b", "b c"), []),
    ],
)
def test_candidates_side_by_side(order: tuple[str, str], expected: list[str]) -> None:
    """Those with anchors of one operator, of which none needs the other's result, in either order."""
    text = "a = exp x\nb = nn.dense a a\nc = nn.dense a a\nd = nn.dense a b\ne = tanh a\nf = add c d\ng = add e f\nreturn g"
    graph = graph_of(program(text))
    pool = Pool([candidate(graph, each) for each in order])
    rule = Anchor(("nn.dense",))
    anchors = [rule.anchor(each) for each in pool.candidates]
    found = list(rule.side_by_side(pool, anchors, 0, 1))
    assert [names(graph, each.inside) for each in found] == expected
    assert [each.rule for each in found] == ["test|test"] * len(expected)


def test_infinite_costs_are_not_valid() -> None:
    """Unknown ones are for all that is known."""
    assert [c.is_valid for c in (UNKNOWN, FREE, Cost(1.0), invalid("no"))] == [
        True,
        True,
        True,
        False,
    ]
    assert [c.is_known for c in (UNKNOWN, FREE, invalid("no"))] == [False, True, True]
    assert invalid("no", "who") == Cost(inf, "who", "no")
