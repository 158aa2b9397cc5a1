"""Branches and loops as machine code: what they cost, how they end, and what tools say of them."""

import os
import signal
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xrelay
from xrelay.compiler import context, lower, parse_program
from xrelay.interpreters.relay import interpret
from xrelay.lowering.program import small
from xrelay.options import CompileOptions
from xrelay.runtime import code
from xrelay.runtime.errors import ModelError
from xrelay.runtime.model import Model
from xrelay.runtime.support import support_ir
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


NUMBERS = """
func.func @main(%c: tensor<2xui8>, %n: tensor<i32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x1xui8>, tensor<1xi32>, tensor<i1>) {
  %k1 = arith.constant 1 : index
  %k0 = arith.constant 0 : index
  %u = tensor.extract %c[%k1] : tensor<2xui8>
  %m = tensor.extract %n[] : tensor<i32>
  %e = arith.index_cast %m : i32 to index
  %z = arith.constant 3 : i32
  %t = tensor.from_elements %m : tensor<1xi32>
  %b = arith.cmpi slt, %m, %z : i32
  %q = tensor.from_elements %b : tensor<i1>
  %v = tensor.from_elements %u : tensor<1xui8>
  %w = tensor.empty() : tensor<2x1xui8>
  %w1 = tensor.insert_slice %v into %w[%k0, 0][1, 1][1, 1] : tensor<1xui8> into tensor<2x1xui8>
  %w2 = tensor.insert_slice %v into %w1[%k1, 0][1, 1][1, 1] : tensor<1xui8> into tensor<2x1xui8>
  %r = scf.for %i = %k0 to %e step %k1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %0 = relay.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  func.return %r, %w2, %t, %q : tensor<4xf32>, tensor<2x1xui8>, tensor<1xi32>, tensor<i1>
}
"""
"""Elements of several types, rows, and a loop of as many rounds as an input says."""

ROWS = """
func.func @main(%x: tensor<3x5xf32>, %y: tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %k1 = arith.constant 1 : index
  %k2 = arith.constant 2 : index
  %a = relay.negative %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %b = tensor.insert_slice %y into %a[%k2, 0][1, 5][1, 1] : tensor<5xf32> into tensor<3x5xf32>
  %c = tensor.insert_slice %y into %b[%k1, 0][1, 5][1, 1] : tensor<5xf32> into tensor<3x5xf32>
  func.return %a, %b, %c : tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}
"""
"""Rows put into tensors that are results themselves."""


CALLS = """
func.func private @f(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = relay.constant dense<1> : tensor<i32>
  %less = relay.less %n, %1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %ends = tensor.extract %less[] : tensor<i1>
  %r = scf.if %ends -> (tensor<4xf32>) {
    scf.yield %x : tensor<4xf32>
  } else {
    %m = relay.subtract %n, %1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %a = func.call @f(%m, %x) : (tensor<i32>, tensor<4xf32>) -> tensor<4xf32>
    %b = relay.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %b : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = func.call @f(%n, %x) : (tensor<i32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}
"""
"""x times n + 1: a sum as deep as the input says."""


