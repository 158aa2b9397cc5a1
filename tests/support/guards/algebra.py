"""Guards of the passes on single operators and short chains: simplify-expr, fold-constant and others."""

from itertools import product

import numpy as np
from graphs import BITS
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Operation, SSAValue

from guards.passes import GuardGraph, GuardTable
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.tensor.binary import (
    AddOp,
    DivideOp,
    FloorDivideOp,
    MultiplyOp,
    PowerOp,
    SubtractOp,
)
from xrelay.dialects.tensor.creation import FullOp, OnesLikeOp, OnesOp, ZerosLikeOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp, ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.dialects.tensor.unary import CastOp, ClipOp, CopyOp, ReluOp, SqrtOp, TanhOp
from xrelay.interpreters.arrays import BFLOAT16, dtype_of, element_type_of

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64", "uint64")
DTYPES = ("bool", "uint8", "int8", "int32", "uint32", "int64", "float16", BFLOAT16, *FLOATS[1:])

SIMPLIFY = GuardTable("simplify-expr{rules=cpu}", units=2)
COMBINES = "-add|-subtract|-multiply|-divide|-nn.bias_add|=add|=subtract|=nn.bias_add"
"""Two operators become one, or the sum comes last."""
LOOSE = GuardTable(
    "simplify-expr{rules=cpu reassociate=true}", units=16, special=False, expects=COMBINES
)
UNSIGNED_ZEROS = GuardTable(
    "simplify-expr{rules=cpu ignore-signed-zeros=true}", units=2, expects="-add|-subtract"
)

# -- filled tensors


def filled(g: GuardGraph, dtype: str) -> None:
    x, t = g.x(2, 3, dtype=dtype), element_type_of(np.dtype(dtype))
    g.show(ZerosLikeOp(x))
    g.show(OnesLikeOp(x))
    g.show(SubtractOp(g.op(OnesOp([2, 3], t)), x))
    g.show(SubtractOp(x, g.op(OnesLikeOp(x))))
    g.show(MultiplyOp(g.op(FullOp(g.c(3, dtype), [2, 3])), x))
    g.show(AddOp(x, g.op(FullOp(g.c(3, dtype), [2, 3], t))))


for dtype in (*FLOATS, "int8", "int32", "uint8"):
    SIMPLIFY.changes(f"filled tensors of {dtype}", lambda g, d=dtype: filled(g, d))
SIMPLIFY.changes(
    "ones divided",
    lambda g: g.show(DivideOp(g.op(OnesOp([3], f32)), g.x(3))),
    expects="-ones +constant",
)
SIMPLIFY.changes("a filled number", lambda g: g.show(AddOp(g.x(), g.op(OnesOp([], f32)))))
SIMPLIFY.keeps(
    "the filled shape counts", lambda g: g.show(AddOp(g.x(1, 3), g.op(OnesOp([2, 3], f32))))
)
SIMPLIFY.keeps(
    "filled with another type",
    lambda g: g.show(MultiplyOp(g.x(3, dtype="int8"), g.op(FullOp(g.c(2.7), [3], i8)))),
)
SIMPLIFY.changes("powers of ones", lambda g: g.show(PowerOp(g.op(OnesOp([3], f32)), g.x(3))))

# -- division and powers


def by_root(g: GuardGraph, *, twice: bool = False, same: bool = False) -> None:
    x, y = g.x(2, 3), g.x(3)
    root = g.op(SqrtOp(y))
    g.show(DivideOp(root if same else x, root), tolerance=4)
    if twice:
        g.show(TanhOp(root))


SIMPLIFY.changes("a root", by_root, expects="-divide -sqrt +multiply +rsqrt")
SIMPLIFY.keeps("a root with another user", lambda g: by_root(g, twice=True))
SIMPLIFY.keeps("a root by itself", lambda g: by_root(g, same=True))
SIMPLIFY.keeps("the root is divided", lambda g: g.show(DivideOp(g.op(SqrtOp(g.x(3))), g.x(3))))

for divisor in (8, -8, 2.0**12, 2.0**-14, 1024):
    for dtype in FLOATS:
        SIMPLIFY.changes(
            f"{dtype} by {divisor}",
            lambda g, d=dtype, n=divisor: g.show(DivideOp(g.x(9, dtype=d), g.c(n, d)), BITS),
            expects="-divide +multiply",
        )
