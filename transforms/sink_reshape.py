"""
`sink-reshape`: a reshape of an operand becomes a reshape of the result.

    %0 = relay.reshape %x       [8, 4] ──► [2, 4, 4]        %0 = relay.add %x, %bias      [8, 4]
    %1 = relay.add %0, %bias    [2, 4, 4]             ──►   %1 = relay.reshape %0         [2, 4, 4]

A reshape costs nothing, but it stands between a complex operator and the elementwise operators
that could run on its result in registers: `fuse-ops` does not fuse an elementwise operator with
a dense through it. Below them it meets the reshape of the next operator and merges with it
(`simplify-expr`).

A reshape sinks below

- elementwise operators of one operand, and lookups;
- operators that broadcast, when the reshape splits, merges or inserts axes so that each other
  operand, which is repeated along some axes, is repeated along whole axes before it as well. Such
  operands are reshaped themselves, constants and others. Only when the reshaped operand comes from
  a complex operator do operands of the full shape move, so that two chains of reshapes do not push
  each other around;
- `nn.bias_add`, softmax, layer normalisation and `split` along an axis that the reshape keeps.

Types with unknown dimensions, the bodies of `relay.fused` and `relay.composite` and functions for
other compilers stay as they are. Each rewrite moves a reshape towards the results.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xrelay.analysis.facts.pattern_walker import Outside, PatternWalker
from xrelay.analysis.facts.scopes import keeps_body
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp
from xrelay.dialects.lengths import certainly, divides, hint, is_open
from xrelay.dialects.nn.norm import BiasAddOp, LayerNormOp, RmsNormOp, SoftmaxFamilyOp
from xrelay.dialects.qnn.arithmetic import QnnLookupOp
from xrelay.dialects.shapes import (
    integer,
    is_empty,
    is_tensor_type,
    same_shape,
    shape_of,
    with_shape,
)
from xrelay.dialects.tensor.binary import BroadcastBinaryOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, ReshapeFamilyOp
from xrelay.dialects.tensor.transform import SplitOp, WhereOp
from xrelay.dialects.tensor.unary import ElementwiseUnaryOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.transforms.rules.emitting import shaped
from xrelay.transforms.rules.rewriting import (
    Emitter,
    Rule,
    apply_rule,
    erase_unused,
    has_static_type,
    like,
)
from xrelay.transforms.rules.simplify.moves import merged_reshapes

Shape = Sequence[int]


def aligned_groups(old: Shape, new: Shape) -> list[tuple[range, range]]:
    """
    The smallest runs of axes of two shapes, of the same number of elements, that hold the same
    elements: [2, 3, 4] and [6, 2, 2] have ([2, 3], [6]) and ([4], [2, 2]).
    """
    groups: list[tuple[range, range]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        first, second = i, j
        left = right = 1
        if i < len(old):
            left, i = old[i], i + 1
        if j < len(new):
            right, j = new[j], j + 1
        while not certainly(left, right) and (i < len(old) or j < len(new)):
            if i == len(old) or j == len(new):
                left_is_part = i < len(old)  # What is left are axes of one element.
            elif divides(left, right):
                left_is_part = True
            elif divides(right, left):
                left_is_part = False
            elif hint(left) == hint(right) and left == right:
                break
            elif is_open(left) or is_open(right):
                # Nothing says which of the two ends first.
                i, j = len(old), len(new)
                break
            else:
                left_is_part = left < right
            if left_is_part:
                left, i = left * old[i], i + 1
            else:
                right, j = right * new[j], j + 1
        groups.append((range(first, i), range(second, j)))
    return groups


def shape_before(operand: Shape, old: Shape, new: Shape) -> list[int] | None:
    """
    The shape that an operand, which broadcasts to `new`, has when it broadcasts to `old` instead,
    the shape before a reshape to `new`. None when it is repeated along parts of merged axes only.
    """
    full = [1] * (len(new) - len(operand)) + list(operand)
    result: list[int] = []
    for before, after in aligned_groups(old, new):
        if all(certainly(full[axis], new[axis]) for axis in after):
            result.extend(old[axis] for axis in before)
        elif all(certainly(full[axis], 1) for axis in after):
            result.extend(1 for _ in before)
        else:
            return None
    return result


def axis_before(axis: int, old: Shape, new: Shape) -> int | None:
    """The axis of `old` that axis `axis` of `new` is, None when a reshape splits or merges it."""
    for before, after in aligned_groups(old, new):
        if axis in after:
            matching = [each for each in before if certainly(old[each], new[axis])]
            whole = certainly(prod(new[each] for each in after), new[axis])
            return matching[0] if whole and matching else None
    return None


def _sunk_reshape(value: SSAValue) -> ReshapeFamilyOp | ExpandDimsOp | None:
    """The reshape that computes a value, when it may move."""
    op = value.owner
    if not isinstance(op, ReshapeFamilyOp | ExpandDimsOp) or isinstance(op.data.owner, ConstantOp):
        return None
    if not has_static_type(op.data) or is_empty(shape_of(op.data)):
        return None
    return op


def _on(op: RelayOp, operands: Sequence[SSAValue], shape: Shape, emit: Emitter) -> SSAValue:
    """`op` on other operands, with a result of another shape."""
    result = op.results[0].type
    assert is_tensor_type(result)
    return emit(like(op, operands, with_shape(result, shape)))


def before_reshape(value: SSAValue, old: Shape, new: Shape, emit: Emitter) -> SSAValue:
    """
    An operand that broadcasts to `new` as one that broadcasts to `old`: what was reshaped from
    `old`, or a reshape.
    """
    reshape = _sunk_reshape(value)
    same = same_shape(shape_of(value), new)
    if reshape is not None and same and same_shape(shape_of(reshape.data), old):
        return reshape.data
    shape = shape_before(shape_of(value), old, new)
    assert shape is not None
    if not same:
        while shape and certainly(shape[0], 1):
            del shape[0]
    return shaped(emit, value, shape)


def below_lookup(op: QnnLookupOp, emit: Emitter) -> SSAValue | None:
    """lookup(reshape(x)) ──► reshape(lookup(x))"""
    reshape = _sunk_reshape(op.data)
    if reshape is None:
        return None
    result = _on(op, [reshape.data, op.table], shape_of(reshape.data), emit)
    return shaped(emit, result, shape_of(op.data))


class Fed:
    """
    Which values come from a complex operator through elementwise operators only: fusion may
    compute them in registers. Follows rewrites, so that each question takes constant time.
    """

    def __init__(self, module: ModuleOp):
        self.values: set[SSAValue] = set()
        for op in walk(module):
            self.learn(op)

    def learn(self, op: Operation) -> None:
        """Notes the results of a new operation, whose operands are known."""
        kind = pattern_kind(op)
        if kind == OpPatternKind.OUT_EWISE_FUSABLE or (
            kind <= OpPatternKind.BROADCAST
            and not isinstance(op, ExpandDimsOp)
            and any(v in self.values and _same_shape(v, op.results[0]) for v in op.operands)
        ):
            self.values.update(op.results)

    def __contains__(self, value: SSAValue) -> bool:
        return value in self.values


def _same_shape(first: SSAValue, second: SSAValue) -> bool:
    return (
        is_tensor_type(first.type)
        and is_tensor_type(second.type)
        and same_shape(first.type.get_shape(), second.type.get_shape())
    )


@dataclass(frozen=True)
class SinkReshape(RewritePattern):
    """Moves reshapes below elementwise operators and those along one axis."""

    fed: Fed

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, RelayOp):
            return
        match op:
            case ElementwiseUnaryOp() | BroadcastBinaryOp() | WhereOp():
                rule = self.below_broadcast
            case BiasAddOp() | SoftmaxFamilyOp() | LayerNormOp() | RmsNormOp():
                rule = self.below_axis
            case QnnLookupOp():
                rule = below_lookup
            case ReshapeFamilyOp() | ExpandDimsOp():
                rule = merged_reshapes
            case SplitOp():
                self.below_split(op, rewriter)
                return
            case _:
                return
        apply_rule(self.learning(rule), op, rewriter)

    def learning(self, rule: Rule) -> Rule:
        """`rule`, whose operations are noted."""

        def apply(op: RelayOp, emit: Emitter) -> SSAValue | None:
            result = rule(op, emit)
            for new in emit.ops:
                self.fed.learn(new)
            return result

        return apply

    def below_broadcast(self, op: RelayOp, emit: Emitter) -> SSAValue | None:
        """f(reshape(x), y) ──► reshape(f(x, y'))"""
        if not has_static_type(op.results[0]):
            return None
        new = shape_of(op.results[0])
        for value in op.operands:
            reshape = _sunk_reshape(value)
            if reshape is None or not same_shape(shape_of(value), new):
                continue
            source, old = reshape.data, shape_of(reshape.data)
            if not self.may_sink(op, source, old, new):
                continue
            operands = [before_reshape(operand, old, new, emit) for operand in op.operands]
            return shaped(emit, _on(op, operands, old, emit), new)
        return None

    def may_sink(self, op: RelayOp, source: SSAValue, old: Shape, new: Shape) -> bool:
        """
        Whether the other operands with the shape of the result have the same reshape, or may get
        the inverse one: they do not come from a complex operator, and `source` does.
        """
        for other in op.operands:
            if isinstance(other.owner, ConstantOp) or not same_shape(shape_of(other), new):
                continue
            reshape = _sunk_reshape(other)
            if reshape is not None and same_shape(shape_of(reshape.data), old):
                continue
            if source not in self.fed or other in self.fed:
                return False
        return all(shape_before(shape_of(v), old, new) is not None for v in op.operands)

    def below_axis(
        self, op: BiasAddOp | SoftmaxFamilyOp | LayerNormOp | RmsNormOp, emit: Emitter
    ) -> SSAValue | None:
        """softmax(reshape(x)) ──► reshape(softmax(x)), along an axis that the reshape keeps"""
        reshape = _sunk_reshape(op.data)
        if reshape is None or not has_static_type(op.result):
            return None
        old, new = shape_of(reshape.data), shape_of(op.result)
        axis = op.normalized_axis if isinstance(op, SoftmaxFamilyOp) else op.channel_axis
        before = axis_before(axis, old, new)
        if before is None:
            return None
        moved = _on(op, [reshape.data, *op.operands[1:]], old, emit)
        assert isinstance(moved.owner, Operation)
        # An axis counted from the end stays so.
        stated = op.axis.value.data
        moved.owner.properties["axis"] = integer(before - len(old) if stated < 0 else before)
        return shaped(emit, moved, new)

    def below_split(self, op: SplitOp, rewriter: PatternRewriter) -> None:
        """split(reshape(x)) ──► split(x), each part reshaped"""
        reshape = _sunk_reshape(op.data)
        users = [use.operation for use in op.result.uses]
        parts = [user for user in users if isinstance(user, TupleGetItemOp)]
        if reshape is None or len(parts) != len(users):
            return
        before = axis_before(op.normalized_axis, shape_of(reshape.data), shape_of(op.data))
        if before is None:
            return
        sections = op.indices_or_sections
        new = SplitOp(
            reshape.data,
            list(sections.get_values())
            if isinstance(sections, DenseArrayBase)
            else sections.value.data,
            axis=before,
        )
        new.location = op.location
        rewriter.insert(new)
        for part in parts:
            emit = Emitter()
            field = emit(TupleGetItemOp(new, part.index.value.data))
            shaped(emit, field, shape_of(part.result))
            rewriter.replace(part, emit.located(part))
        erase_unused((op.result,), rewriter)


@dataclass(frozen=True)
class SinkReshapePass(RelayPass):
    """Moves reshapes towards the results."""

    name = "sink-reshape"

    def rewrite(self, op: ModuleOp) -> None:
        PatternWalker(Outside(keeps_body, SinkReshape(Fed(op)))).rewrite_module(op)
