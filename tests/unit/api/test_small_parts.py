"""Small parts behind `xrelay.compile`: options, lengths that files are saved for, costs of own code, plans, contracts."""

import re
from collections.abc import Callable, Mapping, Sequence
from math import inf, nan
from pathlib import Path
from threading import current_thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx import parser
from placed import T, graph_of, nodes, program
from texts import parsed
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay import cached, partitioned, placing, saved_lengths, whole_runs
from xrelay.backends.base import Backend
from xrelay.backends.numpy import NumpyBackend
from xrelay.cached import CachePlace
from xrelay.coverage import Blocker, Coverage, RegionCoverage, coverage
from xrelay.deep import with_deep_stack
from xrelay.errors import CompileError
from xrelay.numbering import numbered
from xrelay.options import CompileOptions, OptionError
from xrelay.own_costs import OwnCosts, StepRule, scaled, steps_of
from xrelay.placement.costs.cost import UNKNOWN, Cost
from xrelay.placement.costs.database import Step
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.sub_graph import SubGraph
from xrelay.placement.placing import Request
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.placing import Settings, opened_database
from xrelay.runtime.profile import StepTime
from xrelay.runtime.signature import OpenTensor, StepSpec, UnknownDimensions
from xrelay.saved_lengths import at_usual_lengths
from xrelay.staged import open_stages
from xrelay.whole_runs import confirmed, farthest, rounds

F32 = np.dtype(np.float32)


# -- options ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": 3}, r"target is 3, expected one of native, .*"),
        ({"tuning": {}}, r"tuning is \{\}, expected TuningRecords"),
        ({"profile": 1}, "profile is 1, expected True or False"),
        ({"winograd": "no"}, "winograd is 'no', expected True or False"),
        ({"threads": 0}, "threads is 0, expected 1 to 256"),
        ({"threads": 257}, "threads is 257, expected 1 to 256"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    """What was found and what was expected."""
    with pytest.raises(OptionError) as caught:
        CompileOptions(**options)
    assert re.fullmatch(message, str(caught.value))


def test_deep_stacks_are_not_within_each_other() -> None:
    """What runs on a deep stack stays on it."""
    names = with_deep_stack(
        lambda: (current_thread().name, with_deep_stack(lambda: current_thread().name))
    )
    assert names[0] == names[1] != current_thread().name


# -- lengths that files are saved for ---------------------------------------------------------------


def unknown(*dims: str | int, **ranges: tuple[int, int]) -> UnknownDimensions:
    inputs = (OpenTensor("x", dims, F32),)
    return UnknownDimensions("open", inputs, (), ranges=ranges)


@pytest.mark.parametrize(
    ("guard", "found"),
    [
        ((((0,), 1), ((), -4)), (0, 4)),
        ((((2,), 3), ((), -12)), (2, 4)),
        ((((2,), -3), ((), 12)), (2, 4)),
        ((((0,), 1),), (0, 0)),
        ((((0,), 1), ((), 4)), (0, -4)),
        ((((0,), 3), ((), -13)), None),
        ((((0,), 1), ((1,), 1)), None),
        ((((0, 0), 1), ((), -4)), None),
        ((((0, 1), 1), ((), -4)), None),
        ((((), -4),), None),
        ((), None),
    ],
)
def test_lengths_that_a_condition_leaves_out(guard: Any, found: tuple[int, int] | None) -> None:
    """The symbol of a sum that is 0 at one length alone, and that length."""
    assert vars(saved_lengths)["_single"](guard) == found


@pytest.mark.parametrize(
    ("question", "lengths"),
    [
        (unknown("n"), {"n": 64}),
        (unknown("n", 3, "m"), {"n": 64, "m": 65}),
        (unknown("n", n=(5, 9)), {"n": 7}),
        (unknown("n", "m", n=(5, 9), m=(5, 9)), {"n": 7, "m": 8}),
        (unknown("n", "m", "k", n=(7, 8), m=(7, 8), k=(7, 8)), {"n": 7, "m": 8, "k": 7}),
        (unknown("n", n=(1, 1)), {"n": 1}),
    ],
)
def test_usual_lengths(question: UnknownDimensions, lengths: dict[str, int]) -> None:
    """They differ from each other where that can be, and lie in the ranges that are stated."""
    seen: list[dict[str, int]] = []
    made, at = at_usual_lengths(question, lambda at: seen.append(at) or 5)
    usual, first = vars(saved_lengths)["USUAL"], next(iter(lengths.values()))
    shift = usual - 64 if not question.ranges else 0
    assert at == {name: length + shift for name, length in lengths.items()} and first
    assert made == 5 and seen == [at]


def test_usual_lengths_that_a_model_does_not_take() -> None:
    """Equal ones are tried then, unless ranges are stated or there is one dimension, and multiples of 64; the first problem is told."""
    usual = vars(saved_lengths)["USUAL"]
    seen: list[tuple[int, ...]] = []

    def make(at: dict[str, int]) -> str:
        seen.append(tuple(at.values()))
        if len(set(at.values())) > 1:
            raise DiagnosticException("they differ")
        return "made"

    assert at_usual_lengths(unknown("n", "m"), make) == ("made", {"n": usual, "m": usual})
    assert seen == [(usual, usual + 1), (usual, usual)]

    def never(at: dict[str, int]) -> str:
        seen.append(tuple(at.values()))
        raise DiagnosticException(f"problem {len(seen)}")

    for question, count in (
        (unknown("n", "m"), 3),
        (unknown("n"), 2),
        (unknown("n", "m", n=(2, 9)), 2),
    ):
        seen.clear()
        with pytest.raises(DiagnosticException, match=r"^problem 1$"):
            at_usual_lengths(question, never)
        assert len(seen) == count


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ({}, {"n": 64, "m": 128}),
        ({"n": (2, 9)}, {"n": 8, "m": 128}),
        ({"m": (100, 100)}, {"n": 64, "m": 100}),
        ({"m": (3, 40), "n": (0, 1000)}, {"n": 64, "m": 32}),
    ],
)
def test_usual_lengths_that_divide(
    ranges: dict[str, tuple[int, int]], expected: dict[str, int]
) -> None:
    """Of models that halve and double what they are given."""

    def halved(at: dict[str, int]) -> str:
        if any(length % 4 for length in at.values()):
            raise DiagnosticException("a length does not divide by 4")
        return "made"

    assert at_usual_lengths(unknown("n", "m", **ranges), halved) == ("made", expected)


