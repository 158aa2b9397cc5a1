"""
What `combine-parallel-dense`, `combine-parallel-conv2d` and `combine-parallel-batch-matmul` share.

    %0 = relay.nn.dense %x, %u                 %0 = relay.concatenate (%u, %v)
    %1 = relay.nn.bias_add %0, %a              %1 = relay.nn.dense %x, %0
    %2 = relay.nn.dense %x, %v           ──►   %2 = relay.concatenate (%a, %b)
    %3 = relay.nn.bias_add %2, %b              %3 = relay.nn.bias_add %1, %2
                                               %4, %5 = slices of %3

*Branches* begin at operators of one kind on the same data with the same properties. Their weights are
concatenated along the axis of the outputs. Operators after them are taken along as long as each
branch has one user, all these users are the same elementwise or broadcasting operator, and their
other operands are vectors along the axis of the outputs, which are concatenated too, or the same
scalar constant. The combined operators stand where the first branch begins: weights and vectors that
are defined later must be constants, which are moved there.

Fewer than `min_num_branches` stay. The bodies of `relay.fused` and `relay.composite` and functions for
other compilers stay as they are.

Source: Relay's CombineParallelConv2D, CombineParallelDense (with `to_batch=False`) and
CombineParallelBatchMatmul.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import ConstantOp, TupleOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.shapes import integer, is_tensor_type, with_shape
from xrelay.dialects.tensor.binary import BroadcastBinaryOp
from xrelay.dialects.tensor.transform import ConcatenateOp, StridedSliceOp
from xrelay.dialects.tensor.unary import ElementwiseUnaryOp
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.rewriting import Emitter, shape_of

UNITS = ("units", "channels")
"""Properties that repeat the number of outputs, which changes."""


@dataclass(frozen=True)
class Combiner(ABC):
    """One kind of operator whose parallel uses are combined."""

    min_num_branches: int
    weight_axis: int
    """The axis of the weight, operand 1, along which outputs lie."""
    output_axis: int
    """The same axis of the result."""

    @abstractmethod
    def accepts(self, op: Operation) -> bool:
        """Whether an operation may begin a branch."""

    def combine(self, module: ModuleOp) -> None:
        """Combines all parallel branches of a module."""
        is_kept = Within(keeps_body)
        for op in walk(module):
            if keeps_body(op) or is_kept(op):
                continue
            for region in op.regions:
                for block in region.blocks:
                    self.combine_block(block)

    def combine_block(self, block: Block) -> None:
        """Combines the parallel branches that begin in a block."""
        groups: dict[Hashable, list[RelayOp]] = {}
        order = {op: position for position, op in enumerate(block.ops)}
        for op in block.ops:
            if isinstance(op, RelayOp) and self.accepts(op):
                groups.setdefault(self.key(op), []).append(op)
        for branches in groups.values():
            early = Early(block, order, order[branches[0]])
            usable = [op for op in branches if op.parent is block and early(op.operands[1])]
            if len(usable) >= max(self.min_num_branches, 2):
                self.combine_branches(usable, early)

    def key(self, op: RelayOp) -> Hashable:
        """Equal for operations that can be one: all but the number of outputs agrees."""
        weight = list(shape_of(op.operands[1]))
        weight[self.weight_axis] = 0
        properties = tuple((k, op.properties[k]) for k in sorted(op.properties) if k not in UNITS)
        types = [value.type for value in (op.operands[1], op.results[0])]
        dtypes = tuple(type_.element_type for type_ in types if is_tensor_type(type_))
        return op.operands[0], dtypes, tuple(weight), properties

    def combine_branches(self, branches: Sequence[RelayOp], early: "Early") -> None:
        """Makes one operator of some, and one of each layer of equal operators after them."""
        first = branches[0]
        emit = Emitter()
        widths = [shape_of(op.operands[1])[self.weight_axis] for op in branches]
        weights = [op.operands[1] for op in branches]
        weight = joined(emit, weights, self.weight_axis % len(shape_of(weights[0])))
        value = self.widened(emit, first, [first.operands[0], weight], sum(widths))
        tails = branches
        while (layer := next_layer(tails)) is not None:
            operands = self.layer_operands(emit, layer, tails, early, value)
            if operands is None:
                break
            value = self.widened(emit, layer.ops[0], operands, sum(widths))
            tails = layer.ops
        begin = 0
        axis = self.output_axis % len(shape_of(value))
        parts: list[SSAValue] = []
        for tail, width in zip(tails, widths, strict=True):
            part = emit(StridedSliceOp(value, [begin], [begin + width], axes=[axis]))
            part.name_hint = tail.results[0].name_hint
            parts.append(part)
            begin += width
        block = first.parent
        assert block is not None
        block.insert_ops_before(emit.located(first), first)
        for tail, part in zip(tails, parts, strict=True):
            tail.results[0].replace_all_uses_with(part)
            _erase_unused(tail)

    def widened(
        self, emit: Emitter, op: RelayOp, operands: Sequence[SSAValue], width: int
    ) -> SSAValue:
        """`op` on concatenated operands, with a result of `width` outputs."""
        type_ = op.results[0].type
        assert is_tensor_type(type_)
        shape = list(type_.get_shape())
        shape[self.output_axis] = width
        properties: dict[str, Attribute] = {
            key: integer(width) if key in UNITS else value for key, value in op.properties.items()
        }
        new = type(op).create(
            operands=operands, result_types=[with_shape(type_, shape)], properties=properties
        )
        return emit(new)

    def layer_operands(
        self,
        emit: Emitter,
        layer: "Layer",
        tails: Sequence[RelayOp],
        early: "Early",
        value: SSAValue,
    ) -> list[SSAValue] | None:
        """The operands of the operator that replaces a layer, None when they cannot be joined."""
        if len(layer.ops[0].operands) == 1:
            return [value]
        others = [op.operands[1 - layer.index] for op in layer.ops]
        if not all(map(early, others)):
            return None
        if all(not shape_of(other) for other in others):
            # Bit by bit: 0 and -0 are equal, and what is divided by them is not.
            numbers = [known_array(other) for other in others]
            bits = {number.tobytes() for number in numbers if number is not None}
            if len(bits) != 1 or any(number is None for number in numbers):
                return None
            other = placed(emit, others[0])
        else:
            axes = {
                self.vector_axis(op, tail, other)
                for op, tail, other in zip(layer.ops, tails, others, strict=True)
            }
            axis = axes.pop()
            if axis is None or axes:
                return None
            other = joined(emit, others, axis)
        return [value, other] if layer.index == 0 else [other, value]

    def vector_axis(self, op: RelayOp, tail: RelayOp, other: SSAValue) -> int | None:
        """The axis of another operand that lies along the outputs, None when it varies elsewhere."""
        result, shape = shape_of(tail.results[0]), shape_of(other)
        output = self.output_axis % len(result)
        if isinstance(op, BiasAddOp):
            return 0 if op.channel_axis == output else None
        axis = output - len(result) + len(shape)
        if axis < 0 or any(n != 1 for i, n in enumerate(shape) if i != axis):
            return None
        return axis if shape[axis] == result[output] else None


@dataclass(frozen=True)
class Early:
    """Tells which values are known, or can be made known, before an operation of a block."""

    block: Block
    order: dict[Operation, int]
    """The positions of the operations that were in the block at first."""
    begin: int

    def __call__(self, value: SSAValue) -> bool:
        """Whether a value is defined before, or is a constant."""
        op = value.owner
        if isinstance(op, Block | ConstantOp) or op.parent is not self.block:
            return True
        return self.order.get(op, self.begin) < self.begin


@dataclass(frozen=True)
class Layer:
    """One operator after each branch, all of them equal."""

    ops: list[RelayOp]
    index: int
    """Which of its operands is the branch."""


def next_layer(tails: Sequence[RelayOp]) -> Layer | None:
    """The one user of each branch, if all these are the same operator."""
    ops: list[RelayOp] = []
    indices: set[int] = set()
    for tail in tails:
        uses = list(tail.results[0].uses)
        user = uses[0].operation if len(uses) == 1 else None
        if not isinstance(user, ElementwiseUnaryOp | BroadcastBinaryOp | BiasAddOp):
            return None
        if user.parent is not tail.parent or shape_of(user.result) != shape_of(tail.results[0]):
            return None
        ops.append(user)
        indices.add(uses[0].index)
    same = all(type(op) is type(ops[0]) and op.properties == ops[0].properties for op in ops)
    return Layer(ops, indices.pop()) if same and len(indices) == 1 else None


def placed(emit: Emitter, value: SSAValue) -> SSAValue:
    """A value that may be used early: constants are repeated, as they may be defined later."""
    op = value.owner
    return emit(op.clone()) if isinstance(op, ConstantOp) else value


def joined(emit: Emitter, values: Sequence[SSAValue], axis: int) -> SSAValue:
    """Values concatenated along an axis."""
    fields = emit(TupleOp([placed(emit, value) for value in values]))
    return emit(ConcatenateOp(fields, axis=axis))


def _erase_unused(op: Operation) -> None:
    """Erases an operation whose result is not used, and what only it used."""
    pending = [op]
    while pending:
        dead = pending.pop()
        if any(result.uses for result in dead.results) or dead.parent is None:
            continue
        if not is_side_effect_free(dead):
            continue
        pending.extend(owner for v in dead.operands if isinstance(owner := v.owner, Operation))
        dead.detach()
        dead.erase()
