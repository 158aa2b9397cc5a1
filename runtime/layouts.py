"""
How arrays of a caller lie in memory: row-major, or as the first rows of a larger array along one axis.

    cache    [b, h, c, d]          room for c rows
    past     = cache[:, :, :n]     n of them, which the program reads
    present  = cache[:, :, :n+1]   the same memory, of which a program that appends to `past` writes row n alone

    past     = cache               all of them
    present  = cache               the same memory, of which a program that replaces rows of `past` writes these alone
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from xrelay.runtime.errors import ModelError
from xrelay.runtime.executor import allocated
from xrelay.runtime.memory import address_of, unusable

Array = npt.NDArray[Any]

MOST_WORK = 1 << 16
"""So many steps are taken to find out whether two arrays that lie in each other share elements; then they are said to."""


@dataclass(frozen=True)
class Rows:
    """An array that is the first rows of a larger one along an axis."""

    name: str
    """The input or output that it is for."""
    axis: int
    capacity: int
    """The number, in `Layouts.capacities`, of the length of the larger array."""


@dataclass(frozen=True)
class Growth:
    """
    An output that begins with an input, in the same memory, and goes on behind it along an axis; or lies exactly on it,
    where there is no axis.
    """

    output: str
    input: str
    axis: int | None


@dataclass(frozen=True)
class Layouts:
    """Where the arrays of a call lie. What is not listed is row-major, in memory of its own."""

    inputs: tuple[Rows, ...] = ()
    outputs: tuple[Rows, ...] = ()
    growing: tuple[Growth, ...] = ()
    capacities: tuple[int, ...] = ()
    """The lengths of the larger arrays, different ones."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # A key of programs, that is looked up at each call and lists all inputs and outputs of a model.
        return hash((self.inputs, self.outputs, self.growing, self.capacities))

    @property
    def pattern(self) -> Layouts:
        """The same without the numbers."""
        return replace(self, capacities=())

    def without(self, names: AbstractSet[str]) -> Layouts:
        """
        The same for a program that does not take some of the inputs, as it was made for their elements.

        Raises ModelError where an output grows over one of them.
        """
        for growth in self.growing:
            if growth.input in names:
                raise ModelError(
                    f"input '{growth.input}' and output '{growth.output}' share memory, but the elements of the input "
                    "decide about lengths, and are read before the program runs; expected arrays apart"
                )
        if all(rows.name not in names for rows in self.inputs):
            return self
        return replace(self, inputs=tuple(rows for rows in self.inputs if rows.name not in names))


ROW_MAJOR = Layouts()


def capacity_along(array: Array, axis: int) -> int | None:
    """
    How many rows the array has along an axis that an array is the first rows of. It is that of the array itself where
    no axis before this one has more than one element; None for an array that lies otherwise.
    """
    step = array.itemsize
    for length, stride in zip(array.shape[:axis:-1], array.strides[:axis:-1], strict=True):
        if length != 1 and stride != step:
            return None
        step *= length
    if array.shape[axis] != 1 and array.strides[axis] != step:
        return None
    capacity: int | None = None
    for length, stride in zip(array.shape[:axis][::-1], array.strides[:axis][::-1], strict=True):
        if length == 1:
            continue
        if capacity is None:
            capacity, rest = divmod(stride, step)
            if rest or capacity < array.shape[axis]:
                return None
            step = stride
        elif stride != step:
            return None
        step *= length
    return array.shape[axis] if capacity is None else capacity


