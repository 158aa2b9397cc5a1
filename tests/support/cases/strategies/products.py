"""Random matrix products, also with matrices of few bits, and attention."""

from dataclasses import dataclass, replace
from math import sqrt

from graphs import Graph
from numpy.random import Generator
from xdsl.ir import SSAValue

from cases.attention import HEAD_SIZES, LAYOUTS, LENGTHS, LONG, MASKS, SCALES, Attention
from cases.blocks import ZERO_POINTS, Blocks, BlocksProduct
from cases.strategies.case import (
    CHANNELS,
    EPILOGUES,
    Case,
    direct_bound,
    finished,
    normal,
    pick,
    turn,
)
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import NegativeOp
from xrelay.lowering.emit.evaluate import shape_of

PRODUCTS = (DenseOp, MatmulOp, BatchMatmulOp)


# -- matrix products -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Product:
    """What is drawn for a matrix product."""

    op: type[DenseOp | MatmulOp | BatchMatmulOp]
    batch: tuple[int, int]
    """Members of the batch of each operand."""
    rows: int
    depth: int
    columns: int
    transposed: tuple[bool, bool]
    source: str
    """Whether the left operand is a parameter, or computed by another kernel."""
    constant: bool
    """Whether the right operand is known."""
    epilogue: str
    dtype: str = "float32"

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        shapes = [(self.rows, self.depth), (self.depth, self.columns)]
        left, right = (
            shape[::-1] if flipped else shape
            for shape, flipped in zip(shapes, self.transposed, strict=True)
        )
        if self.op is BatchMatmulOp:
            left, right = (self.batch[0], *left), (self.batch[1], *right)
        elif self.op is DenseOp and self.batch[0] > 1:
            left = self.batch[0], *left
        scale = sqrt(max(1, self.depth))
        matrix = (normal(g, self.dtype, *right) / scale).astype(self.dtype)
        a = g.input(normal(g, self.dtype, *left))
        if self.source == "computed":
            a = g.op(NegativeOp(a))
        b = g.constant(matrix) if self.constant else g.input(matrix)
        if issubclass(self.op, DenseOp):
            value = g.op(self.op(a, b))
        else:
            flip_a, flip_b = self.transposed
            value = g.op(self.op(a, b, transpose_a=flip_a, transpose_b=flip_b))
        result = shape_of(value)

        def bias(value: SSAValue) -> SSAValue:
            return g.op(AddOp(value, g.constant(normal(g, self.dtype, self.columns))))

        def residual() -> SSAValue:
            return g.input(normal(g, self.dtype, *result))

        return finished(g, value, self.epilogue, self.dtype, bias, residual)


ROWS = (1, 1, 2, 5, 13, 14, 31, 64)
DEPTHS = (1, 3, 4, 5, 7, 17, 64, 66)
LONG_DEPTHS = (2048, 4100, 1027, 2052, 1024)
"""Those whose rows are pages apart, those that are cut into parts, and one that is neither."""


def draw_product(implementation: str, number: int, rng: Generator) -> Product:
    """A product of each kind, constant or not, in turn; every other one is deep."""
    op: type[DenseOp | MatmulOp | BatchMatmulOp] = turn(number, PRODUCTS)
    transpose_b = op is DenseOp or bool(rng.random() < 0.5)
    if implementation == "dot-products":
        transpose_b = True
    elif implementation == "row-updates":
        transpose_b, op = False, turn(number, (MatmulOp, BatchMatmulOp))
    may_flip = op is not DenseOp and implementation != "panels"
    transpose_a = may_flip and bool(rng.random() < 0.5)
    members = pick(rng, (1, 2, 3)) if op is not MatmulOp else 1
    batch = members, pick(rng, (1, members)) if op is BatchMatmulOp else 1
    if op is BatchMatmulOp and rng.random() < 0.2:
        batch = 1, members
    depth = turn(number // 2, LONG_DEPTHS) if number % 2 else pick(rng, DEPTHS)
    return Product(
        op,
        batch,
        pick(rng, ROWS),
        depth,
        pick(rng, (*CHANNELS, 48, 64, 100)),
        (transpose_a, transpose_b),
        pick(rng, ("parameter", "computed")),
        bool(rng.random() < 0.5),
        turn(number // 2, EPILOGUES),
        pick(rng, ("float32", "float32", "float64")),
    )


def product_case(implementation: str, number: int, rng: Generator) -> Case:
    """A case of a matrix product."""
    product = draw_product(implementation, number, rng)
    return Case(implementation, str(product), direct_bound(product.depth), product.build)


# -- products with matrices of few bits ------------------------------------------------------------


def blocks_case(implementation: str, number: int, rng: Generator) -> Case:
    """
    A product of one to eight rows, or more, with a matrix of each kind in turn; every third one is deep. What is
    computed number by number may have blocks of any size, and what is known when the code runs, with data of 8 bits now
    and then.
    """
    bits = turn(number, (4, 8, 4, 2, 4))
    depth = (
        turn(number // 3, (2048, 1040, 4100))
        if number % 3 == 2
        else pick(rng, (1, 31, 64, 70, 200))
    )
    any_size = implementation == "each-number"
    is_rounded = implementation == "rounded-blocks" or (any_size and number % 2 == 1)
    zero_points = tuple(each for each in ZERO_POINTS if not is_rounded or each != "each f32")
    matrix = Blocks(
        pick(rng, (*CHANNELS, 64, 100)),
        7 if any_size else depth,
        pick(rng, (3, 5, 16)) if any_size else pick(rng, (16, 32, 64, 128, 8192)),
        bits,
        turn(number, zero_points),
        pick(rng, ("float32", "float32", "float16")),
    )
    outer = pick(rng, ((1,), (1,), (3,), (8,), (2, 5), (37,), ()))
    product = BlocksProduct(
        matrix,
        outer,
        pick(rng, ("parameter", "computed")),
        not any_size or bool(rng.random() < 0.5),
        pick(rng, ("nothing", "bias")),
        8 if is_rounded else 32,
    )
    return Case(implementation, str(product), direct_bound(4 * depth), product.build)


# -- attention -------------------------------------------------------------------------------------


def attention_case(number: int, rng: Generator) -> Case:
    """A case of attention, with each mask in turn; now and then with keys in blocks."""
    rows, keys = pick(rng, LENGTHS), pick(rng, LENGTHS)
    depth, width = pick(rng, HEAD_SIZES), pick(rng, HEAD_SIZES)
    mask, layout = turn(number, MASKS), pick(rng, LAYOUTS)
    if layout == "projection":
        keys, width = rows, depth
    if number % 5 == 1:
        rows, keys, depth, width, layout = pick(rng, (1, 5, 70)), LONG, 64, 64, "separate"
    attention = Attention(
        pick(rng, (1, 2)), pick(rng, (1, 3)), rows, keys, depth, width, pick(rng, SCALES), mask,
        layout, pick(rng, ("float32", "float32", "float64")),
    )  # fmt: skip
    sharing = pick(rng, (1, 1, 2, 5))
    if layout != "projection" and sharing > 1:
        attention = replace(attention, heads=attention.heads * sharing, sharing=sharing)
    bound = direct_bound(depth + keys)
    return Case("blocks of rows", str(attention), bound, attention.build)