def lengths(symbols: str, bounds: Sequence[tuple[int, int]], *left_out: tuple[int, int]) -> Any:
    guards = [((((number,), 1), ((), -length)), "!=") for number, length in left_out]
    others = [((((0,), 1), ((), -7)), ">="), ((((0,), 1), ((1,), 1)), "!=")]
    signature = SimpleNamespace(
        lengths=SimpleNamespace(
            symbols=tuple(symbols.split()), bounds=bounds, guards=[*guards, *others]
        )
    )
    return SimpleNamespace(signature=signature)


@pytest.mark.parametrize(
    ("ranges", "made", "found"),
    [
        ({}, lengths("n m", [(1, 99), (1, 99)]), []),
        ({}, lengths("n m", [(3, 99), (1, 99)]), [{"n": 2, "m": 6}]),
        ({"n": (1, 120)}, lengths("n m", [(1, 99), (1, 99)]), [{"n": 100, "m": 6}]),
        ({"n": (5, 99)}, lengths("n m", [(6, 98), (1, 99)]), [{"n": 5, "m": 6}, {"n": 99, "m": 6}]),
        ({"n": (5, 99)}, lengths("n m", [(5, 99), (1, 99)]), []),
        ({"n": (0, 99)}, lengths("n m", [(1, 99), (1, 99)]), []),
        ({}, lengths("n m", [(1, 99), (1, 99)], (1, 8)), [{"n": 5, "m": 8}]),
        ({"m": (8, 9)}, lengths("n m", [(1, 99), (8, 9)], (1, 8)), [{"n": 5, "m": 8}]),
        ({"m": (2, 8)}, lengths("n m", [(1, 99), (2, 8)], (1, 8)), [{"n": 5, "m": 8}]),
        ({"m": (2, 7)}, lengths("n m", [(1, 99), (2, 7)], (1, 8)), []),
        ({"m": (9, 20)}, lengths("n m", [(1, 99), (9, 20)], (1, 8)), []),
        ({}, lengths("n m", [(1, 99), (1, 99)], (2, 8)), []),  # No symbol, but computed from some.
    ],
)
def test_lengths_that_programs_leave_out(
    ranges: dict[str, tuple[int, int]], made: Any, found: list[dict[str, int]]
) -> None:
    """Those beside the bounds of a program, and those that a condition leaves out, within the ranges."""
    type_ = vars(saved_lengths)["_Saving"]
    saving = type_.__new__(type_)
    saving.made, saving.lengths = [made], [{"n": 5, "m": 6}]
    saving.unknown = unknown("n", "m", **ranges)
    assert list(saving.ends()) == found


