"""Guards of the passes `combine-parallel-*` with the rules of the original."""

from xdsl.dialects.builtin import f32

from guards.layers import FLOATS, IMAGE, NHWC, bias, by, conv, dense, plus, unary
from guards.passes import GuardGraph, GuardTable
from guards.products import JOINED, ROWS, branches, matmul
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeOp
from xrelay.dialects.tensor.unary import CastOp, ReluOp, TanhOp

STACKED = "-nn.dense +nn.batch_matmul +stack +split"
BATCHED = GuardTable("combine-parallel-dense{min-num-branches=2}", units=64, expects=STACKED)
DENSES = GuardTable(
    "combine-parallel-dense{min-num-branches=2 to-batch=false}",
    units=64,
    expects=f"-nn.dense {JOINED}",
)
CONVOLUTIONS = GuardTable(
    "combine-parallel-conv2d{min-num-branches=2}", units=64, expects=f"-nn.conv2d {JOINED}"
)
BATCHES = GuardTable(
    "combine-parallel-batch-matmul{min-num-branches=2}",
    units=64,
    expects=f"-nn.batch_matmul {JOINED}",
)


def computed(*shape: int, op=AddOp, left: bool = False):
    """A sum with numbers that are not known."""
    return plus(*shape, constant=False, op=op, left=left)


# What follows comes along when all it needs is put together.
for dtype in (*FLOATS, "int32", "int8"):
    BATCHED.changes(
        f"rows, numbers and relu {dtype}",
        branches(
            ROWS,
            *[(dense(5, 4), computed(5), by(n, shape=()), unary(ReluOp)) for n in (2, 3)],
            dtype=dtype,
        ),
        expects=f"{STACKED} -add -multiply -nn.relu",
    )
    DENSES.changes(
        f"rows, numbers and relu {dtype}",
        branches(
            ROWS,
            *[(dense(n, 4), computed(n), by(n, shape=()), unary(ReluOp)) for n in (2, 5)],
            dtype=dtype,
        ),
        expects=f"-nn.dense {JOINED} -add -multiply -nn.relu +repeat",
    )
for name, steps in (
    ("vectors of one", computed(1)),
    ("numbers in matrices", computed(1, 1, op=MultiplyOp)),
    ("columns", computed(3, 1, op=SubtractOp, left=True)),
    ("matrices", computed(3, 5)),
    ("scalars", computed()),
    ("other types", lambda g, x: CastOp(x, f32)),
):
    kinds = {"dtype": "float16"} if name == "other types" else {}
    fewer = {"other types": "-cast", "columns": "-subtract", "numbers in matrices": "-multiply"}
    for table, expects in ((BATCHED, STACKED), (DENSES, f"-nn.dense {JOINED}")):
        table.changes(
            name,
            branches(ROWS, *[(dense(5, 4), steps)] * 2, **kinds),
            expects=f"{expects} {fewer.get(name, '-add')}",
        )
for name, first, second in (
    ("different operators", plus(5), plus(5, op=SubtractOp)),
    ("on different sides", plus(5, op=SubtractOp), plus(5, left=True, op=SubtractOp)),
    ("vectors and matrices", computed(5, op=DivideOp), computed(3, 5, op=DivideOp)),
    ("biases", bias(3, 0), bias(3, 0)),
    ("reshapes", unary(ReshapeOp, [5, 3]), unary(ReshapeOp, [5, 3])),
    ("more axes", unary(ExpandDimsOp, 2), unary(ExpandDimsOp, 2)),
):
    build = branches(ROWS, (dense(5, 4), first), (dense(5, 4), second))
    for table, expects in ((BATCHED, STACKED), (DENSES, f"-nn.dense {JOINED}")):
        table.changes(
            f"{name} stay",
            build,
            expects=f"{expects} ~add|~subtract|~divide|~nn.bias_add|~reshape|~expand_dims",
        )
DENSES.changes(
    "biases of outputs",
    branches(ROWS, *[(dense(n, 4), bias(n, -1)) for n in (2, 5)]),
    expects="-nn.bias_add",
)
DENSES.changes(
    "more axes come in",
    branches(ROWS, (dense(2, 4), computed(2, 3, 2)), (dense(5, 4), computed(2, 3, 1))),
    expects="-add +repeat",
)
BATCHED.changes(
    "more axes come in",
    branches(ROWS, *[(dense(5, 4), computed(2, 3, 5))] * 2),
    expects=f"{STACKED} ~add",
)
DENSES.changes("units", branches(ROWS, (dense(2, 4, units=2),), (dense(5, 4),)))
DENSES.changes("of batches", branches((2, *ROWS), (dense(2, 4), plus(2)), (dense(5, 4), plus(5))))
DENSES.changes("one output", branches(ROWS, (dense(1, 4), computed(1)), (dense(1, 4), computed(1))))
BATCHED.changes("units", branches(ROWS, (dense(5, 4, units=5),), (dense(5, 4),)))
BATCHED.keeps("of batches", branches((2, *ROWS), *[(dense(2, 4),)] * 2))
BATCHED.keeps("of vectors", branches((4,), *[(dense(2, 4),)] * 2))
BATCHED.keeps("different numbers of outputs", branches(ROWS, (dense(2, 4),), (dense(5, 4),)))
for table in (BATCHED, DENSES):
    table.keeps("one", branches(ROWS, (dense(2, 4),)))
    table.keeps(
        "of two types",
        branches(ROWS, (dense(2, 4),), (dense(2, 4, out_dtype=f32),), dtype="float16"),
    )


