"""Shapes and arrays that random graphs start from, with the numbers that are special."""

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

MOST_ELEMENTS = 20_000
"""In one tensor. Large enough for several tiles, and for the work of two threads."""

EXTENTS = (1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 15, 16, 17)
"""Of axes: around the numbers of lanes, with 1 that is broadcast."""
WIDE = (31, 32, 33, 48, 64, 65, 100, 129, 257)

FLOATS = ("float32",) * 8 + ("float16", "float64")
INTEGERS = ("int64",) * 3 + ("int32",) * 3 + ("int8", "uint8") * 2
RARE = ("int16", "uint16", "uint32", "uint64")
DTYPES = FLOATS + INTEGERS[:5] + RARE[:1] + ("bool",)
"""What is drawn from, the usual more often."""


def is_float(array: Array) -> bool:
    """Whether an array has floating-point elements."""
    return array.dtype.kind == "f"


def random_shape(rng: random.Random, rank: int | None = None, *, wide: bool = True) -> list[int]:
    """A shape of `rank` axes, of 0 to 4 of them when that is None. One in 60 axes has length 0."""
    if rank is None:
        rank = rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4))
    shape = [rng.choice(EXTENTS) for _ in range(rank)]
    if shape and wide and rng.random() < 0.15:
        shape[rng.randrange(rank)] = rng.choice(WIDE)
    if shape and rng.random() < 0.015:
        shape[rng.randrange(rank)] = 0
    while math.prod(shape) > MOST_ELEMENTS // 4:
        shape[shape.index(max(shape))] //= 2
    return shape


def random_array(rng: random.Random, dtype: Any, shape: Sequence[int]) -> Array:
    """Elements of one of several kinds: moderate numbers above all."""
    dtype = np.dtype(dtype)
    numbers = np.random.default_rng(rng.getrandbits(63))
    if dtype.kind == "b":
        return np.asarray(numbers.integers(0, 2, shape)).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low = 0 if dtype.kind == "u" or rng.random() < 0.4 else -9
        small = np.asarray(numbers.integers(low, 10, shape)).astype(dtype)
        if rng.random() < 0.85:
            return small
        ends = np.array([info.min, info.max, 0, 1, info.max // 2], dtype)
        return np.where(numbers.random(shape) < 0.7, small, numbers.choice(ends, shape))
    kind = rng.random()
    if kind < 0.55:
        found = rng.choice((0.5, 1, 1, 3)) * numbers.standard_normal(shape)
    elif kind < 0.7:
        found = numbers.uniform(0.1, 4, shape)
    elif kind < 0.82:  # Ties, and sums that are exact.
        found = np.asarray(numbers.integers(-4, 5, shape), np.float64)
    elif kind < 0.86:
        found = np.full(shape, rng.choice((0.0, -0.0, 1.0, -1.5)))
    else:
        found = np.where(
            numbers.random(shape) < 0.8,
            numbers.standard_normal(shape),
            numbers.choice(special_numbers(dtype), shape),
        )
    return np.asarray(found).astype(dtype).reshape(shape)


def special_numbers(dtype: np.dtype[Any]) -> Array:
    """NaN, infinities, zeros of both signs, halves, denormal and large numbers."""
    info = np.finfo(dtype)
    large = math.sqrt(float(info.max))
    return np.array(
        [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -2.5, 3.5, large, -large]
        + [float(info.smallest_subnormal), -float(info.tiny) / 2, float(info.eps), 88.0],
        np.float64,
    ).astype(dtype)