for divisor in (3, 0, -0.0, np.inf, np.nan, 2.0**13, 2.0**-15, 7):
    SIMPLIFY.keeps(f"by {divisor}", lambda g, n=divisor: g.show(DivideOp(g.x(9), g.c(n))))
SIMPLIFY.changes("by a vector of one number", lambda g: g.show(DivideOp(g.x(2, 2), g.c([4, 4]))))
SIMPLIFY.keeps("by different powers of two", lambda g: g.show(DivideOp(g.x(2, 2), g.c([4, 8]))))
SIMPLIFY.keeps("the divisor's shape counts", lambda g: g.show(DivideOp(g.x(1), g.c([4, 4]))))
for dtype in INTEGERS:
    SIMPLIFY.keeps(f"{dtype} by 8", lambda g, d=dtype: g.show(DivideOp(g.x(9, dtype=d), g.c(8, d))))

for exponent in (1, 2, 3):
    for dtype in FLOATS:
        SIMPLIFY.changes(
            f"{dtype} to the power {exponent}",
            lambda g, d=dtype, n=exponent: g.show(PowerOp(g.x(9, dtype=d), g.c(n, d)), 4),
            expects="-power -constant",
        )
for exponent in (0, 4, 2.5, -1, 0.5):
    SIMPLIFY.keeps(f"power {exponent}", lambda g, n=exponent: g.show(PowerOp(g.x(9), g.c(n)), 4))
SIMPLIFY.keeps("the exponent's shape counts", lambda g: g.show(PowerOp(g.x(1), g.c([2, 2])), 4))
SIMPLIFY.keeps("two to a power", lambda g: g.show(PowerOp(g.c(2), g.x(3)), 4))

# -- numbers that change nothing


def neutral(kind: type[Operation], number: float, dtype: str, *, left: bool = False) -> object:
    def build(g: GuardGraph) -> None:
        x, c = g.x(9, dtype=dtype), g.c(number, dtype)
        g.show(kind(c, x) if left else kind(x, c), BITS)

    return build


ZERO_OR_ONE = ((AddOp, 0), (SubtractOp, 0), (MultiplyOp, 1), (DivideOp, 1))
for dtype in (*INTEGERS, *FLOATS):
    for kind, number in ZERO_OR_ONE:
        both = kind in (AddOp, MultiplyOp)
        name = f"{kind.name} {dtype}"
        neutral_zero = -0.0 if kind is AddOp else number
        gone = {"expects": f"-{kind.name.removeprefix('relay.')} -constant"}
        SIMPLIFY.changes(f"{name} behind", neutral(kind, neutral_zero, dtype), **gone)
        SIMPLIFY.add(
            both, f"{name} in front", neutral(kind, neutral_zero, dtype, left=True), **gone
        )
        SIMPLIFY.keeps(f"{name} the other number", neutral(kind, 1 - number, dtype), units=4)
for dtype in FLOATS:
    SIMPLIFY.keeps(f"plus zero {dtype}", neutral(AddOp, 0.0, dtype))
    SIMPLIFY.keeps(f"minus minus zero {dtype}", neutral(SubtractOp, -0.0, dtype))
    UNSIGNED_ZEROS.changes(
        f"plus zero {dtype}", lambda g, d=dtype: g.show(AddOp(g.x(9, dtype=d), g.c(0.0, d)))
    )
    UNSIGNED_ZEROS.changes(
        f"minus minus zero {dtype}",
        lambda g, d=dtype: g.show(SubtractOp(g.x(9, dtype=d), g.c(-0.0, d))),
    )
