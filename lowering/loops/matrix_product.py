"""The sizes of matrix products, and how they become steps of a dot product."""

from collections.abc import Container
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.lengths import certainly, is_open, likely
from xrelay.dialects.nn.dense import DenseOp, MatrixProductOp
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.strategy import Site
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import Dot, Operands, dot_of
from xrelay.lowering.loops.micro_kernel import UNROLLED_STEPS
from xrelay.lowering.loops.tiling import (
    Tiling,
    choose_tiling,
    converts_ahead,
    depth_parts,
    most_vectors,
)

PAGE_BYTES = 4096
FEW_ROWS = 4


@dataclass(frozen=True)
class Product:
    """[batch, rows, depth] times [batch or 1, depth, columns]."""

    left: SSAValue
    right: SSAValue
    batch: int
    rows: int
    depth: int
    columns: int
    left_batch: int
    right_batch: int
    by_rows: bool
    """Whether the right operand is stored as [depth, columns], not as [columns, depth]."""
    transpose_left: bool
    kind: Element
    """Of the result."""
    out_shape: tuple[int, ...]
    open_rows: bool = False
    """Whether it is not known before the program runs how many there are."""
    open_depth: bool = False
    """The same of the depth."""

    @staticmethod
    def at(site: Site) -> "Product":
        """The sizes at a site of likely lengths, for choices, and which of them are open."""
        actual = Product.of(site.actual)
        product = Product.of(site.op)
        return replace(product, open_rows=actual.open_rows, open_depth=actual.open_depth)

    @staticmethod
    def of(op: Operation) -> "Product":
        """The sizes of an operator."""
        kind, result = element_of(op.results[0]), shape_of(op.results[0])
        if isinstance(op, DenseOp):
            *outer, depth = shape_of(op.data)
            columns = shape_of(op.weight)[0]
            rows = prod(outer)
            return Product(
                op.data, op.weight, 1, rows, depth, columns, 1, 1, False, False, kind, result,
                is_open(rows), is_open(depth),
            )  # fmt: skip
        assert isinstance(op, MatrixProductOp)
        *outer, rows, columns = shape_of(op.result)
        left, right = shape_of(op.tensor_a), shape_of(op.tensor_b)
        transpose_left = bool(op.transpose_a.value.data)
        depth = left[-2 if transpose_left else -1]
        return Product(
            op.tensor_a,
            op.tensor_b,
            prod(outer),
            rows,
            depth,
            columns,
            prod(left[:-2]),
            prod(right[:-2]),
            not op.transpose_b.value.data,
            transpose_left,
            kind,
            result,
            is_open(rows),
            is_open(depth),
        )

    @property
    def likely(self) -> "Product":
        """The product at likely lengths."""
        sizes = (self.batch, self.rows, self.depth, self.columns)
        batch, rows, depth, columns = map(likely, sizes)
        return replace(self, batch=batch, rows=rows, depth=depth, columns=columns)

    def dot(self, target: Target) -> Dot | None:
        """How its products are summed; None where only general code does so."""
        return dot_of(target, element_of(self.left), element_of(self.right), self.kind)

    @property
    def rows_collide(self) -> bool:
        """Whether a column of the left operand falls into one set of the first-level cache."""
        return likely(self.depth) * element_of(self.left).bytes % PAGE_BYTES == 0


@dataclass(frozen=True)
class ProductPlan:
    """A product whose right operand lies in panels, and how its operands are read."""

    product: Product
    target: Target
    dot: Operands

    @property
    def lanes(self) -> int:
        """Columns in a vector of sums."""
        return self.target.lanes(self.dot.total.bytes)

    @property
    def vectors(self) -> int:
        """Vectors of columns."""
        return blocks(self.product.columns, self.lanes)

    @property
    def steps(self) -> int:
        """How many steps the depth takes."""
        return self.dot.steps(self.product.depth)

    @property
    def lies_in_panels(self) -> bool:
        """Whether the rows of the right operand are whole vectors."""
        product = self.product
        whole = certainly(product.columns % self.lanes, 0)
        return product.by_rows and self.dot.group == 1 and whole

    @property
    def left_is_ready(self) -> bool:
        """Whether the rows of the left operand are whole groups of the elements that steps take."""
        return element_of(self.product.left) == self.dot.image and certainly(
            self.product.depth % (self.dot.group * self.dot.together), 0
        )


@dataclass(frozen=True)
class PanelPlan(ProductPlan):
    """A product as steps of a dot product."""

    dot: Dot

    @staticmethod
    def of(product: Product, target: Target) -> "PanelPlan":
        """That of a product which is not refused."""
        dot = product.dot(target)
        assert dot is not None
        return PanelPlan(product, target, dot)

    def computed(self, constants: Container[SSAValue], threads: int) -> "PanelPlan":
        """How tiles compute it: where there are many, constant weights are converted before them."""
        if self.dot.ahead == self.dot or self.product.right not in constants:
            return self
        plan = replace(self, dot=self.dot.ahead)
        tiling = plan.tiling
        tiles = blocks(likely(self.product.rows), tiling.positions)
        panels = self.product.batch * blocks(likely(self.vectors), tiling.vectors)
        panel_bytes = (
            plan.steps // plan.depth_parts * tiling.vectors * plan.dot.step_bytes(self.target)
        )
        pays = converts_ahead(self.target, threads, tiles, panels, panel_bytes)
        return plan if pays else self

    @property
    def depth_parts(self) -> int:
        """Into how many parts the depth is cut."""
        if self.product.open_depth:
            return 1
        rounds, rest = divmod(self.steps, UNROLLED_STEPS)
        # Few rows use the weights only once anyway.
        whole = rest != 0 or likely(self.product.rows) <= FEW_ROWS
        return 1 if whole else depth_parts(self.target, self.steps, rounds, self.dot)

    @property
    def tiling(self) -> Tiling:
        """How the result is cut."""
        target, rows = self.target, likely(self.product.rows)
        # A set has as many ways as there are pages in the cache.
        collide = self.left_is_ready and self.product.rows_collide
        ways = target.l1_bytes // PAGE_BYTES if collide else None
        steps = likely(self.steps)
        vectors = likely(self.vectors)
        weight_bytes = steps * vectors * self.dot.step_bytes(target)
        widest = most_vectors(target, rows, weight_bytes)
        return choose_tiling(
            target, 1, rows, vectors, steps // self.depth_parts, widest, ways, dot=self.dot,
            is_open=self.product.open_rows,
        )  # fmt: skip
