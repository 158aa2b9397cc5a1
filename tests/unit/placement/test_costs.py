"""What candidates cost: who says so, what is kept, and what happens to engines that crash or hang."""

import os
import re
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from placed import CHAIN, Inline, T, candidate, counts, graph_of, keys, measured, part, program
from xdsl.dialects import func

from xrelay.backends.numpy import NumpyBackend
from xrelay.placement.costs import timing
from xrelay.placement.costs.borders import AT_HOST, BorderTable, Line, NoBorders, Place, fitted_line
from xrelay.placement.costs.cost import (
    FREE,
    UNKNOWN,
    Cost,
    Estimator,
    FirstKnown,
    FunctionCosts,
    TableCosts,
    invalid,
)
from xrelay.placement.costs.database import BORDER, SCHEMA, Database, Failure, Measurement, Step
from xrelay.placement.costs.job import WrongMachine, parsed, text_of, work_of
from xrelay.placement.costs.key import Key, Machine, engine_version
from xrelay.placement.costs.measured import RecordedCosts
from xrelay.placement.costs.model import EngineModel, FittedCosts, ModelCosts, fitted
from xrelay.placement.costs.ray_executor import RayExecutor
from xrelay.placement.costs.timing import interval, measure, warm_up
from xrelay.placement.costs.workers import WorkerExecutor, WorkerLost
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.extraction import extract
from xrelay.placement.methods import ROTATING
from xrelay.placement.rules.candidate import HOST, Candidate

HERE = Machine("some cpu", "features", 1, "0.1")
KEY = Key("digest", "one", "1.0", HERE)
MEASUREMENT = Measurement(1e-3, 0.9e-3, 1.1e-3, 40, 1.5, 1e6, 4096)


# -- estimators -------------------------------------------------------------------------------------


def test_table() -> None:
    table = TableCosts({("one", "abs+nn.relu"): 2e-6, ("one", "abs"): 1e-6})
    assert table.estimate(candidate("a b", "one")).seconds == 2e-6
    missing = table.estimate(candidate("b", "one"))
    assert not missing.is_valid and missing.reason == "the table has no 'nn.relu' for one"
    assert table.estimates([candidate("a", HOST)]) == [FREE]


def test_function() -> None:
    seen: list[str] = []

    def seconds(function: func.FuncOp, engine: str) -> float | None:
        seen.append(f"{engine}: {len(function.body.block.ops)}")
        return {"one": 1.0, "two": inf}.get(engine)

    costs = FunctionCosts(seconds)
    assert costs.estimate(candidate("a b", "one")) == Cost(1.0, "function")
    assert str(costs.estimate(candidate("a", "two"))) == "invalid: the cost function says so"
    assert costs.estimate(candidate("a", "three")) == UNKNOWN
    assert seen == ["one: 3", "two: 2", "three: 2"]


@pytest.mark.parametrize("wrong", [nan, -1.0, "fast", True])
def test_wrong_answers_of_functions(wrong: Any) -> None:
    message = "the cost function, for 'abs' on one: the cost is .*, expected"
    with pytest.raises(PlacementError, match=message):
        FunctionCosts(lambda function, engine: wrong).estimate(candidate("a", "one"))


def test_first_that_knows() -> None:
    class Asked(Estimator):
        def __init__(self, cost: Cost):
            self.cost, self.count = cost, 0

        def estimate(self, candidate: Candidate) -> Cost:
            self.count += 1
            return self.cost if candidate.inside % 4 == 2 else UNKNOWN

    first, second = Asked(Cost(1.0)), Asked(invalid("no"))
    costs = FirstKnown([first, second]).estimates([candidate("a"), candidate("b")])
    assert costs == [Cost(1.0), UNKNOWN] and (first.count, second.count) == (2, 1)


def test_model_fits_what_it_is_made_of() -> None:
    true = EngineModel(2e-5, 3e10, 8e9)
    works = [(1e5 * 4**i, 1e4 * 3 ** (9 - i)) for i in range(10)] + [(10.0, 10.0)]
    records = [Measurement(true.seconds(f, b), 0, 0, 9, 0, f, b) for f, b in works]
    model = fitted(records)
    for flops, moved in works:
        assert model.seconds(flops, moved) == pytest.approx(true.seconds(flops, moved), rel=0.15)
    assert fitted([]) == EngineModel()
    costs = ModelCosts({"numpy": model}, None)
    assert costs.estimate(candidate("a")).source == "model"
    assert not costs.estimate(candidate("a", "other")).is_valid


