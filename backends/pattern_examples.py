"""
Programs that a pattern describes, for the contract tests of backends: a pattern names operators, their
operands are made to fit.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import f16
from xdsl.ir import Operation, SSAValue

from xrelay.analysis.patterns.language import (
    AltPattern,
    CallPattern,
    ConstantPattern,
    NumberPattern,
    OpPattern,
    Pattern,
    RestrictedPattern,
    TupleGetItemPattern,
    TuplePattern,
    VarPattern,
    WildcardPattern,
)
from xrelay.analysis.patterns.nodes import nodes
from xrelay.backends.region_builder import RegionBuilder
from xrelay.dialects.base import Constructor, RelayOp
from xrelay.dialects.conv import conv
from xrelay.dialects.core import values as core
from xrelay.dialects.nn import dense, norm
from xrelay.dialects.pool import pool
from xrelay.dialects.relay import Relay
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor import unary
from xrelay.dialects.tensor.binary import BroadcastBinaryOp
from xrelay.dialects.tensor.unary import ElementwiseUnaryOp

IMAGE = (1, 8, 6, 6)
ROWS = (4, 8)

Make: TypeAlias = Callable[[tuple[int, ...]], SSAValue]
"""Makes a constant or a parameter of a shape, as the pattern wants it."""
Example: TypeAlias = Callable[[SSAValue, Sequence[Make]], RelayOp]
"""An operator on its first operand, with what makes the others."""


EXAMPLES: dict[str, Example] = {
    "cast": lambda x, _: unary.CastOp(x, f16),
    "clip": lambda x, _: unary.ClipOp(x, 0.0, 6.0),
    "nn.avg_pool2d": lambda x, _: pool.AvgPool2DOp(x, (2, 2), strides=(2, 2)),
    "nn.bias_add": lambda x, rest: norm.BiasAddOp(x, rest[0]((shape_of(x)[1],))),
    "nn.conv2d": lambda x, rest: conv.Conv2DOp(
        x, rest[0]((8, shape_of(x)[1], 3, 3)), padding=(1, 1)
    ),
    "nn.dense": lambda x, rest: dense.DenseOp(x, rest[0]((6, shape_of(x)[-1]))),
    "nn.global_avg_pool2d": lambda x, _: pool.GlobalAvgPool2DOp(x),
    "nn.matmul": lambda x, rest: dense.MatmulOp(x, rest[0]((shape_of(x)[-1], 6))),
    "nn.max_pool2d": lambda x, _: pool.MaxPool2DOp(x, (2, 2), strides=(2, 2)),
    "nn.softmax": lambda x, _: norm.SoftmaxOp(x),
}
"""Operators with weights or attributes. Elementwise ones need no entry."""


class NoExample(Exception):
    """No program is known for a pattern."""


def pattern_examples(pattern: Pattern) -> Iterator[Callable[[RegionBuilder], Sequence[SSAValue]]]:
    """What builds programs for a pattern: one for the first of all alternatives, one for the last."""
    order = nodes(pattern)
    alternatives = any(isinstance(node, AltPattern) for node in order)
    for last in (False, True) if alternatives else (False,):
        yield lambda builder, last=last: [_Building(builder, last).value(pattern)]


class _Building:
    """The construction of one program."""

    def __init__(self, builder: RegionBuilder, last: bool):
        self.builder = builder
        self.last = last
        self.made: dict[Pattern, SSAValue] = {}

    def value(self, pattern: Pattern) -> SSAValue:
        """A value that a pattern describes. Patterns nest as deep as chains of operators do."""
        if pattern not in self.made:
            self.made[pattern] = self.new_value(pattern)
        return self.made[pattern]

    def new_value(self, pattern: Pattern) -> SSAValue:
        """One that is not made yet."""
        match pattern:
            case AltPattern():
                return self.value(pattern.right if self.last else pattern.left)
            case RestrictedPattern():
                return self.value(pattern.pattern)
            case CallPattern():
                return self.call(pattern)
            case TuplePattern() if pattern.fields is not None:
                fields = [self.value(field) for field in pattern.fields]
                return self.builder.op(core.TupleOp(fields))
            case TupleGetItemPattern():
                index = pattern.index or 0
                return self.builder.op(core.TupleGetItemOp(self.value(pattern.tuple_value), index))
            case ConstantPattern() | NumberPattern() | VarPattern() | WildcardPattern():
                return self.leaf(pattern, ROWS)
            case _:
                raise NoExample(f"no example of a {type(pattern).__name__}")

    def call(self, pattern: CallPattern) -> SSAValue:
        """A call, and its operands."""
        function = pattern.callee
        while isinstance(function, RestrictedPattern):
            function = function.pattern
        if isinstance(function, AltPattern):
            function = function.right if self.last else function.left
        if not isinstance(function, OpPattern):
            raise NoExample("no example of a call of something other than an operator")
        op_type = _operator(function)
        name = op_type.name.removeprefix("relay.")
        args = pattern.args or ()
        image = any(word in name for word in ("conv2d", "pool2d"))
        first = self.first(args, IMAGE if image else ROWS)
        rest = [self.maker(arg) for arg in args[1:]] or [self.maker(WildcardPattern())]
        example = EXAMPLES.get(name)
        if example is not None:
            return self.builder.op(example(first, rest))
        if issubclass(op_type, ElementwiseUnaryOp) and len(Constructor.of(op_type).required) == 1:
            return self.builder.op(op_type(first))
        if issubclass(op_type, BroadcastBinaryOp):
            return self.builder.op(op_type(first, rest[0](shape_of(first))))
        raise NoExample(f"no example of {name}")

    def first(self, args: Sequence[Pattern], shape: tuple[int, ...]) -> SSAValue:
        """The first operand of a call."""
        if not args:
            return self.builder.input(self.builder.array("float32", *shape))
        return self.maker(args[0])(shape)

    def maker(self, pattern: Pattern) -> Make:
        """What makes an operand of the shape that the operator needs."""

        def make(shape: tuple[int, ...]) -> SSAValue:
            leaf = isinstance(
                pattern, ConstantPattern | NumberPattern | VarPattern | WildcardPattern
            )
            if leaf and pattern not in self.made:
                self.made[pattern] = self.leaf(pattern, shape)
            return self.value(pattern)

        return make

    def leaf(self, pattern: Pattern, shape: tuple[int, ...]) -> SSAValue:
        """A constant or a parameter."""
        if isinstance(pattern, NumberPattern):
            number = 1.0 if pattern.value is None else pattern.value
            return self.builder.constant(np.asarray(number, np.float32))
        array = self.builder.array("float32", *shape)
        if isinstance(pattern, ConstantPattern):
            return self.builder.constant(array)
        return self.builder.input(array)


def _operator(pattern: OpPattern) -> type[Operation]:
    """The operator that a pattern names."""
    kind = pattern.kind
    if isinstance(kind, tuple):
        return kind[0]
    if not isinstance(kind, str):
        return kind
    name = kind if kind.startswith("relay.") else f"relay.{kind}"
    for op_type in Relay.operations:
        if op_type.name == name:
            return op_type
    raise NoExample(f"there is no operator {name}")