def test_stages_that_there_are_not() -> None:
    """A model whose sizes follow from shapes has none."""
    question = unknown("n")
    signature: Any = SimpleNamespace(name="m")

    def compiled(*args: Any, **options: Any) -> Any:
        raise AssertionError("nothing is compiled")

    assert open_stages(question, signature, compiled) is None


# -- costs of own code ------------------------------------------------------------------------------


def steps(module: ModuleOp, graph: Any, *given: tuple[str, float]) -> list[StepTime]:
    """Times of steps that compute operators, by the names of these in the text."""
    named = numbered(module, graph)
    from xrelay.dialects.model_names import model_name

    numbers: dict[str, str] = {}
    for op in named.walk():
        for result in op.results:
            if result.name_hint:
                numbers[result.name_hint] = model_name(op) or ""
    found: list[StepTime] = []
    for number, (names, seconds) in enumerate(given):
        nodes = tuple(numbers[name] for name in names.split())
        found.append(StepTime(number, StepSpec("step", 0, 0, nodes=nodes), seconds))
    return found


DIAMOND = "a = exp x\nb = nn.dense a a\nc = tanh b\nd = nn.relu a\ne = add c d\nreturn e"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([("a b", 2.0), ("c d e", 1.0)], {"a b": 2.0, "c d e": 1.0}),
        # What has no step goes with all its users, or else with the last of its inputs.
        ([("b", 2.0), ("d", 1.0), ("e", 4.0)], {"b": 2.0, "d": 1.0, "c e": 4.0, "a": None}),
        ([("a", 2.0), ("b d", 1.0), ("e", 4.0)], {"a": 2.0, "b d": 1.0, "c e": 4.0}),
        ([("a b c", 1.0), ("d", 2.0)], {"a b c": 1.0, "d e": 2.0}),
        # Steps of one node, and those that need each other, are one.
        ([("a b", 1.0), ("b", 2.0), ("c d e", 3.0)], {"a b": 3.0, "c d e": 3.0}),
        ([("a", 1.0), ("b e", 2.0), ("c", 3.0), ("d", 1.0)], {"a": 1.0, "b c e": 5.0, "d": 1.0}),
        ([("a b c d e", 1.0), ("", 9.0)], {"a b c d e": 1.0}),
        ([], {}),
    ],
)
def test_steps_of_own_code(
    given: list[tuple[str, float]], expected: dict[str, float | None]
) -> None:
    module = program(DIAMOND)
    graph = graph_of(module)
    found = steps_of(graph, steps(module, graph, *given))
    wanted = {nodes(graph, names): s for names, s in expected.items() if s is not None}
    assert {each.nodes: each.seconds for each in found} == wanted


def test_what_own_code_knows_the_costs_of() -> None:
    """Whole steps, one or several, and no part of one."""
    graph = graph_of(program(DIAMOND))
    costs = OwnCosts([Step(nodes(graph, "a b"), 2.0), Step(nodes(graph, "c d e"), 1.0)])

    def cost(names: str, engine: str = OWN) -> Cost:
        return costs.estimate(Candidate("any", SubGraph(graph, nodes(graph, names)), engine))

    assert cost("a b") == Cost(2.0, "profiled") and cost("a b c d e") == Cost(3.0, "profiled")
    assert [cost(names) for names in ("a", "c d", "a b c")] == [UNKNOWN] * 3
    assert cost("a b", "other") == UNKNOWN
    listed = StepRule(costs.steps).candidates(graph, OWN)
    assert costs.estimates(listed) == [Cost(2.0, "profiled"), Cost(1.0, "profiled")]


