"""Borders as they are measured: what is subtracted of what, by clocks that the tests advance themselves."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from placed import counts, graph_of, program

from xrelay.analysis.partition.compilers import No
from xrelay.backends.base import Backend, BackendError
from xrelay.backends.numpy import NumpyBackend
from xrelay.finalists import pairs_of
from xrelay.placement.costs.behind import LEAST_BYTES, MOST_BYTES, bytes_of_run
from xrelay.placement.costs.border_job import (
    CrossingJob,
    Runs,
    StartJob,
    alone,
    crossing_seconds,
    run_border,
)
from xrelay.placement.costs.borders import AT_HOST, IMAGES, Line, Place
from xrelay.placement.costs.cost import Cost, Estimator
from xrelay.placement.costs.crossings import SIZES, USUAL, Crossings, Pair, with_images
from xrelay.placement.costs.database import Database, Failure, Measurement, Record
from xrelay.placement.costs.job import Job
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.measured import Engine
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.placing import place
from xrelay.placement.rules.base import OpPredicate
from xrelay.placement.rules.candidate import HOST, OWN, Candidate
from xrelay.placement.rules.combinators import OnlyValid, Primitive
from xrelay.placement.rules.defaults import OWN_KERNELS

HERE = Machine.here(1)


@dataclass
class Clock:
    """Shows what runs have taken by their own word."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def taking(self, seconds: float) -> Callable[[], None]:
        def run() -> None:
            self.now += seconds

        return run


@pytest.mark.parametrize(("first", "expected"), [(None, 7.0), (4.0, 3.0), (9.0, 0.0)])
def test_what_a_border_costs(first: float | None, expected: float) -> None:
    clock = Clock()
    runs = Runs(
        clock.taking(10.0),
        None if first is None else clock.taking(first),
        clock.taking(3.0),
    )
    assert crossing_seconds(runs, 0.0, clock, 1 << 10) == pytest.approx(expected)


@dataclass(frozen=True)
class Named:
    """Makes an engine that is known by its name only."""

    name: str

    def __call__(self) -> Backend:
        raise BackendError(f"there is no {self.name}")


@dataclass
class Canned(Executor):
    """Answers jobs from a table of starts and seconds a byte, by the names of engines."""

    table: dict[tuple[str, str], tuple[float, float] | None]
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        pair = names_in(args[0] if not isinstance(args[0], str) else args[1])
        self.asked.append(pair)
        size = SIZES[self.asked.count(pair) - 1] * 4
        line = self.table[pair]
        record: Record = Failure("it cannot")
        if line is not None:
            record = Measurement(line[0] + size * line[1], 0.0, 0.0, 1, bytes=float(size))
        found: Future[Any] = Future()
        found.set_result(record)
        return found


def names_in(job: CrossingJob | StartJob | Job) -> tuple[str, str]:
    if isinstance(job, Job):
        return "layout", ""
    if isinstance(job, StartJob):
        return "start", OWN

    def name(maker: object) -> str:
        return maker.name if isinstance(maker, Named) else "host"

    return name(job.producer), name(job.user)


def crossings(folder: Path, executor: Executor) -> Crossings:
    engines = {name: Engine(name, "1", Named(name)) for name in ("fast", OWN)}
    return Crossings(Database(folder / "costs.sqlite"), engines, HERE, executor=executor)


TABLE: dict[tuple[str, str], tuple[float, float] | None] = {
    ("host", "fast"): (1e-5, 0.0),
    ("fast", "fast"): (2e-5, 0.0),
    (OWN, "fast"): (3e-5, 1e-9),
    ("host", OWN): (4e-5, 0.0),
    ("fast", OWN): None,
    (OWN, OWN): (5e-5, 0.0),
    ("layout", ""): (1e-6, 2e-9),
    ("start", OWN): (3e-6, 0.0),
}


def test_an_engine_that_fails_is_asked_once(tmp_path: Path) -> None:
    """Each hang would take a minute; a second search does not ask again."""
    executor = Canned({**TABLE, ("host", "fast"): None})
    found = crossings(tmp_path, executor)
    table = found.table()
    assert [pair for pair in executor.asked if "fast" in pair] == [("host", "fast")]
    assert table.seconds(AT_HOST, Place("fast"), 1000) == USUAL.seconds(1000)
    assert table.seconds(AT_HOST, Place(OWN), 1000) == pytest.approx(4.3e-5)
    again = Canned({})
    assert crossings(tmp_path, again).table() == table and again.asked == []