def test_work_counts_constants() -> None:
    text = f"%w = relay.constant dense<1.0> : {T}\na = nn.dense x w\nreturn a"
    function = extract(part(graph_of(program(text)), "a"), "f").function
    assert work_of(function) == (2 * 4 * 4 * 4, 3 * 64)
    assert ModelCosts({}).work(part(graph_of(program(text)), "a w")) == work_of(function)


def test_models_follow_what_is_measured() -> None:
    """They are fitted anew each time that candidates are asked for."""
    known: list[tuple[str, Measurement]] = []
    costs = FittedCosts(lambda: known)
    asked = [candidate("a"), candidate("a b")]
    assert costs.estimates(asked) == ModelCosts({}).estimates(asked)
    known.append(("numpy", MEASUREMENT))
    after = costs.estimates(asked)
    assert after == ModelCosts({"numpy": fitted([MEASUREMENT])}).estimates(asked)
    assert after != ModelCosts({}).estimates(asked) and costs.estimate(asked[0]) == after[0]


def test_borders() -> None:
    one, two, blocked = Place("one"), Place("two"), Place("one", "NCHW8c")
    table = BorderTable({(one, two): Line(1e-6, 1e9), (one, one): Line(2e-6)}, Line(5e-6))
    assert table.seconds(one, two, 2000) == pytest.approx(3e-6)
    assert table.seconds(one, one, 2000) == 2e-6
    assert table.seconds(one, blocked, 2000) == 5e-6
    assert table.seconds(two, two, 2000) == table.seconds(two, AT_HOST, 2000) == 0
    assert NoBorders().seconds(one, two, 1) == 0
    with pytest.raises(PlacementError, match="the border from one to two: the cost is nan"):
        BorderTable({(one, two): Line(nan)}).seconds(one, two, 1)


def test_borders_are_fitted() -> None:
    true = Line(3e-6, 5e9)
    found = fitted_line([(size, true.seconds(size)) for size in (1000, 50_000, 10**6)])
    assert found.start == pytest.approx(true.start, rel=1e-6)
    assert found.bandwidth == pytest.approx(true.bandwidth, rel=1e-6)
    assert fitted_line([(1, 2.0), (10, 1.0)]) == Line(1.5)


# -- keys -------------------------------------------------------------------------------------------


def key(names: str, text: str = CHAIN, **changes: Any) -> str:
    function = extract(part(graph_of(program(text)), names), "f").function
    return replace(Key.of(function, "one", "1.0", HERE), **changes).text


def test_keys_know_what_is_computed_and_not_names() -> None:
    assert key("a") == key("c"), "equal parts of a network are one measurement"
    assert key("a") != key("b")
    assert key("a b") != key("b c")


@pytest.mark.parametrize(
    "changes",
    [
        {"engine": "two"},
        {"engine_version": "1.1"},
        {"layouts": "NCHW8c"},
        {"rotating": (0,)},
        {"machine": replace(HERE, threads=2)},
        {"machine": replace(HERE, cpu="another")},
        {"machine": replace(HERE, features="another")},
        {"machine": replace(HERE, project="0.2")},
    ],
)
def test_keys_know_engine_and_machine(changes: dict[str, Any]) -> None:
    assert key("a", **changes) != key("a")


def test_keys_know_types_and_small_constants() -> None:
    def text(shape: str, value: float, dtype: str = "f32") -> str:
        type_ = f"tensor<{shape}x{dtype}>"
        return f"%w = relay.constant dense<{value}> : {type_}\n%a = relay.abs %w : ({type_}) -> {type_}\nreturn x"

    def of(text: str) -> str:
        graph = graph_of(program(text))
        return Key.of(extract(part(graph, "a w"), "f").function, "one", "1", HERE).text

    assert of(text("4", 1.0)) != of(text("4", 2.0)), "they may be shapes"
    assert of(text("400", 1.0)) == of(text("400", 2.0)), "weights of equal layers"
    assert of(text("400", 1.0)) != of(text("401", 1.0))
    assert of(text("400", 1.0)) != of(text("400", 1.0, "f64"))


