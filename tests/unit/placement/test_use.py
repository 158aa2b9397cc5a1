"""Placement as people use it: `xrelay.compile`, `xrelay place` and `xrelay run`, on real engines."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from placed import counts, program
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.engines import Engines
from xrelay.interpreters.relay import interpret
from xrelay.options import CompileOptions, OptionError, silent
from xrelay.own_costs import note_own_turns, own_costs
from xrelay.placement.confirmation import Run, Verdict
from xrelay.placement.costs.borders import BorderTable
from xrelay.placement.costs.cost import Cost, Estimator
from xrelay.placement.costs.crossings import Crossings
from xrelay.placement.costs.database import Database, Measurement
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.measured import MeasuredCosts
from xrelay.placement.errors import PlacementError
from xrelay.placement.graph.index_set import members
from xrelay.placement.methods import ROTATING, WARM, Inputs
from xrelay.placement.placing import Placement, Request, place, restricted
from xrelay.placement.plan_file import SIDE_BY_SIDE, plan_data
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.placement.rules.defaults import OWN_KERNELS
from xrelay.placement.search.integer_program import solver
from xrelay.placing import Settings, contradicted, find_placement, opened_database
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.sources import Source
from xrelay.tools.cli import main
from xrelay.whole_runs import WholeRuns, farthest

NET = "a = nn.dense x x\nb = nn.relu a\nc = exp b\nd = nn.dense c b\nreturn d"
X = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)


def model_file(folder: Path) -> Path:
    path = folder / "model.mlir"
    path.write_text(str(program(NET)))
    return path


def expected() -> np.ndarray:
    return interpret(program(NET), [X])[0]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.slow
def test_from_measurements_to_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes a plan, which `run` and `compile` carry out; the second time nothing is measured."""
    path, plan, why = model_file(tmp_path), tmp_path / "plan.json", tmp_path / "why.json"
    database = tmp_path / "costs.sqlite"
    command = [
        "place",
        str(path),
        "--backend",
        "numpy",
        "--database",
        str(database),
        "--no-confirm",
    ]
    assert main([*command, "-o", str(plan), "--pin", "exp=numpy", "--explain", str(why)]) == 0
    shown = capsys.readouterr().out
    assert "numpy" in shown and "measurements" in shown and " 0 measurements" not in shown
    regions = json.loads(plan.read_text())["regions"]
    (with_exp,) = [r for r in regions if any(node["op"] == "exp" for node in r["nodes"])]
    assert with_exp["engine"] == "numpy" and with_exp["source"] == "measured"
    assert json.loads(why.read_text())[0]["operator"] == "nn.dense"
    known = counts(Database(database))
    assert main([*command, "--pin", "exp=numpy", "--explain"]) == 0
    assert " 0 measurements" in capsys.readouterr().out.replace("\n", " ")
    assert counts(Database(database)) == known
    model = xrelay.compile(path, backends=["numpy"], placement=plan)
    assert isinstance(model, PartitionedModel)
    assert "numpy" in [step.backend for step in model.steps]
    (output,) = model.run({"x": X}).values()
    np.testing.assert_allclose(output, expected(), rtol=1e-5)
    run = ["run", str(path), "--backend", "numpy", "--placement", str(plan), "--verify"]
    assert main(run) == 0


@pytest.mark.slow
@pytest.mark.parametrize("inputs", [WARM, ROTATING])
def test_confirmed_placement(tmp_path: Path, inputs: Inputs) -> None:
    source = Source(program(NET))
    settings = Settings(
        Request(),
        tmp_path / "costs.sqlite",
        sample_seconds=0.001,
        inputs=inputs,
        refine_seconds=0.5,
        turns=2,
    )
    placed = find_placement(source, Engines.of(["numpy"]), CompileOptions(), settings)
    assert placed.verdict is None or placed.verdict.shipped in placed.verdict.seconds
    covered = 0
    for region in placed.placement.regions():
        covered |= region.part.flow
    graph = placed.placement.graph
    wanted = [n.index for n in graph.nodes if not n.is_parameter and not n.is_constant]
    assert set(wanted) <= set(members(covered))