def computed_apart(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> dict[str, Array]:
    """
    New arrays for the outputs that lie exactly on an input, whose elements a program may need until it is done; an
    output that shares memory with another output is left as it is.

    Raises ModelError as `layouts_of` for outputs that cannot be written, and where there is no memory.
    """
    made: dict[str, Array] = {}
    results = [_Given.of("output", name, array) for name, array in outputs.items()]
    places = {_place(array) for array in inputs.values() if array.size}
    for each in results:
        if _place(each.array) not in places:
            continue
        others = (other for other in results if other is not each and other.array.size)
        if not any(
            other.start < each.stop and each.start < other.stop and _share(each, other)
            for other in others
        ):
            array = each.array
            made[each.name] = allocated(array.shape, array.dtype, str(each))
    return made


def _place(array: Array) -> tuple[object, ...]:
    """Equal for arrays of the same elements in the same memory."""
    return address_of(array), array.dtype, array.shape, array.strides


def layouts_of(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> Layouts:
    """
    Where the arrays of a call lie.

    Raises ModelError that names them for arrays that machine code cannot use as they lie, outputs that cannot be
    written, and arrays that share memory otherwise than an output that grows over an input.
    """
    return _Finder(inputs, outputs).layouts()


@dataclass(frozen=True, eq=False)
class _Given:
    """An array of a call."""

    kind: str
    """"input" or "output"."""
    name: str
    array: Array
    start: int
    stop: int
    """Where its elements begin and end."""

    @staticmethod
    def of(kind: str, name: str, array: Array) -> _Given:
        if not array.flags.aligned or (kind == "output" and not array.flags.writeable):
            raise ModelError(f"{kind} '{name}' {unusable(array)}")
        start = stop = address_of(array)
        for length, stride in zip(array.shape, array.strides, strict=True):
            step = max(length - 1, 0) * stride
            start, stop = start + min(step, 0), stop + max(step, 0)
        return _Given(kind, name, array, start, stop + array.itemsize)

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"


class _Finder:
    """The state of finding out."""

    def __init__(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]):
        self.given = [
            _Given.of(kind, name, array)
            for kind, arrays in (("input", inputs), ("output", outputs))
            for name, array in arrays.items()
        ]
        self.capacities: dict[int, int] = {}
        """The numbers of lengths."""

    def layouts(self) -> Layouts:
        known: dict[_Given, tuple[int, int] | None] = {}
        growing: list[Growth] = []
        for result, old in self.growing():
            if _place(old.array) == _place(result.array):
                growing.append(Growth(result.name, old.name, None))
                continue
            axis, capacity = _growth(old, result)
            # Both have one layout, also where the longer one fills the larger array, and is row-major.
            is_whole = prod(old.array.shape[:axis]) == 1
            known[old] = known[result] = None if is_whole else (axis, capacity)
            growing.append(Growth(result.name, old.name, axis))
        rows: dict[str, list[Rows]] = {"input": [], "output": []}
        for each in self.given:
            found = known[each] if each in known else _rows_of(each)
            if found is not None:
                axis, capacity = found
                number = self.capacities.setdefault(capacity, len(self.capacities))
                rows[each.kind].append(Rows(each.name, axis, number))
        return Layouts(
            tuple(rows["input"]), tuple(rows["output"]), tuple(growing), tuple(self.capacities)
        )

    def growing(self) -> list[tuple[_Given, _Given]]:
        """The outputs that share memory with an input, each with that."""
        found: dict[_Given, _Given] = {}
        for one, other in self.sharing():
            if one.kind == other.kind:
                raise ModelError(f"{one} and {other} share memory")
            old, result = (one, other) if one.kind == "input" else (other, one)
            if result in found:
                raise ModelError(
                    f"{result} shares memory with {found[result]} and {old}, expected one"
                )
            found[result] = old
        empty = [each for each in self.given if each.kind == "input" and not each.array.size]
        for result in self.given:
            if result.kind == "output" and result.array.size and result not in found:
                old = next((each for each in empty if _may_grow(each, result)), None)
                if old is not None:
                    found[result] = old
        return [(each, found[each]) for each in self.given if each in found]

    def sharing(self) -> Iterator[tuple[_Given, _Given]]:
        """Pairs of arrays that share memory, at least one of which is an output."""
        open_: list[_Given] = []
        for each in sorted(self.given, key=lambda given: given.start):
            if not each.array.size:
                continue
            open_ = [other for other in open_ if other.stop > each.start]
            for other in open_:
                if "output" in (each.kind, other.kind) and _share(each, other):
                    yield other, each
            open_.append(each)


def _rows_of(given: _Given) -> tuple[int, int] | None:
    """Along which axis an array is a part of a larger one, and how long that is; None for one that is row-major."""
    array = given.array
    if array.flags.c_contiguous:
        return None
    for axis in range(1, array.ndim):
        capacity = capacity_along(array, axis)
        if capacity is not None:
            return axis, capacity
    raise ModelError(
        f"{given} {unusable(array)}, expected those of an array [{', '.join(map(str, array.shape))}] or "
        "of the first rows of a larger one along one axis"
    )


def _may_grow(given: _Given, result: _Given) -> bool:
    """Whether an input without elements is the beginning of an output, of which it will have some in the next call."""
    old, new = given.array, result.array
    if (given.start, old.dtype, old.strides) != (result.start, new.dtype, new.strides):
        return False
    longer = [i for i, (a, b) in enumerate(zip(old.shape, new.shape, strict=True)) if a != b]
    return len(longer) == 1 and capacity_along(old, *longer) == capacity_along(new, *longer)


def _growth(given: _Given, result: _Given) -> tuple[int, int]:
    """The axis along which an output grows over an input, and the length of what they are parts of."""
    old, new = given.array, result.array
    what = f"{given} {list(old.shape)} and {result} {list(new.shape)} share memory"
    expected = "expected an output that begins with the input, and is longer along one axis"
    if given.start != result.start:
        raise ModelError(f"{what}, and begin at different places; {expected}")
    if old.dtype != new.dtype:
        raise ModelError(f"{what}, and are {old.dtype} and {new.dtype}; {expected}")
    if old.ndim != new.ndim:
        raise ModelError(f"{what}, and are of rank {old.ndim} and {new.ndim}; {expected}")
    longer = [i for i, (a, b) in enumerate(zip(old.shape, new.shape, strict=True)) if a != b]
    if len(longer) != 1 or old.shape[longer[0]] > new.shape[longer[0]]:
        raise ModelError(f"{what}; {expected} (the buffer may be too small)")
    (axis,) = longer
    first, second = capacity_along(old, axis), capacity_along(new, axis)
    if first is None or second is None or (prod(old.shape[:axis]) > 1 and first != second):
        raise ModelError(
            f"{what}, and their strides differ: {list(old.strides)} and {list(new.strides)}; expected both to be "
            f"the first rows of one array along axis {axis}"
        )
    return axis, first


def _share(one: _Given, other: _Given) -> bool:
    """Whether two arrays whose spans overlap have elements in common."""
    if one.start == other.start:
        return True
    try:
        return np.shares_memory(one.array, other.array, max_work=cast(Any, MOST_WORK))
    except np.exceptions.TooHardError:
        return True
