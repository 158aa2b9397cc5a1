"""Guards of the passes that combine, recognise and rewrite products and normalisations."""

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from guards.layers import FLOATS, IMAGE, bias, by, conv, dense, layers, plus, unary
from guards.passes import GuardGraph, GuardTable
from xrelay.dialects.core.values import TupleGetItemOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.norm import (
    BatchNormOp,
    DropoutOp,
    GroupNormOp,
    InstanceNormOp,
    L2NormalizeOp,
    LayerNormOp,
)
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import LeakyReluOp, ReluOp, TanhOp

# -- combine-parallel-*

JOINED = "+concatenate +strided_slice"
"""What products that became one have around them."""
DENSES = GuardTable(
    "combine-parallel-dense{min-num-branches=2 to-batch=false rules=cpu}",
    units=64,
    expects=f"-nn.dense {JOINED}",
)
INTEGERS = GuardTable(
    "combine-parallel-dense{min-num-branches=2 to-batch=false}",
    units=64,
    expects=f"-nn.dense {JOINED}",
)
THREE = GuardTable(
    "combine-parallel-dense{to-batch=false rules=cpu}", units=64, expects=f"-nn.dense {JOINED}"
)
CONVOLUTIONS = GuardTable(
    "combine-parallel-conv2d{min-num-branches=2 rules=cpu}",
    units=64,
    expects=f"-nn.conv2d {JOINED}",
)
BATCHES = GuardTable(
    "combine-parallel-batch-matmul{min-num-branches=2 rules=cpu}",
    units=64,
    expects=f"-nn.batch_matmul {JOINED}",
)


def branches(shape, *chains, dtype: str = "float32", again: bool = False):
    """Chains of operators on one parameter."""

    def build(g: GuardGraph) -> None:
        g.dtype = dtype
        x = g.x(*shape, dtype=dtype)
        for steps in chains:
            value = x
            for number, step in enumerate(steps):
                value = g.op(step(g, value))
                if again and not number:
                    g.show(TanhOp(value))
            g.returns(value)

    return build


def matmul(*weight: int, kind=BatchMatmulOp, left: bool = False, constant: bool = False, **options):
    def apply(g: GuardGraph, x: SSAValue):
        w = (g.w if constant else g.x)(*weight, dtype=g.dtype)
        return kind(w, x, **options) if left else kind(x, w, **options)

    return apply


def plus_number(number: int):
    return lambda g, x: AddOp(x, g.c(number, g.dtype))


ROWS = (3, 4)
# Products of integers have scales of their own.
for dtype in (*FLOATS, "int32", "int8"):
    joins = DENSES.changes if dtype in FLOATS else DENSES.keeps
    joins(
        f"bias and relu {dtype}",
        branches(
            ROWS,
            (dense(2, 4), bias(2, -1), unary(ReluOp)),
            (dense(5, 4), bias(5, -1), unary(ReluOp)),
            dtype=dtype,
        ),
    )
    joins(
        f"rows and a number {dtype}",
        branches(
            ROWS,
            (dense(2, 4), plus(2), by(3, shape=()), plus(1, 2, left=True, op=SubtractOp)),
            (dense(5, 4), plus(5), by(3, shape=()), plus(1, 5, left=True, op=SubtractOp)),
            dtype=dtype,
        ),
    )
