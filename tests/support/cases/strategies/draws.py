"""Which implementations there are random cases of, and endlessly many cases of each."""

from collections.abc import Iterator
from itertools import count

import numpy as np
from numpy.random import Generator
from xdsl.ir import Operation

from cases.strategies.case import Case
from cases.strategies.places import RESIZES, first_case, resize_case, transposition_case
from cases.strategies.products import PRODUCTS, attention_case, blocks_case, product_case
from cases.strategies.windows import CONVOLUTIONS, POOLS_IN_ROWS, convolution_case, pool_case
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import CompositeOp
from xrelay.dialects.image.resize import Resize2DOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.pool.pool import MaxPool2DOp
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.lowering.program.registry import STRATEGIES

COVERED: tuple[type[Operation], ...] = (
    *(Conv2DOp, *PRODUCTS, *POOLS_IN_ROWS, CompositeOp, TransposeOp, TopkOp, *RESIZES),
    QnnDenseBlocksOp,
)
"""The operators that there are cases of."""

WITH_TILES = ("tile-registers", "blocked-tiles", "gathered-tiles")
"""Implementations on targets that have tile registers."""


def names(op: type[Operation]) -> tuple[str, ...]:
    """The implementations of an operator."""
    return tuple(each.name for each in STRATEGIES[op])


def others(implementation: str) -> frozenset[str]:
    """What must not be used for an implementation to be."""
    return frozenset(
        name
        for op in COVERED
        if implementation in names(op)
        for name in names(op)
        if name != implementation
    )


def implementations() -> tuple[str, ...]:
    """The names of all implementations of the operators that there are cases of, on targets without tile registers."""
    found = dict.fromkeys(name for op in COVERED for name in names(op))
    return tuple(name for name in found if name not in WITH_TILES)


def draw(implementation: str, number: int, rng: Generator, lanes: int) -> Case:
    """The random case of a number, for vectors of `lanes` elements of f32."""
    if implementation in CONVOLUTIONS:
        return convolution_case(implementation, number, rng, lanes)
    if implementation in names(DenseOp):
        return product_case(implementation, number, rng)
    if implementation in names(QnnDenseBlocksOp):
        return blocks_case(implementation, number, rng)
    if implementation in names(CompositeOp):
        return attention_case(number, rng)
    if implementation in names(TransposeOp):
        return transposition_case(implementation, number, rng)
    if implementation in names(TopkOp):
        return first_case(implementation, number, rng)
    if implementation in names(Resize2DOp):
        return resize_case(implementation, number, rng)
    assert implementation in names(MaxPool2DOp), f"no cases of '{implementation}'"
    return pool_case(implementation, number, rng, lanes)


def draws(implementation: str, seed: int, lanes: int) -> Iterator[Case]:
    """Endlessly many random cases, the same for the same seed."""
    rng = np.random.default_rng((seed, *implementation.encode()))
    for number in count():
        yield draw(implementation, number, rng, lanes)