def late(g: GuardGraph, *, weight: bool = False, needs: bool = False) -> None:
    """What the second branch needs is computed after the first one, or of it."""
    x, other = g.x(4, 4), g.x(4, 4)
    first = g.op(DenseOp(x, g.w(4, 4)))
    tail = g.op(AddOp(first, g.x(4)))
    made = g.op(TanhOp(tail if needs else other))
    second = g.op(DenseOp(x, made if weight else g.w(4, 4)))
    g.returns(g.op(AddOp(second, g.x(4) if weight else g.op(ReshapeOp(made, [4, 4])))))
    g.returns(tail)


def crossed(g: GuardGraph) -> None:
    """The first branch of the second pair is computed for the second branch of the first."""
    x, y = g.x(4, 4), g.x(4, 4)
    g.show(DenseOp(x, g.w(4, 4)))
    inner = g.op(DenseOp(y, g.w(4, 4)))
    g.show(DenseOp(x, g.op(TanhOp(inner))))
    g.show(DenseOp(y, g.w(4, 4)))


for table in (BATCHED, DENSES):
    table.changes("a weight that is made later", lambda g: late(g, weight=True))
    table.changes("a summand that is made later", late)
    table.keeps("a weight that needs a branch", lambda g: late(g, weight=True, needs=True))
    table.changes("a summand that needs a branch", lambda g: late(g, needs=True), expects="~add")
    table.changes("pairs that need each other", crossed, expects="-nn.dense")

CHANNELS = tuple(
    (conv(n, 4, 2, 3), computed(n, 1, 1), unary(ReluOp), computed(1, n, 4, 1, op=MultiplyOp))
    for n in (2, 3)
)
for dtype in (*FLOATS, "int32"):
    CONVOLUTIONS.changes(
        f"channels {dtype}",
        branches(IMAGE, *CHANNELS, dtype=dtype),
        expects=f"-nn.conv2d {JOINED} -add -nn.relu -multiply",
    )
LAST = tuple((conv(2, 3, 4, n, **NHWC), bias(n, -1), computed(n)) for n in (2, 3))
CONVOLUTIONS.changes("channels last", branches((1, 5, 6, 4), *LAST), expects="-nn.bias_add -add")
CONVOLUTIONS.changes(
    "channels come last",
    branches(IMAGE, *[(conv(n, 4, 1, 1, out_layout="NHWC"), computed(n)) for n in (2, 3)]),
    expects="-add",
)
CONVOLUTIONS.changes(
    "sizes that are stated or not",
    branches(IMAGE, (conv(2, 4, 2, 3, kernel_size=[2, 3]),), (conv(3, 4, 2, 3, channels=3),)),
)
for name, step in (
    ("numbers", by(2, shape=())),
    ("vectors of one", by(2)),
    ("numbers for all channels", by(2, shape=(1, 1, 1))),
    ("biases in the middle", bias(2, 1)),
    ("more axes", computed(2, 1, 2, 1, 1)),
):
    CONVOLUTIONS.changes(
        f"{name} stay",
        branches(IMAGE, *[(conv(2, 4, 1, 1), step)] * 2),
        expects=f"{JOINED} ~multiply|~nn.bias_add|~add",
    )
CONVOLUTIONS.keeps("groups", branches(IMAGE, *[(conv(4, 2, 1, 1, groups=2),)] * 2))
CONVOLUTIONS.keeps(
    "blocks",
    branches(
        (1, 2, 5, 6, 2),
        *[(conv(2, 2, 1, 1, 2, 2, data_layout="NCHW2c", kernel_layout="OIHW2i2o"),)] * 2,
    ),
)
CONVOLUTIONS.keeps("different kernels", branches(IMAGE, (conv(2, 4, 1, 2),), (conv(2, 4, 2, 1),)))
CONVOLUTIONS.keeps(
    "different layouts",
    branches((1, 4, 4, 4), (conv(4, 4, 1, 1),), (conv(4, 4, 1, 1, out_layout="NHWC"),)),
)
BATCH = tuple((matmul(2, n, 4, transpose_b=True), computed(n), unary(ReluOp)) for n in (3, 5))
BATCHES.changes("columns", branches((2, *ROWS), *BATCH), expects="-add -nn.relu")
BATCHES.changes(
    "numbers",
    branches((2, *ROWS), *[(matmul(2, n, 4, transpose_b=True), computed()) for n in (3, 5)]),
    expects="-add +repeat",
)
BATCHES.keeps(
    "transposed on the left",
    branches((2, 4, 4), *[(matmul(2, 4, 4, transpose_a=True, transpose_b=True),)] * 2),
)
BATCHES.keeps("not transposed", branches((2, 4, 4), *[(matmul(2, 4, 4),)] * 2))
TABLES = (BATCHED, DENSES, CONVOLUTIONS, BATCHES)