def test_versions_of_engines() -> None:
    import onnxruntime

    from xrelay.backends.onnxruntime import OnnxRuntimeBackend

    assert engine_version(OnnxRuntimeBackend()) == onnxruntime.__version__
    chosen = OnnxRuntimeBackend("nn.relu")
    assert engine_version(chosen) == f"{onnxruntime.__version__}:nn.relu"
    assert engine_version(NumpyBackend()) == "0.1.0"


@pytest.mark.parametrize(
    ("taken", "runs"),
    [
        ([5.0] * 9, 5),  # The first one is faster than none; four still ones.
        ([9.0, 8.0, 7.0, 7.0, 7.0, 7.0, 7.0, 1.0], 7),
        ([9.0, 9.0, 9.0, 9.0, 8.0, 8.5, 8.0, 8.0, 8.0, 1.0], 9),
    ],
)
def test_runs_warm_up_until_they_get_no_faster(taken: list[float], runs: int) -> None:
    """By the clock of the measurement; or as long as there is time."""
    left, now = list(taken), [0.0]

    def run() -> None:
        now[0] += left.pop(0)

    warm_up(run, lambda: now[0], 60.0)
    assert len(taken) - len(left) == runs
    warm_up(run, lambda: now[0], 0.0)
    assert len(taken) - len(left) == runs, "there was no time"


# -- the database -----------------------------------------------------------------------------------


def test_database_keeps_records(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    database = Database(path)
    other = replace(KEY, engine="two")
    database.add(KEY, "abs", MEASUREMENT)
    database.add(other, "abs", Failure("it crashes"))
    again = Database(path)
    found = again.find([KEY, other, replace(KEY, function="unknown")])
    assert found == {KEY.text: MEASUREMENT, other.text: Failure("it crashes")}
    again.add(other, "abs", MEASUREMENT)
    assert again.find([other]) == {other.text: MEASUREMENT}
    assert counts(again) == {"measurements": 2, "failures": 0}
    elsewhere = replace(HERE, threads=2)
    again.add(replace(KEY, machine=elsewhere), "abs", replace(MEASUREMENT, samples=9))
    again.add(replace(KEY, function="border"), BORDER, MEASUREMENT)
    assert sorted(again.measurements(HERE)) == [("one", MEASUREMENT), ("two", MEASUREMENT)]
    assert again.measurements(elsewhere) == [("one", replace(MEASUREMENT, samples=9))]


def test_database_keeps_steps(tmp_path: Path) -> None:
    database = Database(tmp_path / "costs.db")
    assert database.steps(KEY) == []
    listed = [Step(1 << 200 | 5, 0.25), Step(2, 0.0)]
    database.add_steps(KEY, [Step(7, 1.0)] * 3)
    database.add_steps(KEY, listed)
    again = Database(tmp_path / "costs.db")
    assert again.steps(KEY) == listed
    assert again.steps(replace(KEY, function="other")) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("nodes = 'none'", "has steps that cannot be read: invalid literal"),
        ("seconds = -1", "a step in the database '.*': the cost is -1.0, expected 0 to 1e"),
    ],
)
def test_damaged_steps(tmp_path: Path, change: str, message: str) -> None:
    database = Database(tmp_path / "costs.db")
    database.add_steps(KEY, [Step(7, 1.0)])
    changed(database.path, f"UPDATE steps SET {change}")
    with pytest.raises(PlacementError, match=message):
        database.steps(KEY)