UNSIGNED_ZEROS.keeps("plus one", neutral(AddOp, 1, "float32"))
UNSIGNED_ZEROS.keeps("zero minus", neutral(SubtractOp, 0, "float32", left=True))
UNSIGNED_ZEROS.keeps("times minus one", neutral(MultiplyOp, -1, "float32"))
SIMPLIFY.changes("times true", neutral(MultiplyOp, True, "bool"))
SIMPLIFY.keeps("minus true", neutral(SubtractOp, True, "bool"))
SIMPLIFY.keeps("zeros of both signs", lambda g: g.show(AddOp(g.x(2), g.c([-0.0, 0.0])), BITS))
SIMPLIFY.keeps(
    "zeros of both signs off", lambda g: g.show(SubtractOp(g.x(2), g.c([0.0, -0.0])), BITS)
)
SIMPLIFY.keeps("ones that broadcast", lambda g: g.show(MultiplyOp(g.x(1, 2), g.c([[1], [1]]))))
SIMPLIFY.changes("ones as a matrix", lambda g: g.show(MultiplyOp(g.x(2, 2), g.c(np.ones((2, 2))))))
SIMPLIFY.keeps("ones but for one", lambda g: g.show(MultiplyOp(g.x(2, 2), g.c([1, 2]))))
SIMPLIFY.keeps("a number added to an empty tensor", lambda g: g.show(AddOp(g.x(0, 2), g.c(1.0))))

# -- moved elements


def chain(*ops: object, shape: tuple[int, ...] = (2, 3, 4), dtype: str = "float32") -> object:
    """A function that applies operators to a parameter, one after the other."""

    def build(g: GuardGraph) -> None:
        value: SSAValue = g.x(*shape, dtype=dtype)
        for op in ops:
            value = g.op(op(value))
        g.returns(value, BITS)

    return build


def reshape(*shape: int, **options: bool) -> object:
    return lambda x: ReshapeOp(x, shape, **options)


def transpose(*axes: int) -> object:
    return lambda x: TransposeOp(x, axes or None)


SIMPLIFY.changes("reshape of reshape", chain(reshape(6, 4), reshape(3, 8)), expects="-reshape")
SIMPLIFY.changes("reshape back", chain(reshape(6, 4), reshape(2, 3, 4)), expects="-reshape")
SIMPLIFY.changes("reshape to the same", chain(reshape(2, -1, 4)), expects="-reshape")
SIMPLIFY.keeps("one reshape", chain(reshape(6, 4)))
SIMPLIFY.changes("a family", chain(lambda x: ExpandDimsOp(x, -1, num_newaxis=2), SqueezeOp))
SIMPLIFY.changes(
    "flattened", chain(lambda x: ExpandDimsOp(x, 1), BatchFlattenOp), expects="-expand_dims"
)
SIMPLIFY.keeps("one squeeze", chain(SqueezeOp, shape=(1, 3)))
SIMPLIFY.changes("one element", chain(reshape(1, 1), reshape(), shape=(1,)), expects="-reshape")
SIMPLIFY.changes(
    "no element", chain(reshape(0, 6, allowzero=True), BatchFlattenOp, shape=(3, 0, 2))
)
SIMPLIFY.changes(
    "no element, of another rank",
    chain(lambda x: ExpandDimsOp(x, 1), reshape(5, 0, allowzero=True), shape=(3, 0)),
)
SIMPLIFY.keeps("reshape of transpose", chain(transpose(1, 0, 2), reshape(6, 4)))
SIMPLIFY.changes(
    "cycles of axes", chain(transpose(1, 2, 0), transpose(1, 2, 0)), expects="-transpose"
)
SIMPLIFY.changes(
    "axes from the end", chain(transpose(-1, 0, 1), transpose(0, -1, 1)), expects="-transpose"
)
SIMPLIFY.changes(
    "transposed back", chain(transpose(1, 2, 0), transpose(2, 0, 1)), expects="-transpose"
)
SIMPLIFY.changes("in the same order", chain(transpose(0, -2, 2)), expects="-transpose")
SIMPLIFY.keeps("one transpose", chain(transpose(1, 2, 0)))
SIMPLIFY.changes(
    "axes of one element", chain(transpose(1, 0, 2), shape=(1, 3, 2)), expects="-transpose"
)
SIMPLIFY.changes(
    "axes of one element on both sides",
    chain(transpose(2, 1, 0), shape=(1, 3, 1)),
    expects="-transpose",
)
SIMPLIFY.keeps("other axes move, too", chain(transpose(1, 2, 0), shape=(2, 3, 1)))
SIMPLIFY.changes(
    "an empty axis stays", chain(transpose(1, 0, 2), shape=(1, 0, 2)), expects="-transpose"
)
SIMPLIFY.keeps("an empty axis moves", chain(transpose(1, 0), shape=(0, 2)))
SIMPLIFY.changes("transposed numbers", chain(transpose(), shape=()), expects="-transpose")
SIMPLIFY.changes("copies", chain(CopyOp, CopyOp, dtype="bool"))


