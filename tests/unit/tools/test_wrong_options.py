"""Options of `xrelay` that go together with others, or not at all, and what commands say then."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands.runs import Command
from onnx import helper

from xrelay.contract import ContractBroken
from xrelay.tools import backend_contract, demo
from xrelay.tools.errors import FAILED

WRONG: Sequence[tuple[str, str]] = (
    ("partition add.mlir --backend numpy --limit -1", "--limit is -1, expected at least 0"),
    ("partition add.mlir --backend numpy --seed -1", "--seed is -1, expected at least 0"),
    ("partition add.mlir --backend numpy -o x.txt", "-o is 'x.txt', expected a .mlir file"),
    ("run add.mlir --fallback", "--fallback goes with --backend"),
    ("run add.mlir --placement cost", "--placement goes with --backend"),
    ("run model.so --interpret", "'model.so' is machine code, which is not interpreted"),
    ("run add.mlir --interpret --backend numpy", "--backend is for machine code, not for"),
    ("run add.mlir --backend numpy --profile", "`xrelay partition --run` has times of regions"),
    ("run add.mlir --interpret --profile", "--profile is for machine code, not for --interpret"),
    ("run add.mlir --compare other.mlir", "'other.mlir' has no input"),
    ("run other.mlir --compare add.mlir", "'add.mlir' has no input"),
    ("run add.mlir --compare wide.mlir", "the input of 'wide.mlir' is"),
    ("run add.mlir --compare more.mlir", "'more.mlir' has the input"),
    (
        "run add.mlir --precision BF16",
        "unknown precision 'BF16', expected one of f32, bf16, f16, int8; did you mean 'bf16'?",
    ),
    (
        "run add.mlir --precision f16 --precision-rules no-operator.json",
        "'no-operator.json': 'never': there is no operator 'nn.convd'; did you mean",
    ),
    (
        "run add.mlir --precision f16 --precision-rules twice.json",
        "'twice.json': 'nn.dense' is named 2 times, expected once",
    ),
    (
        "place add.mlir --backend numpy --refine inf",
        "--refine is inf, expected a finite number of seconds",
    ),
    (
        "place add.mlir --backend numpy --refine -1",
        "--refine is -1.0, expected a finite number of seconds",
    ),
    ("place add.mlir --backend numpy --refine 1 --no-confirm", "--refine goes with whole runs"),
    ("place add.mlir --backend numpy --remeasure 1 --no-confirm", "--remeasure goes with whole"),
    ("place add.mlir --backend numpy --remeasure -1", "--remeasure is -1, expected 0 to 100"),
    ("place add.mlir --backend numpy --workers 0", "--workers is 0, expected 1 to 256"),
    ("place add.mlir --backend numpy --workers 257", "--workers is 257, expected 1 to 256"),
    ("place add.mlir --backend numpy --measure-seconds -1", "--measure-seconds is -1.0, expected"),
    (
        "place add.mlir --backend numpy --pin nowhere=numpy",
        "'nowhere' is pinned, but the model has",
    ),
    (
        "place add.mlir --backend numpy -o no/plan.json",
        "cannot write 'no/plan.json': no folder 'no'",
    ),
    ("place add.mlir --backend numpy -o add.mlir", "'add.mlir' is the model, expected another"),
    (
        "place add.mlir --backend numpy -o x.json --explain ./x.json",
        "'./x.json' is to be written twice, expected two files",
    ),
    (
        "place add.mlir --backend numpy --memory 5 --method operator-level",
        "the method 'operator-level' keeps no memory limit, expected one of exact, integer-program",
    ),
    ("place add.mlir --backend numpy --explain folder", "cannot write 'folder': it is a directory"),
    ("partition add.mlir --backend numpy -o no/x.mlir", "cannot write 'no/x.mlir': no folder 'no'"),
    ("view add.mlir -o no/x.svg", "cannot write 'no/x.svg': no folder 'no'"),
    ("explain add.mlir --memory --json no/x.json", "cannot write 'no/x.json': no folder 'no'"),
    ("test-backend numpy --threads 0", "--threads is 0, expected at least 1"),
    ("test-backend nowhere", "nowhere"),
    ("test-backend numpy --case none", "'numpy' supports no operator of the chosen cases"),
)


@pytest.mark.parametrize(("line", "reason"), WRONG, ids=lambda part: part[:50])
def test_wrong_options(line: str, reason: str, cmd: Command, inside: Path, program: str) -> None:
    (inside / "other.mlir").write_text(program.replace("%x", "%z"))
    (inside / "wide.mlir").write_text(program.replace("2x4", "2x5"))
    header = "func.func @main(%x: tensor<2x4xf32>"
    assert header in program
    (inside / "no-operator.json").write_text('{"never": ["nn.convd"]}')
    (inside / "twice.json").write_text('{"never": ["nn.dense"], "always": ["relay.nn.dense"]}')
    (inside / "folder").mkdir()
    (inside / "more.mlir").write_text(program.replace(header, f"{header}, %n: tensor<3xf32>"))
    cmd(*line.split()).refused(reason)


def test_cases_of_backends(cmd: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = cmd("test-backend", "numpy", "--list", "--case", "pool2d")
    names = listed.out.splitlines()
    assert listed.code == 0 and len(names) >= 4 and all("pool2d" in name for name in names)
    held = cmd("test-backend", "numpy", "--case", names[0])
    assert held.code == 0 and re.search(r"(\d+) of \1 cases hold for backend 'numpy'", held.out)

    def broken(case: Any, *_: object) -> None:
        raise ContractBroken(f"{case.name}: [nothing] holds")

    monkeypatch.setattr(backend_contract, "check", broken)
    failed = cmd("test-backend", "numpy", "--case", names[0])
    assert failed.code == FAILED and "[nothing] holds" in failed.out
    assert re.search("0 of [1-9]", failed.out)


def test_demonstration(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    model_of: Callable[..., Any],
) -> None:
    """With a small model. It can be repeated, and tells of wrong outputs by its exit code."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["square"]),
        helper.make_node("Relu", ["square"], ["z"]),
        helper.make_node("MaxPool", ["z"], ["y"], kernel_shape=[2, 2]),
    ]
    model = model_of(nodes, {"x": (np.float32, [1, 2, 5, 5])}, ["y"])
    monkeypatch.setattr(demo, "light_model", lambda name, seed: model)
    output = tmp_path / "build" / "model.ll"
    monkeypatch.setattr(demo, "OUTPUT", output)
    assert [demo.demo(), demo.demo()] == [0, 0]
    text = capsys.readouterr().out
    assert "imported in" in text and ": 3 operators" in text
    assert "fused into" in text and "nn.max_pool2d" in text and "tensor<1x2x4x4xf32>" in text
    assert "define" in output.read_text()
    monkeypatch.setattr(demo, "largest_difference", lambda found, wanted: 1.0)
    assert demo.demo() == FAILED
