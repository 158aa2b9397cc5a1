"""
Random programs about the attributes of operators: what passes look for stands in them in many variants, of all dtypes.

    images     convolutions, pads, pools and normalisations in several layouts, with groups, strides, dilations and
               uneven padding; scales and shifts along all axes behind and before them
    matrices   products with transposed operands, on shared data, between reshapes, transposes and softmax
    elements   arithmetic with numbers that pass values on, casts, clips and moves of elements, of any dtype

An operator that the types or lengths do not allow is left out.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from guards.passes import GuardGraph
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv import conv
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.core.references import RefCreateOp, RefReadOp
from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.nn import dense, norm, space
from xrelay.dialects.nn.loss import CrossEntropyOp
from xrelay.dialects.nn.norm import L2NormalizeOp
from xrelay.dialects.nn.upsampling import UpsamplingOp
from xrelay.dialects.pool import pool
from xrelay.dialects.tensor import binary, indexing, transform, unary
from xrelay.dialects.tensor import reduce as reduction
from xrelay.dialects.tensor.creation import FullOp, OnesLikeOp, ZerosLikeOp
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp, ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.interpreters.arrays import element_type_of
from xrelay.interpreters.numerics import is_float, lowest

DTYPES = (
    *("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool"),
    *("int16", "uint16", "uint32", "uint64"),
)
THEMES = ("images", "matrices", "elements")
MOST_ELEMENTS = 1500


class AttributeProgram(GuardGraph):
    """A program under construction, with a stock of values to go on from."""

    least = 1
    """The fewest elements of a value."""

    def __init__(self, seed: int, dtype: str):
        super().__init__(seed)
        self.dtype = np.dtype(dtype)
        self.floating = is_float(self.dtype)
        self.values: list[SSAValue] = []

    def one_of(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def likely(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def recent(self) -> SSAValue:
        return self.values[-self.number(1, min(3, len(self.values)))]

    def operand(self, *shape: int) -> SSAValue:
        """Weights and others: mostly constants, sometimes parameters."""
        if self.likely(0.2):
            return self.x(*shape, dtype=self.dtype)
        if self.floating and self.likely(0.4):
            return self.positive(*shape, dtype=self.dtype)
        return self.w(*shape, dtype=self.dtype)

    def scalar(self) -> SSAValue:
        number = self.one_of(0, 1, 2, 3, 4, 8, *((-1, 0.5, -0.0, 0.1) if self.floating else (5, 7)))
        return self.c(number, self.dtype)

    def attempt(
        self, build: Callable[..., Operation], *args: Any, **options: Any
    ) -> SSAValue | None:
        """The result of an operator, None when its operands or attributes are wrong for it."""
        try:
            op = build(*args, **options)
            op.verify()
        except VerifyException:
            return None
        if isinstance(op, RelayOp) and op.undefined() is not None:
            return None
        type_ = op.results[0].type
        count = np.prod(type_.get_shape()) if hasattr(type_, "get_shape") else self.least
        if not self.least <= count <= MOST_ELEMENTS:
            return None
        return self.op(op)

    def grow(self, steps: Sequence[Callable[[SSAValue], SSAValue | None]], size: int) -> None:
        """Takes random steps from recent values."""
        for _ in range(size):
            value = self.one_of(*steps)(self.recent())
            if value is not None:
                self.values.append(value)

    def finish(self) -> None:
        """Returns the last value and another one."""
        for value in dict.fromkeys((self.values[-1], self.one_of(*self.values))):
            self.returns(value)

    # -- steps of all themes ------------------------------------------------------------------

    def along(self, x: SSAValue) -> SSAValue:
        """An operand that broadcasts to `x`: a number, or what differs along some of its axes."""
        shape = x.type.get_shape()
        if not shape or self.likely(0.25):
            return self.scalar()
        kept = {self.number(0, len(shape) - 1)} if self.likely(0.8) else set(range(len(shape)))
        wanted = [n if axis in kept else 1 for axis, n in enumerate(shape)]
        return self.operand(*wanted[min(kept) if self.likely(0.5) else 0 :])

    def scaled(self, x: SSAValue) -> SSAValue | None:
        pair = (x, self.along(x))
        return self.attempt(lambda: binary.MultiplyOp(*pair[:: self.one_of(1, -1)]))

    def shifted(self, x: SSAValue) -> SSAValue | None:
        kind = self.one_of(binary.AddOp, binary.AddOp, binary.SubtractOp)
        pair = (x, self.along(x))
        return self.attempt(lambda: kind(*pair[:: self.one_of(1, 1, -1)]))

    def biased(self, x: SSAValue) -> SSAValue | None:
        shape = x.type.get_shape()
        if not shape:
            return None
        axis = self.number(-len(shape), len(shape) - 1)
        return self.attempt(lambda: norm.BiasAddOp(x, self.operand(shape[axis]), axis=axis))

    def activated(self, x: SSAValue) -> SSAValue | None:
        kind = self.one_of(unary.ReluOp, unary.ReluOp, unary.TanhOp, unary.SigmoidOp, unary.AbsOp)
        if self.likely(0.2):
            return self.attempt(lambda: unary.LeakyReluOp(x, 0.25))
        return self.attempt(lambda: kind(x))

    def affine(self, x: SSAValue) -> SSAValue | None:
        """A scale, a shift and an activation."""
        scaled = self.scaled(x) if self.likely(0.7) else x
        shifted = scaled and self.shifted(scaled)
        return shifted and (self.attempt(unary.ReluOp, shifted) or shifted)

    def joined(self, x: SSAValue) -> SSAValue | None:
        """A sum, product or difference with another value of the type."""
        same = [value for value in self.values if value.type == x.type]
        kind = self.one_of(binary.AddOp, binary.MultiplyOp, binary.SubtractOp, binary.MaximumOp)
        return self.attempt(lambda: kind(x, self.one_of(*same)))

    def reshaped(self, x: SSAValue) -> SSAValue | None:
        shape = list(x.type.get_shape())
        match self.number(0, 5):
            case 0 if len(shape) > 1:
                axis = self.number(0, len(shape) - 2)
                shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
                return self.attempt(lambda: ReshapeOp(x, shape))
            case 1 | 2 if any(n in (4, 6, 8) for n in shape):
                axis = next(i for i, n in enumerate(shape) if n in (4, 6, 8))
                shape[axis : axis + 1] = [2, shape[axis] // 2][:: self.one_of(1, -1)]
                return self.attempt(lambda: ReshapeOp(x, shape))
            case 3:
                return self.attempt(lambda: ExpandDimsOp(x, self.number(0, len(shape))))
            case 4:
                return self.attempt(lambda: SqueezeOp(x))
            case _:
                return self.attempt(lambda: BatchFlattenOp(x))

    def transposed(self, x: SSAValue) -> SSAValue | None:
        rank = len(x.type.get_shape())
        return self.attempt(lambda: transform.TransposeOp(x, self.rng.permutation(rank).tolist()))

    def sliced(self, x: SSAValue) -> SSAValue | None:
        shape = x.type.get_shape()
        if not shape or 0 in shape:
            return None
        axis = self.number(0, len(shape) - 1)
        if self.likely(0.3):
            index = self.c(self.number(0, shape[axis] - 1), "int64")
            return self.attempt(lambda: indexing.TakeOp(x, index, axis=axis))
        begin, step = self.number(0, 1), self.one_of(1, 1, 2)
        return self.attempt(
            lambda: transform.StridedSliceOp(x, [begin], [shape[axis]], [step], axes=[axis])
        )

    def parts(self, x: SSAValue) -> SSAValue | None:
        """A part of a tuple: of a split, or of values packed together."""
        shape = x.type.get_shape()
        axis = self.number(0, max(len(shape) - 1, 0))
        if self.likely(0.5):
            both = self.op(TupleOp([x, self.recent()]))
        else:
            both = self.attempt(lambda: transform.SplitOp(x, 2, axis=axis))
        return None if both is None else self.op(TupleGetItemOp(both, self.number(0, 1)))

    def concatenated(self, x: SSAValue) -> SSAValue | None:
        fields = self.op(TupleOp([x, self.recent()]))
        axis = self.number(0, max(len(x.type.get_shape()) - 1, 0))
        return self.attempt(lambda: transform.ConcatenateOp(fields, axis=axis))

    def repeated(self, x: SSAValue) -> SSAValue | None:
        """What was computed before, and something that nothing uses."""
        op = x.owner
        self.attempt(lambda: unary.NegativeOp(x))
        return self.op(op.clone()) if isinstance(op, Operation) else None

    def named(self, x: SSAValue) -> SSAValue | None:
        """A value that is bound to a name, or lies in a cell."""
        if self.likely(0.5):
            return self.op(LetOp(x))
        return self.op(RefReadOp(self.op(RefCreateOp(x))))

    def normalised(self, x: SSAValue) -> SSAValue | None:
        shape = x.type.get_shape()
        if not shape:
            return None
        axis = self.number(-len(shape), len(shape) - 1)
        vectors = [self.operand(shape[axis]) for _ in range(3)]
        options: dict[str, Any] = {"axis": axis, "epsilon": 0.1, "scale": self.likely(0.8)}
        match self.number(0, 4):
            case 0 | 1:
                positive = self.positive(shape[axis], dtype=self.dtype)
                result = self.attempt(lambda: norm.BatchNormOp(x, *vectors, positive, **options))
                return None if result is None else self.op(TupleGetItemOp(result, 0))
            case 2:
                return self.attempt(lambda: norm.LayerNormOp(x, *vectors[:2], **options))
            case 3:
                return self.attempt(lambda: norm.InstanceNormOp(x, *vectors[:2], **options))
            case _:
                return self.attempt(
                    lambda: norm.GroupNormOp(x, *vectors[:2], num_groups=2, **options)
                )

    # -- images -------------------------------------------------------------------------------

    def convolved(self, x: SSAValue) -> SSAValue | None:
        """A convolution, or two or three with the same data and mostly the same attributes."""
        shape = x.type.get_shape()
        if len(shape) != 4:
            return None
        plain = self.likely(0.5)
        layout = "NCHW" if plain else self.one_of("NCHW", "NHWC")
        kernels = "OIHW" if plain else self.one_of("OIHW", "HWIO")
        channels = shape[layout.index("C")]
        groups = self.one_of(1, 1, 1, 2, channels)
        options: dict[str, Any] = {
            "strides": [self.one_of(1, 1, 2), self.one_of(1, 1, 2)],
            "padding": self.one_of([0, 0], [1, 1], [1, 0, 2, 1]),
            "dilation": [self.one_of(1, 1, 2), 1],
            "groups": groups,
            "data_layout": layout,
            "kernel_layout": kernels,
            "out_layout": "" if plain else self.one_of("", "NCHW", "NHWC"),
        }
        taps, steps = (
            (self.number(1, 3), self.number(1, 3)),
            self.one_of((), (self.activated,), (self.affine,)),
        )
        results: list[SSAValue] = []
        for _ in range(self.one_of(1, 2, 2, 3)):
            sizes = {
                "O": self.one_of(4, 4, 8, 2),
                "I": channels // groups,
                "H": taps[0],
                "W": taps[1],
            }
            weight = self.operand(*(sizes[name] for name in kernels))
            result = self.attempt(conv.Conv2DOp, x, weight, **options)
            for step in steps:
                result = None if result is None else step(result)
            results.extend([] if result is None else [result])
            if self.likely(0.3):
                options["strides"] = [1, 1]
        self.values.extend(results[1:])
        return results[0] if results else None

    def transposed_convolution(self, x: SSAValue) -> SSAValue | None:
        shape = x.type.get_shape()
        if len(shape) != 4:
            return None
        weight = self.operand(shape[1], 3, self.number(1, 3), self.number(1, 3))
        strides = [self.number(1, 3), self.number(1, 2)]
        return self.attempt(
            lambda: conv.Conv2DTransposeOp(
                x, weight, strides=strides, padding=[self.number(0, 1), 0], kernel_layout="IOHW"
            )
        )

    def padded(self, x: SSAValue) -> SSAValue | None:
        """A pad, and often what could take it in."""
        shape = x.type.get_shape()
        if len(shape) != 4:
            return None
        low = lowest(self.dtype) if self.dtype.kind != "b" else 0
        value = self.c(self.one_of(0, 0, low, 1), self.dtype)
        widths = [(0, 0), (0, 0), (1, 1), (self.number(-1, 2), 1)]
        if self.likely(0.3):
            widths = [(0, 0), (1, 1), (1, 0), (0, 0)]
        mode = self.one_of("constant", "constant", "constant", "edge")
        result = self.attempt(lambda: space.PadOp(x, value, widths, pad_mode=mode))
        follow = self.one_of(self.pooled, self.convolved)
        return follow(result) or result if result is not None else None

    def pooled(self, x: SSAValue) -> SSAValue | None:
        layout = "NCHW" if self.likely(0.75) else "NHWC"
        if self.likely(0.15):
            whole = self.one_of(pool.GlobalAvgPool2DOp, pool.GlobalMaxPool2DOp)
            return self.attempt(lambda: whole(x, layout))
        kind = self.one_of(pool.MaxPool2DOp, pool.AvgPool2DOp)
        options: dict[str, Any] = {
            "strides": [self.one_of(1, 2), 1],
            "padding": self.one_of([0, 0], [0, 0], [1, 0, 0, 1]),
            "ceil_mode": self.likely(0.2),
            "layout": layout,
        }
        if kind is pool.AvgPool2DOp:
            options["count_include_pad"] = self.likely(0.5)
        return self.attempt(lambda: kind(x, [2, self.number(1, 3)], **options))

    def relaid(self, x: SSAValue) -> SSAValue | None:
        source, target = self.one_of(("NCHW", "NHWC"), ("NHWC", "NCHW"), ("NCHW", "NCHW2c"))
        return self.attempt(lambda: LayoutTransformOp(x, source, target))

    def averaged(self, x: SSAValue) -> SSAValue | None:
        axes = self.one_of([2, 3], [1, 2], [1])
        return self.attempt(lambda: reduction.MeanOp(x, axes, keepdims=self.likely(0.7)))

    def rarely(self, x: SSAValue) -> SSAValue | None:
        """Operators without kernels of their own."""
        match self.number(0, 2):
            case 0:
                return self.attempt(lambda: L2NormalizeOp(x, 0.1, [self.number(0, 1)]))
            case 1:
                return self.attempt(lambda: UpsamplingOp(x, 2.0, 1.0, method="bicubic"))
            case _:
                return self.transposed_convolution(x)

    # -- matrices -----------------------------------------------------------------------------

    def multiplied(self, x: SSAValue) -> SSAValue | None:
        """Products with the same data, with the same operators behind."""
        shape = x.type.get_shape()
        if len(shape) < 2:
            return None
        kind = self.one_of(dense.DenseOp, dense.DenseOp, dense.MatmulOp, dense.BatchMatmulOp)
        flags = {"transpose_a": self.likely(0.15), "transpose_b": self.likely(0.6)}
        depth = shape[-2] if flags["transpose_a"] else shape[-1]
        batch = self.one_of([shape[0]], [1]) if kind is dense.BatchMatmulOp else []
        results: list[SSAValue] = []
        for _ in range(self.one_of(1, 2, 2, 3)):
            units = self.one_of(4, 4, 2, 6)
            if kind is dense.DenseOp:
                weight = self.operand(units, depth)
                result = self.attempt(kind, x, weight)
            else:
                matrix = [units, depth] if flags["transpose_b"] else [depth, units]
                weight = self.operand(*batch, *matrix)
                result = self.attempt(kind, x, weight, **flags)
            if result is not None:
                results.append(self.biased(result) or result)
        self.values.extend(results[1:])
        return results[0] if results else None

    def scores(self, x: SSAValue) -> SSAValue | None:
        """A product with a value that a transpose and a factor come before."""
        moved = self.transposed(x)
        if moved is None:
            return None
        right = (
            self.attempt(lambda: binary.MultiplyOp(moved, self.scalar()))
            if self.likely(0.5)
            else moved
        )
        kind = dense.MatmulOp if len(x.type.get_shape()) == 2 else dense.BatchMatmulOp
        return self.attempt(lambda: kind(x, right, transpose_b=self.likely(0.3)))

    def attended(self, x: SSAValue) -> SSAValue | None:
        """Attention of a value to itself, with a factor."""
        if len(x.type.get_shape()) != 3 or not self.floating:
            return None
        scores = self.op(dense.BatchMatmulOp(x, x, transpose_b=True))
        scaled = self.op(binary.MultiplyOp(scores, self.scalar()))
        return self.op(dense.BatchMatmulOp(self.op(norm.SoftmaxOp(scaled)), x))

    def softened(self, x: SSAValue) -> SSAValue | None:
        """Softmax, as an operator or written out."""
        axis = self.number(-2, 1)
        if self.likely(0.5):
            return self.attempt(lambda: norm.SoftmaxOp(x, axis=axis))
        most = self.attempt(lambda: reduction.MaxOp(x, [axis], keepdims=True))
        if most is None or not self.floating:
            return None
        powers = self.op(unary.ExpOp(self.op(binary.SubtractOp(x, most))))
        total = self.op(reduction.SumOp(powers, [axis], keepdims=True))
        return self.op(binary.DivideOp(powers, total))

    def centred(self, x: SSAValue) -> SSAValue | None:
        """Layer normalisation written out, or the root mean square."""
        if not self.floating or not x.type.get_shape():
            return None
        axis = self.one_of(-1, -1, 0)
        mean = self.op(reduction.MeanOp(x, [axis], keepdims=True))
        value = self.op(binary.SubtractOp(x, mean)) if self.likely(0.7) else x
        square = self.op(binary.MultiplyOp(value, value))
        mean = self.op(reduction.MeanOp(square, [self.one_of(axis, axis, 0)], keepdims=True))
        root = self.op(unary.SqrtOp(self.op(binary.AddOp(mean, self.c(0.25, self.dtype)))))
        return self.attempt(lambda: binary.DivideOp(value, root))

    def gated(self, x: SSAValue) -> SSAValue | None:
        factor = self.attempt(lambda: unary.SigmoidOp(x))
        return None if factor is None else self.attempt(lambda: binary.MultiplyOp(x, factor))

    def entropy(self, x: SSAValue) -> SSAValue | None:
        positive = self.attempt(lambda: norm.SoftmaxOp(x))
        return None if positive is None else self.attempt(lambda: CrossEntropyOp(positive, x))

    # -- elements -----------------------------------------------------------------------------

    def divided(self, x: SSAValue) -> SSAValue | None:
        if self.floating and self.likely(0.3):
            root = self.op(unary.SqrtOp(self.op(unary.AbsOp(x))))
            return self.op(binary.DivideOp(x, root))
        kind = self.one_of(binary.DivideOp, binary.FloorDivideOp, binary.PowerOp)
        return self.attempt(lambda: kind(x, self.c(self.one_of(1, 2, 3, 4, 8), self.dtype)))

    def cast(self, x: SSAValue) -> SSAValue | None:
        """To another type and back to the one of the program."""
        value = x
        for _ in range(self.number(1, 3)):
            other = element_type_of(np.dtype(self.one_of(*DTYPES)))
            value = self.op(unary.CastOp(value, other))
        return self.op(unary.CastOp(value, element_type_of(self.dtype)))

    def clipped(self, x: SSAValue) -> SSAValue | None:
        low, high = self.one_of((0, 255), (-128, 127), (0, 6), (-1, 1))
        value = self.attempt(lambda: unary.ClipOp(x, low, high))
        return self.cast(value) if value is not None and self.likely(0.5) else value

    def copied(self, x: SSAValue) -> SSAValue | None:
        return self.op(unary.CopyOp(x))

    def filled(self, x: SSAValue) -> SSAValue | None:
        shape = x.type.get_shape()
        kind = self.one_of(ZerosLikeOp, OnesLikeOp, lambda _: FullOp(self.scalar(), shape))
        pair = (x, self.op(kind(x)))
        op = self.one_of(binary.AddOp, binary.MultiplyOp, binary.SubtractOp)
        return self.attempt(lambda: op(*pair[:: self.one_of(1, -1)]))

    def chosen(self, x: SSAValue) -> SSAValue | None:
        condition = self.attempt(lambda: binary.GreaterOp(x, self.along(x)))
        if condition is None:
            return None
        return self.attempt(lambda: transform.WhereOp(condition, x, self.along(x)))

    def known(self, x: SSAValue) -> SSAValue | None:
        """An operator on constants."""
        return self.attempt(
            lambda: binary.AddOp(x, self.op(binary.AddOp(self.along(x), self.scalar())))
        )


def random_program(seed: int, theme: str, dtype: str, size: int = 12) -> AttributeProgram:
    """A program of a theme, whose arithmetic is of one dtype."""
    p = AttributeProgram(seed, dtype)
    shared = (
        p.scaled,
        p.scaled,
        p.shifted,
        p.shifted,
        p.biased,
        p.activated,
        p.joined,
        p.concatenated,
    )
    moves = (p.reshaped, p.transposed, p.sliced, p.parts, p.repeated, p.named, p.known)
    match theme:
        case "images":
            p.values.append(p.x(p.one_of(1, 2), p.one_of(4, 4, 8), p.one_of(4, 5), 4, dtype=dtype))
            convolutions = (p.convolved,) * 5
            own = (
                p.padded,
                p.padded,
                p.padded,
                p.pooled,
                p.normalised,
                p.normalised,
                p.relaid,
                p.averaged,
                p.rarely,
                p.rarely,
            )
            p.grow((*shared, *convolutions, *own, p.transposed, p.repeated), size)
        case "matrices":
            p.values.append(p.x(*p.one_of((4, 4), (2, 4, 4), (2, 3, 4)), dtype=dtype))
            products = (p.multiplied,) * 4
            own = (
                p.scores,
                p.softened,
                p.attended,
                p.centred,
                p.gated,
                p.gated,
                p.normalised,
                p.entropy,
            )
            p.grow((*shared, *products, *own, *moves, p.reshaped, p.reshaped), size)
        case _:
            p.values.append(p.x(*p.one_of((3, 4), (2, 1, 6), (4,)), dtype=dtype))
            own = (p.divided, p.divided, p.cast, p.cast, p.clipped, p.copied, p.filled, p.chosen)
            p.grow((*shared, *own, *moves), size)
    p.finish()
    return p
