"""Runs of a model's machine code: what each run needs for itself, and the threads that work on it."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from xrelay.runtime.errors import ModelError
from xrelay.runtime.machine import Address
from xrelay.runtime.memory import Array, address_of, addresses
from xrelay.runtime.signature import FAILURE, FIRST_FAILURE, TOO_DEEP, Signature

ALIGNMENT = 64

_Pointer = ctypes.c_void_p
RUN = ctypes.CFUNCTYPE(None, *[_Pointer] * 4)
"""`<name>_run` of a model: tables of inputs and outputs, constants, workspace."""

_RUN_ON = ctypes.CFUNCTYPE(None, *[_Pointer] * 5)
_TEAM_CREATE = ctypes.CFUNCTYPE(_Pointer, ctypes.c_size_t)
_TEAM_DESTROY = ctypes.CFUNCTYPE(None, _Pointer)
_TEAM_STAMPS = ctypes.CFUNCTYPE(None, _Pointer, _Pointer)


def allocated(
    shape: Sequence[int], dtype: npt.DTypeLike, what: str, name: str = ""
) -> npt.NDArray[Any]:
    """
    An uninitialised array.

    Raises ModelError that says what it is, and its name, if it has one, when the system does not have the memory.
    """
    try:
        return np.empty(shape, dtype)
    except MemoryError as error:
        size = prod(shape) * np.dtype(dtype).itemsize
        shown = f"{what} '{name}'" if name else what
        raise ModelError(f"cannot allocate {size} bytes for {shown}") from error


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

    process: int | None
    """The process that made it, where there is a team: the workers are not in its children."""
    workspace: npt.NDArray[np.uint8]
    address: int
    """Where the workspace begins."""
    team: int | None


class _Pool:
    """
    The places for runs of one machine code, at whatever lengths. The workers of their teams end when this object does,
    or before the interpreter exits.
    """

    def __init__(self, signature: Signature, address: Address, owner: object):
        """`owner` keeps the machine code valid."""
        self.name = signature.name
        self.threads = signature.threads
        self.places: deque[_Place] = deque()
        self._team_create = None
        if signature.needs_team:
            self._team_create = _TEAM_CREATE(address(f"{self.name}_team_create"))
            destroy = _TEAM_DESTROY(address(f"{self.name}_team_destroy"))
            # The finalizer holds the owner: the machine code outlives the workers that run it.
            weakref.finalize(self, _end_teams, self.places, destroy, owner)

    def take(self, size: int) -> _Place:
        """A place of this process that no other run has, with a workspace of so many bytes at least."""
        process = None if self._team_create is None else os.getpid()
        while True:
            try:
                place = self.places.pop()
            except IndexError:
                break
            if place.process != process:
                continue
            if place.workspace.size < size:
                # Lengths that grow by one from call to call would ask for a little more each time.
                wanted = max(size, place.workspace.size * 5 // 4)
                try:
                    workspace = self._workspace(wanted)
                    place = replace(place, workspace=workspace, address=address_of(workspace))
                except BaseException:
                    self.places.append(place)
                    raise
            return place
        workspace = self._workspace(size)
        return _Place(process, workspace, address_of(workspace), self._team())

    def _workspace(self, size: int) -> npt.NDArray[np.uint8]:
        return aligned_bytes(size, f"the workspace of model '{self.name}'")

    def _team(self) -> int | None:
        if self._team_create is None:
            return None
        team: int | None = self._team_create(self.threads)
        if team is None:
            raise ModelError(
                f"the system refuses to start the {self.threads} threads that model "
                f"'{self.name}' was compiled for"
            )
        return team


class Executor:
    """
    Runs a model's machine code, from any number of Python threads at once.

    Every run that goes on has a workspace and a team of its own. They are made when all are in
    use, and kept for later runs; the workers of idle teams sleep. The workers end when this object
    and those that it made for other lengths do, or before the interpreter exits.
    """

    def __init__(
        self,
        signature: Signature,
        address: Address,
        constants: int,
        owner: object,
        entry: int | None = None,
    ):
        """
        `owner` keeps the machine code and the constants valid. Code for many lengths runs at some by what `at` returns.
        `entry` is the address of the program to run, for code that has several.
        """
        name = signature.name
        self._pool = _Pool(signature, address, owner)
        self._workspace_bytes = signature.workspace_bytes
        self._stamp_count = len(signature.steps) + 1
        self._loops = signature.loops
        self._most_calls = signature.most_calls
        self._failures = signature.failures
        self._constants = constants
        self._owner = owner
        self._lengths: npt.NDArray[np.int64] | None = None
        """The table that code for many lengths reads."""
        self._entry = () if entry is None else (entry,)
        self._tables: tuple[int, ...] = ()
        """What the code takes behind the inputs."""
        self._run = RUN(address(f"{name}_run"))
        if signature.has_team:
            self._run_on = _RUN_ON(address(f"{name}_run_on"))
            self._team_stamps = _TEAM_STAMPS(address(f"{name}_team_stamps"))

    def at(self, lengths: npt.NDArray[np.int64], workspace_bytes: int) -> Executor:
        """The same code at other lengths, with the workspaces and teams of this one."""
        other = copy(self)
        other._lengths, other._tables = lengths, (address_of(lengths), *self._entry)
        other._workspace_bytes = workspace_bytes
        return other

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

        Raises ModelError when the system refuses to start the threads, for functions that call themselves too deep,
        and for programs that end with a failure.
        """
        place = self._pool.take(self._workspace_bytes)
        try:
            if stamps is not None and place.team is not None:
                self._team_stamps(place.team, stamps.ctypes.data)
            table = array("Q", (*inputs, *self._tables, *outputs))
            start, _ = table.buffer_info()
            addresses = (
                start,
                start + (len(inputs) + len(self._tables)) * table.itemsize,
                self._constants,
                place.address,
            )
            run: Callable[..., None] = self._run
            if place.team is not None:
                run = partial(self._run_on, place.team)
            if self._loops and threading.current_thread() is threading.main_thread():
                _run_interruptibly(partial(run, *addresses), place.workspace)
            else:
                run(*addresses)
            if self._most_calls or self._failures:
                self._require_results(int(place.workspace[FAILURE : FAILURE + 8].view(np.int64)[0]))
        finally:
            if stamps is not None and place.team is not None:
                self._team_stamps(place.team, None)
            self._pool.places.append(place)

    def _require_results(self, failure: int) -> None:
        """Raises ModelError for a run that has ended without results, with what it says of that."""
        if failure == TOO_DEEP:
            raise ModelError(
                f"model '{self._pool.name}': its functions call themselves more than {self._most_calls} calls deep"
            )
        if failure:
            message = self._failures[failure - FIRST_FAILURE]
            raise ModelError(f"model '{self._pool.name}': {message}")


