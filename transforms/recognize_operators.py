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
from functools import partial
from math import pi, sqrt
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.patterns.language import Pattern, is_number, is_op, one_of, wildcard
from xrelay.analysis.patterns.matching import Match, match
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, YieldOp
from xrelay.dialects.lengths import certainly
from xrelay.dialects.nn.norm import LayerNormOp, RmsNormOp, SoftmaxOp
from xrelay.dialects.shapes import element_type_of, same_type, shape_of
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, PowerOp, SubtractOp
from xrelay.dialects.tensor.reduce import MaxOp, MeanOp, ReductionOp, SumOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.unary import (
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
from xrelay.transforms.rules.recognize_attention import ATTENTION, with_moves
from xrelay.transforms.rules.rewriting import Emitter, apply_rule, has_static_type, is_floating

Build = Callable[[Match, RelayOp, Emitter], SSAValue | None]
"""What a sub-graph becomes that ends with an operator, None when the match is none after all."""


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


def _same_axis(found: Match, op: RelayOp, *types: type[ReductionOp]) -> int | None:
    """The one axis that the reductions of a match are over, if its result has the type of X."""
    axes = {each.reduced_axes for each in found.ops if isinstance(each, types)}
    return axes.pop()[0] if len(axes) == 1 and same_type(found[X].type, op.result.type) else None


def _vector(emit: Emitter, value: SSAValue, axis: int, shape: Sequence[int]) -> SSAValue | None:
    """A value that varies along `axis` of a tensor of some shape only, as a vector."""
    length, own = shape[axis], shape_of(value)
    position = axis - len(shape) + len(own)
    if position < 0 or own[position] != length:
        return None
    if any(not certainly(dim, 1) for index, dim in enumerate(own) if index != position):
        return None
    return value if len(own) == 1 else emit(ReshapeOp(value, [length]))


def layer_norm(found: Match, op: RelayOp, emit: Emitter) -> SSAValue | None:
    """relay.nn.layer_norm, without scale or shift where the sub-graph has none."""
    x, axis = found[X], _same_axis(found, op, MeanOp)
    if axis is None:
        return None
    shape = shape_of(x)
    gamma, beta = (
        _vector(emit, found[node], axis, shape) if node in found else None for node in (GAMMA, BETA)
    )
    if (gamma is None and GAMMA in found) or (beta is None and BETA in found):
        return None
    none = np.zeros(shape[axis], dtype_of(element_type_of(x)))
    return emit(
        LayerNormOp(
            x,
            emit.constant(none) if gamma is None else gamma,
            emit.constant(none) if beta is None else beta,
            axis=axis - len(shape) if axis == len(shape) - 1 else axis,
            epsilon=found.number(EPSILON),
            center=beta is not None,
            scale=gamma is not None,
        )
    )


def rms_norm(found: Match, op: RelayOp, emit: Emitter) -> SSAValue | None:
    """relay.nn.rms_norm, without scale where the sub-graph has none."""
    x, axis = found[X], _same_axis(found, op, MeanOp)
    if axis is None:
        return None
    shape = shape_of(x)
    vector = _vector(emit, found[GAMMA], axis, shape) if GAMMA in found else None
    if vector is None and GAMMA in found:
        return None
    none = np.zeros(shape[axis], dtype_of(element_type_of(x)))
    return emit(
        RmsNormOp(
            x,
            emit.constant(none) if vector is None else vector,
            axis=axis - len(shape) if axis == len(shape) - 1 else axis,
            epsilon=found.number(EPSILON),
            scale=vector is not None,
        )
    )


def softmax(found: Match, op: RelayOp, emit: Emitter) -> SSAValue | None:
    """relay.nn.softmax"""
    x, axis = found[X], _same_axis(found, op, MaxOp, SumOp)
    if axis is None:
        return None
    rank = len(shape_of(x))
    return emit(SoftmaxOp(x, axis=axis - rank if axis == rank - 1 else axis))


def composite(
    name: str, grown: Callable[[Sequence[Operation]], set[Operation]] = set[Operation]
) -> Build:
    """A composite of the operations of a match, or what it is `grown` to, with its constants."""

    def build(found: Match, op: RelayOp, emit: Emitter) -> SSAValue:
        # In program order, which follows from walking back over operands.
        order: list[Operation] = []
        inputs: dict[SSAValue, None] = {}
        _collect(op, grown(found.ops), order, inputs, set())
        block = Block(arg_types=[value.type for value in inputs])
        mapping: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
        for each in order:
            block.add_op(each.clone(mapping))
        block.add_op(YieldOp(mapping[op.result]))
        return emit(CompositeOp(name, list(inputs), Region(block), op.result.type))

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


X, GAMMA, BETA = wildcard(), wildcard(), wildcard()
EPSILON = is_number()
# These stand for values. What is between them may be computed more than once in a program, so that a
# pattern states it anew wherever it occurs: the functions below.


def _op(
    kind: type[Operation], *operands: Pattern, where: Callable[[Any], bool] | None = None
) -> Pattern:
    call = is_op(kind)(*operands)
    return call if where is None else call.where(where)


def _mean(value: Pattern) -> Pattern:
    return _op(MeanOp, value, where=_keeps_axes)


def _square(value: Callable[[], Pattern]) -> Pattern:
    return one_of(_op(MultiplyOp, value(), value()), _op(PowerOp, value(), is_number(2)))


def _half(value: Pattern) -> Pattern:
    return one_of(_op(MultiplyOp, value, is_number(0.5)), _op(DivideOp, value, is_number(2)))


def _x() -> Pattern:
    return X


def _centered() -> Pattern:
    return _op(SubtractOp, X, _mean(X))


def _stable(value: Callable[[], Pattern]) -> Pattern:
    return _op(AddOp, _mean(_square(value)), EPSILON)


def _root(value: Callable[[], Pattern]) -> Pattern:
    return one_of(
        _op(SqrtOp, _stable(value)),
        _op(PowerOp, _stable(value), is_number(0.5)),
    )


def _inverse_root(value: Callable[[], Pattern]) -> Pattern:
    return one_of(
        _op(RsqrtOp, _stable(value)),
        _op(DivideOp, is_number(1), _root(value)),
        _op(PowerOp, _stable(value), is_number(-0.5)),
    )


def _normal(value: Callable[[], Pattern]) -> Pattern:
    """A value by the root of the mean of its squares."""
    return one_of(
        _op(DivideOp, value(), _root(value)),
        _op(MultiplyOp, value(), _inverse_root(value)),
    )


def _factor() -> Pattern:
    return _op(MultiplyOp, _inverse_root(_centered), GAMMA)


# x * (inverse * gamma) + (beta - mean * (inverse * gamma)), with the variance of tf.nn.moments.
_TENSORFLOW = _op(
    AddOp,
    _op(MultiplyOp, X, _factor()),
    _op(SubtractOp, BETA, _op(MultiplyOp, _mean(X), _factor())),
)
_LAYER_NORM = one_of(
    _TENSORFLOW,
    _op(AddOp, _op(MultiplyOp, _normal(_centered), GAMMA), BETA),
)
_RMS_NORM = one_of(
    _op(MultiplyOp, _normal(_x), GAMMA),
    _op(MultiplyOp, X, _op(MultiplyOp, _inverse_root(_x), GAMMA)),
)


def _powers() -> Pattern:
    return _op(ExpOp, _op(SubtractOp, X, _op(MaxOp, X, where=_keeps_axes)))


_SOFTMAX = _op(DivideOp, _powers(), _op(SumOp, _powers(), where=_keeps_axes))

_ERF = _op(
    AddOp,
    _op(
        ErfOp,
        one_of(
            _op(DivideOp, X, is_number(sqrt(2))),
            _op(MultiplyOp, X, is_number(sqrt(0.5))),
        ),
    ),
    is_number(1),
)
_CUBE = one_of(_op(MultiplyOp, _op(MultiplyOp, X, X), X), _op(PowerOp, X, is_number(3)))
_INNER = one_of(
    _op(AddOp, X, _op(MultiplyOp, _CUBE, is_number(0.044715))),
    _op(
        MultiplyOp,
        X,
        _op(AddOp, _op(MultiplyOp, _square(_x), is_number(0.044715)), is_number(1)),
    ),
)
_TANH = _op(AddOp, _op(TanhOp, _op(MultiplyOp, _INNER, is_number(sqrt(2 / pi)))), is_number(1))


def _gelu(factor: Pattern) -> Pattern:
    """x / 2 * factor, in any order."""
    return one_of(
        _half(_op(MultiplyOp, X, factor)),
        _op(MultiplyOp, _half(X), factor),
        _op(MultiplyOp, X, _half(factor)),
    )


_SIGMOID = one_of(
    _op(SigmoidOp, X),
    _op(DivideOp, is_number(1), _op(AddOp, _op(ExpOp, _op(NegativeOp, X)), is_number(1))),
)


def _bounds(low: float, high: float) -> Callable[[ClipOp], bool]:
    def holds(op: ClipOp) -> bool:
        return op.a_min.value.data == low and op.a_max.value.data == high

    return holds


_RELU6 = _op(ClipOp, _op(AddOp, X, is_number(3)), where=_bounds(0, 6))
_HARD_SWISH = one_of(
    _op(
        MultiplyOp,
        X,
        _op(
            ClipOp,
            _op(AddOp, _op(MultiplyOp, X, is_number(1 / 6)), is_number(0.5)),
            where=_bounds(0, 1),
        ),
    ),
    _op(DivideOp, _op(MultiplyOp, X, _RELU6), is_number(6)),
    _op(MultiplyOp, _op(MultiplyOp, X, _RELU6), is_number(1 / 6)),
    _op(MultiplyOp, X, _op(DivideOp, _RELU6, is_number(6))),
    _op(MultiplyOp, X, _op(MultiplyOp, _RELU6, is_number(1 / 6))),
)

RULES: tuple[Recognition, ...] = (
    Recognition("layer_norm", _LAYER_NORM, layer_norm),
    Recognition("layer_norm", _normal(_centered), layer_norm),
    Recognition("rms_norm", _RMS_NORM, rms_norm),
    Recognition("rms_norm", _normal(_x), rms_norm),
    Recognition("softmax", _SOFTMAX, softmax),
    Recognition("gelu", _gelu(_ERF) | _gelu(_TANH), composite("gelu"), "composites"),
    Recognition("silu", _op(MultiplyOp, X, _SIGMOID), composite("silu"), "composites"),
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
        if not isinstance(op, RelayOp) or not op.operands:
            return
        result = op.result
        if not has_static_type(result) or not is_floating(result):
            return
        for rule in self.rules:
            found = match(rule.pattern, result)
            if found is None or not is_closed(found, result):
                continue
            if apply_rule(partial(rule.build, found), op, rewriter):
                return


@dataclass(frozen=True)
class RecognizeOperatorsPass(RelayPass):
    """Finds the operators that exporters decompose."""

    name = "recognize-operators"

    composites: bool = False
    """Also make composites of GELU, SiLU and hard swish."""
    attention: bool = False
    """Also make composites of scaled dot-product attention."""

    def rewrite(self, op: ModuleOp) -> None:
        options = {"": True, "composites": self.composites, "attention": self.attention}
        rules = [rule for rule in RULES if options[rule.option]]
        PatternWalker(
            Outside(keeps_body, Recognize(rules)), apply_recursively=False, walk_reverse=True
        ).rewrite_module(op)
