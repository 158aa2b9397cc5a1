"""`xrelay tune` and what the records that it writes do. Times are made up: nothing is measured."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from commands.runs import Command

import xrelay
from xrelay.cached import cache_place
from xrelay.lowering.emit.tuning import (
    NO_RECORDS,
    TuningError,
    TuningRecords,
    read_records,
    records_text,
)
from xrelay.lowering.program import small
from xrelay.options import CompileOptions
from xrelay.tools import tune
from xrelay.tools.tune import Trial, Tuner, next_round

TYPE = "(tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>"
PROGRAM = f"""\
func.func @main(%x: tensor<4x64xf32>, %w: tensor<64x64xf32>) -> tensor<4x64xf32> {{
  %0 = relay.nn.dense %x, %w : {TYPE}
  %1 = relay.nn.matmul %0, %w : {TYPE}
  %2 = relay.nn.dense %1, %w : {TYPE}
  func.return %2 : tensor<4x64xf32>
}}
"""


@pytest.fixture
def model(inside: Path) -> Path:
    """A program with two operators for which there is a choice, one of them twice."""
    (inside / "model.mlir").write_text(PROGRAM)
    return inside / "model.mlir"


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What each round measures. `panels` is the slowest of all."""
    noted: list[dict[str, str]] = []

    def measure(self: Tuner, chosen: Mapping[str, str]) -> dict[str, float]:
        program = self.lower(chosen)
        used = {
            each.site.key: each.chosen.name for step in program.steps for each in step.selections
        }
        assert {key: used[key] for key in chosen} == chosen
        noted.append(dict(chosen))
        return {key: 2e-3 if name == "panels" else 1e-3 for key, name in chosen.items()}

    monkeypatch.setattr(Tuner, "measure", measure)
    return noted


def test_every_implementation_of_every_operator_is_measured(
    cmd: Command, model: Path, rounds: list[dict[str, str]]
) -> None:
    result = cmd("tune", model, "-o", "tuning.json")
    assert (result.code, result.err) == (0, "")
    assert "4 implementations measured: tuning.json" in result.out
    assert [sorted(each.values()) for each in rounds] == [
        ["panels", "panels"],
        ["dot-products", "row-updates"],
    ]
    records = read_records(model.parent / "tuning.json").measured
    assert sorted(sorted(times.items()) for times in records.values()) == [
        [("dot-products", 1e-3), ("panels", 2e-3)],
        [("panels", 2e-3), ("row-updates", 1e-3)],
    ]
    for changed in ("panels", "dot-products", "row-updates", "2000.0 → 1000.0"):
        assert changed in result.out


def test_what_is_recorded_is_not_measured_again(
    cmd: Command, model: Path, rounds: list[dict[str, str]]
) -> None:
    assert cmd("tune", model, "-o", "tuning.json").code == 0
    content = (model.parent / "tuning.json").read_bytes()
    del rounds[:]
    result = cmd("tune", model, "-o", "tuning.json")
    assert (result.code, rounds) == (0, [])
    assert "0 implementations measured" in result.out
    assert (model.parent / "tuning.json").read_bytes() == content


