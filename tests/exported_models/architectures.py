"""
What an architecture of the tables is: a module, its inputs, and the sizes that it runs at. The tables are data, so that
tests are collected without torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

Sizes: TypeAlias = Mapping[str, int]
"""The lengths of the named dimensions."""
ThreeSizes: TypeAlias = tuple[Sizes, Sizes, Sizes]
Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

TOKENS: ThreeSizes = ({"batch": 2, "seq": 7}, {"batch": 1, "seq": 12}, {"batch": 3, "seq": 19})
BATCHES: ThreeSizes = ({"batch": 2}, {"batch": 1}, {"batch": 5})


def also(name: str, lengths: tuple[int, int, int], sizes: ThreeSizes = TOKENS) -> ThreeSizes:
    """Sizes with a further dimension, of these lengths."""
    first, second, third = (
        {**each, name: length} for each, length in zip(sizes, lengths, strict=True)
    )
    return first, second, third


@dataclass(frozen=True)
class Input:
    """An input of a model: reals from -1 to 1, or whole numbers from `first` to `below`."""

    name: str
    shape: tuple[int | str, ...]
    """Lengths, and the names of those that vary."""
    below: int = 0
    """Whole numbers are less than this; 0 for reals."""
    first: int = 0

    def array(self, sizes: Sizes, seed: str) -> npt.NDArray[Any]:
        """Random elements, the same for one seed."""
        rng = np.random.default_rng(crc32(f"{seed} {self.name} {dict(sizes)}".encode()))
        shape = [each if isinstance(each, int) else sizes[each] for each in self.shape]
        if self.below:
            return rng.integers(self.first, self.below, shape)
        return rng.uniform(-1, 1, shape).astype(np.float32)


class Mask(Input):
    """Ones, with a few zeros at the end of all rows but the first: shorter sequences of a batch."""

    def array(self, sizes: Sizes, seed: str) -> npt.NDArray[Any]:
        """Ones, and up to two zeros at the end of rows."""
        rows, columns = (each if isinstance(each, int) else sizes[each] for each in self.shape)
        return (np.arange(columns) < columns - np.minimum(np.arange(rows), 2)[:, None]).astype(int)


@dataclass(frozen=True)
class Architecture:
    """A row of a table."""

    name: str
    family: str
    """What kind of network it is."""
    model: str
    """The name of its class in transformers, or of what makes it in networks.py."""
    inputs: tuple[Input, ...]
    sizes: ThreeSizes
    config: str | None = None
    """The class of its configuration in transformers; None for a network of torch alone."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The arguments of the configuration."""

    def __str__(self) -> str:
        return self.name

    def arrays(self, sizes: Sizes) -> Arrays:
        """Inputs for some sizes."""
        return {each.name: each.array(sizes, self.name) for each in self.inputs}