def test_what_regions_of_own_code_begin_with_is_unknown(tmp_path: Path) -> None:
    """A measurement of it that fails leaves the borders to own code without."""
    table = crossings(tmp_path, Canned({**TABLE, ("start", OWN): None})).table()
    assert table.begun == 0.0
    assert table.seconds(AT_HOST, Place(OWN), 1000) == pytest.approx(4e-5)
    (tmp_path / "others").mkdir()
    again = crossings(tmp_path / "others", Canned(TABLE)).table()
    assert again.begun == pytest.approx(3e-6)


def test_turns_of_borders_take_the_place_of_what_was_measured(tmp_path: Path) -> None:
    """Those of some pairs, with what regions of own code begin with and changes of layout; what failed has none."""
    found = crossings(tmp_path, Canned(TABLE))
    before = found.table()
    again = Canned({**TABLE, ("host", OWN): (8e-5, 0.0), ("start", OWN): (6e-6, 0.0)})
    found.executor, found.measured = again, 0
    pairs: list[Pair] = [(None, OWN), ("fast", OWN)]
    turns = found.turns(pairs)
    assert len(turns) == 2 * len(SIZES) + 1
    taken = {name: [turn()] for name, turn in turns.items()}
    assert again.asked == [*[("host", OWN)] * 3, *[("layout", "")] * 3, ("start", OWN)]
    found.note(pairs, {**taken, "another": [1.0]})
    table = found.table()
    assert found.measured == len(turns) and len(again.asked) == len(turns)
    assert table.seconds(AT_HOST, Place(OWN), 1000) == pytest.approx(8.6e-5) and table.begun == 6e-6
    for a, b in (
        (AT_HOST, Place("fast")),
        (Place(OWN), Place("fast")),
        (Place("fast"), Place(OWN)),
    ):
        assert table.seconds(a, b, 1000) == before.seconds(a, b, 1000)


def test_the_pairs_of_plans() -> None:
    def plan(*engines: str) -> dict[str, Any]:
        return {"regions": [{"engine": each} for each in engines]}

    alone: list[Pair] = [(None, "fast")]
    assert pairs_of([plan(HOST, "fast")]) == alone
    assert pairs_of([plan(OWN, OWN)]) == [(None, OWN)]
    mixed = [(None, OWN), (None, "fast"), (OWN, "fast"), ("fast", OWN)]
    assert pairs_of([plan(OWN, "fast", OWN), plan("fast")]) == mixed
    assert pairs_of([plan("fast", "fast")]) == [(None, "fast"), ("fast", "fast")]