@pytest.mark.slow
def test_parts_are_measured_in_turns_with_whole_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What took another time than its parts say is searched for again, with what these take beside whole runs."""
    shown: list[str] = []
    rounds: list[list[str]] = []

    def contradicted(names: Iterable[str], *rest: object) -> list[str]:
        rounds.append(list(names))
        return rounds[-1]

    monkeypatch.setattr("xrelay.placing.contradicted", contradicted)
    database = Database(tmp_path / "costs.sqlite")
    settings = Settings(database=database.path, sample_seconds=0.001, turns=3, remeasures=1)
    unconfirmed = replace(settings, is_confirmed=False, remeasures=0)
    source, engines = Source(program(NET)), Engines.of(["numpy"])
    find_placement(source, engines, CompileOptions(), unconfirmed)
    before = {key: record.seconds for key, record in records_of(database).items()}
    placed = find_placement(
        source, engines, CompileOptions(), settings, shown.append, lambda found: {}
    )
    assert placed.verdict is not None and len(rounds) == 2
    assert OWN in rounds[0] and "numpy" in rounds[0]
    assert sum(each.startswith("measure parts again, as default, numpy") for each in shown) == 1
    after = records_of(database)
    again = [key for key, record in after.items() if before[key] != record.seconds]
    assert again and {after[key].samples for key in again} == {3}
    borders = [each for each in records_of(database, borders=True).values() if each.samples == 3]
    # From the host to both engines, of three sizes, and what own code begins with and needs for images.
    assert len(borders) == 2 * 3 + 4 and placed.measured == len(again) + len(borders)
    assert all(after[key].flops >= 0 for key in again)
    # All is known now, and what is found is what the second search found.
    second = find_placement(source, engines, CompileOptions(), unconfirmed)
    assert second.measured == 0
    assert second.placement.outcome.best == placed.placement.outcome.best


@pytest.mark.slow
def test_a_later_test_may_ship_a_mixed_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole runs that parts have turns with prove it, after the first ones did not."""
    source, engines, options = Source(program(NET)), Engines.of(["numpy"]), CompileOptions()

    def mixed(found: Placement) -> dict[str, dict[str, Any]]:
        request = Request({"nn.dense": "numpy", "exp": OWN})
        made = place(found.graph, engines.rules(OWN_KERNELS), OneSecond(), request)
        return {"mixed": plan_data(made, Machine.here(1), engines.facts())}

    def confirmed(whole: WholeRuns, plans: Mapping[str, Any], *_: Any) -> Any:
        whole.runs = dict.fromkeys(plans, float)
        limits = dict.fromkeys((name for name in plans if name not in (OWN, "numpy")), 1.1)
        return OWN, Verdict(OWN, OWN, dict.fromkeys(plans, 1.0), limits), {}

    def turns(runs: Mapping[str, Run], count: int) -> dict[str, list[float]]:
        return {name: [0.5 if name == "mixed" else 1.0] * count for name in runs}

    monkeypatch.setattr("xrelay.placing.confirmed", confirmed)
    monkeypatch.setattr("xrelay.placing.take_turns", turns)
    monkeypatch.setattr("xrelay.placing.as_before", lambda plans, before: before)
    monkeypatch.setattr("xrelay.placing.contradicted", lambda *_: [OWN])
    database = tmp_path / "costs.sqlite"
    for remeasures, shipped in ((0, OWN), (1, "mixed")):
        settings = Settings(database=database, sample_seconds=0.001, turns=4, remeasures=remeasures)
        placed = find_placement(source, engines, options, settings, beside=mixed)
        assert placed.verdict is not None
        assert placed.verdict.shipped == placed.plan["shipped"] == shipped
        used = {region["engine"] for region in placed.plan["regions"]} & {OWN, "numpy"}
        assert used == ({OWN} if shipped == OWN else {OWN, "numpy"})


def records_of(database: Database, *, borders: bool = False) -> dict[str, Measurement]:
    """The measurements of a database that are of parts, or of borders, by key."""
    with closing(sqlite3.connect(database.path)) as connection:
        rows = connection.execute(
            "SELECT key, seconds, low, high, samples, load, flops, bytes FROM measurements "
            f"WHERE label {'=' if borders else '<>'} 'a border'"
        ).fetchall()
    return {str(key): Measurement(*rest) for key, *rest in rows}


@pytest.mark.slow
def test_plans_that_are_tried_beside_the_best(tmp_path: Path) -> None:
    """They run whole as others do; that they take another time than they say is nobody's concern."""
    source, engines, options = Source(program(NET)), Engines.of(["numpy"]), CompileOptions()

    def plans(found: Placement) -> dict[str, dict[str, Any]]:
        facts = engines.facts()
        mine = restricted(found, "numpy")
        assert mine is not None
        by_pin = {"nn.dense": "numpy", "exp": OWN}
        graph, rules = found.graph, engines.rules(OWN_KERNELS)
        mixed = place(graph, rules, OneSecond(), Request(by_pin))
        return {
            "mine": plan_data(mine, Machine.here(1), facts),
            "mixed": plan_data(mixed, Machine.here(1), facts),
        }

    settings = Settings(
        database=tmp_path / "costs.sqlite", sample_seconds=0.001, turns=2, remeasures=1
    )
    placed = find_placement(source, engines, options, settings, beside=plans)
    assert placed.verdict is not None
    assert "mixed" in placed.verdict.seconds and "mine" not in placed.verdict.seconds
    assert placed.plans["mixed"]["seconds"] > 1 and placed.plan["seconds"] < 1