def test_an_interrupted_run_goes_on(
    cmd: Command,
    model: Path,
    rounds: list[dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(tune.time, "perf_counter", lambda: next(clock))
    result = cmd("tune", model, "-o", "[b]tuning.json", "--seconds", 1.5)
    assert "2 implementations measured; 2 left for another run: [b]tuning.json" in result.out
    assert len(rounds) == 1
    result = cmd("tune", model, "-o", "[b]tuning.json")
    assert "2 implementations measured: [b]tuning.json" in result.out
    assert [sorted(each.values()) for each in rounds] == [
        ["panels", "panels"],
        ["dot-products", "row-updates"],
    ]


def test_a_round_tries_one_operator_of_a_kernel() -> None:
    trials = [Trial("a", "x"), Trial("b", "x"), Trial("c", "x"), Trial("a", "y"), Trial("b", "y")]
    neighbours = {"a": {"a", "b"}, "b": {"a", "b"}, "c": {"c"}}
    assert next_round(trials, neighbours) == [Trial("a", "x"), Trial("c", "x")]


def test_measuring_for_real(cmd: Command, model: Path) -> None:
    assert cmd("tune", model, "-o", "tuning.json", "--threads", 2, "--target", "x86-64").code == 0
    records = read_records(model.parent / "tuning.json").measured
    assert len(records) == 2
    # One thread computes what is so small.
    assert all(key.endswith("on x86-64, 1 thread") for key in records)
    assert all(0 < seconds < 10 for times in records.values() for seconds in times.values())


# -- what records do ----------------------------------------------------------------------------------


def test_models_are_compiled_by_records(
    cmd: Command,
    model: Path,
    rounds: list[dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def implementations(**options: Any) -> list[str]:
        compiled = xrelay.compile(model, cache=False, **options)
        return [step.implementation for step in compiled.signature.steps]

    assert cmd("tune", model, "-o", "tuning.json").code == 0
    assert implementations() == ["panels"] * 3
    tuned = ["dot-products", "row-updates", "dot-products"]
    assert implementations(tuning="tuning.json") == tuned
    assert implementations(tuning=read_records(Path("tuning.json"))) == tuned
    # One of several threads computes what is small.
    assert implementations(tuning="tuning.json", threads=2) == tuned
    with monkeypatch.context() as shared:
        shared.setattr(small, "SMALL_SECONDS", 0.0)
        assert implementations(tuning="tuning.json", threads=2) == ["panels"] * 3
    untuned = implementations(target="x86-64")
    assert implementations(tuning="tuning.json", target="x86-64") == untuned != tuned
    assert cmd("run", model, "--tuning", "tuning.json", "--verify", "--no-cache").code == 0


def test_the_cache_tells_records_apart(
    model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "10M")
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path / "cache"))

    def key(records: TuningRecords) -> str:
        place = cache_place(model, None, CompileOptions(tuning=records))
        assert place is not None
        return place.key

    some = NO_RECORDS.with_record("k", "a", 1.0)
    assert len({key(NO_RECORDS), key(some), key(some.with_record("k", "a", 0.5))}) == 3
    assert key(some) == key(NO_RECORDS.with_record("k", "a", 1.0))


# -- refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, reason",
    [
        (["-o", "none/tuning.json"], "cannot write 'none/tuning.json': no folder 'none'"),
        (["-o", "."], "cannot write '.': it is a directory"),
        (["-o", "t.json", "--seconds", "0"], "--seconds is 0.0, expected more than 0"),
        (["-o", "t.json", "--seconds", "nan"], "--seconds is nan, expected more than 0"),
        (["-o", "t.json", "--threads", "0"], "threads is 0"),
        (["-o", "add.mlir"], "'add.mlir' holds no tuning records"),
    ],
)
def test_refusals(cmd: Command, inside: Path, arguments: list[str], reason: str) -> None:
    before = (inside / "add.mlir").read_text()
    cmd("tune", "add.mlir", *arguments).refused(reason)
    assert not (inside / "t.json").exists()
    assert (inside / "add.mlir").read_text() == before


def test_records_of_another_machine_stay(cmd: Command, model: Path) -> None:
    text = records_text(NO_RECORDS, "another")
    Path("tuning.json").write_text(text)
    cmd("tune", model, "-o", "tuning.json").refused("'tuning.json' was measured on another machine")
    assert Path("tuning.json").read_text() == text


@pytest.mark.parametrize("command", [["run"], ["compile", "-o", "out.ll"]])
def test_damaged_records_are_refused(cmd: Command, inside: Path, command: list[str]) -> None:
    (inside / "tuning.json").write_text(json.dumps({"schema": 1, "records": {"k": {"a": -1}}}))
    cmd(*command, "add.mlir", "--tuning", "tuning.json").refused(
        "'tuning.json': the time of 'a' for 'k' is -1, expected a number of seconds above 0"
    )


def test_compile_refuses_missing_records(inside: Path) -> None:
    with pytest.raises(TuningError, match="cannot read 'none.json'"):
        xrelay.compile(inside / "add.mlir", tuning="none.json")
