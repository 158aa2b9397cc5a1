"""Guards of simplify-expr: Relay's rules on types, filled tensors, moved elements and casts."""

import numpy as np
from graphs import BITS
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import SSAValue

from guards.algebra import DTYPES, FLOATS
from guards.passes import GuardGraph, GuardTable
from xrelay.dialects.tensor.binary import (
    AddOp,
    BitwiseAndOp,
    DivideOp,
    GreaterOp,
    LeftShiftOp,
    LogicalOrOp,
    MaximumOp,
    MultiplyOp,
    SubtractOp,
)
from xrelay.dialects.tensor.creation import FullOp, OnesLikeOp, OnesOp, ZerosLikeOp, ZerosOp
from xrelay.dialects.tensor.layout import LayoutTransformOp
from xrelay.dialects.tensor.like import (
    BroadcastToLikeOp,
    CastLikeOp,
    CollapseSumLikeOp,
    FullLikeOp,
    ReshapeLikeOp,
)
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp, ReverseReshapeOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import CastOp, ClipOp, ReluOp, SqrtOp, TanhOp
from xrelay.interpreters.arrays import element_type_of

RELAY = GuardTable("simplify-expr", units=2)
ZEROS = GuardTable("simplify-expr{ignore-signed-zeros=true}", units=2, expects="-add|-subtract")
CPU = GuardTable("simplify-expr{rules=cpu}", units=2)

# -- operators that take a type from another tensor


def like(g: GuardGraph, dtype: str, *shape: int) -> None:
    x, number = g.x(*shape, dtype=dtype), g.x(dtype=dtype)
    g.show(ZerosLikeOp(x))
    g.show(OnesLikeOp(x))
    g.show(FullLikeOp(x, number))
    g.show(FullLikeOp(x, g.c(1.75)))
    g.show(ReshapeLikeOp(g.x(int(np.prod(shape)), dtype=dtype), x), BITS)
    g.show(BroadcastToLikeOp(number, x), BITS)
    g.show(CollapseSumLikeOp(x, g.x(*shape[1:])), tolerance=4)
    g.show(CollapseSumLikeOp(x, x), BITS)


for dtype in DTYPES:
    for shape in ((2, 3), (2, 0, 3), (3,)):
        RELAY.changes(
            f"{shape} {np.dtype(dtype)}",
            lambda g, d=dtype, s=shape: like(g, d, *s),
            expects="-full_like +full -reshape_like +reshape -broadcast_to_like +broadcast_to",
            special=False,
        )
RELAY.changes(
    "a part of the shape",
    lambda g: g.show(ReshapeLikeOp(g.x(2, 6), g.x(5, 3, 2), lhs_begin=1, rhs_begin=1)),
    expects="-reshape_like",
)
for dtype in DTYPES:
    to_f32 = lambda g, d=dtype: g.show(CastLikeOp(g.x(4, dtype=d), g.x(2)), BITS)
    if dtype == "float32":
        RELAY.changes("cast_like of the same type", to_f32, expects="-cast_like")
    else:
        RELAY.keeps(f"cast_like {np.dtype(dtype)}", to_f32)
        CPU.changes(f"cast_like {np.dtype(dtype)}", to_f32, expects="-cast_like +cast")

# -- filled tensors

WHOLE = "-zeros|-ones|-full|-full_like +constant|=maximum|=divide"


def filled(g: GuardGraph, op, fill, *, left: bool, dtype: str = "float32") -> None:
    x, t = g.x(2, 3, dtype=dtype), element_type_of(np.dtype(dtype))
    tensor = g.op(fill(g, x, t))
    g.show(op(*((tensor, x) if left else (x, tensor))))


FILLS = {
    "zeros": lambda g, x, t: ZerosOp([2, 3], t),
    "ones": lambda g, x, t: OnesOp([2, 3], t),
    "full": lambda g, x, t: FullOp(g.c(3, dtype_name(t)), [2, 3], t),
    "full_like": lambda g, x, t: FullLikeOp(x, g.c(3, dtype_name(t))),
    "a number": lambda g, x, t: FullOp(g.x(dtype=dtype_name(t)), [2, 3]),
}