@pytest.mark.parametrize(
    ("single", "wrong"),
    [
        (1.0, ["more", "less"]),
        (1.07, ["more", "less", "a little less"]),
        (1.2, ["single", "right", "more", "less", "a little less"]),
    ],
)
def test_what_whole_runs_contradict(single: float, wrong: list[str]) -> None:
    """What is a tenth off, or a twentieth more than the best single engine is."""
    plans: dict[str, dict[str, Any]] = {
        "single": {"seconds": single},
        "right": {"seconds": 1.04},
        "more": {"seconds": 1.11},
        "less": {"seconds": 0.89},
        "a little less": {"seconds": 0.97},
        "at once": {"seconds": 2.0, SIDE_BY_SIDE: True},
        "not asked for": {"seconds": 2.0},
    }
    verdict = Verdict("single", "single", dict.fromkeys(plans, 1.0), {})
    assert contradicted(list(plans)[:-1], plans, verdict) == wrong


class OneSecond(Estimator):
    """Every region takes a second."""

    def estimate(self, candidate: Candidate) -> Cost:
        return Cost(1.0, "a table")


def test_the_command_uses_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the code of what a plan leaves to xrelay, unless it is told not to."""
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    options = CompileOptions()
    path, plan = model_file(tmp_path), tmp_path / "plan.json"
    graph = Source.read(path, None, options.limits).prepared(options, silent)
    placement = place(graph, {OWN: OWN_KERNELS}, OneSecond())
    facts = Engines.of(["numpy"]).facts()
    plan.write_text(json.dumps(plan_data(placement, Machine.here(options.threads), facts)))
    run = ["run", str(path), "--backend", "numpy", "--placement", str(plan)]
    for more, is_used in ((["--no-cache"], False), ([], True)):
        assert main([*run, *more]) == 0
        # The description of the processor is not of one program.
        left = [
            each for each in (tmp_path / "cache").glob("*") if not each.name.startswith("host-")
        ]
        assert bool(left) == is_used


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"workers": 0}, "workers is 0, expected 1 to"),
        ({"turns": 0}, "turns is 0, expected 1 to"),
        ({"remeasures": -1}, "remeasures is -1, expected 0 to"),
        ({"inputs": "cold"}, "the inputs are 'cold', expected one of warm, rotating"),
        (
            {"sample_seconds": 0.0},
            "sample_seconds is 0.0, expected a number of seconds, more than 0",
        ),
        ({"sample_seconds": nan}, "sample_seconds is nan, expected a number of seconds"),
        ({"measure_seconds": "1"}, "measure_seconds is '1', expected a number of seconds"),
        ({"measure_seconds": True}, "measure_seconds is True, expected a number of seconds"),
        ({"refine_seconds": inf}, "refine_seconds is inf, expected a finite number of seconds"),
        ({"is_confirmed": False, "remeasures": 1}, "is_confirmed is False, expected True with"),
        ({"is_confirmed": False, "refine_seconds": 1.0}, "is_confirmed is False, expected True"),
    ],
)
def test_wrong_settings(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(PlacementError, match=f"^{message}"):
        Settings(**setting)


def test_measurements_share_a_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Borders take half of it at most, and candidates what these have left."""
    made: dict[str, Any] = {}

    class Borders(Crossings):
        def table(self) -> BorderTable:
            made["borders"] = self.budget
            self.spent = 1.5
            return super().table()

    class Costs(MeasuredCosts):
        def estimates(self, candidates: Sequence[Candidate]) -> list[Cost]:
            made.setdefault("candidates", (self.budget, self.spent >= 1.5))
            return super().estimates(candidates)

    monkeypatch.setattr("xrelay.placing.Crossings", Borders)
    monkeypatch.setattr("xrelay.placing.MeasuredCosts", Costs)
    settings = Settings(
        database=tmp_path / "costs.sqlite",
        measure_seconds=8.0,
        sample_seconds=0.001,
        is_confirmed=False,
    )
    find_placement(Source(program(NET)), Engines.of(["numpy"]), CompileOptions(), settings)
    assert made == {"borders": 4.0, "candidates": (8.0, True)}