def test_databases_of_the_first_schema_go_on(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    Database(path).add(KEY, "abs", MEASUREMENT)
    changed(path, "DROP TABLE steps")
    changed(path, "UPDATE meta SET schema = 1")
    database = Database(path)
    database.add_steps(KEY, [Step(7, 1.0)])
    assert database.find([KEY]) == {KEY.text: MEASUREMENT}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT schema FROM meta").fetchall() == [(SCHEMA,)]


def changed(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            f"UPDATE meta SET schema = {SCHEMA + 1}",
            f"has schema {SCHEMA + 1}, expected {SCHEMA}: a newer version of xrelay",
        ),
        ("UPDATE meta SET schema = 'old'", f"has schema old, expected {SCHEMA}$"),
        (
            "DROP TABLE failures",
            "has the tables measurements, meta, steps, expected those of a database",
        ),
    ],
)
def test_other_databases_are_refused(tmp_path: Path, statement: str, message: str) -> None:
    path = tmp_path / "costs.db"
    Database(path)
    changed(path, statement)
    with pytest.raises(PlacementError, match=f"the database '{re.escape(str(path))}' {message}"):
        Database(path)


def test_damaged_databases_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    path.write_text("no database, but long enough to be taken for one " * 40)
    with pytest.raises(PlacementError, match="is damaged, or no database"):
        Database(path)
    path.unlink()
    database = Database(path)
    database.add(KEY, "abs", MEASUREMENT)
    changed(path, "UPDATE measurements SET seconds = -1")
    with pytest.raises(
        PlacementError, match="has the measurement .*, expected numbers of 0 or more"
    ):
        database.find([KEY])
    with pytest.raises(PlacementError, match="cannot be used: unable to open"):
        Database(tmp_path / "missing" / "costs.db")