DENSES.changes("one and many", branches(ROWS, (dense(1, 4), plus(1)), (dense(5, 4), plus(5))))
DENSES.changes("of batches", branches((2, *ROWS), (dense(2, 4), plus(2)), (dense(5, 4), plus(5))))
DENSES.changes("units", branches(ROWS, (dense(2, 4, units=2),), (dense(5, 4, units=5),)))
DENSES.changes("computed weights", branches(ROWS, (dense(2, 4, constant=False),), (dense(5, 4),)))
DENSES.changes(
    "equal numbers of outputs", branches((2, 2), (dense(2, 2), plus(2)), (dense(2, 2), plus(2)))
)
DENSES.keeps("one", branches(ROWS, (dense(2, 4),)))
DENSES.keeps(
    "of two types", branches(ROWS, (dense(2, 4),), (dense(5, 4, out_dtype=f32),), dtype="float16")
)
for name, first, second in (
    ("different numbers", by(3, shape=()), by(2, shape=())),
    ("zeros of different signs", by(0.0, shape=(), op=DivideOp), by(-0.0, shape=(), op=DivideOp)),
    ("a number and a row", by(3, shape=()), plus(5, op=MultiplyOp)),
    ("different operators", plus(2), plus(5, op=SubtractOp)),
    ("on different sides", plus(2, op=SubtractOp), plus(5, left=True, op=SubtractOp)),
    ("different slopes", unary(LeakyReluOp, 0.1), unary(LeakyReluOp, 0.2)),
    ("along the rows", plus(3, 1), plus(3, 1)),
    ("whole matrices", plus(3, 2), plus(3, 5)),
    ("a number in a matrix", plus(1, 1), plus(1, 1)),
    ("biases of rows", bias(3, 0), bias(3, 0)),
    ("computed numbers", plus(constant=False), plus(constant=False)),
    ("reshapes", unary(ReshapeOp, [2, 3]), unary(ReshapeOp, [5, 3])),
):
    # The products become one; what follows does not.
    build = branches(ROWS, (dense(2, 4), first), (dense(5, 4), second))
    DENSES.changes(name, build)
DENSES.changes(
    "another user", branches(ROWS, (dense(2, 4), plus(2)), (dense(5, 4), plus(5)), again=True)
)
DENSES.changes("a square", lambda g: squares(g))


INTEGERS.changes(
    "large numbers that differ by one",
    branches(ROWS, *[(dense(2, 4), plus_number(2**53 + n)) for n in (0, 1)], dtype="int64"),
)


def squares(g: GuardGraph) -> None:
    x = g.x(*ROWS)
    for units in (2, 5):
        product = g.op(DenseOp(x, g.w(units, 4)))
        g.show(MultiplyOp(product, product))


def joined_branches(g: GuardGraph) -> None:
    x = g.x(*ROWS)
    first, second = (g.op(DenseOp(x, g.w(2, 4))) for _ in range(2))
    g.show(SubtractOp(first, second))


def late_weight(g: GuardGraph, *, constant: bool = False, summand: bool = False) -> None:
    """The second weight, or what is added behind, is made after the first product."""
    x, late = g.x(4, 4), g.x(4, 4)
    first = g.op(DenseOp(x, g.w(4, 4)))
    second = g.op(TanhOp(first))
    if summand:
        row = g.x(1, 4)
        first = g.op(AddOp(first, row))
        g.returns(g.op(AddOp(g.op(DenseOp(x, late)), g.op(TanhOp(row)))))
    else:
        g.show(DenseOp(x, g.w(4, 4) if constant else second))
    g.returns(first)


DENSES.changes("branches that meet", joined_branches)
DENSES.keeps("a weight that is made later", late_weight)
DENSES.changes("a constant that is made later", lambda g: late_weight(g, constant=True))
DENSES.changes("a summand that is made later", lambda g: late_weight(g, summand=True))
DENSES.keeps("different data", lambda g: [g.show(DenseOp(g.x(3, 4), g.w(2, 4))) for _ in range(2)])
THREE.changes("three", branches(ROWS, (dense(2, 4),), (dense(5, 4),), (dense(1, 4),)))
THREE.keeps("two", branches(ROWS, (dense(2, 4),), (dense(5, 4),)))

CHANNELS = (
    (conv(2, 4, 2, 3), bias(2), unary(ReluOp), by(1, 2, shape=(2, 1, 1))),
    (conv(3, 4, 2, 3), bias(3), unary(ReluOp), by(4, 5, 6, shape=(3, 1, 1))),
)
for dtype in (*FLOATS, "int32"):
    CONVOLUTIONS.changes(f"channels {dtype}", branches(IMAGE, *CHANNELS, dtype=dtype))