def test_settings_of_numpy() -> None:
    settings = Settings(measure_seconds=np.float32(2), sample_seconds=np.float64(0.5), workers=2)
    assert (settings.measure_seconds, settings.sample_seconds) == (2.0, 0.5)


def test_a_cache_that_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path / "file"))
    expected = (
        "measurements cannot be kept in '.*file': File exists; expected a folder, or a database"
    )
    with pytest.raises(PlacementError, match=expected), opened_database(None):
        pass


def test_steps_of_another_network(tmp_path: Path) -> None:
    """As a database has them that somebody changed."""
    database = Database(tmp_path / "costs.sqlite")
    for nodes in ("0xffffffffff", "0x1", "0x0"):
        source, options = Source(program(NET)), CompileOptions()
        graph = source.prepared(options)
        assert own_costs(source.module, graph, options, database, seconds=0.001) is not None
        with closing(sqlite3.connect(database.path)) as connection, connection:
            connection.execute("UPDATE steps SET nodes = ?", (nodes,))
        with pytest.raises(
            PlacementError, match="has a step with nodes that are none of the model"
        ):
            own_costs(source.module, graph, options, database)
        database.path.unlink()
        database = Database(database.path)


def test_control_flow_is_refused_with_its_place() -> None:
    branches = [helper.make_graph([helper.make_node(kind, ["x"], ["b"])], kind, [], [
        helper.make_tensor_value_info("b", TensorProto.FLOAT, [2])]) for kind in ("Exp", "Neg")]  # fmt: skip
    node = helper.make_node(
        "If", ["c"], ["y"], "choice", then_branch=branches[0], else_branch=branches[1]
    )
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    source = Source.read(model)
    with pytest.raises(DiagnosticException, match="of node 'choice'.*take no control flow"):
        source.prepared(CompileOptions())


def test_solvers_are_silent(capfd: pytest.CaptureFixture[str]) -> None:
    solver().run()
    assert capfd.readouterr().out == ""


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        OptionError, match="placement is 'measured', which needs backends, found none"
    ):
        xrelay.compile(program(NET), placement="measured")
    with pytest.raises(DiagnosticException, match="cannot read .*missing.json"):
        xrelay.compile(program(NET), backends=["numpy"], placement=tmp_path / "missing.json")
    with pytest.raises(OptionError, match="'measure', expected one of .*; did you mean 'measured'"):
        xrelay.compile(program(NET), backends=["numpy"], placement="measure")
    with pytest.raises(OptionError, match="placement is 'plan.json', which needs backends"):
        xrelay.compile(program(NET), placement="plan.json")
    path = str(model_file(tmp_path))
    for arguments, message in (
        (["place", path, "--backend", "numpi"], "there is no backend 'numpi'"),
        (["place", path, "--backend", "numpy", "--pin", "exp"], "the pin is 'exp', expected"),
        (
            ["place", path, "--backend", "numpy", "--seconds", "0"],
            "--seconds is 0.0, expected a number of seconds, more than 0",
        ),
        (["place", path, "--backend", "numpy", "--workers", "0"], "--workers is 0"),
        (["place", path, "--backend", "numpy", "--refine", "-1"], "--refine is -1.0, expected a"),
        (
            ["place", path, "--backend", "numpy", "--refine", "1", "--no-confirm"],
            "without --no-confirm",
        ),
        (["place", path, "--backend", "numpy", "--program", "x"], "expected a .mlir file"),
        (["run", path, "--placement", "plan.json"], "--placement goes with --backend"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err


def test_results_are_compared() -> None:
    right = {"y": np.array([1.0, np.nan, -2.0])}
    assert farthest(right, right) == 0
    assert farthest({"y": np.array([1.0, np.nan, -1.0])}, right) == 0.5
    assert farthest({"y": np.array([1.0, 0.0, -2.0])}, right) == float("inf")


def test_what_own_regions_begin_with_is_the_borders(tmp_path: Path) -> None:
    """The database has whole runs, so that it does not matter when that was measured."""
    database, options, source = (
        Database(tmp_path / "costs.sqlite"),
        CompileOptions(),
        Source(program(NET)),
    )
    graph = source.prepared(options)

    def total(begun: float) -> float:
        found = own_costs(source.module, graph, options, database, seconds=0.001, begun=begun)
        assert found is not None
        return sum(each.seconds for each in found.steps)

    whole = total(0.0)
    assert total(whole / 4) == pytest.approx(whole * 3 / 4)
    assert total(2 * whole) == 0
    note_own_turns(graph, options, database, [3.0, 1.0, 2.0])
    assert total(0.5) == pytest.approx(1.5)
