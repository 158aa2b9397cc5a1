"""Runs of a model's machine code: what each run needs for itself, and the threads that work on it."""

import ctypes
import os
import threading
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from xrelay.runtime.errors import ModelError
from xrelay.runtime.machine import Address
from xrelay.runtime.memory import address_of
from xrelay.runtime.signature import Signature

ALIGNMENT = 64

_Pointer = ctypes.c_void_p
RUN = ctypes.CFUNCTYPE(None, *[_Pointer] * 4)
"""`<name>_run` of a model: tables of inputs and outputs, constants, workspace."""

_RUN_ON = ctypes.CFUNCTYPE(None, *[_Pointer] * 5)
_TEAM_CREATE = ctypes.CFUNCTYPE(_Pointer, ctypes.c_size_t)
_TEAM_DESTROY = ctypes.CFUNCTYPE(None, _Pointer)
_TEAM_STAMPS = ctypes.CFUNCTYPE(None, _Pointer, _Pointer)


def allocated(shape: Sequence[int], dtype: npt.DTypeLike, what: str) -> npt.NDArray[Any]:
    """
    An uninitialised array.

    Raises ModelError that names it as `what` when the system does not have the memory.
    """
    try:
        return np.empty(shape, dtype)
    except MemoryError as error:
        size = prod(shape) * np.dtype(dtype).itemsize
        raise ModelError(f"cannot allocate {size} bytes for {what}") from error


def aligned_bytes(size: int, what: str) -> npt.NDArray[np.uint8]:
    """Uninitialised memory at a multiple of 64 bytes. Raises ModelError as `allocated`."""
    block = allocated([size + ALIGNMENT], np.uint8, what)
    start = -block.ctypes.data % ALIGNMENT
    return block[start : start + size]


def address_table(addresses: Sequence[int]) -> ctypes.Array[ctypes.c_void_p]:
    """Addresses as C code takes them."""
    return (_Pointer * max(1, len(addresses)))(*addresses)


@dataclass(frozen=True)
class _Place:
    """What a run has for itself: a workspace, and a team when the model has threads."""

    process: int
    """The process that made it: the workers of a team are not in its children."""
    workspace: npt.NDArray[np.uint8]
    address: int
    """Where the workspace begins."""
    team: int | None


class Executor:
    """
    Runs a model's machine code, from any number of Python threads at once.

    Every run that goes on has a workspace and a team of its own. They are made when all are in
    use, and kept for later runs; the workers of idle teams sleep. The workers end when this object
    does, or before the interpreter exits.
    """

    def __init__(
        self,
        signature: Signature,
        address: Address,
        constants: int,
        owner: object,
        lengths: npt.NDArray[np.int64] | None = None,
    ):
        """
        `owner` keeps the machine code and the constants valid. `lengths` is the table that code for many lengths
        reads, at those of the signature.
        """
        name = self._name = signature.name
        self._threads = signature.threads
        self._workspace_bytes = signature.workspace_bytes
        self._stamp_count = len(signature.steps) + 1
        self._loops = signature.loops
        self._constants = constants
        self._owner = owner
        self._lengths = lengths
        self._tables = () if lengths is None else (address_of(lengths),)
        """What the code takes behind the inputs."""
        self._places: deque[_Place] = deque()
        self._run = RUN(address(f"{name}_run"))
        self._team_create = None
        if signature.has_team:
            self._run_on = _RUN_ON(address(f"{name}_run_on"))
            self._team_create = _TEAM_CREATE(address(f"{name}_team_create"))
            self._team_stamps = _TEAM_STAMPS(address(f"{name}_team_stamps"))
            destroy = _TEAM_DESTROY(address(f"{name}_team_destroy"))
            # The finalizer holds the owner: the machine code outlives the workers that run it.
            weakref.finalize(self, _end_teams, self._places, destroy, owner)

    def run(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        stamps: npt.NDArray[np.int64] | None = None,
    ) -> None:
        """
        Runs the code once, on arrays that are given by their addresses. `stamps`, zeros, one more than
        there are steps, get the nanoseconds of the monotonic clock at the start, and those that each step
        takes; only a model that is compiled for profiling writes them.

        Raises ModelError when the system refuses to start the threads.
        """
        place = self._take()
        try:
            table = array("Q", (*inputs, *self._tables, *outputs))
            start, _ = table.buffer_info()
            addresses = (
                start,
                start + (len(inputs) + len(self._tables)) * table.itemsize,
                self._constants,
                place.address,
            )
            run = partial(self._run, *addresses)
            if place.team is not None:
                self._team_stamps(place.team, None if stamps is None else stamps.ctypes.data)
                run = partial(self._run_on, place.team, *addresses)
            if self._loops and threading.current_thread() is threading.main_thread():
                _run_interruptibly(run, place.workspace)
            else:
                run()
        finally:
            self._places.append(place)

    def _take(self) -> _Place:
        """A place of this process that no other run has."""
        process = os.getpid()
        while True:
            try:
                place = self._places.pop()
            except IndexError:
                break
            if place.process == process:
                return place
        workspace = aligned_bytes(self._workspace_bytes, f"the workspace of model '{self._name}'")
        start = address_of(workspace)
        if self._team_create is None:
            return _Place(process, workspace, start, None)
        team: int | None = self._team_create(self._threads)
        if team is None:
            raise ModelError(
                f"the system refuses to start the {self._threads} threads that model "
                f"'{self._name}' was compiled for"
            )
        return _Place(process, workspace, start, team)


def _run_interruptibly(run: Callable[[], None], workspace: npt.NDArray[np.uint8]) -> None:
    """
    Runs code whose loops may not end in another thread: Python handles signals in the main thread, and only
    when this runs Python. What a handler raises (KeyboardInterrupt) ends the loops after their round,
    and comes out here once nothing uses the memory any more.
    """
    go, ended = threading.Event(), threading.Event()
    given_up = False

    def work() -> None:
        go.wait()
        try:
            if not given_up:
                run()
        finally:
            ended.set()

    try:
        threading.Thread(target=work).start()
        go.set()
        ended.wait()
    except BaseException:
        # Before `go` nothing runs, and whether the thread has started cannot be told.
        given_up = not go.is_set()
        go.set()
        request = workspace[:8].view(np.int64)
        while not given_up and not ended.is_set():
            request[0] = 1  # Again and again: a run that begins sets it to 0.
            _wait(ended)
        raise


def _wait(ended: threading.Event) -> None:
    """Waits a short time. Another interrupt tells nothing new."""
    try:
        ended.wait(0.01)
    except KeyboardInterrupt:
        return


def _end_teams(places: deque[_Place], destroy: Callable[[int], None], owner: object) -> None:
    """Ends the workers of all teams. `owner` is the machine code that they, and this, run."""
    while True:
        try:
            place = places.pop()
        except IndexError:
            # At exit, other threads may still take places and give them back.
            break
        if place.team is not None:
            destroy(place.team)
    del owner
