"""Programs that few tests have: beside the guards of tests/support/guards, with the same oracle."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guards.passes import Guard, GuardGraph, GuardTable, passes_of, problem_of, program
from xdsl.context import Context
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from xrelay.compiler import context
from xrelay.dialects.conv.conv import Conv1DOp, Conv2DOp
from xrelay.dialects.conv.transpose import Conv1DTransposeOp, Conv3DTransposeOp
from xrelay.dialects.limits import Limits
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.qnn.products import QnnConv2DTransposeOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.creation import FullOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.transform import StridedSliceOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.transforms.rules.evaluating import Evaluator

TABLES: list[GuardTable] = []


def table(spec: str, **options: Any) -> GuardTable:
    """The guards of one more pass."""
    TABLES.append(GuardTable(spec, **options))
    return TABLES[-1]


# -- convolutions in other layouts

for spec, lines in (("legalize", False), ("legalize-convolutions", True)):
    CONVOLUTIONS = table(spec, special=False, units=64)
    if lines:
        CONVOLUTIONS.changes(
            "a line", lambda g: g.show(Conv1DOp(g.x(1, 2, 6), g.w(3, 2, 3))), expects="-nn.conv1d"
        )
        CONVOLUTIONS.keeps(
            "a line with channels last",
            lambda g: g.show(
                Conv1DOp(g.x(1, 6, 2), g.w(3, 2, 3), data_layout="NWC", kernel_layout="WIO")
            ),
        )
        continue
    CONVOLUTIONS.changes(
        "a transposed line",
        lambda g: g.show(Conv1DTransposeOp(g.x(1, 2, 6), g.w(2, 3, 3))),
        expects="-nn.conv1d_transpose",
    )
    CONVOLUTIONS.keeps(
        "a transposed line with channels last",
        lambda g: g.show(
            Conv1DTransposeOp(g.x(1, 6, 2), g.w(3, 3, 2), data_layout="NWC", kernel_layout="WIO")
        ),
    )
    CONVOLUTIONS.changes(
        "a transposed volume",
        lambda g: g.show(Conv3DTransposeOp(g.x(1, 2, 3, 3, 3), g.w(2, 3, 2, 2, 2))),
        expects="-nn.conv3d_transpose",
    )
    CONVOLUTIONS.keeps(
        "a transposed volume with channels last",
        lambda g: g.show(
            Conv3DTransposeOp(
                g.x(1, 3, 3, 3, 2), g.w(2, 2, 2, 2, 3), data_layout="NDHWC", kernel_layout="DHWOI"
            )
        ),
    )


def transposed_bytes(*zeros: int, dtype: str = "int8") -> Callable[[GuardGraph], Any]:
    def build(g: GuardGraph) -> None:
        left, right = (g.c(zero, "int32") for zero in zeros)
        factors = g.x(1, 2, 4, 4, dtype=dtype), g.w(3, 2, 3, 3, dtype=dtype)
        op = QnnConv2DTransposeOp(*factors, left, right, g.c(0.5), g.c(0.25), strides=(2, 2))
        g.show(op)

    return build


BYTES = table("legalize-quantized-products{rules=cpu}", units=0)
BYTES.changes(
    "transposed bytes", transposed_bytes(0, 0), expects="-qnn.conv2d_transpose !cast !subtract"
)
BYTES.changes("transposed with a zero point", transposed_bytes(3, 0), expects="+cast +subtract")
BYTES.changes(
    "transposed with another zero point", transposed_bytes(0, -3), expects="+cast +subtract"
)

# -- elements

POLYNOMIALS = table("simplify-expr{rules=cpu factor-polynomials=true}", units=64, special=False)


def square(a: float, b: float, c: float) -> Callable[[GuardGraph], Any]:
    """a * x * x + b * x * y + c * y * y, of f64."""

    def build(g: GuardGraph) -> None:
        x, y = g.x(3, dtype="float64"), g.x(3, dtype="float64")
        terms = [
            g.op(MultiplyOp(g.c(number, "float64"), g.op(MultiplyOp(*both))))
            for number, both in ((a, (x, x)), (b, (y, x)), (c, (y, y)))
        ]
        g.show(AddOp(g.op(AddOp(terms[0], terms[1])), terms[2]))

    return build


POLYNOMIALS.changes("doubles", square(2.0, 3.0, 1.0), expects="-multiply|<multiply")
POLYNOMIALS.keeps("roots beyond all numbers", square(1e-300, 1e10, 2.0))

TAKEN = table("simplify-expr{rules=cpu}", units=0)
for index in (0, 2, 7, -1):
    for mode in ("clip", "wrap"):
        TAKEN.changes(
            f"element {index} by {mode}",
            lambda g, index=index, mode=mode: g.show(
                TakeOp(g.x(2, 3), g.c([index], "int64"), axis=1, mode=mode)
            ),
            expects="-take +strided_slice",
        )
TAKEN.keeps("of nothing", lambda g: g.show(TakeOp(g.x(0, 3), g.c([1], "int64"), axis=1)))
TAKEN.keeps("two elements", lambda g: g.show(TakeOp(g.x(2, 3), g.c([1, 2], "int64"), axis=1)))
TAKEN.keeps("of all axes", lambda g: g.show(TakeOp(g.x(2, 3), g.c([1], "int64"))))

GRADIENTS = table("first-order-gradient", special=False, settles=False)
GRADIENTS.changes("a slice of a number", lambda g: g.show(StridedSliceOp(g.x(), [], [])))

CONTINUED = table("un-cps", before="to-cps", settles=False, special=False)
CONTINUED.changes(
    "two results",
    lambda g: [g.show(ReluOp(g.x(2))), g.show(ReluOp(g.x(3)))],
)

# -- layouts and element types

WEIGHTS = table(
    'layout-rewrite{weights="nn.dense:NC2n","nn.conv2d:OIHW2i2o"}', units=16, special=False
)


def fused(
    make: Callable[..., Operation], *shapes: tuple[int, ...], constant: bool = True
) -> Callable[[GuardGraph], Any]:
    """A kernel of one operator, the last of whose operands is a constant or a parameter."""

    def build(g: GuardGraph) -> None:
        *first, last = shapes
        args = [*(g.x(*shape) for shape in first), (g.w if constant else g.x)(*last)]

        def body(inner: Any, *params: SSAValue) -> SSAValue:
            return inner.op(make(*params))

        g.returns(g.fused(args, body))

    return build


WEIGHTS.changes("a matrix", fused(DenseOp, (3, 4), (6, 4)), expects="+layout_transform")
WEIGHTS.keeps("a stack of matrices", fused(DenseOp, (2, 3, 4), (6, 4)))
WEIGHTS.keeps("a matrix that is given", fused(DenseOp, (3, 4), (6, 4), constant=False))
WEIGHTS.changes(
    "an image", fused(Conv2DOp, (1, 4, 5, 5), (6, 4, 3, 3)), expects="+layout_transform"
)


def within(g: GuardGraph) -> None:
    """What a composite is given in a kernel is no constant of the kernel."""

    def product(inner: Any, x: SSAValue, weight: SSAValue) -> SSAValue:
        return inner.op(DenseOp(x, weight))

    def kernel(inner: Any, x: SSAValue) -> SSAValue:
        return inner.fused([x, g.w(6, 4)], product, composite="mine")

    g.returns(g.fused([g.x(3, 4)], kernel))


WEIGHTS.keeps("a constant of a composite in a kernel", within)
WEIGHTS.keeps("a weight that is given", fused(Conv2DOp, (1, 4, 5, 5), (6, 4, 3, 3), constant=False))

BRANCHES = table("combine-parallel-conv2d{min-num-branches=2}", units=64, special=False)


def branches(*tails: Callable[[GuardGraph, SSAValue], Operation]) -> Callable[[GuardGraph], Any]:
    """Two convolutions of one image, with more behind each."""

    def build(g: GuardGraph) -> None:
        x = g.x(1, 4, 5, 5)
        for tail in tails:
            g.show(tail(g, g.op(Conv2DOp(x, g.w(2, 4, 3, 3)))))

    return build


def biased(g: GuardGraph, x: SSAValue) -> Operation:
    return BiasAddOp(x, g.w(2))


def bounded(g: GuardGraph, x: SSAValue) -> Operation:
    return ReluOp(x)


BRANCHES.changes("alike", branches(bounded, bounded), expects="-nn.conv2d -nn.relu")
BRANCHES.changes("with a bias", branches(biased, biased), expects="-nn.conv2d")
BRANCHES.changes("that end otherwise", branches(biased, bounded), expects="-nn.conv2d ~nn.relu")

IMAGE, PART = "tensor<1x2x3x3xf32>", "tensor<1x1x3x3xf32>"
KERNEL = "tensor<1x2x1x1xf32>"
IN_A_BRANCH = f"""func.func @main(%x: {IMAGE}, %c: tensor<i1>) -> ({PART}, {PART}) {{
  %one = relay.constant dense<1.0> : {KERNEL}
  %two = relay.constant dense<2.0> : {KERNEL}
  %a = relay.nn.conv2d %x, %one : ({IMAGE}, {KERNEL}) -> {PART}
  %b = relay.nn.conv2d %x, %two : ({IMAGE}, {KERNEL}) -> {PART}
  %z = relay.constant dense<0.5> : {PART}
  %c0 = tensor.extract %c[] : tensor<i1>
  %r, %s = scf.if %c0 -> ({PART}, {PART}) {{
    %d = relay.nn.relu %a : ({PART}) -> {PART}
    %e = relay.nn.relu %b : ({PART}) -> {PART}
    scf.yield %d, %e : {PART}, {PART}
  }} else {{
    scf.yield %z, %z : {PART}, {PART}
  }}
  func.return %r, %s : {PART}, {PART}
}}"""
BRANCHES.changes("that end in a branch", program(IN_A_BRANCH), expects="-nn.conv2d ~nn.relu")


@pytest.mark.parametrize("guard", [guard for each in TABLES for guard in each.guards], ids=str)
def test_programs(guard: Guard) -> None:
    """A pass changes a program, or leaves it, and it means the same."""
    assert problem_of(guard) is None


# -- refusals


def evaluated(limit: int, count: int) -> Any:
    g = GuardGraph()
    op = FullOp(g.c(2.0), [count])
    g.op(op)
    evaluator = Evaluator(1 << 20, Limits(max_bytes=limit))
    return evaluator.result(op, (np.float32(2),))


def test_constants_up_to_a_limit() -> None:
    """What is computed may be as large as the limit, and no larger."""
    assert evaluated(400, 100).tolist() == [2.0] * 100
    with pytest.raises(
        PassFailedException, match=r"^relay\.full: the constant that it gives has 404 bytes, .*400"
    ):
        evaluated(400, 101)


PAIR = "tuple<tensor<2xf32>, tensor<2xf32>>"


@pytest.mark.parametrize(
    ("spec", "text", "message"),
    [
        (
            "infer-type",
            "func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> { func.return %x : tensor<2xf32> }",
            "function @f: result type is tensor<3xf32>, the body returns tensor<2xf32>",
        ),
        (
            "fake-quantization-to-integer{rules=cpu hard-fail=true}",
            "func.func @f() { func.return }",
            "'rules' is \"cpu\", expected no other option",
        ),
        (
            "fake-quantization-to-integer{rules=cpu use-qat=true}",
            "func.func @f() { func.return }",
            "'rules' is \"cpu\", expected no other option",
        ),
        (
            'fake-quantization-to-integer{rules=cpu optional-qnn-ops="take"}',
            "func.func @f() { func.return }",
            "'rules' is \"cpu\", expected no other option",
        ),
    ],
)
def test_refusals(spec: str, text: str, message: str) -> None:
    """The whole message."""
    module = Parser(context(), text).parse_module()
    (step,) = passes_of(spec)
    with pytest.raises(DiagnosticException) as found:
        step.apply(Context(), module)
    assert str(found.value) == message