def test_borders_have_a_budget(tmp_path: Path) -> None:
    """What is not measured within it is usual, and is measured the next time."""

    class Never(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            return Future()

    shown: list[str] = []
    found = replace(crossings(tmp_path, Never()), budget=0.0, progress=shown.append)
    assert found.table().seconds(AT_HOST, Place(OWN), 1000) == USUAL.seconds(1000)
    assert found.measured == 0 and shown[:2] == [
        "measure borders: 1 of 2",
        "measure borders: 2 of 2",
    ]
    assert counts(found.database) == {"measurements": 0, "failures": 0}


def test_lines_of_all_pairs(tmp_path: Path) -> None:
    executor = Canned(TABLE)
    found = crossings(tmp_path, executor)
    table = found.table()
    fast, own, images = Place("fast"), Place(OWN), Place(OWN, IMAGES)
    assert found.measured == len(executor.asked) == 7 * len(SIZES) + 1
    assert table.seconds(AT_HOST, fast, 1000) == pytest.approx(1e-5)
    assert table.seconds(fast, fast, 1000) == pytest.approx(2e-5)
    assert table.seconds(own, fast, 1000) == pytest.approx(3e-5 + 1e-6)
    assert table.seconds(images, fast, 1000) == pytest.approx(3e-5 + 3e-6)
    assert table.seconds(fast, own, 1000) == USUAL.seconds(1000), "what could not be measured"
    for a in (own, images):
        for b in (own, images):
            assert table.seconds(a, b, 1000) == 0, "one network of own code"
    assert table.seconds(AT_HOST, images, 1000) == pytest.approx(4.3e-5)
    assert table.seconds(images, AT_HOST, 1000) == 0
    again = crossings(tmp_path, Canned({}))
    assert again.table() == table and again.measured == 0


def test_borders_are_behind_what_networks_go_through(tmp_path: Path) -> None:
    """Networks of about as many bytes share what is measured."""

    def of(count: int) -> Graph:
        type_ = f"tensor<{count}xf32>"
        text = f"%a = relay.exp %x : ({type_}) -> {type_}\nfunc.return %a : {type_}"
        return graph_of(program(text, f"%x: {type_}", type_))

    sizes = [bytes_of_run(of(count), 1) for count in (1, 500_000, 600_000, 2_000_000, 1 << 30)]
    assert sizes == [LEAST_BYTES, LEAST_BYTES, 5 << 20, 16 << 20, MOST_BYTES]
    assert bytes_of_run(of(2_000_000), 2) == LEAST_BYTES, "threads would sleep"
    few = crossings(tmp_path, Canned(TABLE))
    few.table()
    more = replace(few, executor=Canned(TABLE), behind=8 << 20, measured=0)
    more.table()
    assert more.measured == few.measured - len(SIZES), "changes of layout are the same"
    assert replace(more, executor=Canned({}), measured=0).table() == few.table()


class Failing(Executor):
    """Engines that fail at everything."""

    count = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.count += 1
        future: Future[Any] = Future()
        future.set_result(Failure("it fails"))
        return future


def test_borders_that_fail_in_a_turn_keep_what_was_measured(tmp_path: Path) -> None:
    found = crossings(tmp_path, Canned(TABLE))
    before = found.table()
    failing = Failing()
    found.executor = failing
    turns = found.turns([(None, "fast")])
    assert len(turns) == len(SIZES)
    taken = {key: [turn(), turn()] for key, turn in turns.items()}
    assert all(isnan(seconds) for each in taken.values() for seconds in each)
    assert failing.count == len(SIZES), "they are asked for no other turn"
    found.note([(None, "fast")], taken)
    assert found.table() == before and found.measured == 7 * len(SIZES) + 1


def test_the_layout_of_images_decides() -> None:
    """An operator on images in the middle of own code is faster elsewhere, until the layouts count."""
    text = "\n".join(
        f"%{b} = relay.{op} %{a} : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>"
        for a, op, b in (("x", "exp", "a"), ("a", "tanh", "b"), ("b", "sqrt", "c"))
    )
    type_ = "tensor<1x16x8x8xf32>"
    module = program(f"{text}\nfunc.return %c : {type_}", f"%x: {type_}", type_)

    class Costs(Estimator):
        def estimate(self, candidate: Candidate) -> Cost:
            return Cost(1.0 if candidate.engine == OWN else 0.5, "table")

    rule = Primitive(OnlyValid(OpPredicate("fast", only_tanh)))

    def engines(change: Line) -> list[str]:
        pairs = [(a, b) for a in (HOST, OWN, "fast") for b in (OWN, "fast")]
        borders = with_images({(Place(a), Place(b)): Line(0.1) for a, b in pairs}, change)
        found = place(graph_of(module), {"fast": rule, OWN: OWN_KERNELS}, Costs(), borders=borders)
        return [region.engine for region in found.regions() if region.engine != HOST]

    assert engines(Line()) == [OWN, "fast", OWN]
    assert engines(Line(0.0, 1e4)) == [OWN, OWN, OWN]


def only_tanh(op: Any, types: Any) -> Any:
    return NumpyBackend().supports(op, types) if op.name == "relay.tanh" else No("it does not")


def test_memory_for_outputs_is_no_border() -> None:
    """A region that is run by itself gets the same output again, or a new one, as that of a model is."""
    given: list[Any] = []

    def region(inputs: Any, outputs: Any) -> None:
        given.append(outputs[0])

    for run in (alone(region, 4), alone(region, 4, allocates=True)):
        run()
        run()
    assert given[0] is given[1] and given[2] is not given[3]


def test_a_border_that_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    job = CrossingJob(NumpyBackend, NumpyBackend, HERE, 16, 0.0, 1 << 10)
    found = run_border(job)
    assert isinstance(found, Measurement) and found.seconds >= 0 and found.bytes == 64
    started = run_border(StartJob(NumpyBackend, HERE, 0.0, 1 << 10))
    assert isinstance(started, Measurement) and started.seconds > 0
    kept: dict[str, Any] = {}
    monkeypatch.setattr("xrelay.placement.costs.turns._kept", kept)
    turns = [run_border(job, "a turn") for _ in range(2)]
    assert list(kept) == ["a turn"] and all(isinstance(each, Measurement) for each in turns)
    first = kept["a turn"]
    run_border(replace(job, elements=32), "a turn")
    assert kept == {"a turn": first}, "what was compiled is used again"
    run_border(job)
    assert not kept
    broken = CrossingJob(None, Named("nothing"), HERE, 16, 0.0, 1 << 10)
    assert run_border(broken) == Failure("BackendError: there is no nothing")
