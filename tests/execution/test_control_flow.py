"""Branches and loops as machine code: what they cost, how they end, and what tools say of them."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import xrelay
from xrelay.compiler import context, lower, parse_program
from xrelay.options import CompileOptions
from xrelay.runtime.model import Model
from xrelay.tools import cli

GROWING = """
func.func @main(%x: tensor<8xf32>, %y: tensor<f32>) -> (tensor<8xf32>, tensor<f32>) {
  %r, %n = scf.while (%a = %x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {
    %sum = relay.sum %a : (tensor<8xf32>) -> tensor<f32>
    %less = relay.less %sum, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c = tensor.extract %less[] : tensor<i1>
    scf.condition(%c) %a, %sum : tensor<8xf32>, tensor<f32>
  } do {
  ^bb0(%a: tensor<8xf32>, %s: tensor<f32>):
    %0 = relay.add %a, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %0 : tensor<8xf32>
  }
  func.return %r, %n : tensor<8xf32>, tensor<f32>
}
"""
"""Adds x to itself until the sum is y or more: with zeros it never ends."""


def compiled(text: str, threads: int = 1, *, profile: bool = False) -> Model:
    module = parse_program(text.encode(), "program", context())
    model = xrelay.compile(module, threads=threads, cache=False, profile=profile)
    assert isinstance(model, Model)
    return model


def given(x: float, y: float) -> dict[str, np.ndarray]:
    return {"x": np.full(8, x, np.float32), "y": np.array(y, np.float32)}


@pytest.mark.parametrize("threads", [1, 2])
def test_loops_that_never_end_are_interrupted(threads: int):
    model = compiled(GROWING, threads)
    assert model.signature.loops
    for _ in range(2):
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            model.run(given(0, 1))
        timer.join()
        result, total = model.run(given(1, 20)).values()  # The model can be used afterwards.
        assert (result == 3).all() and total == 24


def test_handlers_that_raise_nothing_interrupt_nothing():
    model, calls = compiled(GROWING), list[int]()
    before = signal.signal(signal.SIGINT, lambda number, _: calls.append(number))
    try:
        timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        (result, _) = model.run(given(1, 1_000_000)).values()
        timer.join()
        while not calls:
            time.sleep(0.001)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (result == 125_000).all()


def test_loops_run_in_several_python_threads():
    model = compiled(GROWING)
    found: dict[int, float] = {}

    def work(number: int) -> None:
        found[number] = float(model.run(given(1, 8 * number))["output0"][0])

    workers = [threading.Thread(target=work, args=(number,)) for number in range(1, 6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == {number: number for number in range(1, 6)}


def test_what_is_carried_is_written_over():
    module = parse_program(GROWING.encode(), "program", context())
    program = lower(module, CompileOptions())
    assert [step.name for step in program.steps] == ["copy", "fused_sum", "fused_less", "fused_add"]


@pytest.mark.parametrize("threads", [1, 2])
def test_times_of_rounds_add_up(threads: int):
    model = compiled(GROWING, threads, profile=True)
    _, few = model.profile(given(1, 20), 5)
    _, many = model.profile(given(1, 80_000), 5)
    for stamps in (few, many):
        assert stamps.shape == (5, len(model.signature.steps) + 1)
        assert (np.diff(stamps, axis=1) >= 0).all()
    # Ten thousand rounds take longer than three, in each step but the first copy.
    assert (np.diff(many, axis=1)[:, 1:].min(0) > np.diff(few, axis=1)[:, 1:].min(0)).all()


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "growing.mlir"
    path.write_text(GROWING)
    np.save(tmp_path / "x.npy", np.ones(8, np.float32))
    np.save(tmp_path / "y.npy", np.array(20, np.float32))
    inputs = [f"--input={name}={tmp_path / name}.npy" for name in ("x", "y")]
    trace = tmp_path / "trace.json"
    for arguments in (
        ["run", str(path), *inputs, "--verify", "--no-cache"],
        ["run", str(path), *inputs, "--profile", "--trace", str(trace), "--no-cache"],
        ["explain", str(path)],
        ["explain", str(path), "--memory"],
        ["explain", str(path), "--strategies"],
        ["view", str(path), "-o", str(tmp_path / "view.html")],
    ):
        assert cli.main(arguments) == 0, capsys.readouterr().err
    assert "fused_add" in trace.read_text()
    assert cli.main(["compile", str(path), "-o", str(tmp_path / "growing.so")]) == 0
    model = xrelay.load(tmp_path / "growing.so")
    result, total = model.run(given(1, 20)).values()
    assert (result == 3).all() and total == 24
