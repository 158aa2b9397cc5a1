"""
What `combine-parallel-dense`, `combine-parallel-conv2d` and `combine-parallel-batch-matmul` share.

*Branches* begin at operators of one kind on the same data with the same properties. They become one
operator, and so do the operators after them as long as each branch has one user, all these users are the same
elementwise or broadcasting operator, and their other operands can be put together. What each branch was is
cut out of the last of them.

The combined operators stand where the first branch begins. Weights and operands that are defined later move
there with all that computes them, unless that needs a branch.

Fewer than `min_num_branches` stay. The bodies of `relay.fused` and `relay.composite` and functions for
other compilers stay as they are.

Source: Relay's ParallelOpCombiner, which would put branches together that need each other.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.suggestions import require_at_least
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.shapes import is_tensor_type, with_shape
from xrelay.dialects.tensor.binary import BroadcastBinaryOp
from xrelay.dialects.tensor.unary import ElementwiseUnaryOp
from xrelay.transforms.rules.rewriting import Emitter, erase_unused

UNSHARED = ("units", "channels", "kernel_size")
"""Properties that repeat what weights say, and are stated or not."""


@dataclass(frozen=True)
class Layer:
    """One operator after each branch, all of them equal."""

    ops: list[RelayOp]
    index: int
    """Which of its operands is the branch."""

    @property
    def others(self) -> list[SSAValue]:
        """The other operands, if operators have two."""
        return [op.operands[1 - self.index] for op in self.ops if len(op.operands) > 1]


@dataclass(frozen=True)
class Combiner(ABC):
    """One kind of operator whose parallel uses are combined."""

    min_num_branches: int

    def __post_init__(self) -> None:
        require_at_least(1, min_num_branches=self.min_num_branches)

    @abstractmethod
    def accepts(self, op: Operation) -> bool:
        """Whether an operation may begin a branch."""

    @abstractmethod
    def weight_key(self, op: RelayOp) -> Hashable:
        """Equal for operations whose weights, operand 1, can be put together."""

    @abstractmethod
    def combined(self, emit: Emitter, branches: Sequence[RelayOp]) -> SSAValue:
        """The result of the operator that stands for all branches."""

    @abstractmethod
    def fits(self, layer: Layer, tails: Sequence[RelayOp]) -> bool:
        """Whether the other operands of a layer after some results can be put together."""

    @abstractmethod
    def other_operand(self, emit: Emitter, layer: Layer, tails: Sequence[RelayOp]) -> SSAValue:
        """What stands for the other operands of a layer that fits."""

    @abstractmethod
    def widened_shape(self, shape: Sequence[int], branches: Sequence[RelayOp]) -> list[int]:
        """The shape of what stands for results of which the first has some shape."""

    @abstractmethod
    def parts(self, emit: Emitter, value: SSAValue, branches: Sequence[RelayOp]) -> list[SSAValue]:
        """What each branch gives, of the result of all."""

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
        for op in block.ops:
            if isinstance(op, RelayOp) and self.accepts(op):
                groups.setdefault(self.key(op), []).append(op)
        places = Places(block)
        fewest = max(self.min_num_branches, 2)
        for branches in groups.values():
            if len(branches) >= fewest:
                hoist = Hoist(places, places.in_order(branches))
                usable = [op for op in hoist.branches if hoist.add([op.operands[1]])]
                if len(usable) >= fewest:
                    self.combine_branches(usable, hoist)

    def key(self, op: RelayOp) -> Hashable:
        """Equal for operations that can be one: all but the number of outputs agrees."""
        properties = tuple(
            (k, op.properties[k]) for k in sorted(op.properties) if k not in UNSHARED
        )
        types = [value.type for value in (op.operands[1], op.results[0])]
        dtypes = tuple(type_.element_type for type_ in types if is_tensor_type(type_))
        return op.operands[0], dtypes, self.weight_key(op), properties

    def combine_branches(self, branches: Sequence[RelayOp], hoist: "Hoist") -> None:
        """Makes one operator of some, and one of each layer of equal operators after them."""
        emit = Emitter()
        value = self.combined(emit, branches)
        emit.located(*branches)
        tails = branches
        while (layer := next_layer(tails)) is not None:
            operands = [value]
            if layer.others:
                if not self.fits(layer, tails) or not hoist.add(layer.others):
                    break
                operands.insert(1 - layer.index, self.other_operand(emit, layer, tails))
            value = emit(self.widened(layer.ops[0], operands, branches))
            emit.located(*layer.ops)
            tails = layer.ops
        parts = self.parts(emit, value, branches)
        hoist.insert(emit.located(*tails))
        for tail, part in zip(tails, parts, strict=True):
            part.name_hint = tail.results[0].name_hint
            tail.results[0].replace_all_uses_with(part)
        erase_unused(tail.results[0] for tail in tails)

    def widened(
        self, op: RelayOp, operands: Sequence[SSAValue], branches: Sequence[RelayOp]
    ) -> Operation:
        """`op` on operands that stand for those of all branches."""
        type_ = op.results[0].type
        assert is_tensor_type(type_)
        shape = self.widened_shape(type_.get_shape(), branches)
        return type(op).create(
            operands=operands,
            result_types=[with_shape(type_, shape)],
            properties=op.properties.copy(),
        )


class Places:
    """Where the operations of a block stand, also such as were put in."""

    def __init__(self, block: Block):
        self.block = block
        self.numbers: dict[Operation, float] = {op: n for n, op in enumerate(block.ops)}

    def in_order(self, ops: Sequence[RelayOp]) -> list[RelayOp]:
        """Operations in their order now."""
        if any(self.numbers[op] % 1 for op in ops):
            # Some have moved, and what moved to one place has one number.
            self.numbers = {op: n for n, op in enumerate(self.block.ops)}
        return sorted(ops, key=self.numbers.__getitem__)

    def insert(self, ops: Sequence[Operation], before: Operation) -> None:
        """Puts operations in front of another one."""
        self.block.insert_ops_before(ops, before)
        self.numbers.update(dict.fromkeys(ops, self.numbers[before] - 0.5))


@dataclass
class Hoist:
    """What has to stand in front of the first of some branches."""

    places: Places
    branches: Sequence[RelayOp]
    moved: dict[Operation, None] = field(default_factory=dict[Operation, None])

    def add(self, values: Sequence[SSAValue]) -> bool:
        """Moves what computes values, unless that cannot move or needs a branch: then nothing does."""
        first = self.places.numbers[self.branches[0]]
        stay = set[Operation](self.branches)
        found: dict[Operation, None] = {}
        pending = [value.owner for value in values]
        while pending:
            op = pending.pop()
            if isinstance(op, Block) or op.parent is not self.places.block:
                continue
            if self.places.numbers[op] < first or op in self.moved or op in found:
                continue
            if op in stay or op.regions or isinstance(op, LetOp) or not is_side_effect_free(op):
                return False
            found[op] = None
            pending.extend(operand.owner for operand in op.operands)
        self.moved.update(found)
        return True

    def insert(self, ops: Sequence[Operation]) -> None:
        """Puts what moves, and then some operations, in front of the first branch."""
        moved = sorted(self.moved, key=self.places.numbers.__getitem__)
        for op in moved:
            op.detach()
        self.places.insert([*moved, *ops], self.branches[0])


def next_layer(tails: Sequence[RelayOp]) -> Layer | None:
    """The one user of each branch, if all these are the same operator."""
    ops: list[RelayOp] = []
    indices: set[int] = set()
    for tail in tails:
        uses = list(tail.results[0].uses)
        user = uses[0].operation if len(uses) == 1 else None
        if not isinstance(user, ElementwiseUnaryOp | BroadcastBinaryOp | BiasAddOp):
            return None
        if user.parent is not tail.parent:
            return None
        ops.append(user)
        indices.add(uses[0].index)
    same = all(type(op) is type(ops[0]) and op.properties == ops[0].properties for op in ops)
    return Layer(ops, indices.pop()) if same and len(indices) == 1 else None
