"""The benchmark of open dimensions: its models, its tables. No test looks at a time."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.engines import REFERENCE, XRELAY
from benchmarks.kept import KeptRows, WrongRows
from benchmarks.lengths import CASES, STATIC, Call, Result, result_of, table_of, tables

RESULT = Result(
    "mlp_batches",
    2,
    1,
    3.0,
    2.5,
    (
        Call({"batch": 3}, {XRELAY: 1.0, STATIC: 0.5, REFERENCE: 3.0}),
        Call({"batch": 5}, {XRELAY: 4.0, STATIC: 4.0, REFERENCE: 3.0}),
    ),
)


@pytest.mark.parametrize("name", CASES)
def test_calls_have_all_open_dimensions(name: str):
    case = CASES[name]
    assert set(case.axes) <= {each.name for each in case.inputs}
    for lengths in case.calls:
        for value in case.inputs:
            found = case.values_at(lengths)[value.name].shape
            named = case.axes.get(value.name, {})
            wanted = [lengths[named[i]] if i in named else n for i, n in enumerate(value.shape)]
            assert list(found) == wanted


def test_tables_have_ratios_and_means():
    console = Console(width=120)
    with console.capture() as capture:
        console.print(table_of([RESULT]))
    lines = [line.split("\u2502") for line in capture.get().splitlines() if "mlp_batches" in line]
    assert [cells[-3].strip() for cells in lines] == ["2.00", "1.00", "1.41"]
    assert [cells[-2].strip() for cells in lines] == ["3.00", "0.75", "1.50"]
    text = tables([RESULT])
    assert "| mlp_batches | 2 | 3 | 1.00 | 0.50 | 3.00 | 2.00 | 3.00 |" in text
    assert "| mlp_batches | 2 | 1 | 3.00 | 2.50 | 1.20 |" in text
    assert "Threads: 2. Geometric means: 1.41 times the time of static programs, 1.50 times" in text


def test_rows_are_kept_from_run_to_run(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    first, second = replace(RESULT, threads=1), replace(RESULT, compiled=5.0)

    def kept() -> KeptRows[Result]:
        return KeptRows[Result].of(path, lambda each: (each.name, each.threads), result_of)

    for each in (RESULT, first, second):
        kept().add(each)
    again = kept()
    assert again.ordered(list(CASES)) == [first, second]
    early, late = map(json.loads, path.read_text().splitlines())

    def write(*rows: Any) -> None:
        path.write_text("".join(json.dumps(each) + "\n" for each in rows))

    write({**early, "day": "2026-01-02"}, late)
    assert kept().when().startswith("- measured from 2026-01-02 to 2")
    write(early, {**late, "machine": "another processor"})
    with pytest.raises(WrongRows, match="rows.jsonl:2: measured on another processor, this is "):
        kept()
    for content in (b'{"name": "mlp"}\n', b"\xff\n", b"[]\n"):
        path.write_bytes(content)
        with pytest.raises(WrongRows, match="rows.jsonl:1: no row of this benchmark"):
            kept()


def test_rows_of_several_engines_are_in_one_table():
    """An engine that was not measured has an empty cell."""
    calls = (Call({"batch": 3}, {XRELAY: 1.0, STATIC: 0.5, "openvino": 2.0}),)
    text = tables([RESULT, replace(RESULT, name="other", calls=calls)])
    assert "| mlp_batches | 2 | 3 | 1.00 | 0.50 | 3.00 |  | 2.00 | 3.00 |" in text
    assert "| other | 2 | 3 | 1.00 | 0.50 |  | 2.00 | 2.00 | 2.00 |" in text
