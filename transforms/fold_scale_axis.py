"""
`fold-scale-axis`: multiplications move into the weights of convolutions and dense.

    %0 = relay.nn.conv2d %x, %w                %v = relay.squeeze %s {axis = [1, 2]}       [O]
    %1 = relay.nn.bias_add %0, %b              %k = relay.expand_dims %v                   [O, 1, 1, 1]
    %2 = relay.nn.relu %1               ──►    %0 = relay.nn.conv2d %x, (relay.multiply %w, %k)
    %3 = relay.multiply %2, %s [O, 1, 1]       %1 = relay.nn.bias_add %0, (relay.multiply %b, %v)
                                               %2 = relay.nn.relu %1

    %0 = relay.multiply %x, %s [I]             %0 = relay.nn.relu %x
    %1 = relay.nn.relu %0               ──►    %1 = relay.add %0, (relay.divide %b, %s)
    %2 = relay.add %1, %b                      %2 = relay.nn.dense %1, (relay.multiply %w, %s)
    %3 = relay.nn.dense %2, %w

The products with weights and biases are constants after `fold-constant`, if these are. First `backward`: a
multiplication after a convolution (what `simplify-inference` makes of batch normalisation), then
`forward`: one before it. Additions stay additions, of scaled summands. xrelay.analysis.facts.scale_demands
says what scales move past; `xrelay.analysis.facts.scale_axis.plans` explains refusals.

With `rules=relay` these are the original's rules: a scale is a vector along the channels, and of two
multiplications in a row one moves, and the other in the next run. A summand is only divided by a scale
that is known to have no zeros, a constant or a reciprocal; the original makes NaN of zeros. `rules=cpu` also moves
single numbers, through more operators, and scales into convolutions of groups, where they are laid along the input
channels of each group: w [O, I / G, …] as [G, O / G, I / G, …] times s as [G, 1, I / G, 1, 1].
Where both directions scale a weight that is not constant, the next run puts the two factors together.

Where the scale is computed after a convolution, the way from there to the multiplication moves behind it.
Reordering the multiplication rounds differently in the last places, and results that overflowed
between may no longer do so, or begin to where a weight or a summand that is no constant is multiplied by a large scale. NaN and infinities stay
where they are: a scale moves when it is a constant of finite numbers, past relu and maxima when these are positive, and into a constant
of which no element vanishes. `unsafe` allows, as in Relay, scales that are computed when the program runs, as of a batch normalisation of
parameters, which may be infinite where a weight is 0; zeros past relu, which makes 0 of -infinity, and 0 times -infinity is NaN; and
products that are too small for their type.

Leaves alone: infinite factors and NaN, factors that may make a constant infinite or vanish, integer arithmetic, scales along
unknown dimensions, the bodies of `relay.fused` and `relay.composite` and functions for other compilers.

A weight or summand that is not constant is multiplied when the program runs; with `constant-weights`,
the multiplication stays where it was.

Source: Relay's FoldScaleAxis, ForwardFoldScaleAxis and BackwardFoldScaleAxis.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xrelay.analysis.facts.scale_axis import Plan, plans
from xrelay.analysis.facts.scale_demands import Edit
from xrelay.analysis.facts.suggestions import PassOptionError, unknown_choice
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.binary import DivideOp, MultiplyOp
from xrelay.dialects.tensor.reshape import ReshapeOp, SqueezeOp
from xrelay.transforms.rules.emitting import along_axis
from xrelay.transforms.rules.rewriting import Emitter, erase_unused
from xrelay.transforms.rules.rule_sets import require_rules

DIRECTIONS = ("backward", "forward")


def scaled_operand(edit: Edit, factors: SSAValue, axes: Sequence[int], emit: Emitter) -> SSAValue:
    """The operand that an edit puts in place. The factors lie along some axes of the scaled value."""
    value = edit.op.operands[edit.index]
    if axes and edit.groups > 1:
        return scaled_groups(value, factors, edit.groups, emit)
    if axes and edit.axes is None:
        factors = laid_out(factors, axes, shape_of(factors), edit.rank, emit)
    elif axes and edit.axes is not None:
        lengths = [shape_of(value)[axis] for axis in edit.axes]
        factors = laid_out(factors, edit.axes, lengths, edit.rank, emit)
    return emit(DivideOp(value, factors) if edit.divide else MultiplyOp(value, factors))


def laid_out(
    factors: SSAValue, axes: Sequence[int], lengths: Sequence[int], rank: int, emit: Emitter
) -> SSAValue:
    """Factors where they stand among `rank` axes, with some lengths."""
    if len(axes) == 1:
        return along_axis(emit, factors, axes[0], rank)
    places = dict(zip(axes, lengths, strict=True))
    return emit(ReshapeOp(factors, [places.get(axis, 1) for axis in range(rank)]))


def scaled_groups(weight: SSAValue, factors: SSAValue, groups: int, emit: Emitter) -> SSAValue:
    """A weight whose input channels, those of all groups, are scaled."""
    out_channels, group_channels, *kernel = shape = shape_of(weight)
    grouped = (groups, out_channels // groups, group_channels, *kernel)
    factors = emit(ReshapeOp(factors, (groups, 1, group_channels, *[1] * len(kernel))))
    return emit(ReshapeOp(emit(MultiplyOp(emit(ReshapeOp(weight, grouped)), factors)), shape))


def fold(plan: Plan) -> None:
    """Carries out a plan."""
    multiply, index = plan.multiply, plan.index
    scale, data = multiply.operands[index], multiply.operands[1 - index]
    block, first, emit = multiply.parent, multiply, Emitter()
    assert block is not None
    if plan.direction == "backward":
        first = plan.path[0]
        # The way may begin in front of the scale.
        if isinstance(scale.owner, ConstantOp):
            scale = emit(scale.owner.clone())
        elif isinstance(scale.owner, Operation):
            for op in plan.path:
                op.detach()
            block.insert_ops_before(plan.path, multiply)
    axes = axes_of(scale, plan)
    factors = squeezed(scale, plan, axes, emit)
    Rewriter.insert_op(emit.located(multiply), InsertPoint.before(first))
    replaced = [multiply.operands[index]]
    for edit in plan.edits:
        emit = Emitter()
        value = scaled_operand(edit, factors, axes, emit)
        Rewriter.insert_op(emit.located(edit.op), InsertPoint.before(edit.op))
        replaced.append(edit.op.operands[edit.index])
        edit.op.operands[edit.index] = value
    Rewriter.replace_op(multiply, (), (data,))
    erase_unused(replaced)


def axes_of(scale: SSAValue, plan: Plan) -> tuple[int, ...]:
    """
    The axes that the scale of a plan lies along: a single number has become a factor for each channel where another scale
    has moved into it.
    """
    assert plan.demand is not None
    if plan.axes:
        return plan.axes
    shape = shape_of(scale)
    offset = plan.multiply.result.type.get_num_dims() - len(shape)
    long = tuple(axis for axis, length in enumerate(shape, offset) if not certainly(length, 1))
    return plan.demand.axes or long if long else ()


def squeezed(scale: SSAValue, plan: Plan, axes: Sequence[int], emit: Emitter) -> SSAValue:
    """A scale with the axes only that its factors lie along."""
    offset = plan.multiply.result.type.get_num_dims() - len(shape_of(scale))
    others = [axis for axis in range(len(shape_of(scale))) if axis + offset not in axes]
    return emit(SqueezeOp(scale, others)) if others else scale


@dataclass(frozen=True)
class FoldScaleAxisPass(RelayPass):
    """
    Folds multiplications into weights, backward and then forward.

    A wrong option raises PassOptionError.
    """

    name = "fold-scale-axis"

    directions: tuple[str, ...] = DIRECTIONS
    """Which folds to make, in order."""
    constant_weights: bool = False
    """Leave multiplications whose scale, weight or summand is not constant."""
    unsafe: bool = False
    """Move scales also where these may be infinite or zero, so that NaN and infinities need not stay where they are."""
    rules: str = "relay"
    """`relay` for Relay's rules, `cpu` for more than them."""

    def rewrite(self, op: ModuleOp) -> None:
        require_rules(self.rules)
        for direction in self.directions:
            if direction not in ("backward", "forward"):
                raise PassOptionError(unknown_choice("directions", direction, DIRECTIONS))
            found = plans(op, direction, self.constant_weights, self.rules, self.unsafe)
            # A scale that moves into the factor of another multiplication moves on with that one.
            for plan in reversed(found) if direction == "backward" else found:
                if plan.folds:
                    fold(plan)