CONVOLUTIONS.changes(
    "as one",
    branches(
        IMAGE,
        *[(conv(n, 4, 2, 3, strides=[2, 1], padding=[1, 0, 2, 1], channels=n),) for n in (2, 3)],
    ),
)
for name, options, others in (
    ("strides", {}, {"strides": [1, 2]}),
    ("padding", {"padding": [1, 1]}, {"padding": [1, 1, 1, 0]}),
    ("dilation", {}, {"dilation": [2, 1]}),
    ("types", {}, {"out_dtype": f32}),
):
    CONVOLUTIONS.keeps(
        f"different {name}",
        branches(
            IMAGE, (conv(2, 4, 1, 2, **options),), (conv(3, 4, 1, 2, **others),), dtype="float16"
        ),
    )
CONVOLUTIONS.keeps("different kernels", branches(IMAGE, (conv(2, 4, 1, 2),), (conv(2, 4, 2, 1),)))
CONVOLUTIONS.keeps(
    "groups", branches(IMAGE, (conv(2, 2, 1, 1, groups=2),), (conv(4, 2, 1, 1, groups=2),))
)
for layout in ({"data_layout": "NHWC"}, {"kernel_layout": "HWIO"}, {"out_layout": "NHWC"}):
    CONVOLUTIONS.changes(f"{layout}", branches((1, 4, 4, 4), *[(conv(4, 4, 4, 4, **layout),)] * 2))
CONVOLUTIONS.changes(
    "rows of pixels behind",
    branches((1, 4, 3, 3), *[(conv(3, 4, 1, 1), by(1, 2, 3, shape=(3, 1)))] * 2),
)
CONVOLUTIONS.changes(
    "biases of pixels", branches((1, 4, 3, 3), *[(conv(3, 4, 1, 1), bias(3, -1))] * 2)
)
for dtype in (*FLOATS, "int32"):
    BATCHES.changes(
        f"columns {dtype}",
        branches(
            (2, *ROWS),
            *[(matmul(2, n, 4, transpose_b=True), plus(n), unary(ReluOp)) for n in (3, 5)],
            dtype=dtype,
        ),
    )
BATCHES.keeps("not transposed", branches((2, 4, 4), *[(matmul(2, 4, 4),)] * 2))
BATCHES.keeps(
    "the right operand", branches((2, 4, 4), *[(matmul(2, 4, 4, left=True, transpose_b=True),)] * 2)
)
BATCHES.keeps(
    "one transposed on the left",
    branches(
        (2, 4, 4), *[(matmul(2, 4, 4, transpose_a=a, transpose_b=True),) for a in (True, False)]
    ),
)
BATCHES.changes(
    "both transposed on the left",
    branches((2, 4, 4), *[(matmul(2, 4, 4, transpose_a=True, transpose_b=True),)] * 2),
)
BATCHES.keeps(
    "another number of batches",
    branches(
        (2, *ROWS), (matmul(2, 3, 4, transpose_b=True),), (matmul(1, 3, 4, transpose_b=True),)
    ),
)
BATCHES.changes(
    "rows of batches", branches((3, 3, 4), *[(matmul(3, 3, 4, transpose_b=True), plus(3, 1))] * 2)
)

# -- canonicalize-matmul

MATMULS = GuardTable(
    "canonicalize-matmul", units=64, expects="-nn.matmul|-nn.batch_matmul|=reshape|-transpose"
)
for dtype in (*FLOATS, "int32", "int8"):
    for kind, shape, weight in (
        (MatmulOp, (3, 4), (4, 5)),
        (BatchMatmulOp, (2, 3, 4), (1, 4, 5)),
        (BatchMatmulOp, (1, 3, 4), (1, 4, 5)),
    ):
        turned = (*weight[:-2], weight[-1], weight[-2])
        MATMULS.changes(
            f"{kind.name} {shape} {dtype}",
            layers(shape, matmul(*weight, kind=kind, constant=True), dtype=dtype),
        )
        MATMULS.changes(
            f"{kind.name} {shape} transposed {dtype}",
            layers(shape, matmul(*turned, kind=kind, constant=True, transpose_b=True), dtype=dtype),
        )
    MATMULS.changes(f"dense of batches {dtype}", layers((2, 2, 3, 4), dense(5, 4), dtype=dtype))