def strided(begin, end, strides=None, axes=None):
    return lambda x: StridedSliceOp(x, begin, end, strides, axes=axes)


SIMPLIFY.changes("everything", chain(strided([0, 0], [9, 3])), expects="-strided_slice")
SIMPLIFY.changes(
    "everything from the end", chain(strided([-4], [4], axes=[-1])), expects="-strided_slice"
)
SIMPLIFY.keeps("all but one", chain(strided([0, 1], [9, 9])))
SIMPLIFY.keeps("all but the last", chain(strided([0], [-1], axes=[2])))
SIMPLIFY.keeps("turned round", chain(strided([-1], [-9], [-1], axes=[1])))
SIMPLIFY.changes(
    "one element in steps", chain(strided([0], [1], [1]), shape=(1, 2)), expects="-strided_slice"
)
SIMPLIFY.keeps("every second one", chain(strided([0], [3], [2], axes=[1])))


def take(index, axis, **options):
    dtype = options.pop("dtype", "int64")
    return lambda g: g.show(TakeOp(g.x(3, 4), g.c(index, dtype), axis=axis, **options), BITS)


for mode in ("clip", "wrap", "fast"):
    for index in (0, 2, 3) if mode == "fast" else (0, -1, -2, 3, 4, -4, 9, -9):
        SIMPLIFY.changes(f"take {index} {mode}", take(index, 1, mode=mode), expects="-take")
        if mode != "fast":
            SIMPLIFY.changes(
                f"take [[{index}]] {mode}", take([[index]], -2, mode=mode, dtype="int32")
            )
SIMPLIFY.keeps("take from all", take(1, None))
SIMPLIFY.keeps("take two", take([0, 1], 0))
SIMPLIFY.keeps("take none", take([], 0))
SIMPLIFY.keeps("take of batches", take([[0]] * 3, 1, batch_dims=1))
SIMPLIFY.keeps(
    "take of one batch",
    lambda g: g.show(TakeOp(g.x(1, 4), g.c([[2]], "int64"), axis=1, batch_dims=1)),
)
SIMPLIFY.keeps(
    "take at an index that is asked", lambda g: g.show(TakeOp(g.x(3), g.x(dtype="int64"), axis=0))
)

# -- casts and clips