@pytest.mark.parametrize(
    ("seconds", "total", "found"),
    [([1.0, 3.0], 8.0, [2.0, 6.0]), ([1.0, 3.0], 0.0, [0.0, 0.0]), ([0.0, 0.0], 5.0, [0.0, 0.0])],
)
def test_steps_add_up(seconds: list[float], total: float, found: list[float]) -> None:
    """To the whole, as long as there is something."""
    made = scaled([Step(1 << i, each) for i, each in enumerate(seconds)], total)
    assert [each.seconds for each in made] == found
    assert [each.nodes for each in made] == [1, 2]


# -- whole runs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "expected", "far"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 3.0], [1.0, 4.0], 0.25),
        ([1.0, -3.0], [2.0, -4.0], 0.25),
        ([nan, 4.0], [nan, 4.0], 0.0),
        ([nan, 3.0], [nan, 4.0], 0.25),
        ([inf, 3.0], [inf, 4.0], 0.25),
        ([nan, 4.0], [1.0, 4.0], inf),
        ([1.0, 4.0], [inf, 4.0], inf),
        ([0.0, 1e-30], [0.0, 0.0], 1.0),
        ([], [], 0.0),
    ],
)
def test_distances_of_outputs(found: list[float], expected: list[float], far: float) -> None:
    """Of the largest element that is a number; the worst output counts."""
    same = np.array([5.0], np.float32)
    assert farthest(
        {"a": np.array(found), "b": same}, {"b": same, "a": np.array(expected)}
    ) == pytest.approx(far)
    assert farthest({"b": same, "c": same + 5}, {"b": same, "c": same}) == 1.0


@pytest.mark.parametrize(("dtype", "expected"), [("i8", True), ("i32", False), ("f16", False)])
def test_networks_with_small_integers(dtype: str, expected: bool) -> None:
    """They are rounded in steps; what is a parameter alone is not computed."""
    kind = f"tensor<4x4x{dtype}>"
    text = f"%a = relay.abs %x : ({kind}) -> {kind}\nfunc.return %a : {kind}"
    assert rounds(graph_of(program(text, f"%x: {kind}", kind))) is expected
    text = f"%a = relay.cast %x {{dtype = f32}} : ({kind}) -> {T}\nreturn a"
    assert not rounds(graph_of(program(text, f"%x: {kind}")))


class Runs(whole_runs.WholeRuns):
    """Whole runs of plans that take what their names say, and fail where they say nothing."""

    def __init__(self, seconds: Mapping[str, float]):
        self.seconds = seconds
        self._finalists = {}
        self.count = 0

    def run(self, plan: Mapping[str, Any]) -> Callable[[], float]:
        self.count += 1
        found = self.seconds.get(plan["name"])
        if found is None:
            raise PlacementError(f"it cannot run {plan['name']}\nat all")
        return lambda: found


