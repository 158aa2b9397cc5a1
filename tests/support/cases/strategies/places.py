"""Random transposes, first elements of rows, and images in other sizes."""

from dataclasses import dataclass
from math import prod

import numpy as np
from graphs import Graph
from numpy.random import Generator
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from cases.strategies.case import EPILOGUES, Case, finished, pick, turn
from xrelay.dialects.image.resize import CROPPING, MODES, Resize1DOp, Resize2DOp, Resize3DOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.interpreters.arrays import Array
from xrelay.lowering.emit.evaluate import shape_of

RESIZES = (Resize1DOp, Resize2DOp, Resize3DOp)


# -- transposes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transposition:
    """What is drawn for a transpose."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: str
    source: str
    """Whether the operand is a parameter, a part of one in another shape, or computed."""
    epilogue: str
    reshaped: str
    """Whether a reshape comes before or after the epilogue."""

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        value = g.op(TransposeOp(self.operand(g), self.axes))
        if self.reshaped == "before":
            first, *rest = shape_of(value)
            value = g.op(ReshapeOp(value, [first * rest[0], *rest[1:]]))
        shape = shape_of(value)

        def bias(value: SSAValue) -> SSAValue:
            return g.op(AddOp(value, g.constant(self.numbers(g, shape[-1]))))

        def residual() -> SSAValue:
            return g.input(self.numbers(g, *shape))

        value = finished(g, value, self.epilogue, self.dtype, bias, residual)
        if self.reshaped == "after":
            *rest, penultimate, last = shape_of(value)
            value = g.op(ReshapeOp(value, [*rest, penultimate * last]))
        return value

    def operand(self, g: Graph) -> SSAValue:
        """What is transposed."""
        *before, last = self.shape
        if self.source == "part":
            wide = g.input(self.numbers(g, before[0], prod(before[1:]) * last + 5))
            part = g.op(StridedSliceOp(wide, [3], [prod(before[1:]) * last + 3], axes=[1]))
            return g.op(ReshapeOp(part, self.shape))
        value = g.input(self.numbers(g, *self.shape))
        if self.source == "computed":
            value = g.op(MultiplyOp(value, g.input(self.numbers(g, last))))
        return value

    def numbers(self, g: Graph, *shape: int) -> Array:
        """Small numbers, whose products and sums are exact."""
        return g.small(self.dtype, *shape)


def draw_transposition(implementation: str, number: int, rng: Generator) -> Transposition:
    """A transpose that puts another axis last, of elements of every size in turn."""
    few, many = pick(rng, (2, 3, 4)), pick(rng, ((16,), (70,), (5, 7), (4, 16), (3, 1, 31)))
    if implementation in ("interleaved vectors", "separated vectors"):
        # The few elements stand before the others in the operand, or in the result.
        shape, axes = [few, *many], [*range(1, len(many) + 1), 0]
        if implementation == "separated vectors":
            shape, axes = [*many, few], [len(many), *range(len(many))]
        for length in (2, 3)[: pick(rng, (0, 1, 2))]:
            shape, axes = [length, *shape], [0, *(axis + 1 for axis in axes)]
    else:
        rank = pick(rng, (2, 3, 3, 4, 4))
        axes = [rank - 1]
        while axes[-1] == rank - 1:
            axes = [int(axis) for axis in rng.permutation(rank)]
        shape = [pick(rng, (1, 2, 3, 5)) for _ in range(rank)]
        shape[-1] = pick(rng, (16, 17, 31, 32, 64, 5))
        shape[axes[-1]] = pick(rng, (16, 18, 23, 48, 64, 7))
    dtype = turn(number, ("float32", "float64", "int8", "float32", "float16", "int32", "int64"))
    return Transposition(
        tuple(shape),
        tuple(axes),
        dtype,
        pick(rng, ("parameter", "part", "computed")),
        turn(number // 2, EPILOGUES) if dtype == "float32" else "nothing",
        pick(rng, ("no", "before", "after")),
    )


def transposition_case(implementation: str, number: int, rng: Generator) -> Case:
    """A case of a transpose."""
    drawn = draw_transposition(implementation, number, rng)
    return Case(implementation, str(drawn), 2e-6, drawn.build)


# -- first elements --------------------------------------------------------------------------------


@dataclass(frozen=True)
class First:
    """What is drawn for the first elements of rows."""

    shape: tuple[int, ...]
    axis: int
    count: int
    ascending: bool
    result: str
    order: str
    """Of the elements: any, with many equal ones, or already one way or the other."""
    dtype: str

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        data = g.numbers(self.dtype, *self.shape)
        if self.order == "equal":
            data = np.asarray(g.rng.choice(g.numbers(self.dtype, 5), self.shape))
        elif self.order != "any":
            data = np.sort(data, self.axis)
            data = np.flip(data, self.axis) if self.order == "down" else data
        op = TopkOp(
            g.input(np.ascontiguousarray(data)),
            self.count,
            axis=self.axis,
            is_ascend=self.ascending,
            ret_type=self.result,
            dtype=i64,
        )
        return g.op(op)


def first_case(implementation: str, number: int, rng: Generator) -> Case:
    """
    A case of the first elements, indices and values in turn: of rows that fill the list of
    candidates never, once, and often.
    """
    length, count = turn(number, ((10, 3), (1500, 150), (33, 33), (3000, 40), (515, 1)))
    rows, is_last = pick(rng, (1, 3)), bool(rng.random() < 0.7)
    first = First(
        (rows, length) if is_last else (length, rows),
        1 if is_last else 0,
        count,
        bool(rng.random() < 0.5),
        turn(number, ("indices", "values", "indices")),
        pick(rng, ("any", "equal", "up", "down")),
        turn(number // 2, ("float32", "int64", "float16", "uint8", "float64", "int32")),
    )
    return Case(implementation, str(first), 0.0, first.build)


# -- images in other sizes -------------------------------------------------------------------------


@dataclass(frozen=True)
class Resize:
    """What is drawn for an image in another size."""

    op: type[Resize1DOp | Resize2DOp | Resize3DOp]
    layout: str
    shape: tuple[int, ...]
    size: tuple[int, ...]
    method: str
    mode: str
    dtype: str
    epilogue: str

    def build(self, g: Graph) -> SSAValue:
        """Adds it to a graph."""
        value = g.op(
            self.op(
                g.input(g.small(self.dtype, *self.shape)),
                self.size,
                layout=self.layout,
                method=self.method,
                coordinate_transformation_mode=self.mode,
            )
        )
        return g.op(ReluOp(value)) if self.epilogue == "relu" else value


def resize_case(implementation: str, number: int, rng: Generator) -> Case:
    """Any image, larger, smaller, and of one element along axes, with each method in turn."""
    op: type[Resize1DOp | Resize2DOp | Resize3DOp] = turn(number, RESIZES)
    axes = "DHW"[2 - number % 3 :]
    layout = pick(rng, (f"NC{axes}", f"N{axes[:-1]}C{axes[-1]}"))
    length = {"N": pick(rng, (1, 2)), "C": pick(rng, (1, 3))}
    lengths = {axis: length.get(axis) or pick(rng, (1, 2, 5, 9, 20)) for axis in layout}
    resize = Resize(
        op,
        layout,
        tuple(lengths[axis] for axis in layout),
        tuple(pick(rng, (1, 3, 8, 17, 33)) for _ in axes),
        turn(number // 2, ("linear", "cubic", "nearest_neighbor")),
        pick(rng, [mode for mode in MODES if mode != CROPPING]),
        pick(rng, ("float32", "float32", "float16", "float64", "uint8", "int32")),
        pick(rng, ("nothing", "relu")),
    )
    return Case(implementation, str(resize), 0.0, resize.build)
