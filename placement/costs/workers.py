"""
Worker processes that survive what engines do: one that crashes or hangs is replaced, and only its task fails.

Any other `concurrent.futures.Executor` may take their place: a process pool, dask's `Client.get_executor()`, Ray's.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, ParamSpec, TypeVar

from xrelay.placement.errors import PlacementError
from xrelay.runtime.arguments import number_argument
from xrelay.runtime.support import MAX_THREADS

_P = ParamSpec("_P")
_T = TypeVar("_T")


class WorkerLost(Exception):
    """A worker process ended, or had to be ended, during a task; the message says how."""


class _Worker:
    """
    A process, which is started when it is needed: a Python of its own, which does not run the program that started
    it a second time, as multiprocessing's would.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.connection: Connection | None = None

    def run(self, task: tuple[Any, Any, Any], seconds: float) -> tuple[bool, Any]:
        """What a task returns, or raises. Raises WorkerLost."""
        if self.process is None or self.process.poll() is not None:
            self._start()
        assert self.connection is not None and self.process is not None
        try:
            self.connection.send(task)
            if not self.connection.poll(seconds):
                self.stop()
                raise WorkerLost(f"it hangs: it was not done within {seconds:g} seconds")
            return self.connection.recv()
        except (EOFError, ConnectionError) as error:
            code = self._exit_code()
            self.stop()
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            raise WorkerLost(f"it crashes: the worker process {how}") from error

    def _exit_code(self) -> int:
        """What a process ended with that no longer answers; it is made to end if it has not."""
        assert self.process is not None
        try:
            return self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def _start(self) -> None:
        self.connection, other = Pipe()
        number = other.fileno()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-P", "-m", "xrelay.placement.costs.serve", str(number)]
        self.process = subprocess.Popen(
            command, pass_fds=[number], env=environment, stdin=subprocess.DEVNULL
        )
        other.close()

    def stop(self) -> None:
        """Ends the process."""
        if self.connection is not None:
            self.connection.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = self.connection = None


class WorkerExecutor(Executor):
    """Some worker processes, and a time limit for each task."""

    def __init__(self, workers: int = 1, seconds: float = 60.0):
        """Raises PlacementError for numbers that make no sense."""
        number_argument("workers", workers, 1, MAX_THREADS, PlacementError)
        if not seconds > 0:
            raise PlacementError(f"{seconds:g} seconds for a task, expected more than 0")
        self.seconds = seconds
        self._tasks: SimpleQueue[tuple[Future[Any], tuple[Any, Any, Any]] | None] = SimpleQueue()
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(workers)]
        self._lock = Lock()
        self._is_down = False
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        with self._lock:
            if self._is_down:
                raise RuntimeError("the workers were shut down")
            future: Future[_T] = Future()
            self._tasks.put((future, (fn, args, kwargs)))
        return future

    def _work(self) -> None:
        worker = _Worker()
        while (item := self._tasks.get()) is not None:
            future, task = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                is_result, value = worker.run(task, self.seconds)
            except Exception as error:  # noqa: BLE001 it is raised where the result is asked for
                is_result, value = False, error
            if is_result:
                future.set_result(value)
            else:
                future.set_exception(value)
        worker.stop()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._is_down = True
        if cancel_futures:
            while not self._tasks.empty():
                item = self._tasks.get()
                if item is not None:
                    item[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()