def test_plans_that_are_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Own code first; what cannot run is left out with its reason. Without any single engine the best plan is the one to beat."""
    shown: list[str] = []
    compared: list[tuple[list[str], list[str], int]] = []

    def confirm(
        plans: Mapping[str, Any], singles: Mapping[str, Any], turns: int, later: int
    ) -> Any:
        compared.append((list(plans), list(singles), turns))
        return SimpleNamespace(shipped="plan 1")

    monkeypatch.setattr(whole_runs, "confirm", confirm)
    engines: Any = SimpleNamespace(facts=lambda: {"fast": None, "default": None})
    regions = [{"engine": "fast", "nodes": [], "nested": []}]
    finalists: dict[str, dict[str, Any]] = {
        name: {"name": name, "regions": regions * number}
        for name, number in (("plan 1", 2), ("fast", 1), ("default", 0), ("plan 2", 3))
    }
    runs: Any = Runs({"plan 1": 1.0, "default": 2.0, "fast": 3.0})
    shipped, verdict, excluded = confirmed(runs, finalists, engines, 5, shown.append)
    assert shipped == "plan 1" == verdict.shipped
    assert excluded == {"plan 2": "it cannot run plan 2"}
    assert compared == [(["plan 1"], ["default", "fast"], 5)]
    assert shown == [
        *("compile default", "compile plan 1", "compile fast", "compile plan 2"),
        "run the finalists in turns",
    ]
    confirmed(runs, finalists, engines, 5, shown.append)
    assert runs.count == 4 and shown[5:] == ["run the finalists in turns"], (
        "nothing is compiled anew"
    )
    confirmed(runs, {"fast": finalists["fast"]}, engines, 5, shown.append)
    confirmed(runs, finalists, engines, 5, shown.append)
    assert runs.count == 7, "what was no finalist is not kept"
    del compared[1:]
    runs = Runs({"plan 1": 1.0, "plan 2": 2.0})
    confirmed(runs, finalists, engines, 5, lambda text: None)
    assert compared[1:] == [(["plan 2"], ["plan 1"], 5)]
    with pytest.raises(PlacementError) as caught:
        confirmed(Runs({}), {"plan 1": finalists["plan 1"]}, engines, 5, lambda text: None)
    assert str(caught.value) == "no plan can be run whole; plan 1: it cannot run plan 1"


# -- placement --------------------------------------------------------------------------------------


def test_databases_of_placements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a file that is named, beside the cache, or for this placement alone."""
    with opened_database(tmp_path / "own.sqlite") as database:
        assert database.path == tmp_path / "own.sqlite"
    folder = tmp_path / "a" / "cache"
    monkeypatch.setattr(placing, "object_cache", lambda: SimpleNamespace(folder=folder))
    for _ in range(2):
        with opened_database(None) as database:
            assert database.path == folder / "placement.sqlite"
    assert folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(placing, "object_cache", lambda: None)
    with opened_database(None) as database:
        alone = Path(database.path)
        assert alone.name == "placement.sqlite" and alone.exists()
    assert not alone.parent.exists()


def test_executors_of_placements() -> None:
    """One that is given runs measurements, and stays open."""
    executor: Any = SimpleNamespace()
    measuring = vars(placing)["_measuring"]
    with measuring(Settings(executor=executor)) as found:
        assert found is executor
    assert Settings().request == Request()


def test_profiles_are_of_one_engine(tmp_path: Path) -> None:
    """Not of a plan."""
    options = CompileOptions(profile=True)
    source: Any = None
    engines: Any = None
    with pytest.raises(CompileError) as caught:
        placing.placed_model(source, engines, options, tmp_path / "plan.json")
    assert str(caught.value) == ("profile is for models that run in one engine, not with backends")


def storing(stored: list[Any]) -> Callable[..., None]:
    """What notes what it is given to store."""

    def store(*given: Any) -> None:
        stored.append(given)

    return store


# -- programs and files -----------------------------------------------------------------------------


def test_files_beside_relay_text(tmp_path: Path) -> None:
    """There are none; a model in memory has no file at all, and nothing is kept without knowing what it was made of."""
    path = tmp_path / "m.relay"
    path.write_text("")
    stored: list[Any] = []
    cache: Any = SimpleNamespace(store=storing(stored))
    place = CachePlace(cache, "key", path, None)
    assert place.dependencies() == {}
    assert CachePlace(cache, "key", None, None).digest("w.npz") is None
    assert CachePlace(cache, "key", None, None).dependencies() == {}
    code: Any = "code"
    place.store(code, None)
    assert stored == []
    CachePlace(cache, "key", None, None).store(code, {})
    assert stored == [("key", "code", {})]