def dtype_name(type_) -> str:
    """NumPy's name of an element type that `filled` is called with."""
    return {f32: "float32", f16: "float16", i32: "int32", i1: "bool"}.get(type_, "int8")


for name, fill in FILLS.items():
    for op in (AddOp, SubtractOp, MultiplyOp, DivideOp, MaximumOp):
        for left in (False, True):
            RELAY.changes(
                f"{op.name} {name} {left}",
                lambda g, o=op, f=fill, l=left: filled(g, o, f, left=l),
                expects="-zeros|-ones|-full|-full_like",
            )
for op, dtype in (
    (BitwiseAndOp, "int32"),
    (LeftShiftOp, "int32"),
    (LogicalOrOp, "bool"),
    (MultiplyOp, "bool"),
    (SubtractOp, "bool"),
    (AddOp, "bool"),
):
    RELAY.changes(
        f"ones {op.name}",
        lambda g, o=op, d=dtype: filled(g, o, FILLS["ones"], left=False, dtype=d),
        expects="-ones",
    )
RELAY.keeps("ones compared", lambda g: filled(g, GreaterOp, FILLS["ones"], left=False))
RELAY.keeps(
    "a filled shape that counts", lambda g: g.show(MaximumOp(g.x(3), g.op(OnesOp([2, 3], f32))))
)
RELAY.keeps(
    "filled with a number of another type",
    lambda g: g.show(MaximumOp(g.x(3), g.op(FullOp(g.c(3, "int8"), [3], f32)))),
)

# -- numbers that change nothing

for op, number in ((SubtractOp, 0), (MultiplyOp, 1), (DivideOp, 1), (AddOp, -0.0)):
    RELAY.changes(
        f"{op.name} {number}",
        lambda g, o=op, n=number: g.show(o(g.x(4), g.c(n)), BITS),
        expects="-constant",
    )
    RELAY.changes(
        f"{op.name} [{number}]",
        lambda g, o=op, n=number: g.show(o(g.x(4), g.c([n])), BITS),
        expects="-constant",
    )
    RELAY.keeps(
        f"{op.name} [{number}, {number}]",
        lambda g, o=op, n=number: g.show(o(g.x(2), g.c([n, n])), BITS),
    )
    RELAY.keeps(
        f"{op.name} [[{number}]]", lambda g, o=op, n=number: g.show(o(g.x(2), g.c([[n]])), BITS)
    )
for dtype in FLOATS:
    RELAY.keeps(
        f"plus zero {dtype}", lambda g, d=dtype: g.show(AddOp(g.x(9, dtype=d), g.c(0, d)), BITS)
    )
    ZEROS.changes(
        f"plus zero {dtype}", lambda g, d=dtype: g.show(AddOp(g.c(0, d), g.x(9, dtype=d)))
    )
RELAY.changes(
    "plus zero, of integers",
    lambda g: g.show(AddOp(g.x(9, dtype="int8"), g.c(0, "int8"))),
    expects="-add",
)
ZEROS.changes("zeros added", lambda g: g.show(AddOp(g.op(ZerosOp([3], f32)), g.x(3))))
ZEROS.keeps("zeros of a shape", lambda g: g.show(AddOp(g.x(3), g.c([0, 0, 0]))))

# -- roots


def roots(g: GuardGraph, again: bool) -> None:
    root = g.op(SqrtOp(g.x(3)))
    g.show(DivideOp(g.x(3), root), tolerance=4)
    if again:
        g.show(TanhOp(root))


RELAY.changes("a root", lambda g: roots(g, False), expects="-divide -sqrt +rsqrt")
RELAY.changes("a root with another user", lambda g: roots(g, True), expects="-divide ~sqrt +rsqrt")

# -- moved elements


def chain(*ops, shape=(2, 3, 4), dtype: str = "float32", again: bool = False):
    def build(g: GuardGraph) -> None:
        value: SSAValue = g.x(*shape, dtype=dtype)
        for op in ops:
            before, value = value, g.op(op(value))
        g.returns(value, BITS)
        if again:
            g.show(TanhOp(before))

    return build


