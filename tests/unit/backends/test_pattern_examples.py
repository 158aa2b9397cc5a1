"""Programs that are made of patterns: which operators and operands they have, and of which patterns none are made."""

from collections.abc import Sequence

import pytest
from xdsl.dialects import func

from xrelay.analysis.facts.names import short_name
from xrelay.analysis.patterns.language import (
    Pattern,
    is_constant,
    is_number,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    one_of,
    wildcard,
)
from xrelay.analysis.patterns.matching import match
from xrelay.backends.pattern_examples import NoExample, pattern_examples
from xrelay.backends.region_builder import RegionBuilder
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.interpreters.constants import constant_array

X = wildcard()


def examples(pattern: Pattern) -> list[func.FuncOp]:
    """Its programs, each of which it describes."""
    found: list[func.FuncOp] = []
    for build in pattern_examples(pattern):
        builder = RegionBuilder()
        (value,) = build(builder)
        found.append(builder.function([value]))
        assert match(pattern, value) is not None
    return found


def texts(function: func.FuncOp) -> list[str]:
    """The parameters, and each operator with the types of its operands and results, without `tensor`."""
    lines = [", ".join(_type(each.type) for each in function.args)]
    for op in function.body.block.ops:
        if not isinstance(op, func.ReturnOp):
            given = ", ".join(_type(each.type) for each in op.operands)
            lines.append(f"{short_name(op)} {given} -> {_type(op.results[0].type)}")
    return lines


def _type(type_: object) -> str:
    return str(type_).replace("tensor<", "").replace("xf32>", "").replace("f32>", "-")


IMAGE, ROWS = "1x8x6x6", "4x8"


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (is_op("clip")(X), [ROWS, f"clip {ROWS} -> {ROWS}"]),
        (is_op("nn.avg_pool2d")(X), [IMAGE, f"nn.avg_pool2d {IMAGE} -> 1x8x3x3"]),
        (is_op("nn.max_pool2d")(X), [IMAGE, f"nn.max_pool2d {IMAGE} -> 1x8x3x3"]),
        (is_op("nn.global_avg_pool2d")(X), [IMAGE, f"nn.global_avg_pool2d {IMAGE} -> 1x8x1x1"]),
        (is_op("nn.softmax")(X), [ROWS, f"nn.softmax {ROWS} -> {ROWS}"]),
        (is_op("nn.bias_add")(X, wildcard()), [f"{ROWS}, 8", f"nn.bias_add {ROWS}, 8 -> {ROWS}"]),
        (
            is_op("nn.conv2d")(X, wildcard()),
            [f"{IMAGE}, 8x8x3x3", f"nn.conv2d {IMAGE}, 8x8x3x3 -> {IMAGE}"],
        ),
        (is_op("nn.dense")(X, wildcard()), [f"{ROWS}, 6x8", f"nn.dense {ROWS}, 6x8 -> 4x6"]),
        (is_op("nn.matmul")(X, wildcard()), [f"{ROWS}, 8x6", f"nn.matmul {ROWS}, 8x6 -> 4x6"]),
        (is_op("nn.relu")(X), [ROWS, f"nn.relu {ROWS} -> {ROWS}"]),
        (is_op("relay.nn.relu")(X), [ROWS, f"nn.relu {ROWS} -> {ROWS}"]),
        (is_op(ReluOp)(X), [ROWS, f"nn.relu {ROWS} -> {ROWS}"]),
        (is_op("nn.relu").any_call(), [ROWS, f"nn.relu {ROWS} -> {ROWS}"]),
        (is_op("add").any_call(), [f"{ROWS}, {ROWS}", f"add {ROWS}, {ROWS} -> {ROWS}"]),
        (is_op("add")(X, X), [ROWS, f"add {ROWS}, {ROWS} -> {ROWS}"]),
        (is_op("add")(X, is_var()), [f"{ROWS}, {ROWS}", f"add {ROWS}, {ROWS} -> {ROWS}"]),
        (
            is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.dense")(X, wildcard()), wildcard())),
            [
                f"{ROWS}, 6x8, 6",
                f"nn.dense {ROWS}, 6x8 -> 4x6",
                "nn.bias_add 4x6, 6 -> 4x6",
                "nn.relu 4x6 -> 4x6",
            ],
        ),
        (
            is_op("nn.dense")(X, is_constant()),
            [ROWS, "constant  -> 6x8", f"nn.dense {ROWS}, 6x8 -> 4x6"],
        ),
        (
            is_tuple_get_item(is_tuple([is_op("exp")(X), is_op("tanh")(X)]), 1),
            [
                ROWS,
                f"exp {ROWS} -> {ROWS}",
                f"tanh {ROWS} -> {ROWS}",
                f"tuple {ROWS}, {ROWS} -> tuple<{ROWS}, {ROWS}>",
                f"tuple_get_item tuple<{ROWS}, {ROWS}> -> {ROWS}",
            ],
        ),
        (
            is_tuple_get_item(is_tuple([wildcard(), is_op("tanh")(X)])),
            [
                f"{ROWS}, {ROWS}",
                f"tanh {ROWS} -> {ROWS}",
                f"tuple {ROWS}, {ROWS} -> tuple<{ROWS}, {ROWS}>",
                f"tuple_get_item tuple<{ROWS}, {ROWS}> -> {ROWS}",
            ],
        ),
    ],
    ids=lambda each: "" if isinstance(each, list) else str(each)[:40],
)
def test_programs_of_patterns(pattern: Pattern, lines: Sequence[str]) -> None:
    """The pattern describes the one program that is made, whose operands have the shapes that operators need."""
    (function,) = examples(pattern)
    assert texts(function) == lines


@pytest.mark.parametrize(("number", "value"), [(None, 1.0), (0.0, 0.0), (2.5, 2.5)])
def test_numbers_of_patterns(number: float | None, value: float) -> None:
    """A number is a constant of rank 0: the one that the pattern names, else 1."""
    (function,) = examples(is_op("multiply")(X, is_number(number)))
    (constant,) = (op for op in function.body.block.ops if isinstance(op, ConstantOp))
    array = constant_array(constant)
    assert array.shape == () and array.dtype == "float32" and float(array) == value


def test_alternatives_of_patterns() -> None:
    """Two programs: of the first of all alternatives, and of the last."""
    pattern = one_of(is_op("exp"), is_op("tanh"), is_op("abs"))
    calls = is_op("nn.relu")(is_op("negative")(one_of(is_op("exp")(X), is_op("log")(X))))
    names = [[line.split()[0] for line in texts(each)[1:]] for each in examples(calls)]
    assert names == [["exp", "negative", "nn.relu"], ["log", "negative", "nn.relu"]]
    operators = is_op("nn.relu") | is_op("abs")
    names = [[line.split()[0] for line in texts(each)[1:]] for each in examples(operators(X))]
    assert names == [["nn.relu"], ["abs"]]
    with pytest.raises(NoExample):
        list(examples(pattern))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (wildcard()(X), "no example of a call of something other than an operator"),
        (is_op("nn.nothing")(X), "there is no operator relay.nn.nothing"),
        (is_op("relay.nothing")(X), "there is no operator relay.nothing"),
        (is_op("nn.batch_norm")(X), "no example of nn.batch_norm"),
        (is_op("reinterpret")(X), "no example of reinterpret"),
        (is_tuple(None), "no example of a TuplePattern"),
        (is_op("exp"), "no example of a OpPattern"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_patterns_without_programs(pattern: Pattern, message: str) -> None:
    """It is said what there is no example of."""
    with pytest.raises(NoExample) as caught:
        examples(pattern)
    assert str(caught.value) == message