@pytest.fixture(params=[True, False], ids=["small", "shared"], autouse=True)
def small_steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with steps that the first thread runs alone, and once with all shared."""
    if not request.param:
        monkeypatch.setattr(small, "SMALL_SECONDS", 0.0)


MIXED = """
func.func @main(%x: tensor<150x200xf32>, %y: tensor<9xf32>, %n: tensor<i32>) -> (tensor<150x200xf32>, tensor<9xf32>) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  %m = tensor.extract %n[] : tensor<i32>
  %e = arith.index_cast %m : i32 to index
  %a, %b = scf.for %i = %0 to %e step %1 iter_args(%s = %x, %t = %y) -> (tensor<150x200xf32>, tensor<9xf32>) {
    %u = scf.for %j = %0 to %8 step %1 iter_args(%v = %t) -> (tensor<9xf32>) {
      %w = relay.tanh %v : (tensor<9xf32>) -> tensor<9xf32>
      scf.yield %w : tensor<9xf32>
    }
    %k = relay.sum %u : (tensor<9xf32>) -> tensor<f32>
    %z = relay.zeros_like %k : (tensor<f32>) -> tensor<f32>
    %l = relay.less %k, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %c = tensor.extract %l[] : tensor<i1>
    %r = scf.if %c -> (tensor<150x200xf32>) {
      %p = relay.add %s, %k : (tensor<150x200xf32>, tensor<f32>) -> tensor<150x200xf32>
      scf.yield %p : tensor<150x200xf32>
    } else {
      scf.yield %s : tensor<150x200xf32>
    }
    %q = relay.negative %r : (tensor<150x200xf32>) -> tensor<150x200xf32>
    %d = relay.max %q : (tensor<150x200xf32>) -> tensor<f32>
    %f = relay.subtract %u, %d : (tensor<9xf32>, tensor<f32>) -> tensor<9xf32>
    scf.yield %q, %f : tensor<150x200xf32>, tensor<9xf32>
  }
  func.return %a, %b : tensor<150x200xf32>, tensor<9xf32>
}
"""
"""Steps of a microsecond and of several, in loops and branches."""


@pytest.mark.parametrize("threads", [2, 3])
def test_small_steps_beside_shared_ones(threads: int):
    model, rng = compiled(MIXED, threads), np.random.default_rng(0)
    module = parse_program(MIXED.encode(), "program", context())
    for rounds in (0, 1, 7):
        x, y = rng.standard_normal((150, 200), np.float32), rng.standard_normal(9, np.float32)
        inputs = {"x": x, "y": y, "n": np.array(rounds, np.int32)}
        wanted = interpret(module, list(inputs.values()))
        for _ in range(5):
            for one, other in zip(model.run(inputs).values(), wanted, strict=True):
                np.testing.assert_allclose(one, other, 1e-4, 1e-5)


def compiled(text: str, threads: int = 1, *, profile: bool = False) -> Model:
    module = parse_program(text.encode(), "program", context())
    model = xrelay.compile(module, threads=threads, cache=False, profile=profile)
    assert isinstance(model, Model)
    return model


def given(x: float, y: float) -> dict[str, np.ndarray]:
    return {"x": np.full(8, x, np.float32), "y": np.array(y, np.float32)}


@pytest.fixture
def interrupts() -> Generator[None]:
    """Python's handler of Ctrl-C: a process that a shell starts in the background ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_loops_in_branches_can_be_ended():
    start, rest = GROWING.split("{\n", 1)
    inner, end = rest.split("  func.return")
    text = (
        f"{start.replace('%y: tensor<f32>', '%y: tensor<f32>, %q: tensor<i1>')}{{\n"
        "%go = tensor.extract %q[] : tensor<i1>\n"
        "%u, %v = scf.if %go -> (tensor<8xf32>, tensor<f32>) {\n"
        f"{inner}  scf.yield %r, %n : tensor<8xf32>, tensor<f32>\n}} else {{\n"
        "  scf.yield %x, %y : tensor<8xf32>, tensor<f32>\n}\n"
        f"  func.return{end.replace('%r, %n', '%u, %v')}"
    )
    model = compiled(text)
    assert model.signature.loops and not compiled(ROWS).signature.loops
    result, total = model.run({**given(1, 20), "q": np.array(True)}).values()
    assert (result == 3).all() and total == 24
    result, total = model.run({**given(1, 20), "q": np.array(False)}).values()
    assert (result == 1).all() and total == 20


def test_rows_are_put_into_copies_of_what_is_read_later():
    x, y = np.arange(15, dtype=np.float32).reshape(3, 5), np.full(5, 50, np.float32)
    a, b, c = compiled(ROWS).run({"x": x, "y": y}).values()
    np.testing.assert_array_equal(a, -x)
    np.testing.assert_array_equal(b, [*-x[:2], y])
    np.testing.assert_array_equal(c, [-x[0], y, y])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("interrupts")
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


def test_nothing_runs_after_an_interrupt_while_the_thread_starts(monkeypatch: pytest.MonkeyPatch):
    start, started = threading.Thread.start, list[threading.Thread]()

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        started.append(thread)
        raise KeyboardInterrupt

    model = compiled(GROWING)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.run(given(0, 1))
    for thread in started:
        thread.join()
    result, _ = model.run(given(1, 20)).values()
    assert (result == 3).all()


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
def test_numbers_between_tensors(threads: int):
    model = compiled(NUMBERS, threads)
    for rounds in (-2, 0, 5):
        given = {"c": np.array([7, 250], np.uint8), "n": np.array(rounds, np.int32)}
        sums, rows, count, small = model.run({**given, "x": np.ones(4, np.float32)}).values()
        assert (sums == 1 + max(rounds, 0)).all()
        assert rows.tolist() == [[250], [250]] and count.tolist() == [rounds]
        assert bool(small) == (rounds < 3)


CLOCK = "declare i32 @clock_gettime(i32, ptr)"
COUNTER = """
@counted = internal global i64 1
define internal i32 @clock_gettime(i32 %clock, ptr %time) nounwind {
  %count = atomicrmw add ptr @counted, i64 1 seq_cst
  %place = getelementptr i64, ptr %time, i64 1
  store i64 0, ptr %time
  store i64 %count, ptr %place
  ret i32 0
}
"""
"""A clock on which a nanosecond is one look at it."""