def casts(g: GuardGraph, source: str) -> None:
    """All chains of two casts of a type, of the numbers that are special in one of the types."""
    numbers = [0, 1, -1, 2.5, -0.0, 7.5, 127, 128, 255, 256, 2049, 65504, 65520, 1e9, -1e9, 2**31]
    known = np.asarray([*numbers, 2**24 + 1, 2**53 + 1, 2**63, np.inf, np.nan])
    if np.dtype(source).kind in "iu":
        info = np.iinfo(source)
        known = np.asarray([0, 1, 100, info.min, info.max, info.max // 2 + 1, info.max // 128])
    with np.errstate(all="ignore"):
        x = g.constant(known.astype(source))
    for between, target in product(DTYPES, DTYPES):
        first = g.op(CastOp(x, element_type_of(np.dtype(between))))
        g.show(CastOp(first, element_type_of(np.dtype(target))))


for dtype in DTYPES:
    SIMPLIFY.changes(f"casts of {np.dtype(dtype)}", lambda g, d=dtype: casts(g, d), units=0)


def cast_chain(source: str, *targets: object):
    return chain(*(lambda x, t=t: CastOp(x, t) for t in targets), shape=(40,), dtype=source)


for source, *targets in (
    ("int8", i16, i32),
    ("uint8", i16, i64),
    ("int16", f32, i32),
    ("bool", i8, f32),
    ("float16", f32, f64),
    ("float32", f64, f32),
    ("int8", f16, f32),
    ("int32", f64, i64),
    ("int32", i32),
):
    SIMPLIFY.changes(f"cast {source} {targets}", cast_chain(source, *targets), expects="-cast")
for source, *targets in (
    ("int16", i8, i32),
    ("int8", element_type_of(np.dtype("uint8")), i32),
    ("int16", f32, i8),
    ("int32", f32, i32),
    ("int64", f64, i64),
    ("int8", i1, i8),
    ("float32", f16, f32),
    ("float16", bf16, f32),
    ("float32", i32, f32),
    ("float64", f32, f64),
    ("int16", f16, f32),
):
    SIMPLIFY.keeps(f"cast {source} {targets}", cast_chain(source, *targets))


def clip(low: float, high: float):
    return lambda x: ClipOp(x, low, high)


def clip_chain(source: str, low: float, high: float, *targets: object):
    casts = (lambda x, t=t: CastOp(x, t) for t in targets)
    return chain(clip(low, high), *casts, shape=(40,), dtype=source)


U8 = element_type_of(np.dtype("uint8"))
for source, low, high in (
    ("uint8", 0, 255),
    ("int8", -128, 127),
    ("uint8", -3, 256),
    ("int32", -(2**31), 2**31 - 1),
):
    SIMPLIFY.changes(
        f"clip {source} to [{low}, {high}]", clip_chain(source, low, high), expects="-clip"
    )
for source, low, high in (
    ("uint8", 0, 254),
    ("uint8", 1, 255),
    ("int8", -127, 127),
    ("int8", -128, 126),
    ("int32", -(2**31) + 1, 2**31),
    ("int64", -(2**63), 2**63),
    ("float32", -np.inf, np.inf),
):
    SIMPLIFY.keeps(f"clip {source} to [{low}, {high}]", clip_chain(source, low, high))
SIMPLIFY.changes("there and back", clip_chain("int32", 0, 255, U8, i32))
SIMPLIFY.changes("there and back within", clip_chain("int32", -128, 100, i8, i32))
for name, case in {
    "one below": ("int32", -1, 255, U8, i32),
    "one above": ("int32", 0, 256, U8, i32),
    "half above": ("int32", 0, 255.5, U8, i32),
    "bounds the wrong way round": ("int32", 100, 0, U8, i32),
    "fractions": ("float32", 0, 255, U8, f32),
    "truth values": ("int32", 0, 1, i1, i32),
    "to another type": ("int32", 0, 255, U8, i64),
    "by floating point": ("int64", 0, 2**40, f32, i64),
}.items():
    SIMPLIFY.keeps(f"there and back: {name}", clip_chain(*case))

# -- constants that are combined


def plus(value, *, left: bool = False, op=AddOp):
    """A constant on one side of an operator."""
    return lambda g, x: op(*((g.c(value, of(x)), x) if left else (x, g.c(value, of(x)))))


def minus(value, *, left: bool = False):
    return plus(value, left=left, op=SubtractOp)


def times(value, *, left: bool = False):
    return plus(value, left=left, op=MultiplyOp)


def over(value, *, left: bool = False):
    return plus(value, left=left, op=DivideOp)


def bias(value, axis: int):
    return lambda g, x: BiasAddOp(x, g.c(value, of(x)), axis=axis)


def of(value: SSAValue):
    return dtype_of(value.type.element_type)


def sums(*steps, shape: tuple[int, ...] = (3, 4), dtype: str = "float32", twice: bool = False):
    """Operators with constants, one after the other; `twice` uses the value between them again."""

    def build(g: GuardGraph) -> None:
        value: SSAValue = g.x(*shape, dtype=dtype)
        for step in steps:
            before, value = value, g.op(step(g, value))
        g.returns(value)
        if twice:
            g.show(kept(before))

    return build


def kept(value: SSAValue) -> Operation:
    """An operator that no rule rewrites."""
    return ReluOp(value)


COLUMN, ROW = [[1], [2], [5]], [3, 0, 7, 2]
COMBINED = {
    "sums": (plus(3), plus(2)),
    "sums from the left": (plus(3, left=True), plus(2, left=True)),
    "differences": (minus(3), minus(2)),
    "a sum and a difference": (plus(3), minus(7)),
    "of a difference from a number, the sum with one is kept": (plus(3), plus(ROW)),
    "rows": (plus(ROW), minus(ROW)),
    "a column and a number": (minus(COLUMN), plus(2)),
    "biases": (bias(ROW, 1), bias(ROW, -1)),
    "biases of rows": (bias([1, 2, 5], 0), minus(COLUMN)),
    "products": (times(3), times(5, left=True)),
    "products of rows": (times(ROW), times(2)),
    "product of a sum": (plus(3), times(5)),
    "product of a difference": (minus(3), times(5, left=True)),
    "product of biases": (bias([1, 2, 5], 0), times(3)),
}
APART = {
    "a number minus": (minus(3, left=True), plus(2)),
    "a number minus, times": (minus(3, left=True), times(2)),
    "minus from a number": (plus(3), minus(2, left=True)),
    "a row and a column": (plus(ROW), plus(COLUMN)),
    "products of a row and a column": (times(ROW), times(COLUMN)),
    "a product of a row plus a column": (plus(COLUMN), times(ROW)),
    "biases of rows and columns": (bias([1, 2, 5], 0), bias(ROW, 1)),
    "a sum of a product": (times(3), plus(5)),
}
for name, steps in COMBINED.items():
    for dtype in ("uint8", "int8", "int32", "uint64"):
        SIMPLIFY.changes(f"{name} of {dtype}", sums(*steps, dtype=dtype), expects=COMBINES)
    for dtype in FLOATS:
        SIMPLIFY.keeps(f"{name} of {dtype}", sums(*steps, dtype=dtype))
        LOOSE.changes(f"{name} of {dtype}", sums(*steps, dtype=dtype))
for name, steps in APART.items():
    SIMPLIFY.keeps(name, sums(*steps, dtype="int32"))
    LOOSE.keeps(name, sums(*steps))
# A combined constant that is infinite or vanishes would make other results of zeros and of large numbers.
for dtype, huge in (("float16", 5e4), ("float32", 3e38), ("float64", 1.5e308)):
    tiny = 1 / huge
    for name, steps in {
        "product of a sum, infinite": (plus(3), times([1, -np.inf, 2, 3])),
        "product of a difference, NaN": (minus(ROW), times(np.nan)),
        "product of biases, infinite": (bias([1, 2, 5], 0), times(np.inf)),
        "product of an infinite sum": (plus(np.inf), times(0)),
        "product of a sum that overflows": (plus(huge), times([[3], [1], [1]])),
        "product of a sum that vanishes": (plus(tiny), times(tiny)),
        "sums that overflow": (plus(huge), plus([1, 2, huge, 3])),
        "differences that overflow": (minus(huge), minus(huge)),
        "products that overflow": (times(huge), times(-huge)),
        "products that vanish": (times(tiny), times([1, tiny, 1, 1])),
    }.items():
        LOOSE.keeps(f"{name} of {dtype}", sums(*steps, dtype=dtype))
    large = sums(times(0.5), times([0.5, 0, 1, huge / 64]), dtype=dtype)
    LOOSE.changes(f"zeros and large products of {dtype}", large)
SIMPLIFY.keeps(
    "product of a sum with another user", sums(plus(3), times(5), dtype="int32", twice=True)
)
SIMPLIFY.changes(
    "sum of a sum with another user", sums(plus(3), plus(5), dtype="int32", twice=True)
)
SIMPLIFY.keeps("truth values", sums(plus(True), plus(True), dtype="bool"))
LOOSE.changes("broadcasting sums", sums(plus([[1], [2]]), plus(3), shape=(1, 4)))
LOOSE.changes("products of broadcasting sums", sums(plus([[1], [2]]), times(3), shape=(1, 4)))
for dtype in FLOATS:
    LOOSE.changes(f"over {dtype}", sums(over([3, 5, -7, 0.1]), dtype=dtype))
    LOOSE.changes(f"over a number {dtype}", sums(over(3), dtype=dtype))
LOOSE.keeps("over zero", sums(over([3, 5, 0, 1])))
LOOSE.keeps("over infinity", sums(over([3, 5, np.inf, 1])))
LOOSE.keeps("over nothing that is normal", sums(over([3, 5, 1e-40, 1])))
LOOSE.keeps("over so much that the factor is not normal", sums(over([3, 5, 2e38, 1])))
LOOSE.keeps("a number over", sums(over(3, left=True)))
LOOSE.keeps("integers over", sums(over(3), dtype="int32"))
LOOSE.keeps("whole quotients", sums(plus(3, op=FloorDivideOp)))

TABLES = (SIMPLIFY, LOOSE, UNSIGNED_ZEROS)
