"""Products with matrices of a few bits a number, in blocks."""

from dataclasses import dataclass

import numpy as np
from graphs import Graph
from xdsl.ir import SSAValue

from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import NegativeOp
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.qnn.blocks import packed

ZERO_POINTS = ("one", "each", "each f32", "extremes")
"""One for the whole matrix, or one for each block: any, no whole numbers, or 0 and the largest alone."""


@dataclass(frozen=True)
class Blocks:
    """A matrix as it is drawn."""

    columns: int
    depth: int
    size: int
    bits: int
    zero_points: str
    scales: str
    """The dtype of scales."""

    def arrays(self, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Weights, scales and zero points."""
        numbers = rng.integers(0, 2**self.bits, (self.columns, self.depth))
        shape = self.columns, -(-self.depth // self.size)
        scales = rng.uniform(0.5, 2.0, shape) / 2**self.bits
        match self.zero_points:
            case "one":
                zeros = np.asarray(2 ** (self.bits - 1), np.uint8)
            case "each f32":
                zeros = rng.uniform(0, 2**self.bits, shape).astype(np.float32)
            case "extremes":
                zeros = rng.choice([0, 2**self.bits - 1], shape).astype(np.uint8)
            case _:
                zeros = rng.integers(0, 2**self.bits, shape).astype(np.uint8)
        return packed(numbers, self.bits), scales.astype(self.scales), zeros


@dataclass(frozen=True)
class BlocksProduct:
    """What is drawn for a product with such a matrix."""

    matrix: Blocks
    outer: tuple[int, ...]
    """The lengths of the data before its last axis."""
    source: str
    """Whether the left operand is a parameter, or computed by another kernel."""
    constant: bool
    """Whether the matrix is known."""
    epilogue: str
    data_bits: int = 32

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        matrix = self.matrix
        data = g.rng.standard_normal((*self.outer, matrix.depth)) / max(1, matrix.depth) ** 0.5
        value = g.input(data.astype(np.float32))
        if self.source == "computed":
            value = g.op(NegativeOp(value))
        known = g.constant if self.constant else g.input
        parts = [known(array) for array in matrix.arrays(g.rng)]
        op = QnnDenseBlocksOp(
            value, *parts, block_size=matrix.size, bits=matrix.bits, data_bits=self.data_bits
        )
        value = g.op(op)
        if self.epilogue == "bias":
            numbers = g.rng.standard_normal(matrix.columns).astype(np.float32)
            value = g.op(AddOp(value, g.constant(numbers)))
        return value