@pytest.mark.parametrize("threads", [1, 2])
def test_times_of_rounds_add_up(threads: int, monkeypatch: pytest.MonkeyPatch):
    def counting(*args: Any, **options: Any) -> str:
        text = support_ir(*args, **options)
        assert CLOCK in text
        return text.replace(CLOCK, COUNTER)

    monkeypatch.setattr(code, "support_ir", counting)
    model = compiled(GROWING, threads, profile=True)
    for rounds in (1, 4, 40):
        _, stamps = model.profile(given(1, 8 * rounds), 3)
        assert stamps.shape == (3, len(model.signature.steps) + 1)
        # The copy, the sum and its comparison, and what each round but the last adds.
        times, runs = np.diff(stamps, axis=1), [1, rounds, rounds, rounds - 1]
        if threads == 1:
            assert times.tolist() == [runs] * 3
        else:  # Who waits for others looks at the clock as well.
            assert (times >= runs).all()


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


def times(count: int) -> dict[str, np.ndarray]:
    return {"n": np.array(count, np.int32), "x": np.arange(4, dtype=np.float32)}


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_that_are_too_deep(threads: int):
    """The 1000th call in the others runs, the next one ends the program. The model can be used afterwards."""
    model = compiled(CALLS, threads)
    for refused in (1000, 10**9):
        for count in (1, 999, 0):
            (result,) = model.run(times(count)).values()
            np.testing.assert_array_equal(result, np.arange(4) * (count + 1))
        with pytest.raises(ModelError, match="call themselves more than 1000 calls deep"):
            model.run(times(refused))
    (result,) = model.run(times(2)).values()
    np.testing.assert_array_equal(result, np.arange(4) * 3)


def test_calls_that_are_too_deep_in_a_library(tmp_path: Path):
    compiled(CALLS, 2).save(tmp_path / "calls.so")
    model = xrelay.load(tmp_path / "calls.so")
    assert isinstance(model, Model)
    with pytest.raises(ModelError, match="1000 calls deep"):
        model.run(times(2000))
    (result,) = model.run(times(9)).values()
    np.testing.assert_array_equal(result, np.arange(4) * 10)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("interrupts")
def test_calls_that_are_very_many_are_interrupted(threads: int):
    """Each calls two."""
    twice = CALLS.replace("relay.add %a, %x", "relay.add %a, %c").replace(
        "    %b =",
        "    %c = func.call @f(%m, %x) : (tensor<i32>, tensor<4xf32>) -> tensor<4xf32>\n%b =",
    )
    model = compiled(twice, threads)
    (result,) = model.run(times(6)).values()
    np.testing.assert_array_equal(result, np.arange(4) * 64)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.run(times(60))
    timer.join()
    (result,) = model.run(times(3)).values()
    np.testing.assert_array_equal(result, np.arange(4) * 8)


def test_steps_of_functions_are_timed():
    model = compiled(CALLS, profile=True)
    names = [step.name for step in model.signature.steps]
    assert names.count("call") == 2 and "fused_add" in names
    outputs, stamps = model.profile(times(5), 2)
    (result,) = outputs.values()
    np.testing.assert_array_equal(result, np.arange(4) * 6)
    assert stamps.shape == (2, len(names) + 1) and (np.diff(stamps, axis=1) >= 0).all()


def test_calls_on_both_sides_of_sizes_that_depend_on_data():
    text = CALLS.replace(
        "@main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32>",
        "@main(%n: tensor<i32>, %x: tensor<4xf32>) -> (tensor<?x1xi32>, tensor<4xf32>)",
    )
    start, _ = text.rsplit("  func.return", 1)
    text = (
        start
        + """
  %a = relay.argwhere %r : (tensor<4xf32>) -> tensor<?x1xi32>
  %c = relay.cast %a {dtype = f32} : (tensor<?x1xi32>) -> tensor<?x1xf32>
  %s = relay.sum %c : (tensor<?x1xf32>) -> tensor<f32>
  %y = relay.add %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %q = func.call @f(%n, %y) : (tensor<i32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %q : tensor<?x1xi32>, tensor<4xf32>
}
"""
    )
    module = parse_program(text.encode(), "program", context())
    places, sums = xrelay.compile(module, cache=False).run(times(2)).values()
    np.testing.assert_array_equal(places, [[1], [2], [3]])
    np.testing.assert_array_equal(sums, (np.arange(4) + 6) * 3)


def test_frames_of_large_calls_take_a_gibibyte():
    """Fewer calls are within each other then. Each has a frame of three tensors or fewer."""
    large = CALLS.replace("4xf32", "524288xf32")
    model = compiled(large)
    assert 2**29 < model.signature.workspace_bytes < 2**30 + 2**23
    assert 300 < model.signature.most_calls < 1000
    x = np.ones(524288, np.float32)
    (result,) = model.run({"n": np.array(9, np.int32), "x": x}).values()
    assert (result == 10).all()
    with pytest.raises(ModelError, match=f"more than {model.signature.most_calls} calls deep"):
        model.run({"n": np.array(1000, np.int32), "x": x})
