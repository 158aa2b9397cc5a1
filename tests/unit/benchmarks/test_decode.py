"""The benchmark of decoding: its models and its table. No test looks at a time."""

from dataclasses import replace
from math import prod
from pathlib import Path

import onnx
import pytest
from rich.console import Console

from benchmarks import decode
from benchmarks.decode import CASES, table_of
from benchmarks.engines import REFERENCE, XRELAY
from xrelay.frontends.onnx import import_model

SIZES = {onnx.TensorProto.UINT8: 1, onnx.TensorProto.FLOAT: 4}


@pytest.mark.parametrize("name", CASES)
def test_models_compile_and_have_the_bytes_that_are_counted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(decode, "WIDTH", 64)
    case = replace(CASES[name], products=min(2, CASES[name].products))
    path = tmp_path / "model.onnx"
    case.write(path)
    model = onnx.load(path)
    import_model(model).verify()
    weights = model.graph.initializer
    assert case.packed_bytes == sum(SIZES[each.data_type] * prod(each.dims) for each in weights)
    assert [value.name for value in model.graph.input] == list(case.input_values())


def test_table_has_rates_and_shares():
    least = {("one_4bit", XRELAY): 1.0, ("one_4bit", REFERENCE): 3.0}
    console = Console(width=120)
    with console.capture() as capture:
        console.print(table_of(["one_4bit"], {1: least}, {1: 20.0}))
    line = next(line for line in capture.get().splitlines() if "one_4bit" in line)
    # 4096 x 4096 numbers of half a byte, and a scale of 4 bytes for 32 of them.
    assert line.replace("│", " ").split() == [
        "one_4bit",
        "1",
        "1.000",
        "3.000",
        "3.00",
        "10.5",
        "52%",
    ]