MATMULS.changes(
    "sums in another type",
    layers((3, 4), matmul(4, 5, kind=MatmulOp, constant=True, out_dtype=f32), dtype="float16"),
)
MATMULS.changes("sums of bytes", layers((2, 3, 4), dense(5, 4, out_dtype=i32), dtype="int8"))
MATMULS.keeps("a matrix by a dense", layers((3, 4), dense(5, 4)))
MATMULS.keeps("a computed weight", layers((2, 3, 4), dense(5, 4, constant=False)))
MATMULS.keeps("a computed matrix", layers((3, 4), matmul(4, 5, kind=MatmulOp)))
MATMULS.keeps(
    "a constant on the left", layers((4, 4), matmul(4, 4, kind=MatmulOp, constant=True, left=True))
)
MATMULS.keeps(
    "transposed on the left",
    layers((4, 4), matmul(4, 4, kind=MatmulOp, constant=True, transpose_a=True)),
)
MATMULS.keeps("batches of weights", layers((2, 3, 4), matmul(2, 4, 5, constant=True)))
MATMULS.keeps("no rows", layers((0, 4), matmul(4, 5, kind=MatmulOp, constant=True)))
MATMULS.keeps("no columns", layers((3, 4), matmul(4, 0, kind=MatmulOp, constant=True)))
MATMULS.keeps("no sums", layers((3, 0), matmul(0, 5, kind=MatmulOp, constant=True)))


def keys(
    g: GuardGraph, *steps, query=(6, 7, 4), key=(2, 5, 3, 4), kind=BatchMatmulOp, **options
) -> None:
    g.dtype = "float32"
    value = g.x(*key)
    for step in steps:
        value = g.op(step(g, value))
    g.show(kind(g.x(*query), value, **options))


HEADS = unary(TransposeOp, [0, 2, 3, 1])
MERGED = unary(ReshapeOp, [6, 4, 5])
for name, steps in {
    "heads": (HEADS, MERGED),
    "heads with a factor": (HEADS, by(0.5, shape=()), MERGED, by(3, shape=(1,), left=True)),
    "heads with a reshape that keeps": (HEADS, unary(ReshapeOp, [2, 3, 4, 5]), MERGED),
}.items():
    MATMULS.changes(
        name, lambda g, steps=steps: keys(g, *steps), expects="~transpose ~nn.batch_matmul"
    )
for name, steps in {
    "factors": (HEADS, by(1, 2, 3, 4, 5), MERGED),
    "a matrix as factor": (HEADS, by(1, shape=(1, 1)), MERGED),
    "other matrices": (HEADS, unary(ReshapeOp, [5, 4, 6]), unary(ReshapeOp, [6, 4, 5])),
    "other rows": (unary(TransposeOp, [0, 3, 2, 1]), unary(ReshapeOp, [8, 3, 5])),
}.items():
    query = (8, 7, 3) if name == "other rows" else (6, 7, 4)
    MATMULS.keeps(name, lambda g, steps=steps, query=query: keys(g, *steps, query=query))
SIDES = {"query": (4, 4), "key": (4, 4), "kind": MatmulOp}
MATMULS.changes("a transposed matrix", lambda g: keys(g, unary(TransposeOp), **SIDES))
MATMULS.changes("both transposed", lambda g: keys(g, unary(TransposeOp), transpose_a=True, **SIDES))
MATMULS.keeps("transposed twice", lambda g: keys(g, unary(TransposeOp), transpose_b=True, **SIDES))
MATMULS.keeps(
    "rows as they are",
    lambda g: keys(g, unary(TransposeOp, [1, 0, 2]), query=(3, 7, 5), key=(5, 3, 4)),
)

# -- simplify-inference

INFERENCE = GuardTable(
    "simplify-inference",
    units=512,
    expects="+sqrt -nn.batch_norm|-nn.layer_norm|-nn.instance_norm|-nn.group_norm|-nn.l2_normalize",
)
NORMS = GuardTable("simplify-inference{keep-norms=true}", units=512, expects="-nn.batch_norm +sqrt")


