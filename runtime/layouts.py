"""
How arrays of a caller lie in memory: row-major, or as the first rows of a larger array along one axis.

    cache    [b, h, c, d]          room for c rows
    past     = cache[:, :, :n]     n of them, which the program reads
    present  = cache[:, :, :n+1]   the same memory, of which a program that appends to `past` writes row n alone
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from xrelay.runtime.errors import ModelError
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
    """An output that begins with an input, in the same memory, and goes on behind it along an axis."""

    output: str
    input: str
    axis: int


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


def layouts_of(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> Layouts:
    """
    Where the arrays of a call lie.

    Raises ModelError that names them for arrays that machine code cannot use as they lie, outputs that cannot be
    written, and arrays that share memory otherwise than an output that grows over an input.
    """
    found = _Finder(inputs, outputs)
    return found.layouts()


class _Finder:
    """The state of finding out."""

    def __init__(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]):
        self.inputs, self.outputs = inputs, outputs
        self.capacities: dict[int, int] = {}
        """The numbers of lengths."""

    def layouts(self) -> Layouts:
        alone = {
            kind: {name: self.axis_of(kind, name, array) for name, array in arrays.items()}
            for kind, arrays in (("input", self.inputs), ("output", self.outputs))
        }
        growing = self.growing()
        for growth in growing:
            # Both have one axis, also where the longer one fills the larger array, and is row-major.
            lies_within = alone["input"][growth.input] is not None
            axis = growth.axis if lies_within else None
            alone["input"][growth.input] = alone["output"][growth.output] = axis
        rows = [
            tuple(
                Rows(name, axis, self.number(arrays[name], axis))
                for name, axis in alone[kind].items()
                if axis is not None
            )
            for kind, arrays in (("input", self.inputs), ("output", self.outputs))
        ]
        return Layouts(rows[0], rows[1], growing, tuple(self.capacities))

    def number(self, array: Array, axis: int) -> int:
        capacity = capacity_along(array, axis)
        assert capacity is not None
        return self.capacities.setdefault(capacity, len(self.capacities))

    def axis_of(self, kind: str, name: str, array: Array) -> int | None:
        """Along which axis an array is a part of a larger one; None for one that is row-major."""
        if not array.flags.aligned or (kind == "output" and not array.flags.writeable):
            raise ModelError(f"{kind} '{name}' {unusable(array)}")
        if array.flags.c_contiguous:
            return None
        for axis in range(1, array.ndim):
            if capacity_along(array, axis) is not None:
                return axis
        raise ModelError(
            f"{kind} '{name}' {unusable(array)}, expected those of an array [{', '.join(map(str, array.shape))}] or "
            "of the first rows of a larger one along one axis"
        )

    # -- memory that arrays share -----------------------------------------------------------------

    def growing(self) -> tuple[Growth, ...]:
        """The outputs that grow over an input."""
        found: dict[str, Growth] = {}
        for (is_output, name), (is_other_output, other) in self.sharing():
            if is_output and is_other_output:
                raise ModelError(f"output '{name}' and output '{other}' share memory")
            given, result = (other, name) if is_output else (name, other)
            axis = self.growth_axis(given, result)
            if result in found:
                raise ModelError(
                    f"output '{result}' shares memory with input '{found[result].input}' and input '{given}', "
                    "expected one"
                )
            found[result] = Growth(result, given, axis)
        return tuple(found[name] for name in self.outputs if name in found)

    def growth_axis(self, given: str, result: str) -> int:
        """The axis along which an output grows over an input."""
        old, new = self.inputs[given], self.outputs[result]
        what = f"input '{given}' {list(old.shape)} and output '{result}' {list(new.shape)} share memory"
        expected = "expected an output that begins with the input, and is longer along one axis"
        if address_of(old) != address_of(new):
            raise ModelError(f"{what}, and begin at different places; {expected}")
        if old.dtype != new.dtype or old.ndim != new.ndim:
            raise ModelError(f"{what}, and are {old.dtype} and {new.dtype}; {expected}")
        longer = [i for i, (a, b) in enumerate(zip(old.shape, new.shape, strict=True)) if a != b]
        if len(longer) != 1 or old.shape[longer[0]] > new.shape[longer[0]]:
            raise ModelError(f"{what}; {expected} (the buffer may be too small)")
        (axis,) = longer
        capacities = capacity_along(old, axis), capacity_along(new, axis)
        if None in capacities or (prod(old.shape[:axis]) > 1 and capacities[0] != capacities[1]):
            raise ModelError(
                f"{what}, and their strides differ: {list(old.strides)} and {list(new.strides)}; expected both to be "
                f"the first rows of one array along axis {axis}"
            )
        return axis

    def sharing(self) -> Iterator[tuple[tuple[bool, str], tuple[bool, str]]]:
        """Pairs of arrays that share memory, at least one of which is an output."""
        spans = sorted(
            (*_span(array), is_output, name)
            for is_output, arrays in ((False, self.inputs), (True, self.outputs))
            for name, array in arrays.items()
            if array.size
        )
        open_: list[tuple[int, int, bool, str]] = []
        for each in spans:
            start, _, is_output, name = each
            open_ = [other for other in open_ if other[1] > start]
            for _, _, is_other, other in open_:
                if (is_output or is_other) and _share(
                    self.array(is_output, name), self.array(is_other, other)
                ):
                    yield (is_other, other), (is_output, name)
            open_.append(each)

    def array(self, is_output: bool, name: str) -> Array:
        return (self.outputs if is_output else self.inputs)[name]


def _span(array: Array) -> tuple[int, int]:
    """Where the elements of an array begin and end."""
    start = address_of(array)
    steps: Sequence[tuple[int, int]] = list(zip(array.shape, array.strides, strict=True))
    return start, start + sum((length - 1) * step for length, step in steps) + array.itemsize


def _share(one: Array, other: Array) -> bool:
    """Whether two arrays whose spans overlap have elements in common."""
    if address_of(one) == address_of(other):
        return True
    try:
        return np.shares_memory(one, other, max_work=MOST_WORK)
    except np.exceptions.TooHardError:
        return True
