"""
Inputs of what is measured: seeded numbers, the same in each run or from a pool.

A pool is larger than the last cache, so that what comes from it comes from memory. It has `MOST_SETS` sets at most: more of
small inputs would take longer to make than to measure, and these, which are a few lines of a cache, may stay there.
"""

import os
import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import cycle
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from xrelay.backends.base import Array
from xrelay.backends.regions import RegionTensor
from xrelay.runtime.executor import ALIGNMENT, aligned_bytes
from xrelay.runtime.signature import TensorSpec

DRAWN = 1 << 16
"""So many numbers are drawn, at most."""
CACHES = 2
"""So many times as large as the last cache is a pool."""
MOST_SETS = 4096
"""Of inputs in a pool."""
USUAL_CACHE = 32 << 20
"""The bytes of a last cache that the system tells nothing of."""
CACHE_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")


def numbers(tensor: RegionTensor | TensorSpec, seed: int = 0, scale: float = 1.0) -> Array:
    """
    Seeded numbers: small ones, and zeros where they may be indices, floats as large as stated. Those of large tensors
    repeat.
    """
    size = prod(tensor.shape)
    if size > DRAWN:
        return np.resize(numbers(RegionTensor((DRAWN,), tensor.dtype), seed, scale), tensor.shape)
    rng = np.random.default_rng(seed)
    dtype: Any = tensor.dtype
    if dtype.kind == "b":
        return rng.integers(0, 2, tensor.shape).astype(bool)
    if dtype.kind in "iu":
        high = 8 if dtype.itemsize == 1 else 1
        return rng.integers(0, high, tensor.shape).astype(dtype)
    return np.asarray(scale * rng.standard_normal(tensor.shape)).astype(dtype)


def inputs_in_turn(
    tensors: Sequence[RegionTensor | TensorSpec], rotating: Collection[int] = ()
) -> Callable[[], list[Array]]:
    """
    What gives the inputs of each run; the `rotating` ones are others each time.

    Raises ModelError when there is no memory for a pool.
    """
    first = [numbers(tensor) for tensor in tensors]
    taken = sum(_stride(first[i].nbytes) for i in rotating)
    if not taken:
        return lambda: first
    return cycle(_pool(first, rotating, taken, pool_bytes())).__next__


def _pool(
    first: Sequence[Array], rotating: Collection[int], taken: int, size: int
) -> list[list[Array]]:
    """
    Sets of some arrays, with copies of the rotating ones, which together take so many bytes, spread evenly over a pool of a
    size.
    """
    count = min(max(2, -(-size // taken)), MOST_SETS)
    # Sets at multiples of a large power of two would share few lines of a cache.
    step = max(taken, size // count // ALIGNMENT * ALIGNMENT + ALIGNMENT)
    pool = aligned_bytes(step * count, "a pool of inputs")
    sets: list[list[Array]] = []
    for number in range(count):
        start, made = step * number, list(first)
        for i in rotating:
            each = first[i]
            made[i] = pool[start : start + each.nbytes].view(each.dtype).reshape(each.shape)
            made[i][...] = each
            start += _stride(each.nbytes)
        sets.append(made)
    return sets


def _stride(size: int) -> int:
    """The bytes that an array takes in a pool."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def pool_bytes() -> int:
    """The size of a pool: more than the last cache, and no more than a quarter of the memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(CACHES * last_cache_bytes(CACHE_FOLDER), memory // 4)


@cache
def last_cache_bytes(folder: Path) -> int:
    """The size of the last cache of a processor, as a folder of Linux describes them."""
    found = [0]
    for path in folder.glob("index*/size"):
        size = re.fullmatch(r"(\d+)([KM])", path.read_text().strip())
        if size is not None:
            found.append(int(size[1]) << {"K": 10, "M": 20}[size[2]])
    return max(found) or USUAL_CACHE