def batch_norm(
    g: GuardGraph, axis: int, *, index: int = 0, dtype="float32", both: bool = False, **options
) -> None:
    shape = (2, 3, 4, 5)
    channels = shape[axis]
    vectors = [g.w(channels, dtype=dtype) for _ in range(3)]
    norm = g.op(
        BatchNormOp(
            g.x(*shape, dtype=dtype),
            *vectors,
            g.positive(channels, dtype=dtype),
            axis=axis,
            **options,
        )
    )
    g.show(TupleGetItemOp(norm, index))
    if both:
        g.show(TupleGetItemOp(norm, 1))


def norm(kind, shape=(2, 4, 3, 5), dtype="float32", **options):
    def build(g: GuardGraph) -> None:
        channels = shape[options.get("axis", 1)]
        g.show(
            kind(
                g.x(*shape, dtype=dtype),
                g.w(channels, dtype=dtype),
                g.w(channels, dtype=dtype),
                **options,
            )
        )

    return build


for axis in (0, 1, 2, 3, -1, -2):
    INFERENCE.changes(f"axis {axis}", lambda g, a=axis: batch_norm(g, a))
for dtype in FLOATS:
    INFERENCE.changes(
        f"channels {dtype}", lambda g, d=dtype: batch_norm(g, 1, dtype=d, epsilon=0.25)
    )
for options in ({"scale": False}, {"center": False}, {"scale": False, "center": False}):
    INFERENCE.changes(f"{options}", lambda g, o=options: batch_norm(g, 1, **o))
INFERENCE.changes(
    "statistics are used, too",
    lambda g: batch_norm(g, 1, both=True),
    expects="-tuple_get_item +sqrt",
)
INFERENCE.keeps("statistics are used", lambda g: batch_norm(g, 1, index=1))
INFERENCE.changes(
    "dropout",
    lambda g: g.show(TupleGetItemOp(g.op(DropoutOp(g.x(3))), 0)),
    units=0,
    expects="-nn.dropout -tuple_get_item",
)
INFERENCE.keeps("mask of dropout", lambda g: g.show(TupleGetItemOp(g.op(DropoutOp(g.x(3))), 1)))
for dtype in FLOATS:
    INFERENCE.changes(f"layer {dtype}", norm(LayerNormOp, dtype=dtype, axis=-1))
    INFERENCE.changes(f"instance {dtype}", norm(InstanceNormOp, dtype=dtype))
    INFERENCE.changes(f"group {dtype}", norm(GroupNormOp, dtype=dtype, num_groups=2))
for axis in (0, 2, -3, 3):
    INFERENCE.changes(f"layer {axis}", norm(LayerNormOp, axis=axis))
    INFERENCE.changes(f"instance {axis}", norm(InstanceNormOp, axis=axis))
INFERENCE.changes("groups of another axis", norm(GroupNormOp, (2, 3, 6), axis=2, num_groups=3))
INFERENCE.changes("one group", norm(GroupNormOp, num_groups=1, epsilon=0.5))
INFERENCE.changes("plain groups", norm(GroupNormOp, num_groups=4, scale=False, center=False))


def lengths(*axes: int, dtype="float32", eps: float = 1e-4):
    return lambda g: g.show(L2NormalizeOp(g.x(2, 4, 3, dtype=dtype), eps, list(axes)))


for dtype in FLOATS:
    INFERENCE.changes(f"length {dtype}", lengths(1, dtype=dtype))
INFERENCE.changes("length of rows", lengths(-1))
INFERENCE.changes("length of matrices", lengths(2, 0))
INFERENCE.changes("length of elements", lengths())
INFERENCE.changes("short vectors", lengths(1, eps=100.0))
NORMS.keeps("lengths", lengths(1))
for kind, options in ((LayerNormOp, {}), (InstanceNormOp, {}), (GroupNormOp, {"num_groups": 2})):
    NORMS.keeps(kind.name, norm(kind, axis=1, **options))
NORMS.changes("batches", lambda g: batch_norm(g, 1))

TABLES = (DENSES, INTEGERS, THREE, CONVOLUTIONS, BATCHES, MATMULS, INFERENCE, NORMS)