class Binding:
    """
    A model whose inputs and outputs are arrays of the caller, as `Model.bind` and `DynamicModel.bind` make it. It
    keeps them, in the order of the signature, as `inputs` and `outputs`. `run` may be called from several threads at
    once where there are no outputs that they both write.
    """

    def __init__(
        self,
        executor: Executor,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        apart: Mapping[int, Array] | None = None,
    ):
        """`apart` has what some outputs are computed in, by their numbers, before they are copied."""
        self._executor = executor
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        made = apart or {}
        self._copies = tuple((self.outputs[i], each) for i, each in made.items())
        self._reads = addresses(inputs)
        self._writes = addresses(made.get(i, each) for i, each in enumerate(self.outputs))

    def run(self) -> None:
        """
        Runs the model on what the arrays of the inputs hold now. Nothing is checked, and nothing is copied but outputs
        that lie exactly on an input.

        Raises ModelError when the system refuses to start threads, or the memory of the workspace.
        """
        self._executor.run(self._reads, self._writes)
        for output, computed in self._copies:
            np.copyto(output, computed)

    def __repr__(self) -> str:
        taken, given = (", ".join(map(_array_type, each)) for each in (self.inputs, self.outputs))
        return f"<Binding: ({taken}) -> ({given})>"


def _array_type(array: Array) -> str:
    return f"{array.dtype}{list(array.shape)}"


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
