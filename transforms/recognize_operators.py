"""
`recognize-operators`: sub-graphs that exporters write for one operator become that operator.

    %mean = relay.mean %x {axis = [-1], keepdims}
    %0 = relay.subtract %x, %mean
    %1 = relay.power %0, 2
    %2 = relay.mean %1 {axis = [-1], keepdims}        ──►   relay.nn.layer_norm %x, %gamma, %beta
    %3 = relay.sqrt (%2 + epsilon)
    %4 = relay.divide %0, %3
    %5 = %4 * %gamma + %beta

RULES lists them. Layer normalisation (as torch and as TensorFlow write it), RMS normalisation and softmax
become operators of the dialect, whose kernels need fewer passes over memory. With `composites` further
ones become `relay.composite` under their name, for code generators that have a strategy for the whole:
"gelu" (with erf, with tanh), "silu", "hard_swish".

Composites are off by default as a composite is opaque to fusion: an elementwise chain after a dense or
convolution is fused with it and computed in registers anyway, and would be a kernel of its own as
a composite. `attention` makes a composite of scaled dot-product attention (`recognize_attention` has its
pattern): the products of queries with keys and of the weights with values, scale, mask and softmax
between them, what moves elements of the operands, and the reshapes and transposes behind. The code
generator has a strategy for it.

A sub-graph stays when something else uses a value inside of it, when it is within `relay.fused`,
`relay.composite` or a function for another compiler, or when types have unknown dimensions. Rules are
tried from the results to the inputs, the largest sub-graph first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

from xrelay.analysis.patterns import (
    AnyNumber,
    Leaf,
    Match,
    Number,
    OneOf,
    Op,
    Pattern,
    match,
)
from xrelay.analysis.scopes import is_kept
from xrelay.dialects.base import RelayOp
from xrelay.dialects.binary import AddOp, DivideOp, MultiplyOp, PowerOp, SubtractOp
from xrelay.dialects.core import CompositeOp, ConstantOp, YieldOp
from xrelay.dialects.norm import LayerNormOp, RmsNormOp, SoftmaxOp
from xrelay.dialects.reduction import MaxOp, MeanOp, ReductionOp, SumOp
from xrelay.dialects.reshape import ReshapeOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.unary import (
    ClipOp,
    ErfOp,
    ExpOp,
    NegativeOp,
    RsqrtOp,
    SigmoidOp,
    SqrtOp,
    TanhOp,
)
from xrelay.interpreters.arrays import dtype_of
from xrelay.transforms.recognize_attention import ATTENTION, with_moves
from xrelay.transforms.rewriting import (
    Emitter,
    erase_unused,
    has_static_type,
    is_floating,
    shape_of,
)

Build = Callable[[Match, SSAValue, Emitter], SSAValue | None]
"""Emits what a sub-graph with that result becomes, or nothing when the match is none after all."""


@dataclass(frozen=True)
class Recognition:
    """One line of the table."""

    name: str
    pattern: Pattern
    build: Build
    option: str = ""
    """The option that allows it, none when it always holds."""


def _keeps_axes(op: ReductionOp) -> bool:
    return len(op.reduced_axes) == 1 and bool(op.keepdims.value.data)


def _same_axis(found: Match, *types: type[ReductionOp]) -> int | None:
    """The one axis that the reductions of a match are over."""
    axes = {op.reduced_axes for op in found.ops if isinstance(op, types)}
    return axes.pop()[0] if len(axes) == 1 else None


def _vector(emit: Emitter, value: SSAValue, axis: int, shape: Sequence[int]) -> SSAValue | None:
    """A value that varies along `axis` of a tensor of some shape only, as a vector."""
    length, own = shape[axis], shape_of(value)
    position = axis - len(shape) + len(own)
    if position < 0 or own[position] != length:
        return None
    if any(dim != 1 for index, dim in enumerate(own) if index != position):
        return None
    return value if len(own) == 1 else emit(ReshapeOp(value, [length]))


def layer_norm(found: Match, result: SSAValue, emit: Emitter) -> SSAValue | None:
    """relay.nn.layer_norm, without scale or shift where the sub-graph has none."""
    x, axis = found.leaves["x"], _same_axis(found, MeanOp)
    if axis is None or x.type != result.type:
        return None
    shape = shape_of(x)
    gamma, beta = (
        None if name not in found.leaves else _vector(emit, found.leaves[name], axis, shape)
        for name in ("gamma", "beta")
    )
    if (gamma is None and "gamma" in found.leaves) or (beta is None and "beta" in found.leaves):
        return None
    assert is_tensor_type(x.type)
    none = np.zeros(shape[axis], dtype_of(x.type.element_type))
    return emit(
        LayerNormOp(
            x,
            emit.constant(none) if gamma is None else gamma,
            emit.constant(none) if beta is None else beta,
            axis=axis - len(shape) if axis == len(shape) - 1 else axis,
            epsilon=found.numbers["epsilon"],
            center=beta is not None,
            scale=gamma is not None,
        )
    )


def rms_norm(found: Match, result: SSAValue, emit: Emitter) -> SSAValue | None:
    """relay.nn.rms_norm, without scale where the sub-graph has none."""
    x, axis = found.leaves["x"], _same_axis(found, MeanOp)
    if axis is None or x.type != result.type:
        return None
    shape = shape_of(x)
    gamma = found.leaves.get("gamma")
    vector = None if gamma is None else _vector(emit, gamma, axis, shape)
    if vector is None and gamma is not None:
        return None
    assert is_tensor_type(x.type)
    none = np.zeros(shape[axis], dtype_of(x.type.element_type))
    return emit(
        RmsNormOp(
            x,
            emit.constant(none) if vector is None else vector,
            axis=axis - len(shape) if axis == len(shape) - 1 else axis,
            epsilon=found.numbers["epsilon"],
            scale=vector is not None,
        )
    )


def softmax(found: Match, result: SSAValue, emit: Emitter) -> SSAValue | None:
    """relay.nn.softmax"""
    x, axis = found.leaves["x"], _same_axis(found, MaxOp, SumOp)
    if axis is None or x.type != result.type:
        return None
    rank = len(shape_of(x))
    return emit(SoftmaxOp(x, axis=axis - rank if axis == rank - 1 else axis))


def composite(
    name: str, grown: Callable[[Sequence[Operation]], set[Operation]] = set[Operation]
) -> Build:
    """A composite of the operations of a match, or what it is `grown` to, with its constants."""

    def build(found: Match, result: SSAValue, emit: Emitter) -> SSAValue | None:
        inside = grown(found.ops)
        root = result.owner
        assert isinstance(root, Operation) and root.parent is not None
        # In program order, which follows from walking back over operands.
        order: list[Operation] = []
        inputs: dict[SSAValue, None] = {}
        _collect(root, inside, order, inputs, set())
        block = Block(arg_types=[value.type for value in inputs])
        mapping: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
        for op in order:
            block.add_op(op.clone(mapping))
        block.add_op(YieldOp(mapping[result]))
        return emit(CompositeOp(name, list(inputs), Region(block), result.type))

    return build


def _collect(
    op: Operation,
    inside: set[Operation],
    order: list[Operation],
    inputs: dict[SSAValue, None],
    seen: set[Operation],
) -> None:
    """The operations of a sub-graph, small constants included, operands first, and its inputs."""
    seen.add(op)
    for value in op.operands:
        owner = value.owner
        if not isinstance(owner, Operation) or not (
            owner in inside or (isinstance(owner, ConstantOp) and not shape_of(value))
        ):
            inputs.setdefault(value)
        elif owner not in seen:
            _collect(owner, inside, order, inputs, seen)
    order.append(op)


X, GAMMA, BETA = Leaf("x"), Leaf("gamma"), Leaf("beta")
EPSILON = AnyNumber("epsilon")


def _mean(value: Pattern) -> Pattern:
    return Op(MeanOp, value, where=_keeps_axes)


def _square(value: Pattern) -> Pattern:
    return OneOf(Op(MultiplyOp, value, value), Op(PowerOp, value, Number(2)))


def _half(value: Pattern) -> Pattern:
    return OneOf(Op(MultiplyOp, value, Number(0.5)), Op(DivideOp, value, Number(2)))


_CENTERED = Op(SubtractOp, X, _mean(X))
_STABLE = Op(AddOp, _mean(_square(_CENTERED)), EPSILON)
_INVERSE = OneOf(
    Op(RsqrtOp, _STABLE),
    Op(DivideOp, Number(1), Op(SqrtOp, _STABLE)),
    Op(PowerOp, _STABLE, Number(-0.5)),
)
_NORMAL = OneOf(
    Op(DivideOp, _CENTERED, Op(SqrtOp, _STABLE)),
    Op(DivideOp, _CENTERED, Op(PowerOp, _STABLE, Number(0.5))),
    Op(MultiplyOp, _CENTERED, _INVERSE),
)
# x * (inverse * gamma) + (beta - mean * (inverse * gamma)), with the variance of tf.nn.moments.
_FACTOR = Op(MultiplyOp, _INVERSE, GAMMA)
_TENSORFLOW = Op(
    AddOp, Op(MultiplyOp, X, _FACTOR), Op(SubtractOp, BETA, Op(MultiplyOp, _mean(X), _FACTOR))
)
_LAYER_NORM = OneOf(
    _TENSORFLOW,
    Op(AddOp, Op(MultiplyOp, _NORMAL, GAMMA), BETA),
)

_SQUARES = Op(AddOp, _mean(_square(X)), EPSILON)
_ROOT = OneOf(Op(SqrtOp, _SQUARES), Op(PowerOp, _SQUARES, Number(0.5)))
_INVERSE_ROOT = OneOf(
    Op(RsqrtOp, _SQUARES),
    Op(DivideOp, Number(1), _ROOT),
    Op(PowerOp, _SQUARES, Number(-0.5)),
)
_RMS = OneOf(Op(DivideOp, X, _ROOT), Op(MultiplyOp, X, _INVERSE_ROOT))
_RMS_NORM = OneOf(
    Op(MultiplyOp, _RMS, GAMMA),
    Op(MultiplyOp, X, Op(MultiplyOp, _INVERSE_ROOT, GAMMA)),
)

_POWERS = Op(ExpOp, Op(SubtractOp, X, Op(MaxOp, X, where=_keeps_axes)))
_SOFTMAX = Op(DivideOp, _POWERS, Op(SumOp, _POWERS, where=_keeps_axes))

_ERF = Op(
    AddOp,
    Op(
        ErfOp,
        OneOf(Op(DivideOp, X, Number(1.41421356)), Op(MultiplyOp, X, Number(0.70710678))),
    ),
    Number(1),
)
_CUBE = OneOf(Op(MultiplyOp, Op(MultiplyOp, X, X), X), Op(PowerOp, X, Number(3)))
_INNER = OneOf(
    Op(AddOp, X, Op(MultiplyOp, _CUBE, Number(0.044715))),
    Op(MultiplyOp, X, Op(AddOp, Op(MultiplyOp, _square(X), Number(0.044715)), Number(1))),
)
_TANH = Op(AddOp, Op(TanhOp, Op(MultiplyOp, _INNER, Number(0.79788456))), Number(1))


def _gelu(factor: Pattern) -> Pattern:
    """x / 2 * factor, in any order."""
    return OneOf(
        _half(Op(MultiplyOp, X, factor)),
        Op(MultiplyOp, _half(X), factor),
        Op(MultiplyOp, X, _half(factor)),
    )


_SIGMOID = OneOf(
    Op(SigmoidOp, X),
    Op(DivideOp, Number(1), Op(AddOp, Op(ExpOp, Op(NegativeOp, X)), Number(1))),
)


def _bounds(low: float, high: float) -> Callable[[ClipOp], bool]:
    def holds(op: ClipOp) -> bool:
        return op.a_min.value.data == low and op.a_max.value.data == high

    return holds


_HARD_SWISH = OneOf(
    Op(
        MultiplyOp,
        X,
        Op(
            ClipOp,
            Op(AddOp, Op(MultiplyOp, X, Number(1 / 6)), Number(0.5)),
            where=_bounds(0, 1),
        ),
    ),
    *(
        pattern
        for relu6 in (Op(ClipOp, Op(AddOp, X, Number(3)), where=_bounds(0, 6)),)
        for pattern in (
            Op(DivideOp, Op(MultiplyOp, X, relu6), Number(6)),
            Op(MultiplyOp, Op(MultiplyOp, X, relu6), Number(1 / 6)),
            Op(MultiplyOp, X, Op(DivideOp, relu6, Number(6))),
            Op(MultiplyOp, X, Op(MultiplyOp, relu6, Number(1 / 6))),
        )
    ),
)

RULES: tuple[Recognition, ...] = (
    Recognition("layer_norm", _LAYER_NORM, layer_norm),
    Recognition("layer_norm", _NORMAL, layer_norm),
    Recognition("rms_norm", _RMS_NORM, rms_norm),
    Recognition("rms_norm", _RMS, rms_norm),
    Recognition("softmax", _SOFTMAX, softmax),
    Recognition("gelu", OneOf(_gelu(_ERF), _gelu(_TANH)), composite("gelu"), "composites"),
    Recognition("silu", Op(MultiplyOp, X, _SIGMOID), composite("silu"), "composites"),
    Recognition("hard_swish", _HARD_SWISH, composite("hard_swish"), "composites"),
    Recognition("attention", ATTENTION, composite("attention", with_moves), "attention"),
)
"""All rules; of several that match a value, the first one counts."""


def is_closed(found: Match, result: SSAValue) -> bool:
    """Whether only operations of a sub-graph use the values inside of it."""
    inside = set(found.ops)
    return all(
        use.operation in inside
        for op in inside
        for value in op.results
        if value is not result
        for use in value.uses
    )


class Recognize(RewritePattern):
    """Replaces a sub-graph by the first rule that matches its result."""

    def __init__(self, rules: Sequence[Recognition]):
        self.rules = rules

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, RelayOp) or not op.operands or is_kept(op):
            return
        result = op.results[0]
        if not has_static_type(result) or not is_floating(result):
            return
        for rule in self.rules:
            found = match(rule.pattern, result)
            if found is None or not is_closed(found, result):
                continue
            emit = Emitter()
            value = rule.build(found, result, emit)
            if value is None:
                for new in reversed(emit.ops):
                    new.drop_all_references()
                continue
            value.name_hint = result.name_hint
            sources = tuple(dict.fromkeys(op.operands))
            rewriter.replace(op, emit.located(op), (value,))
            erase_unused(sources, rewriter)
            return


@dataclass(frozen=True)
class RecognizeOperatorsPass(ModulePass):
    """Finds the operators that exporters decompose."""

    name = "recognize-operators"

    composites: bool = False
    """Also make composites of GELU, SiLU and hard swish."""
    attention: bool = False
    """Also make composites of scaled dot-product attention."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = {"": True, "composites": self.composites, "attention": self.attention}
        rules = [rule for rule in RULES if options[rule.option]]
        PatternRewriteWalker(
            Recognize(rules), apply_recursively=False, walk_reverse=True
        ).rewrite_module(op)
