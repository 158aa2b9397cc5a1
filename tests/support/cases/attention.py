"""Uses of scaled dot-product attention, as composites that are kernels of their own."""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from graphs import Graph
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import SSAValue

from xrelay.dialects.nn.dense import BatchMatmulOp, MatmulOp
from xrelay.dialects.nn.norm import SoftmaxOp
from xrelay.dialects.tensor.binary import AddOp, DivideOp, EqualOp, MultiplyOp, NotEqualOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.interpreters.arrays import Array

LENGTHS = (1, 5, 64, 127, 197)
HEAD_SIZES = (1, 7, 17, 31, 33, 64)
LONG = 2100
"""So many keys of some size come in blocks on all targets."""
SCALES = ("none", "scores", "divided", "roots")
MASKS = (
    "none",
    "added",
    "causal",
    "chosen",
    "filled",
    "added twice",
    "zeros for NaN",
    "zeros where masked",
)
SHORT = {"bfloat16": bf16, "float16": f16}
LAYOUTS = ("projection", "separate", "matrices", "by columns")


@dataclass(frozen=True)
class Attention:
    """What is drawn for attention."""

    batch: int
    heads: int
    rows: int
    keys: int
    depth: int
    width: int
    scale: str = "scores"
    mask: str = "none"
    layout: str = "separate"
    """
    Heads side by side: in one tensor for queries, keys and values if there are as many rows as keys, or
    in three; or heads as members of a batch, whose keys may be stored by columns.
    """
    dtype: str = "float32"
    short: str = ""
    """What operands of products and the result are rounded to, if to anything."""
    sharing: int = 1
    """So many heads of queries share keys and values: their rows are those of one product."""

    @property
    def own_heads(self) -> int:
        """The heads of keys and values."""
        return self.heads // self.sharing

    def arrays(self, g: Graph) -> tuple[Array, Array, Array]:
        """Queries, keys and values, [batch, length, heads, size]."""
        shapes = (
            (self.rows, self.heads, self.depth),
            (self.keys, self.own_heads, self.depth),
            (self.keys, self.own_heads, self.width),
        )
        queries, keys, values = (g.rng.standard_normal((self.batch, *shape)) for shape in shapes)
        if self.scale == "none":
            queries /= sqrt(self.depth)
        return queries.astype(self.dtype), keys.astype(self.dtype), values.astype(self.dtype)

    def mask_array(self, g: Graph) -> Array | None:
        """The mask, that broadcasts to [batch, heads, rows, keys]; flags for one that chooses."""
        shape = (self.batch, 1, 1, self.keys)
        flags = g.rng.random(shape) < 0.7
        flags[..., 0] = True
        match self.mask:
            case "none":
                return None
            case "added" | "added twice":
                return np.where(flags, 0, -inf).astype(self.dtype)
            case "causal":
                lower = np.tril(np.ones((self.rows, self.keys), bool))
                return np.where(lower, 0, np.finfo(self.dtype).min).astype(self.dtype)
            case "zeros for NaN" | "zeros where masked":
                flags[0] = False
                return np.where(flags, 0, -inf).astype(self.dtype)
            case _:
                return flags

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        return self.build_with(g, *self.arrays(g), self.mask_array(g))

    def build_with(
        self, g: Graph, queries: Array, keys: Array, values: Array, mask: Array | None
    ) -> SSAValue:
        """Adds it to a graph, with given numbers."""
        operands = [queries, keys, values]
        if self.layout in ("matrices", "by columns"):
            operands = [x.swapaxes(1, 2).reshape(-1, x.shape[1], x.shape[3]) for x in operands]
            if self.layout == "by columns":
                operands[1] = operands[1].swapaxes(1, 2)
        elif self.is_projection:
            operands = [np.concatenate(operands, axis=2)]
        if self.layout in ("projection", "separate"):
            operands = [x.reshape(*x.shape[:2], -1) for x in operands]
        if mask is not None:
            operands.append(mask)
        args = [g.input(np.ascontiguousarray(x)) for x in operands]

        def composite(g: Graph, *parameters: SSAValue) -> SSAValue:
            return g.fused(parameters, self.body, composite="attention")

        return g.fused(args, composite)

    @property
    def is_projection(self) -> bool:
        """Whether queries, keys and values are parts of one tensor."""
        is_alike = self.rows == self.keys and self.depth == self.width and self.sharing == 1
        return self.layout == "projection" and is_alike

    def body(self, g: Graph, *args: SSAValue) -> SSAValue:
        """What the composite computes."""
        mask = args[-1] if self.mask != "none" else None
        side_by_side = self.layout in ("projection", "separate")
        queries, keys, values = self.heads_of(g, *args) if side_by_side else args[:3]
        if self.sharing > 1:
            shape = [self.batch * self.own_heads, self.sharing * self.rows, self.depth]
            queries = g.op(ReshapeOp(queries, shape))
        by_columns = self.layout == "by columns"
        single = self.batch * self.heads == 1 and side_by_side
        product = MatmulOp if single else BatchMatmulOp
        if self.scale == "roots":
            root = g.constant(np.array(self.depth**-0.25, self.dtype))
            queries, keys = g.op(MultiplyOp(queries, root)), g.op(MultiplyOp(root, keys))
        if single:
            queries, keys, values = (
                g.op(ReshapeOp(x, shape))
                for x, shape in (
                    (queries, [self.rows, self.depth]),
                    (keys, [self.keys, self.depth]),
                    (values, [self.keys, self.width]),
                )
            )
        queries, keys, values = (self.rounded(g, x) for x in (queries, keys, values))
        options = {"out_dtype": f32} if self.short else {}
        scores = g.op(product(queries, keys, transpose_b=not by_columns, **options))
        if self.scale == "scores":
            scores = g.op(MultiplyOp(g.constant(np.array(self.depth**-0.5, self.dtype)), scores))
        elif self.scale == "divided":
            scores = g.op(DivideOp(scores, g.constant(np.array(self.depth**0.5, self.dtype))))
        weights = self.weights(g, scores, mask)
        if mask is not None:
            shape = [self.sharing * self.rows, self.keys]
            members = [] if single else [self.batch * self.own_heads]
            weights = g.op(ReshapeOp(weights, [*members, *shape]))
        result = g.op(product(self.rounded(g, weights), values, **options))
        if not side_by_side:
            return result
        result = self.rounded(g, result)
        result = g.op(ReshapeOp(result, [self.batch, self.heads, self.rows, self.width]))
        result = g.op(TransposeOp(result, [0, 2, 1, 3]))
        return g.op(ReshapeOp(result, [self.batch * self.rows, self.heads * self.width]))

    def rounded(self, g: Graph, value: SSAValue) -> SSAValue:
        """A value with fewer bits, where that is asked for."""
        return g.op(CastOp(value, SHORT[self.short])) if self.short else value

    def weights(self, g: Graph, scores: SSAValue, mask: SSAValue | None) -> SSAValue:
        """The softmax of masked scores."""
        if mask is None:
            return g.op(SoftmaxOp(scores))
        scores = g.op(ReshapeOp(scores, [self.batch, self.heads, self.rows, self.keys]))
        low = g.constant(np.array(np.finfo(self.dtype).min, self.dtype))
        match self.mask:
            case "chosen":
                scores = g.op(WhereOp(mask, scores, low))
            case "filled":
                scores = g.op(WhereOp(mask, low, scores))
            case "added twice":
                scores = g.op(AddOp(mask, g.op(AddOp(scores, mask))))
            case _:
                scores = g.op(AddOp(scores, mask))
        weights = g.op(SoftmaxOp(scores))
        if self.mask == "zeros for NaN":
            zero = g.constant(np.array(0, self.dtype))
            weights = g.op(WhereOp(g.op(NotEqualOp(weights, weights)), zero, weights))
        if self.mask == "zeros where masked":
            zero, lowest = (g.constant(np.array(each, self.dtype)) for each in (0, -inf))
            first = g.op(StridedSliceOp(mask, [0], [1], axes=[3]))
            weights = g.op(WhereOp(g.op(EqualOp(first, lowest)), zero, weights))
        return weights

    def heads_of(self, g: Graph, *args: SSAValue) -> list[SSAValue]:
        """Queries, keys and values as batches of matrices."""
        lengths, size = (self.rows, self.keys, self.keys), self.heads * self.depth
        sizes = (self.depth, self.depth, self.width)
        if self.is_projection:
            parts = [
                g.op(StridedSliceOp(args[0], [i * size], [(i + 1) * size], axes=[2]))
                for i in range(3)
            ]
        else:
            parts = list(args[:3])
        result: list[SSAValue] = []
        heads = (self.heads, self.own_heads, self.own_heads)
        for part, count, length, own in zip(parts, heads, lengths, sizes, strict=True):
            split = g.op(ReshapeOp(part, [self.batch, length, count, own]))
            moved = g.op(TransposeOp(split, [0, 2, 1, 3]))
            result.append(g.op(ReshapeOp(moved, [self.batch * count, length, own])))
        return result
