"""Guards of the passes that spell operators in another way (transforms/canonical)."""

from collections.abc import Sequence

from guards.layers import FLOATS, NHWC, bias, conv, dense, layers, plus, unary
from guards.passes import GuardGraph, GuardTable
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn.norm import SoftmaxOp
from xrelay.dialects.nn.space import BatchToSpaceNDOp, SpaceToBatchNDOp
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.dialects.tensor.unary import ErfOp, ExpOp, LogOp, ReluOp, TanhOp

DTYPES = (*FLOATS, "int8", "uint8", "int32")

BIASES = GuardTable("canonicalize-ops")
for dtype in DTYPES:
    BIASES.changes(f"channels {dtype}", layers((1, 3, 2, 2), bias(3), dtype=dtype))
BIASES.changes("the last axis", layers((2, 3), bias(3, -1)))
BIASES.changes("of five axes", layers((2, 3, 1, 4, 5), bias(4, 3)))
BIASES.changes("no elements", layers((0, 3, 2), bias(3)))

VECTORS = GuardTable("recognize-bias-add")
ROWS, IMAGE = (2, 4), (1, 3, 4, 4)
for dtype in FLOATS:
    VECTORS.changes(f"rows {dtype}", layers(ROWS, dense(3, 4), plus(3), dtype=dtype))
VECTORS.changes("on the left", layers(ROWS, dense(3, 4), plus(3, left=True)))
VECTORS.changes("columns", layers(ROWS, dense(3, 4), plus(2, 1)))
VECTORS.changes("channels", layers(IMAGE, conv(5, 3, 1, 1), plus(5, 1, 1)))
VECTORS.changes("all axes", layers(IMAGE, conv(5, 3, 1, 1), plus(1, 5, 1, 1)))
VECTORS.keeps(
    "channels of a parameter", layers(IMAGE, conv(5, 3, 1, 1), plus(5, 1, 1, constant=False))
)
VECTORS.keeps("one number", layers(ROWS, dense(3, 4), plus(1)))
VECTORS.keeps("a scalar", layers(ROWS, dense(3, 4), plus()))
VECTORS.keeps("a matrix", layers(ROWS, dense(3, 4), plus(2, 3)))
VECTORS.keeps("more rows", layers((1, 4), dense(3, 4), plus(2, 1)))
VECTORS.keeps("one axis more", layers(ROWS, dense(3, 4), plus(1, 2, 3)))
VECTORS.keeps("no product", layers(ROWS, unary(ReluOp), plus(4)))

FAST = GuardTable("fast-math")
for dtype in FLOATS:
    for op in (ExpOp, ErfOp, TanhOp, SoftmaxOp):
        FAST.changes(f"{op.name} {dtype}", layers(ROWS, unary(op), dtype=dtype))
FAST.keeps("another function", layers(ROWS, unary(LogOp)))

ATROUS = GuardTable("flatten-atrous-conv", units=64)
Pairs = Sequence[tuple[int, int]]


def split(blocks: Sequence[int], pads: Pairs, **options: float):
    return unary(SpaceToBatchNDOp, blocks, paddings=pads, **options)


def join(blocks: Sequence[int], crops: Pairs):
    return unary(BatchToSpaceNDOp, blocks, crops=crops)


TWO, UNCUT = (2, 2), ((0, 0), (0, 0))
PADS, CROPS = ((2, 3), (2, 3)), ((0, 1), (0, 1))
X = (1, 5, 5, 2)
K33 = conv(3, 3, 2, 2, **NHWC)
for dtype in FLOATS:
    ATROUS.changes(
        f"blocks of two {dtype}",
        layers(X, split(TWO, PADS), K33, join(TWO, CROPS), dtype=dtype),
    )
ATROUS.changes(
    "even weight", layers(X, split(TWO, PADS), conv(2, 2, 2, 2, **NHWC), join(TWO, CROPS))
)
ATROUS.changes(
    "unequal blocks",
    layers(X, split((2, 3), ((2, 1), (0, 1))), conv(1, 2, 2, 2, **NHWC), join((2, 3), UNCUT)),
)
ATROUS.changes(
    "as much cut as padded", layers(X, split(TWO, PADS), K33, join(TWO, ((2, 0), (1, 3))))
)
ATROUS.keeps("one more cut in front", layers(X, split(TWO, PADS), K33, join(TWO, ((3, 0), (1, 3)))))
ATROUS.keeps("one more cut behind", layers(X, split(TWO, PADS), K33, join(TWO, ((0, 4), (0, 0)))))
ATROUS.changes(
    "padding of its own",
    layers(X, split(TWO, PADS), conv(3, 3, 2, 2, padding=[1, 0], **NHWC), join(TWO, CROPS)),
)
ATROUS.changes(
    "dilation of its own",
    layers(
        (1, 9, 9, 2), split(TWO, PADS), conv(3, 3, 2, 2, dilation=[1, 2], **NHWC), join(TWO, CROPS)
    ),
)
ATROUS.changes(
    "groups", layers(X, split(TWO, PADS), conv(3, 3, 1, 2, groups=2, **NHWC), join(TWO, CROPS))
)
ATROUS.keeps(
    "steps", layers(X, split(TWO, PADS), conv(3, 3, 2, 2, strides=[2, 1], **NHWC), join(TWO, UNCUT))
)
ATROUS.keeps("padded with ones", layers(X, split(TWO, PADS, pad_value=1.0), K33, join(TWO, CROPS)))
ATROUS.keeps("other blocks", layers(X, split(TWO, PADS), K33, join((4, 1), UNCUT)))
ATROUS.keeps(
    "blocks of one axis", layers((1, 5, 5, 2), split((2,), ((2, 3),)), K33, join((2,), ((0, 1),)))
)
ATROUS.keeps(
    "channels first",
    layers((1, 2, 5, 5), split(TWO, ((0, 0), (2, 3))), conv(3, 1, 3, 3), join(TWO, UNCUT)),
)
ATROUS.keeps(
    "an operator between", layers(X, split(TWO, PADS), K33, unary(ReluOp), join(TWO, CROPS))
)
ATROUS.keeps("phases used again", layers(X, split(TWO, PADS), K33, join(TWO, CROPS), again=0))
ATROUS.keeps("results used again", layers(X, split(TWO, PADS), K33, join(TWO, CROPS), again=1))

SPLIT = GuardTable("split-args{max-function-args=3}")


def joined(count: int, axis: int, dtype: str = "float32"):
    """A join of so many parameters, of 0, 1, … elements along its axis."""

    def build(g: GuardGraph) -> None:
        shapes = [(2, length) if axis == -1 else (length, 2) for length in range(count)]
        fields = [g.x(*shape, dtype=dtype) for shape in shapes]
        g.show(ConcatenateOp(g.op(TupleOp(fields)), axis=axis))

    return build


for dtype in DTYPES:
    SPLIT.changes(f"one more than fit {dtype}", joined(3, 0, dtype))
SPLIT.keeps("as many as fit", joined(2, 0))
SPLIT.keeps("one", joined(1, 0))
SPLIT.changes("on three levels", joined(7, -1))

TABLES = (BIASES, VECTORS, FAST, ATROUS, SPLIT)