def reshape(*shape: int):
    return lambda x: ReshapeOp(x, shape)


def reverse(*shape: int):
    return lambda x: ReverseReshapeOp(x, shape)


def transpose(*axes: int):
    return lambda x: TransposeOp(x, axes or None)


def layout(source: str, target: str):
    return lambda x: LayoutTransformOp(x, source, target)


for dtype in DTYPES:
    RELAY.changes(
        f"reshapes {np.dtype(dtype)}",
        chain(reshape(6, 4), reshape(3, 8), dtype=dtype),
        expects="-reshape",
    )
    RELAY.changes(
        f"transposes {np.dtype(dtype)}",
        chain(transpose(2, 0, 1), transpose(2, 0, 1), dtype=dtype),
        expects="-transpose",
    )
RELAY.changes("reshape and back", chain(reshape(6, 4), reshape(2, 3, 4)), expects="-reshape")
RELAY.changes(
    "reverse", chain(reverse(-1, 2), reshape(24)), expects="-contrib_reverse_reshape ~reshape"
)
RELAY.changes(
    "reversed", chain(reshape(6, 4), reverse(3, -1)), expects="-contrib_reverse_reshape ~reshape"
)
RELAY.changes("reshapes of nothing", chain(reshape(-1), reshape(0), shape=(3,)), expects="-reshape")
RELAY.changes("of a value with two users", chain(reshape(6, 4), reshape(3, 8), again=True))
RELAY.keeps("one reshape", chain(reshape(2, 3, 4)))
RELAY.keeps("one reverse", chain(reverse(-1, 2)))
RELAY.keeps("other reshapes", chain(lambda x: ExpandDimsOp(x, 0), reshape(24)))
RELAY.keeps("one transpose that moves nothing", chain(transpose(0, 1, 2)))
RELAY.keeps("one transpose of unit axes", chain(transpose(1, 0, 2), shape=(1, 3, 2)))
RELAY.keeps("a slice of all", chain(lambda x: StridedSliceOp(x, [0], [2], axes=[0])))
RELAY.keeps("a clip to all", chain(lambda x: ClipOp(x, -128, 127), dtype="int8"))
IMAGE, BLOCKS = (2, 8, 3, 5), (2, 2, 3, 5, 4)
LAYOUT = "-layout_transform"
RELAY.changes("transposed back", chain(transpose(), transpose()), expects="-transpose")
RELAY.changes(
    "layout and back",
    chain(layout("NCHW", "NHWC"), layout("NHWC", "NCHW"), shape=IMAGE),
    expects=LAYOUT,
)
RELAY.changes(
    "layouts",
    chain(layout("NCHW", "NHWC"), layout("NHWC", "CHWN"), shape=IMAGE),
    expects=f"{LAYOUT} +transpose",
)
RELAY.changes(
    "layouts of other names",
    chain(layout("NCHW", "NHWC"), layout("NCHW", "CHWN"), shape=IMAGE),
    expects=f"{LAYOUT} +transpose",
)
RELAY.changes(
    "a layout transposed",
    chain(layout("NCHW", "NHWC"), transpose(3, 1, 0, 2), shape=IMAGE),
    expects=f"{LAYOUT} ~transpose",
)
RELAY.changes(
    "a transpose in a layout",
    chain(transpose(3, 1, 0, 2), layout("NCHW", "HNCW"), shape=IMAGE),
    expects=f"{LAYOUT} ~transpose",
)
RELAY.changes(
    "transposed into blocks",
    chain(transpose(0, 3, 1, 2), layout("NCHW", "NCHW4c"), shape=(2, 3, 5, 8)),
    expects="-transpose ~layout_transform",
)
RELAY.changes(
    "shifted into blocks",
    chain(transpose(3, 0, 1, 2), layout("NCHW", "NCHW2c"), shape=(8, 3, 5, 2)),
    expects="-transpose ~layout_transform",
)
RELAY.changes(
    "transposed out of blocks",
    chain(layout("NCHW4c", "NCHW"), transpose(3, 0, 1, 2), shape=BLOCKS),
    expects="-transpose ~layout_transform",
)
RELAY.changes(
    "into blocks and out",
    chain(layout("NCHW", "NCHW4c"), layout("NCHW4c", "NCHW"), shape=IMAGE),
    expects=LAYOUT,
)
RELAY.changes(
    "out of blocks and in",
    chain(layout("NCHW4c", "NHWC"), layout("NHWC", "NCHW4c"), shape=BLOCKS),
    expects=LAYOUT,
)
RELAY.changes(
    "other blocks",
    chain(layout("NCHW4c", "NCHW8c"), layout("NCHW8c", "NCHW2c"), shape=BLOCKS),
    expects=LAYOUT,
)
RELAY.changes(
    "blocks elsewhere",
    chain(layout("NCHW4c", "NHWC4c"), layout("NHWC4c", "NHWC2c"), shape=BLOCKS),
    expects=LAYOUT,
)
RELAY.changes(
    "the same blocks in another order",
    chain(layout("NCHW4c", "NHWC4c"), transpose(1, 0, 2, 3, 4), shape=BLOCKS),
    expects=f"{LAYOUT} ~transpose",
)
RELAY.changes(
    "more padding",
    chain(layout("NCHW", "NCHW4c"), layout("NCHW4c", "NCHW8c"), shape=(1, 3, 2, 2)),
    expects=LAYOUT,
)
RELAY.keeps(
    "padding that stays",
    chain(layout("NCHW", "NCHW4c"), layout("NCHW4c", "NCHW"), shape=(1, 3, 2, 2)),
)
RELAY.keeps(
    "padding of wider blocks",
    chain(layout("NCHW4c", "NCHW8c"), layout("NCHW8c", "NCHW4c"), shape=(1, 3, 2, 2, 4)),
)
RELAY.keeps(
    "blocks of other names",
    chain(layout("NCHW", "NCHW4c"), layout("NHWC4c", "NHWC"), shape=(1, 8, 2, 2)),
)
RELAY.keeps("transposed blocks", chain(layout("NCHW", "NCHW4c"), transpose(), shape=IMAGE))
RELAY.keeps(
    "blocks of a transpose",
    chain(transpose(4, 0, 1, 2, 3), layout("NCHW4c", "NCHW"), shape=(2, 3, 5, 4, 8)),
)
RELAY.keeps(
    "an operator between",
    chain(layout("NCHW", "NHWC"), ReluOp, layout("NHWC", "NCHW"), shape=IMAGE),
)
CPU.changes(
    "a unit axis there and back",
    chain(transpose(1, 0, 2), transpose(1, 0, 2), shape=(1, 3, 2)),
    expects="-transpose",
)
CPU.changes(
    "a unit axis moves further",
    chain(transpose(1, 0, 2), transpose(2, 1, 0), shape=(1, 3, 2)),
    expects="-transpose",
)
CPU.changes(
    "a unit axis of a value with two users",
    chain(transpose(1, 0, 2), transpose(0, 2, 1), shape=(1, 3, 2), again=True),
    expects="-transpose +reshape",
)

# -- casts

for source, between, target in (("int8", i16, i32), ("bool", i8, f32), ("float16", f32, f64)):
    steps = (lambda x, t=between: CastOp(x, t), lambda x, t=target: CastOp(x, t))
    RELAY.changes(f"cast {source} {between} {target}", chain(*steps, dtype=source), expects="-cast")
U8 = element_type_of(np.dtype("uint8"))
for source, between, target in (
    ("int8", U8, i32),  # Relay takes the first one as one that keeps all values.
    ("int64", f32, i64),
    ("float16", bf16, f32),
    ("float32", i32, f32),
):
    steps = (lambda x, t=between: CastOp(x, t), lambda x, t=target: CastOp(x, t))
    RELAY.keeps(f"cast {source} {between} {target}", chain(*steps, dtype=source))

TABLES = (RELAY, ZEROS, CPU)
