"""Workers without processes: what they are sent, what is cancelled, what is said of those that are lost; and Ray's."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from math import nan
from multiprocessing import Pipe
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from placed import graph_of, part, program
from xdsl.dialects import func

from xrelay.backends.region_builder import RegionBuilder
from xrelay.backends.regions import RegionTensor
from xrelay.dialects.core.blob import BlobAttr
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.interpreters.constants import constant_array
from xrelay.placement.costs import workers
from xrelay.placement.costs.cost import FREE, UNKNOWN, Cost, FirstKnown, TableCosts, invalid
from xrelay.placement.costs.database import Database
from xrelay.placement.costs.inputs import numbers
from xrelay.placement.costs.job import ByName, filled, parsed, text_of, weights
from xrelay.placement.costs.key import Machine
from xrelay.placement.costs.measured import Engine, MeasuredCosts, RecordedCosts
from xrelay.placement.costs.ray_executor import RayExecutor
from xrelay.placement.costs.serve import serve
from xrelay.placement.costs.workers import WorkerExecutor, WorkerLost
from xrelay.placement.errors import PlacementError
from xrelay.placement.rules.candidate import Candidate

ENOUGH = 60.0
"""Seconds after which a test that waits has failed."""


def candidate(names: str, engine: str = "numpy") -> Candidate:
    graph = graph_of(program("a = abs x\nb = nn.relu a\nreturn b"))
    return Candidate("test", part(graph, names), engine)


# -- costs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (UNKNOWN, "unknown"),
        (Cost(reason="no time was left"), "unknown (no time was left)"),
        (invalid("it crashes"), "invalid: it crashes"),
        (FREE, "0.00 µs"),
        (Cost(1.25e-3), "1250.00 µs"),
    ],
)
def test_costs_as_text(cost: Cost, text: str) -> None:
    """Seconds are shown as millionths, everything else with its reason."""
    assert str(cost) == text


def test_one_candidate_costs_what_it_costs_among_others(tmp_path: Path) -> None:
    """Each estimator answers the same for one candidate and for a list of one."""
    table = TableCosts({("one", "abs"): 3e-6})
    assert FirstKnown([table]).estimate(candidate("a", "one")) == Cost(3e-6, "table")
    here = Machine("some cpu", "features", 1, "0.1")
    engines = {"numpy": Engine("numpy", "1", ByName("numpy"))}
    recorded = RecordedCosts(Database(tmp_path / "costs.db"), engines, here)
    assert recorded.estimate(candidate("a")) == UNKNOWN


def test_what_is_not_measured_in_time_is_cancelled(tmp_path: Path) -> None:
    """No worker begins a measurement that nobody waits for any more."""
    futures: list[Future[Any]] = []

    class Never(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            futures.append(Future())
            return futures[-1]

    shown: list[str] = []
    costs = MeasuredCosts(
        Database(tmp_path / "costs.db"),
        {"numpy": Engine("numpy", "1", ByName("numpy"))},
        Machine.here(1),
        executor=Never(),
        budget=0.0,
        progress=shown.append,
    )
    assert costs.estimates([candidate("a"), candidate("b")]) == [UNKNOWN, UNKNOWN]
    assert [each.cancelled() for each in futures] == [True, True] and costs.measured == 0
    assert shown == ["measure 1 of 2: abs", "measure 2 of 2: nn.relu"]


# -- what travels -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("bool", {False, True}),
        ("int8", set(range(8))),
        ("uint8", set(range(8))),
        ("int16", {0}),
        ("int64", {0}),
        ("uint32", {0}),
    ],
)
def test_numbers_in_place_of_integers(dtype: str, values: set[int]) -> None:
    """Small integers of one byte, and of more zeros, which are indices of everything."""
    array = numbers(RegionTensor((20, 30), np.dtype(dtype)))
    assert array.shape == (20, 30) and array.dtype == np.dtype(dtype)
    assert set(array.ravel().tolist()) == values


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_in_place_of_real_ones(dtype: str) -> None:
    """The same in each call, about as large as 1, of both signs."""
    tensor = RegionTensor((40, 50), np.dtype(dtype))
    array = numbers(tensor)
    assert array.shape == (40, 50) and array.dtype == np.dtype(dtype)
    assert np.array_equal(array, numbers(tensor))
    assert 0.9 < array.astype(np.float64).std() < 1.1 and abs(array.astype(np.float64).mean()) < 0.1
    assert numbers(RegionTensor((), np.dtype(dtype))).shape == ()


def test_models_get_numbers_for_weights() -> None:
    """Weights that came by type only are made up; what came with its numbers keeps them."""
    assert filled(None) is None
    bias = numpy_helper.from_array(np.arange(9, dtype=np.float32), "b")
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=(9, 9))
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 9))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 9))],
        [weight, bias],
    )
    made = filled(helper.make_model(graph).SerializeToString())
    assert made is not None
    found = [numpy_helper.to_array(each) for each in ModelProto.FromString(made).graph.initializer]
    wanted = weights(RegionTensor((9, 9), np.dtype(np.float32)), 0)
    assert np.array_equal(found[0], wanted)
    assert np.array_equal(found[1], np.arange(9, dtype=np.float32))


def test_large_constants_travel_by_type() -> None:
    """The text has no numbers of a large constant, which gets seeded ones of its shape and dtype."""
    build = RegionBuilder()
    weight = np.arange(2000.0).reshape(40, 50)
    x = build.input(np.zeros((40, 50), np.float64))
    first = build.op(AddOp(x, build.constant(weight)))
    function = build.function([build.op(AddOp(first, build.constant(weight + 1)))])
    text = text_of(function)
    assert len(text) < 1500
    again = parsed(text)
    assert isinstance(again, func.FuncOp) and again.sym_name.data == "region"
    one, two = (op for op in again.body.block.ops if isinstance(op, ConstantOp))
    assert one.result.type == two.result.type == build.block.args[0].type
    arrays = constant_array(one), constant_array(two)
    assert not np.array_equal(*arrays), "engines keep equal weights once"
    again = parsed(text)
    assert all(
        np.array_equal(constant_array(op), array)
        for op, array in zip(
            (op for op in again.body.block.ops if isinstance(op, ConstantOp)), arrays, strict=True
        )
    )


def test_numbers_of_large_tensors_repeat() -> None:
    """Drawing 100 million of them takes longer than a measurement."""
    made = numbers(RegionTensor((3, 1 << 19), np.dtype(np.float32)), 7).reshape(-1)
    assert np.array_equal(made[: 1 << 15], made[1 << 16 : 3 << 15])
    assert len(np.unique(made)) > 1 << 14


def test_vectors_travel_with_their_elements() -> None:
    """Scales of channels must be positive, and zero points in the range of their type."""
    build = RegionBuilder()
    x = build.input(np.zeros(300, np.float32))
    scales = np.linspace(0.1, 0.7, 300, dtype=np.float32)
    function = build.function([build.op(AddOp(x, build.constant(scales)))])
    again = parsed(text_of(function))
    (constant,) = (op for op in again.body.block.ops if isinstance(op, ConstantOp))
    assert np.array_equal(constant_array(constant), scales)
    (kept,) = (op for op in function.body.block.ops if isinstance(op, ConstantOp))
    assert isinstance(kept.value, BlobAttr), "the function itself stays as it is"


def test_weights_keep_the_size_of_values() -> None:
    """Of a product or convolution with them, whatever the number of its terms; integers are as inputs."""
    tensor = RegionTensor((8, 40, 5, 5), np.dtype(np.float32))
    made = weights(tensor, 3)
    assert made.dtype == np.float32 and made.std() == pytest.approx((2 / 1000) ** 0.5, rel=0.05)
    assert not np.array_equal(made, weights(tensor, 4)) and np.array_equal(made, weights(tensor, 3))
    bytes_ = RegionTensor((3, 4), np.dtype(np.int8))
    assert np.array_equal(weights(bytes_, 5), numbers(bytes_, 5))
    assert weights(RegionTensor((), np.dtype(np.float32)), 0).shape == ()
    assert weights(RegionTensor((0, 3), np.dtype(np.float32)), 0).shape == (0, 3)


# -- the program of a worker ------------------------------------------------------------------------


def test_a_worker_answers_each_task() -> None:
    """With the result or the exception, in order, until the pipe is closed."""
    ours, theirs = Pipe()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(serve, theirs)
        ours.send((divmod, (17, 5), {}))
        assert ours.recv() == (True, (3, 2))
        ours.send((divmod, (1, 0), {}))
        is_result, error = ours.recv()
        assert is_result is False and isinstance(error, ZeroDivisionError)
        ours.send((int, ("1f",), {"base": 16}))
        assert ours.recv() == (True, 31)
        ours.close()
        assert done.result(ENOUGH) is None
    theirs.close()


def test_a_worker_ends_when_nobody_has_a_task() -> None:
    """Even when there never was one."""
    ours, theirs = Pipe()
    ours.close()
    serve(theirs)
    theirs.close()


# -- the executor -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, "0"), (-1.5, "-1.5"), (nan, "nan")], ids=str)
def test_times_that_no_task_can_keep(seconds: float, shown: str) -> None:
    """A limit is a positive number."""
    with pytest.raises(PlacementError) as caught:
        WorkerExecutor(1, seconds)
    assert str(caught.value) == f"{shown} seconds for a task, expected more than 0"


class InThread:
    """A worker that runs tasks in the thread that asks it."""

    stopped: list["InThread"]

    def run(self, task: tuple[Any, Any, Any], seconds: float) -> tuple[bool, Any]:
        function, args, kwargs = task
        return True, function(*args, **kwargs)

    def stop(self) -> None:
        self.stopped.append(self)


@pytest.fixture
def in_thread(monkeypatch: pytest.MonkeyPatch) -> type[InThread]:
    """Workers of executors are threads."""
    monkeypatch.setattr(InThread, "stopped", list[InThread](), raising=False)
    monkeypatch.setattr(workers, "_Worker", InThread)
    return InThread


class Blocked:
    """A task that runs until it is let go."""

    def __init__(self) -> None:
        self.begun, self.released = Event(), Event()

    def __call__(self) -> str:
        self.begun.set()
        return "released" if self.released.wait(ENOUGH) else "late"


def test_tasks_that_are_cancelled_do_not_run(in_thread: type[InThread]) -> None:
    """A worker goes on with the one after."""
    task, ran = Blocked(), list[int]()
    executor = WorkerExecutor(1)
    first = executor.submit(task)
    assert task.begun.wait(ENOUGH)
    second, third = executor.submit(ran.append, 2), executor.submit(pow, 2, 5, mod=7)
    assert second.cancel() and not first.cancel()
    task.released.set()
    assert (first.result(ENOUGH), third.result(ENOUGH)) == ("released", 4)
    executor.shutdown()
    assert ran == [] and len(in_thread.stopped) == 1


def test_executors_that_are_shut_down(in_thread: type[InThread]) -> None:
    """What runs comes to its end, what waits does too unless it is cancelled, and nothing new begins."""
    task = Blocked()
    executor = WorkerExecutor(1)
    first = executor.submit(task)
    assert task.begun.wait(ENOUGH)
    second = executor.submit(pow, 2, 3)
    executor.shutdown(wait=False)
    assert not second.cancelled()
    third_message = "the workers were shut down"
    with pytest.raises(RuntimeError, match=f"^{third_message}$"):
        executor.submit(pow, 2, 3)
    executor.shutdown(wait=False, cancel_futures=True)
    assert second.cancelled() and in_thread.stopped == []
    task.released.set()
    assert first.result(ENOUGH) == "released"
    executor.shutdown()
    assert len(in_thread.stopped) == 1


def test_executors_wait_for_all_workers(in_thread: type[InThread]) -> None:
    """Each of them has stopped when the executor is left, and what was asked for is there."""
    with WorkerExecutor(3) as executor:
        found = [executor.submit(pow, 2, n) for n in range(10)]
    assert [each.result(0) for each in found] == [2**n for n in range(10)]
    assert len(in_thread.stopped) == 3


class Process:
    """A process that no longer answers, and ends with a code, or only when it is killed."""

    def __init__(self, code: int | None):
        self.code = code
        self.waits: list[float | None] = []

    def poll(self) -> int | None:
        return None

    def wait(self, seconds: float | None = None) -> int:
        self.waits.append(seconds)
        if self.code is None:
            raise subprocess.TimeoutExpired("worker", seconds or 0.0)
        return self.code

    def kill(self) -> None:
        if self.code is None:
            self.code = -9


class Pipeline:
    """The end of a pipe whose other end is closed, or at which nobody answers."""

    def __init__(self, error: Exception | None):
        self.error = error
        self.is_closed = False
        self.sent: list[Any] = []

    def send(self, task: Any) -> None:
        self.sent.append(task)

    def poll(self, seconds: float) -> bool:
        return self.error is not None

    def recv(self) -> Any:
        assert self.error is not None
        raise self.error

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    ("error", "code", "message", "waits"),
    [
        (EOFError(), 3, "it crashes: the worker process ended with code 3", [5]),
        (EOFError(), 0, "it crashes: the worker process ended with code 0", [5]),
        (ConnectionResetError(), -11, "it crashes: the worker process was ended by signal 11", [5]),
        (EOFError(), None, "it crashes: the worker process was ended by signal 9", [5, None]),
        (None, None, "it hangs: it was not done within 0.25 seconds", []),
    ],
)
def test_what_is_said_of_a_lost_worker(
    error: Exception | None, code: int | None, message: str, waits: list[float | None]
) -> None:
    """How it ended; one that does not end is killed, and its end of the pipe is closed."""
    worker: Any = vars(workers)["_Worker"]()
    process, pipe = Process(code), Pipeline(error)
    worker.process, worker.connection = process, pipe
    with pytest.raises(WorkerLost) as caught:
        worker.run((pow, (2, 3), {}), 0.25)
    assert str(caught.value) == message
    assert pipe.sent == [(pow, (2, 3), {})] and pipe.is_closed
    assert process.waits == [*waits, None], "the last one is for the end of the process"
    assert worker.process is None and worker.connection is None
    worker.stop()


# -- Ray --------------------------------------------------------------------------------------------


class Ray:
    """What is used of the package `ray`, in this process."""

    def __init__(self, connected: bool):
        self.connected = connected
        self.options: list[dict[str, Any]] = []

    def is_initialized(self) -> bool:
        return self.connected

    def remote(self, **options: Any) -> Callable[[Callable[..., Any]], Any]:
        self.options.append(options)

        def decorated(function: Callable[..., Any]) -> Any:
            def start(*args: Any, **kwargs: Any) -> Any:
                future: Future[Any] = Future()
                future.set_result(function(*args, **kwargs))
                return SimpleNamespace(future=lambda: future)

            return SimpleNamespace(remote=start)

        return decorated


def test_tasks_for_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes so many processors, and is not tried again: what crashes once does so twice."""
    ray = Ray(connected=True)
    monkeypatch.setitem(sys.modules, "ray", ray)
    executor = RayExecutor(3.0)
    assert executor.submit(pow, 2, 5, mod=7).result() == 4
    assert RayExecutor().submit(len, "abc").result() == 3
    assert ray.options == [
        {"num_cpus": 3.0, "max_retries": 0},
        {"num_cpus": 1.0, "max_retries": 0},
    ]
    executor.shutdown()
    with pytest.raises(RuntimeError, match=r"^the executor was shut down$"):
        executor.submit(len, "abc")
    assert len(ray.options) == 2


@pytest.mark.parametrize(
    ("ray", "message"),
    [
        (Ray(connected=False), "Ray is not connected to a cluster: call ray.init() first"),
        (
            None,
            "the package ray is not installed, which RayExecutor needs: pip install ray",
        ),
    ],
    ids=["not connected", "not installed"],
)
def test_ray_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, ray: Ray | None, message: str
) -> None:
    """It says what is missing."""
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(PlacementError) as caught:
        RayExecutor()
    assert str(caught.value) == message