def test_locked_databases_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "costs.db"
    database = Database(path, wait=0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(
            PlacementError, match="is locked by another process: it was not free within 0.01"
        ):
            database.add(KEY, "abs", MEASUREMENT)


# -- measuring --------------------------------------------------------------------------------------


def test_measured_once(tmp_path: Path) -> None:
    executor = Inline()
    costs = measured(tmp_path, executor)
    candidates = [candidate("a"), candidate("c"), candidate("b"), candidate("a", HOST)]
    found = costs.estimates(candidates)
    assert all(cost.source == "measured" and 0 < (cost.seconds or 0) < 1 for cost in found[:3])
    assert found[0] == found[1] and found[3] == FREE
    assert executor.count == costs.measured == 2
    again = measured(tmp_path, executor)
    assert again.estimates(candidates) == found and executor.count == 2 and again.measured == 0
    recorded = RecordedCosts(costs.database, costs.engines, costs.machine)
    assert recorded.estimates(candidates) == found
    assert recorded.estimates([candidate("a b")]) == [UNKNOWN]
    rotating = measured(tmp_path, executor, inputs=ROTATING)
    assert [each.source for each in rotating.estimates([candidate("a")])] == ["measured"]
    assert executor.count == 3, "the input of the model is another one in each run"
    assert rotating.estimates([candidate("c")]) == [found[1]] and executor.count == 3


def test_failures_are_kept_with_their_reasons(tmp_path: Path) -> None:
    executor = Inline()
    for _ in range(2):
        (found,) = measured(tmp_path, executor).estimates([candidate("a", "broken")])
        assert found == invalid("RuntimeError: no such device", "measured")
    assert executor.count == 1
    with pytest.raises(
        PlacementError, match="there is no engine 'other', expected one of numpy, broken"
    ):
        measured(tmp_path, executor).estimates([candidate("a", "other")])


def test_other_machines_are_refused(tmp_path: Path) -> None:
    costs = measured(tmp_path, Inline(), machine=HERE)
    with pytest.raises(WrongMachine, match="a worker runs on .*, expected some cpu"):
        costs.estimates([candidate("a")])
    assert counts(costs.database) == {"measurements": 0, "failures": 0}


def test_no_time_left(tmp_path: Path) -> None:
    class Never(Inline):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            return Future()

    costs = measured(tmp_path, Never(), budget=0.0)
    assert costs.estimates([candidate("a")]) == [UNKNOWN]
    assert counts(costs.database) == {"measurements": 0, "failures": 0}


def test_functions_travel_as_text() -> None:
    text = f"%w = relay.constant dense<1.0> : {T}\na = nn.dense x w\nreturn a"
    function = extract(part(graph_of(program(text)), "a"), "f").function
    assert parsed(text_of(function)).is_structurally_equivalent(function)


def test_timing() -> None:
    ticks = iter(range(10**6))
    found = measure(lambda _: None, lambda: None, 0.0, lambda: float(next(ticks)))
    assert found.median == found.low == found.high == 1.0
    most = interval([1.0] * 50 + [2.0] * 10)
    assert most.median == 1.0 and most.low <= 1.0 <= most.high
    assert interval(list(np.arange(100.0))).low < 49.5 < interval(list(np.arange(100.0))).high


def test_the_quickest_window_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is slow until there was a pause."""
    clock, step = [0.0], [3.0]

    def run(_: object) -> None:
        clock[0] += step[0]

    def pause(seconds: float) -> None:
        step[0] = 1.0 if seconds == timing.PAUSE_SECONDS else step[0]

    monkeypatch.setattr(timing.time, "sleep", pause)
    assert measure(run, object, 0.0, lambda: clock[0]).median == 3.0
    assert measure(run, object, 0.0, lambda: clock[0], 2).median == 1.0


@pytest.mark.slow
def test_workers_survive_crashes_and_hangs(tmp_path: Path) -> None:
    with WorkerExecutor(1, seconds=60) as workers:
        first = workers.submit(os.getpid).result()
        assert first != os.getpid() and workers.submit(os.getpid).result() == first
        with pytest.raises(ZeroDivisionError):
            workers.submit(divmod, 1, 0).result()
        with pytest.raises(WorkerLost, match="it crashes: the worker process ended with code 3"):
            workers.submit(os._exit, 3).result()
        with pytest.raises(WorkerLost, match="was ended by signal 6"):
            workers.submit(os.abort).result()
        workers.seconds = 0.2
        with pytest.raises(WorkerLost, match="it hangs: it was not done within 0.2 seconds"):
            workers.submit(time.sleep, 60).result()
        workers.seconds = 60
        (found,) = measured(tmp_path, workers).estimates([candidate("a")])
        assert found.source == "measured" and found.is_valid
    with pytest.raises(PlacementError, match="workers is 0, expected 1 to 256"):
        WorkerExecutor(0)


def test_lost_workers_cost_one_candidate(tmp_path: Path) -> None:
    class Losing(Inline):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            if "relu" in args[0].function:
                future: Future[Any] = Future()
                future.set_exception(WorkerLost("it hangs"))
                return future
            return super().submit(fn, *args, **kwargs)

    found = measured(tmp_path, Losing()).estimates(
        [candidate("a"), candidate("b"), candidate("a b")]
    )
    assert [cost.is_valid for cost in found] == [True, False, False]
    assert found[1].reason == "it hangs"


@pytest.mark.extensive
@pytest.mark.slow
def test_workers_of_dask_fill_the_database_with_the_same_keys(tmp_path: Path) -> None:
    """Dask's workers find the same keys as one of this process: what is measured is what is asked for."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    candidates = [candidate("a"), candidate("b"), candidate("a b"), candidate("a", "broken")]
    known: list[list[str]] = []
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = measured(tmp_path / "one", Inline())
    one.estimates(candidates)
    known.append(keys(one.database))
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        two = measured(tmp_path / "two", client.get_executor())
        found = two.estimates(candidates[:3])
        known.append(keys(two.database))
    assert all(cost.is_valid and cost.source == "measured" for cost in found)
    assert known[1] == [key for key in known[0] if key in known[1]] and len(known[1]) == 3


@pytest.mark.extensive
@pytest.mark.slow
def test_workers_of_ray_fill_the_database_with_the_same_keys(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    with pytest.raises(PlacementError, match=r"call ray\.init\(\) first"):
        RayExecutor()
    candidates = [candidate("a"), candidate("b"), candidate("a b")]
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = measured(tmp_path / "one", Inline())
    one.estimates(candidates)
    # Workers import what tests do: the engines of this file.
    paths = os.pathsep.join(filter(None, sys.path))
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": paths}},
    )
    try:
        two = measured(tmp_path / "two", RayExecutor())
        found = two.estimates(candidates)
    finally:
        ray.shutdown()
    assert all(cost.is_valid and cost.source == "measured" for cost in found)
    assert keys(two.database) == keys(one.database)