def test_files_that_change_while_a_model_is_compiled(tmp_path: Path) -> None:
    """Then nothing is stored."""
    path = tmp_path / "m.mlir"
    path.write_text("")
    stored: list[Any] = []
    cache: Any = SimpleNamespace(store=storing(stored))
    changed = vars(cached)["_changed"](path)
    place = CachePlace(cache, "key", path, changed)
    before = place.dependencies()
    assert before is not None and list(before.values()) == [None]
    code: Any = "code"
    place.store(code, before)
    assert stored == [("key", "code", before)]
    (tmp_path / next(iter(before))).write_bytes(b"weights")
    place.store(code, before)
    assert len(stored) == 1
    CachePlace(cache, "key", path, -1).store(code, place.dependencies())
    assert len(stored) == 1


# -- partitioned models -----------------------------------------------------------------------------


def compiler_for(module: ModuleOp, *backends: Backend, fallback: bool = False) -> Any:
    return partitioned.compile_partition(
        module, "m", list(backends), CompileOptions(), fallback=fallback
    )


CALLING = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @part(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
PART = """
func.func private @part(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "fast"} {
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{CALLING}func.func private @part(tensor<4xf32>) -> tensor<4xf32>",
            "@part is called, but only declared",
        ),
        (CALLING + PART, "region @part (exp) is for backend 'fast', which is not given"),
    ],
)
def test_what_is_no_partitioned_model(text: str, message: str) -> None:
    """Calls of functions that are there, for backends that are given, and nothing else."""
    with pytest.raises(CompileError) as caught:
        compiler_for(parsed(text), NumpyBackend())
    assert message in str(caught.value)


# -- coverage ---------------------------------------------------------------------------------------


def region(flops: int, *operators: str) -> RegionCoverage:
    return RegionCoverage("r", "one", operators, flops, 0)


@pytest.mark.parametrize(
    ("regions", "host", "shares"),
    [
        ((region(30, "a", "b"), region(30, "c")), region(40, "d"), (0.6, 0.75)),
        ((region(0, "a"),), region(0, "b"), (0.0, 0.5)),
        ((), region(5, "a"), (0.0, 0.0)),
        ((), region(0), (0.0, 0.0)),
        ((region(7, "a"),), region(0), (1.0, 1.0)),
    ],
)
def test_shares_of_backends(
    regions: tuple[RegionCoverage, ...], host: RegionCoverage, shares: tuple[float, float]
) -> None:
    """Of operations, and of operators; nothing of nothing is nothing."""
    blockers: tuple[Blocker, ...] = ()
    found = Coverage(regions, host, blockers)
    assert (found.offloaded_flops, found.offloaded_operators) == shares


PARTS = """
func.func @main(%x: tensor<2x4xf32>, %c: tensor<i1>) -> tensor<2x4xf32> {
  %0 = relay.composite "mine.pair" %x : (tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>):
    %1 = relay.exp %a : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = relay.nn.relu %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    relay.yield %2 : tensor<2x4xf32>
  }
  %go = tensor.extract %c[] : tensor<i1>
  %3 = scf.if %go -> (tensor<2x4xf32>) {
    %4 = relay.negative %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
    scf.yield %4 : tensor<2x4xf32>
  } else {
    scf.yield %0 : tensor<2x4xf32>
  }
  func.return %3 : tensor<2x4xf32>
}
"""


def test_operators_of_the_host() -> None:
    """What has a body is one operator, with the operations of all within."""
    found = coverage(parsed(PARTS), [])
    assert (found.regions, found.blockers) == ((), ())
    assert found.host == RegionCoverage("main", "default", ("mine.pair", "negative"), 24, 0)


def test_models_that_are_interpreted() -> None:
    """Lengths are those of the arrays, all of which are needed."""
    text = '<ir_version: 8, opset_import: ["" : 17]> m (float[n, 3] x) => (float[n, 3] y) { y = Relu(x) }'
    model = parser.parse_model(text)
    x = np.array([[1, -2, 3]], np.float32)
    found = xrelay.interpret(model, {"x": x})
    np.testing.assert_array_equal(found["y"], [[1, 0, 3]])
    with pytest.raises(xrelay.ModelError) as caught:
        xrelay.interpret(model, {})
    assert str(caught.value) == "missing input 'x'; the model takes 'x' float32[n, 3]"
