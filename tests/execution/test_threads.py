"""Teams of threads: the run-time support, driven by a hand-written model."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from llvmlite import binding

from xrelay.runtime.code import ModelCode
from xrelay.runtime.errors import ModelError
from xrelay.runtime.llvm import code_generator
from xrelay.runtime.machine import Machine
from xrelay.runtime.memory import addresses
from xrelay.runtime.model import Model
from xrelay.runtime.signature import Signature, StepSpec, TensorSpec
from xrelay.runtime.support import support_ir

LENGTH, ROUNDS = 64, 300

IR = f"""
declare void @xrelay_barrier(ptr, i64)
declare void @xrelay_stamp(ptr, i64)

; One round: each thread adds its neighbour's number to every number of its share.
define internal void @round(ptr %from, ptr %to, i64 %thread, i64 %threads) {{
entry:
  %start.scaled = mul i64 %thread, {LENGTH}
  %start = udiv i64 %start.scaled, %threads
  %after = add i64 %thread, 1
  %end.scaled = mul i64 %after, {LENGTH}
  %end = udiv i64 %end.scaled, %threads
  br label %test
test:
  %i = phi i64 [ %start, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %next = add i64 %i, 1
  %around = urem i64 %next, {LENGTH}
  %a.at = getelementptr i64, ptr %from, i64 %i
  %b.at = getelementptr i64, ptr %from, i64 %around
  %a = load i64, ptr %a.at
  %b = load i64, ptr %b.at
  %c = add i64 %a, %b
  %c.at = getelementptr i64, ptr %to, i64 %i
  store i64 %c, ptr %c.at
  br label %test
done:
  ret void
}}

define void @ring_step_all(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace, i64 %thread,
                           i64 %threads, ptr %team) {{
entry:
  %input = load ptr, ptr %inputs
  %output = load ptr, ptr %outputs
  %other = getelementptr i64, ptr %workspace, i64 {LENGTH}
  %first = icmp eq i64 %thread, 0
  br label %test
test:
  %n = phi i64 [ 0, %entry ], [ %n.next, %step ]
  %from = phi ptr [ %input, %entry ], [ %to, %step ]
  %to = phi ptr [ %workspace, %entry ], [ %spare, %step ]
  %spare = phi ptr [ %other, %entry ], [ %to, %step ]
  br i1 %first, label %note, label %work
note:
  call void @xrelay_stamp(ptr %team, i64 %n)
  br label %work
work:
  %last = icmp eq i64 %n, {ROUNDS - 1}
  %place = select i1 %last, ptr %output, ptr %to
  call void @round(ptr %from, ptr %place, i64 %thread, i64 %threads)
  br i1 %last, label %done, label %step
step:
  call void @xrelay_barrier(ptr %team, i64 %threads)
  %n.next = add i64 %n, 1
  br label %test
done:
  ret void
}}
"""

Numbers = npt.NDArray[np.int64]


def ring(threads: int, *, profiled: bool = True) -> Model:
    """A model of many short steps, each of which needs what the other threads did before."""
    spec = TensorSpec("x", (LENGTH,), np.dtype(np.int64))
    result = TensorSpec("y", (LENGTH,), np.dtype(np.int64))
    steps = (StepSpec("round", LENGTH, 16 * LENGTH),) * ROUNDS
    signature = Signature(
        *("ring", (spec,), (result,), 0, 16 * LENGTH, "this machine", ()),
        *(threads, steps, profiled),
    )
    machine = Machine(binding.get_default_triple(), binding.get_host_cpu_name(), "")
    return Model.from_code(ModelCode(signature, IR.encode(), machine, np.empty(0, np.uint8)))


LOOPS, TASKS = 40, 23

TASKS_IR = f"""
declare void @xrelay_barrier(ptr, i64)
declare i64 @xrelay_next_task(ptr, i64, i64, i64, i64, i64)
declare i32 @sched_yield()

; Loops of tasks, two between barriers. A task adds 1 to its count and notes its thread. The thread
; of the input lingers in its first task of a loop until all other tasks of the loop are done.
define void @tasks_step_all(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace, i64 %thread,
                            i64 %threads, ptr %team) {{
entry:
  %slow.at = load ptr, ptr %inputs
  %slow = load i64, ptr %slow.at
  %counts = load ptr, ptr %outputs
  %owners.at = getelementptr ptr, ptr %outputs, i64 1
  %owners = load ptr, ptr %owners.at
  %done.at = getelementptr ptr, ptr %outputs, i64 2
  %done.all = load ptr, ptr %done.at
  %lingers = icmp eq i64 %thread, %slow
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %n.next, %after ]
  %done = getelementptr i64, ptr %done.all, i64 %n
  %number = and i64 %n, 1
  %row = mul i64 %n, {TASKS}
  %first = call i64 @xrelay_next_task(ptr %team, i64 %thread, i64 %threads, i64 %number,
                                      i64 {TASKS}, i64 -1)
  br label %test
test:
  %last = phi i64 [ -1, %loop ], [ %task, %work ]
  %task = phi i64 [ %first, %loop ], [ %next, %work ]
  %more = icmp slt i64 %task, {TASKS}
  br i1 %more, label %begin, label %end
begin:
  %initial = icmp eq i64 %last, -1
  %waits = and i1 %lingers, %initial
  br i1 %waits, label %linger, label %work
linger:
  %tries = phi i64 [ 0, %begin ], [ %tries.next, %linger ]
  %yielded = call i32 @sched_yield()
  %others = load atomic i64, ptr %done acquire, align 8
  %alone = icmp eq i64 %others, {TASKS - 1}
  %tries.next = add i64 %tries, 1
  %tired = icmp eq i64 %tries.next, 3000000
  %go.on = or i1 %alone, %tired
  br i1 %go.on, label %work, label %linger
work:
  %place = add i64 %row, %task
  %count.at = getelementptr i64, ptr %counts, i64 %place
  %count = atomicrmw add ptr %count.at, i64 1 monotonic
  %owner.at = getelementptr i64, ptr %owners, i64 %place
  store i64 %thread, ptr %owner.at
  %finished = atomicrmw add ptr %done, i64 1 release
  %next = call i64 @xrelay_next_task(ptr %team, i64 %thread, i64 %threads, i64 %number,
                                     i64 {TASKS}, i64 %task)
  br label %test
end:
  %pair.over = icmp eq i64 %number, 1
  br i1 %pair.over, label %wait, label %after
wait:
  call void @xrelay_barrier(ptr %team, i64 %threads)
  br label %after
after:
  %n.next = add i64 %n, 1
  %over = icmp eq i64 %n.next, {LOOPS}
  br i1 %over, label %done.label, label %loop
done.label:
  ret void
}}
"""


def run_tasks(threads: int, slow: int) -> tuple[Numbers, Numbers]:
    """How often each task of each loop ran, and by which thread; thread `slow` is slow."""
    integer = np.dtype(np.int64)
    outputs = tuple(TensorSpec(name, (LOOPS, TASKS), integer) for name in ("counts", "owners"))
    outputs = (*outputs, TensorSpec("done", (LOOPS,), integer))
    signature = Signature(
        *("tasks", (TensorSpec("slow", (), integer),), outputs, 0, 0, "this machine", ()),
        *(threads, (StepSpec("tasks", 0, 0),), False),
    )
    machine = Machine(binding.get_default_triple(), binding.get_host_cpu_name(), "")
    code = ModelCode(signature, TASKS_IR.encode(), machine, np.empty(0, np.uint8))
    executor = Model.from_code(code)._executor
    counts, owners = np.zeros((2, LOOPS, TASKS), np.int64)
    inputs, results = [np.array(slow)], [counts, owners, np.zeros(LOOPS, np.int64)]
    executor.run(addresses(inputs), addresses(results))
    return counts, owners


def expected(x: Numbers) -> Numbers:
    for _ in range(ROUNDS):
        x = x + np.roll(x, -1)
    return x


def numbers(seed: int) -> Numbers:
    return np.random.default_rng(seed).integers(-9, 9, LENGTH)


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 30])
def test_every_task_runs_once(threads: int) -> None:
    """Also where some threads have no share of their own."""
    counts, owners = run_tasks(threads, slow=-1)
    assert (counts == 1).all()
    assert (owners < threads).all()


@pytest.mark.parametrize("slow", [0, 1])
def test_others_take_the_tasks_of_a_slow_thread(slow: int) -> None:
    counts, owners = run_tasks(2, slow)
    assert (counts == 1).all()
    assert ((owners == slow).sum(axis=1) <= 1).all()


def thread_count() -> int:
    """How many threads this process has."""
    return len(os.listdir("/proc/self/task"))


def wait_for_threads(count: int) -> None:
    """The system lists a thread for a moment after it was joined."""
    deadline = time.monotonic() + 10
    while thread_count() != count and time.monotonic() < deadline:
        time.sleep(0.001)
    assert thread_count() == count


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_all_numbers_of_threads_give_the_same(threads: int) -> None:
    model = ring(threads)
    for seed in range(6):
        x = numbers(seed)
        np.testing.assert_array_equal(model.run({"x": x})["y"], expected(x))


def thread_states() -> dict[str, str]:
    """The state of each thread of this process, by number: S for one that sleeps."""
    tasks = Path("/proc/self/task")
    return {
        task.name: (task / "stat").read_text().rpartition(")")[2].split()[0]
        for task in tasks.iterdir()
    }


def test_workers_sleep_between_runs_and_wake_up() -> None:
    others = set(thread_states())
    model = ring(4)
    x = numbers(0)
    for pause in (0, 0.00005, 0.0001, 0.0002, 0.001, 0.02) * 2:
        time.sleep(pause)
        np.testing.assert_array_equal(model.run({"x": x})["y"], expected(x))
    for _ in range(1000):
        workers = [state for name, state in thread_states().items() if name not in others]
        if set(workers) == {"S"}:
            break
        time.sleep(0.01)
    assert workers == ["S"] * 3, "idle workers use the processor"


def test_no_thread_is_left_behind() -> None:
    before = thread_count()
    models = [ring(3), ring(2)]
    for model in models:
        model.run({"x": numbers(0)})
    assert thread_count() == before + 3
    del model
    del models[0]
    wait_for_threads(before + 1)
    models.clear()
    wait_for_threads(before)


def test_one_thread_starts_none() -> None:
    before = thread_count()
    model = ring(1)
    model.run({"x": numbers(0)})
    assert thread_count() == before


def test_calls_from_many_threads_on_several_models() -> None:
    before = thread_count()
    models = [ring(2), ring(3), ring(1)]
    inputs = [numbers(seed) for seed in range(8)]
    results = [expected(x) for x in inputs]

    def call(i: int) -> bool:
        found = models[i % 3].run({"x": inputs[i % 8]})["y"]
        return bool((found == results[i % 8]).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(200)))
    models.clear()
    wait_for_threads(before)


def test_the_interpreter_is_free_while_a_model_runs() -> None:
    """Another Python thread gets on although none is made to give up the interpreter lock."""
    model, x = ring(2), numbers(0)
    counted, stop = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0)  # Gives up the lock.

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=count)
        thread.start()
        start = counted
        for _ in range(100):
            model.run({"x": x})
        assert counted > start
        stop.set()
        thread.join()
    finally:
        stop.set()
        sys.setswitchinterval(interval)


def _run_in_child(model: Model, queue: Any) -> None:
    x = numbers(5)
    good = all((model.run({"x": x})["y"] == expected(x)).all() for _ in range(5))
    queue.put((good, thread_count()))


def test_a_child_of_fork_gets_threads_of_its_own() -> None:
    model = ring(3)
    model.run({"x": numbers(0)})
    fork = multiprocessing.get_context("fork")
    queue = fork.SimpleQueue()
    child = fork.Process(target=_run_in_child, args=(model, queue))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    good, threads = queue.get()
    assert good
    assert threads == 3
    np.testing.assert_array_equal(model.run({"x": numbers(1)})["y"], expected(numbers(1)))


@pytest.mark.parametrize("daemon", [False, True])
def test_the_interpreter_exits(daemon: bool) -> None:
    """With idle workers, and while another Python thread still runs the model."""
    code = (
        "import runpy, sys, threading, time\n"
        "test = runpy.run_path(sys.argv[1])\n"
        "model = test['ring'](3)\n"
        "x = test['numbers'](0)\n"
        "def forever():\n"
        "    while True:\n"
        "        model.run({'x': x})\n"
        "model.run({'x': x})\n"
        f"if {daemon}:\n"
        "    threading.Thread(target=forever, daemon=True).start()\n"
        "    time.sleep(0.05)\n"
    )
    command = [sys.executable, "-c", code, __file__]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_profile_has_the_time_of_every_step() -> None:
    for threads in (1, 2):
        model = ring(threads)
        x = numbers(0)
        outputs, stamps = model.profile({"x": x}, 3)
        np.testing.assert_array_equal(outputs["y"], expected(x))
        assert stamps.shape == (3, ROUNDS + 1)
        # The hand-written model does not note its end.
        assert (np.diff(stamps[:, :ROUNDS], axis=1) >= 0).all()
        assert (stamps[:, 0] > 0).all()


def test_profile_of_other_models() -> None:
    model = ring(2)
    model.signature = Signature("ring", (), (), 0, 0, "", ())
    with pytest.raises(ModelError, match="'ring' is not compiled for profiling"):
        model.profile({"x": numbers(0)}, 1)


def test_refused_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ring(2)
    monkeypatch.setattr(model._executor._pool, "threads", 3)
    with pytest.raises(ModelError, match="refuses to start the 3 threads"):
        model.run({"x": numbers(0)})


COUNT_IR = """
define void @count_step_all(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace, i64 %thread, i64 %threads, ptr %team) {
  %first = icmp eq i64 %thread, 0
  br i1 %first, label %note, label %done
note:
  %output = load ptr, ptr %outputs
  store i64 %threads, ptr %output
  br label %done
done:
  ret void
}
"""


@pytest.mark.parametrize("is_shared", [True, False])
@pytest.mark.parametrize("profiled", [True, False])
def test_threads_are_woken_for_what_they_share(is_shared: bool, profiled: bool) -> None:
    """A program for three threads that one does all of runs on the thread that calls it."""
    result = TensorSpec("threads", (), np.dtype(np.int64))
    signature = Signature(
        *("count", (), (result,), 0, 0, "this machine", (), 3, (StepSpec("note", 1, 8),), profiled),
        is_shared=is_shared,
    )
    assert Signature.from_json(signature.to_json()) == signature
    assert signature.needs_team is (is_shared or profiled)
    machine = Machine(binding.get_default_triple(), binding.get_host_cpu_name(), "")
    code = ModelCode(signature, COUNT_IR.encode(), machine, np.empty(0, np.uint8))
    model = Model.from_code(code)
    assert model.run({})["threads"] == (3 if is_shared else 1)


def test_systems_without_teams() -> None:
    assert "call void @m_step_all" in support_ir("m", 1, "riscv64-unknown-linux-gnu")
    with pytest.raises(ModelError, match="not for riscv64-unknown-linux-gnu"):
        support_ir("m", 2, "riscv64-unknown-linux-gnu")


def test_support_for_other_processors() -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    text = support_ir("m", 2, "aarch64-unknown-linux-gnu")
    machine = Machine("aarch64-unknown-linux-gnu", "generic", "")
    assert code_generator(machine).emit_object(binding.parse_assembly(text)).startswith(b"\x7fELF")


def test_models_of_one_thread_need_no_thread_library(tmp_path: Path) -> None:
    text = support_ir("m", 1, binding.get_default_triple())
    assert "pthread" not in text
