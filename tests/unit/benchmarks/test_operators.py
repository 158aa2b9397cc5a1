"""The benchmark of operators alone: its models and its table. No test looks at a time."""

import re
from pathlib import Path

import numpy as np
import onnx
import onnx.shape_inference
import onnxruntime
import pytest
from rich.console import Console

import xrelay
from benchmarks import operators
from benchmarks.engines import REFERENCE, XRELAY, Job
from benchmarks.operators import CASES, Node, table_of
from benchmarks.results import EngineResult, Timing
from benchmarks.worker import Workers
from xrelay.frontends.onnx import import_model


def size(nodes: tuple[Node, ...]) -> int:
    """The elements of all constants."""
    arrays = [array for node in nodes for array in node.constants if array is not None]
    return sum(array.size for array in arrays)


SMALL = [name for name, case in CASES.items() if size(case.nodes) < 3e6]


def test_cases_are_those_that_were_slow():
    families = {re.split(r"_\d|_b1|_rows|_columns", name)[0] for name in CASES}
    assert families == {
        *("topk", "resize", "max_pool", "softmax", "gather", "mlp", "argmax", "hardmax", "cumsum"),
        *("trilu", "cast_int64", "pad_reflect", "pad_edge", "einsum_scores", "einsum_chain"),
        *("nms", "roi_align", "reverse", "reverse_sequence", "tile", "non_zero", "scatter_nd"),
    }
    assert set(CASES) - set(SMALL) == {"gather_rows"}


@pytest.mark.parametrize("name", SMALL)
def test_models_are_valid_and_compile(name: str, tmp_path: Path):
    path = tmp_path / "model.onnx"
    CASES[name].write(path)
    model, values = onnx.load(path), CASES[name].input_values()
    onnx.checker.check_model(onnx.shape_inference.infer_shapes(model))
    assert [value.name for value in model.graph.input] == list(values)
    if not name.startswith(("nms", "non_zero")):
        import_model(model).verify()
        return
    # Data decide about the size of the result.
    (found,) = xrelay.compile(model, cache=False).run(values).values()
    (expected,) = onnxruntime.InferenceSession(path).run(None, values)
    assert found.size
    np.testing.assert_array_equal(found, expected)


def test_table_has_the_least_of_all_rounds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    asked: list[tuple[str, str, int]] = []

    def race(
        _: Workers, engines: list[str], job: Job, seconds: float, count: int | None
    ) -> dict[str, EngineResult]:
        (engine,) = engines
        asked.append((engine, job.model, job.threads))
        start = 2.0 if engine == XRELAY else 4.0
        return {engine: EngineResult(Timing((start + 9, start + len(asked) % 3)))}

    monkeypatch.setattr(Workers, "race", race)
    monkeypatch.setattr(operators, "Console", lambda **_: Console(width=200, force_terminal=False))
    options = ["--cases", "max_pool_2x2", "--threads", "1,2", "--rounds", "3"]
    assert operators.main([*options, "--cache", str(tmp_path)]) == 0
    turns = [(engine, "max_pool_2x2") for engine in (XRELAY, REFERENCE)] * 3
    assert asked == [(*turn, threads) for threads in (1, 2) for turn in turns]
    line = r"max_pool_2x2" + r"\W+2\.0000\W+4\.0000\W+2\.00" * 2
    assert re.search(line, capsys.readouterr().out)


def test_ratio_is_the_time_of_the_other(capsys: pytest.CaptureFixture[str]):
    least = {("topk_1000_5", XRELAY): 0.5, ("topk_1000_5", REFERENCE): 2.0}
    Console(width=100).print(table_of(["topk_1000_5"], {4: least}))
    assert re.search(r"topk_1000_5\W+0\.5000\W+2\.0000\W+4\.00", capsys.readouterr().out)
