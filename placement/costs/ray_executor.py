"""Workers of a Ray cluster as a `concurrent.futures.Executor`, which Ray itself lacks: for `Settings.executor`."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from xrelay.placement.errors import PlacementError

_P = ParamSpec("_P")
_T = TypeVar("_T")


class RayExecutor(Executor):
    """Sends each task to a worker of the cluster that `ray.init` connected to, which the caller shuts down."""

    def __init__(self, processors: float = 1.0):
        """
        `processors` is what a task takes of a machine: as many as its model has threads, so that measurements do not
        disturb each other.

        Raises PlacementError when Ray is not installed or not connected.
        """
        try:
            self._ray: Any = import_module("ray")
        except ImportError as error:
            raise PlacementError(
                "the package ray is not installed, which RayExecutor needs: pip install ray"
            ) from error
        if not self._ray.is_initialized():
            raise PlacementError("Ray is not connected to a cluster: call ray.init() first")
        self._processors = processors
        self._is_down = False

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        if self._is_down:
            raise RuntimeError("the executor was shut down")
        task = self._ray.remote(num_cpus=self._processors, max_retries=0)(fn)
        return task.remote(*args, **kwargs).future()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._is_down = True
