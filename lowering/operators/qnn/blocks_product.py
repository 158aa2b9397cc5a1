"""Products with a matrix of a few bits a number in blocks: their sizes, and who can compute them."""

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerType, Signedness, i8
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.format import Spacing
from xrelay.lowering.emit.packing import BitPanels, MatrixPanels, Packing, blocks
from xrelay.lowering.emit.strategy import Site, unless
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import SINGLE as SINGLE_DOT
from xrelay.lowering.loops.dots import Dot, dot_of
from xrelay.lowering.loops.few_bits import (
    SINGLE,
    WORD,
    WORD_BYTES,
    BlockPanels,
    FloatPanels,
    IntegerPanels,
    Numbers,
    Parameter,
    unpacking_work,
)
from xrelay.lowering.loops.matrix_panels import row_spacing
from xrelay.lowering.loops.matrix_product import PanelPlan, Product
from xrelay.lowering.loops.tiling import MULTIPLY_ADDS_PER_CYCLE, depth_parts

SIGNED_BYTE = element(i8)
UNSIGNED_BYTE = element(IntegerType(8, Signedness.UNSIGNED))
STARTED_PER_CYCLE = 2.5
"""Instructions on vectors of all kinds."""


@dataclass(frozen=True)
class BlocksProduct:
    """[rows, depth] times the transpose of a matrix [columns, depth] in blocks."""

    op: QnnDenseBlocksOp
    target: Target
    rows: int
    depth: int
    columns: int

    @staticmethod
    def of(op: Operation, target: Target) -> "BlocksProduct":
        """The sizes of an operator."""
        assert isinstance(op, QnnDenseBlocksOp)
        *outer, depth = shape_of(op.data)
        return BlocksProduct(op, target, prod(outer), depth, shape_of(op.weight)[0])

    @property
    def is_empty(self) -> bool:
        """Whether there is no result."""
        return 0 in (self.rows, self.columns)

    @property
    def lanes(self) -> int:
        """Columns of a vector."""
        return self.target.lanes(SINGLE.bytes)

    @property
    def vectors(self) -> int:
        """Vectors of columns."""
        return blocks(self.columns, self.lanes)

    @property
    def size(self) -> int:
        """The numbers of a block."""
        return max(1, min(self.op.size, self.depth))

    @property
    def group(self) -> int:
        """The numbers of a word."""
        return WORD.bits // self.op.width

    @property
    def blocks(self) -> int:
        """The blocks of a row."""
        return blocks(self.depth, self.size)

    @property
    def steps(self) -> int:
        """The words of a row."""
        return blocks(self.depth, self.group)

    @property
    def packed_bytes(self) -> int:
        """What the weights take, without scales."""
        return self.steps * self.vectors * self.lanes * WORD_BYTES

    @property
    def has_many_zero_points(self) -> bool:
        """Whether each block has a zero point."""
        return bool(shape_of(self.op.weight_zero_point))

    @property
    def plan(self) -> PanelPlan:
        """The same as a product of f32."""
        op, out_shape = self.op, shape_of(self.op.result)
        sizes = 1, self.rows, self.depth, self.columns, 1, 1
        product = Product(op.data, op.weight, *sizes, False, False, SINGLE, out_shape)
        return PanelPlan(product, self.target, SINGLE_DOT)

    @property
    def parts(self) -> int:
        """Into how many parts of whole blocks the depth is cut, so that unpacked panels stay near."""
        if self.depth % self.size:
            return 1
        return depth_parts(self.target, self.depth, self.depth // self.size)

    def cycles(self, rows: int, others: float) -> float:
        """To unpack all weights once, with so many products and other instructions for each vector of numbers."""
        many = self.has_many_zero_points
        work = unpacking_work(self.target, self.op.width, many_zero_points=many)
        # Multiply-adds have units of their own, beside those that unpack.
        busy = max(rows / MULTIPLY_ADDS_PER_CYCLE, (rows + others + work) / STARTED_PER_CYCLE)
        return self.vectors * self.depth * busy

    def with_arrival(self, seconds: float) -> float:
        """Seconds for the arithmetic, or those in which the weights arrive from memory."""
        if self.packed_bytes > self.target.l2_bytes:
            return max(seconds, self.packed_bytes / self.target.memory_bandwidth)
        return seconds

    @property
    def integer_dot(self) -> Dot:
        """How data of 8 bits are multiplied and summed."""
        dot = dot_of(self.target, SIGNED_BYTE, UNSIGNED_BYTE, WORD)
        assert dot is not None
        return dot

    def float_panels(self, ctx: KernelContext, width: int) -> FloatPanels:
        """The weights in panels of `width` columns, to be read as f32."""
        kind = element_of(self.op.weight_zero_point)
        numbers = Numbers.of(ctx.b, self.op.width, self.common_zero_point(ctx), kind)
        packing = MatrixPanels(width, by_rows=False, group=WORD_BYTES)
        return FloatPanels(**vars(self._panels(ctx, width, packing)), numbers=numbers)

    def integer_panels(self, ctx: KernelContext, width: int) -> IntegerPanels:
        """The same as weights of a dot product of integers."""
        dot = self.integer_dot
        packing = BitPanels(width, self.op.width, dot.group)
        return IntegerPanels(**vars(self._panels(ctx, width, packing)), dot=dot)

    def common_zero_point(self, ctx: KernelContext) -> SSAValue | None:
        """The one that all have, at the top of the kernel."""
        if self.has_many_zero_points:
            return None
        with ctx.b.inside(ctx.b.entry):
            return ctx.scalar(self.op.weight_zero_point)

    def _panels(self, ctx: KernelContext, width: int, packing: Packing) -> BlockPanels:
        op = self.op

        def parameter(value: SSAValue) -> Parameter:
            place = ctx.packed(value, MatrixPanels(width, by_rows=False))
            return Parameter(place, element_of(value), width, self.blocks)

        return BlockPanels(
            ctx.b,
            ctx.packed(op.weight, packing),
            bits=op.width,
            width=width,
            steps=self.steps,
            size=self.size,
            scales=parameter(op.weight_scale),
            zero_points=parameter(op.weight_zero_point) if self.has_many_zero_points else None,
        )


def refusal(site: Site, *, rounds_data: bool = False) -> str | None:
    """Why packed weights cannot be read, or there are none, or the data are of another type."""
    product = BlocksProduct.of(site.op, site.target)
    op = product.op
    if op.rounds_data != rounds_data:
        return f"data that are {'' if op.rounds_data else 'not '}rounded to 8 bits"
    operands = [op.weight, op.weight_scale]
    if product.has_many_zero_points:
        operands.append(op.weight_zero_point)
    known = all(each in site.constants for each in operands)
    whole = op.has_whole_words(product.depth)
    if not product.depth:
        return "rows without elements"
    return unless(known, "weights that are computed, or used twice") or unless(
        whole, f"blocks of {product.size}, words of 32 bits have {product.group} numbers"
    )


def spacing(site: Site) -> Spacing:
    """The gap between rows of the data."""
    return row_spacing(BlocksProduct.of(site.op, site.target).plan.product)
