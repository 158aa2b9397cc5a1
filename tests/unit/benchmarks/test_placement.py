"""The benchmark of placement, on a small network. No test looks at a time."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import placement
from benchmarks.placement import ISOLATED, Row, main, seconds_of, table
from benchmarks.placement_networks import two_towers

ROW = Row(
    "towers",
    2,
    {"default": 2e-3, "numpy": 4e-3, "priority": 5e-3, ISOLATED: 3e-3, "plan 1": 1e-3},
    {"default": 2.2e-3, "numpy": 3e-3, "plan 1": 1.1e-3},
    ["default", "numpy"],
    "plan 1",
    0.6,
    0.9e-3,
    0.05,
    30.0,
    2.0,
    17,
    0,
    3,
)


def test_rows_tell_how_wrong_predictions_are() -> None:
    assert ROW.error == pytest.approx(0.1) and ROW.worst == pytest.approx(-0.25)
    header, _, line = table([ROW]).splitlines()
    assert header.count("|") == line.count("|")
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    times = ["2.000", "4.000", "5.000", "3.000", "1.000"]
    told = ["plan 1", "0.600", "1.100", "10 %", "-25 %", "0.900", "5.0 %", "2.444", "2.000"]
    assert cells == ["towers", "2", *times, *told, "30.0 s", "2.0 s", "17, 0, 3"]


def test_plans_that_are_equal_take_as_long() -> None:
    """Whichever of them ran, also where it is listed behind the others."""

    def plan(number: int) -> dict[str, Any]:
        return {"regions": [{"engine": "numpy", "nodes": [number], "nested": []}]}

    plans = {"default": plan(0), "plan 1": plan(1), "plan 2": plan(2), "plan 3": plan(1)}
    found = seconds_of(plans, {"default": 2.0, "plan 3": 1.0})
    assert found == {"default": 2.0, "plan 1": 1.0, "plan 3": 1.0}


def test_a_small_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was measured once is not measured again, by the benchmark and in a second run of it."""
    monkeypatch.setattr(placement, "TURNS", 2)
    model, output = tmp_path / "towers.onnx", tmp_path / "page.md"
    model.write_bytes(two_towers(4).SerializeToString())
    options = ["--networks", str(model), "--threads", "1", "--engines", "numpy"]
    options += ["--database", str(tmp_path / "costs.sqlite"), "-o", str(output)]
    for first in (True, False):
        main(options)
        found = capsys.readouterr().out.rstrip("\n") + "\n"
        assert output.read_text().endswith(f"\n## Threads: 1\n\n{found}")
        counts = found.splitlines()[2].strip("| ").rpartition("|")[2].split(",")
        measured, again, _ = map(int, counts)
        assert again == 0 and (measured == 0) is not first
