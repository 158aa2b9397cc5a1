"""
The graph of a function, on which placement decides: numbered nodes that know their inputs and users.

    func.func @main(%x) {                0  parameter x          users {1}
      %0 = relay.nn.relu %x              1  nn.relu              inputs {0}, users {2, 3}
      %1 = relay.exp %0           ──►    2  exp                  inputs {1}, users {3}
      %2 = relay.add %1, %0              3  add                  inputs {1, 2}, users {4}
      func.return %2                     4  func.return          inputs {3}
    }

- A node is a parameter, a constant of rank 1 or more, a call, a tuple, a projection, an operation with
  regions, or the end of a block. Scalar constants are no nodes: whoever needs one has a copy.
- Numbers are given in post-order from the end of the function, operands from left to right; what the
  result does not depend on comes before.
- What an operation with regions uses, and the ends of its blocks, are inputs of it. Bodies that are
  isolated (`relay.fused`, `relay.composite`) are part of their operation.

Source: the dataflow graph of TVM's `collage`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove, is_side_effect_free

from xrelay.analysis.facts.ancestors import AncestorTree
from xrelay.analysis.facts.constants import computed_of_quantized
from xrelay.analysis.facts.names import short_name
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import is_dynamic, is_tensor_type
from xrelay.dialects.traits import OpPatternKind, ShapeDataDependent, pattern_kind
from xrelay.interpreters.arrays import type_bytes
from xrelay.interpreters.constants import constant_array, constant_op
from xrelay.interpreters.relay import relay_interpreter
from xrelay.placement.graph.index_set import index_set, members, up_to
from xrelay.placement.graph.origin import Origin

Source: TypeAlias = Operation | BlockArgument
"""What a node stands for."""


@dataclass(frozen=True, eq=False)
class Node:
    """One node of a graph."""

    index: int
    source: Source
    kind: OpPatternKind
    label: str
    """The name of the operator, or of what it is instead."""
    inputs: tuple[int, ...]
    """The nodes that it needs, each once, in order."""
    block: int
    """The number of the block that it is in; 0 is the block of the function."""

    @property
    def op(self) -> Operation | None:
        """The operation, None for a parameter."""
        return self.source if isinstance(self.source, Operation) else None

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """The values that it computes."""
        return tuple(self.source.results) if isinstance(self.source, Operation) else (self.source,)

    @property
    def is_constant(self) -> bool:
        """Whether it is a constant."""
        return isinstance(self.source, ConstantOp)

    @property
    def is_parameter(self) -> bool:
        """Whether it is a parameter of the function or of a block."""
        return isinstance(self.source, BlockArgument)


@dataclass(eq=False)
class Graph:
    """The nodes of a function."""

    function: func.FuncOp
    nodes: list[Node] = field(default_factory=list[Node])
    numbers: dict[Source, int] = field(default_factory=dict[Source, int])
    """The node of each operation and parameter."""
    origin: Origin | None = None
    """What its values are in the ONNX model that the function comes from."""
    _folded: dict[Operation, ConstantOp] = field(
        default_factory=dict[Operation, ConstantOp], repr=False
    )

    @classmethod
    def of(cls, function: func.FuncOp) -> "Graph":
        """The graph of a function with a body of one block. Linear in its operands."""
        found = cls(function)
        block = function.body.block
        assert block.last_op is not None
        end = block.last_op
        blocks = {block: 0}
        needed = _reachable(end)
        roots = [
            root for root in (*block.args, *block.ops) if root not in needed and root is not end
        ]
        for root in (*roots, end):
            found._visit(root, blocks)
        return found

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: int) -> Node:
        return self.nodes[index]

    def _visit(self, root: Source, blocks: dict[Block, int]) -> None:
        """Numbers what a node needs, and then itself. Programs may be deep."""
        if is_copied(root) or root in self.numbers:
            return
        path = [(root, iter(_parts(root)))]
        seen = {root}
        while path:
            source, parts = path[-1]
            for part in parts:
                if not is_copied(part) and part not in self.numbers and part not in seen:
                    seen.add(part)
                    path.append((part, iter(_parts(part))))
                    break
            else:
                path.pop()
                self._add(source, blocks)

    def _add(self, source: Source, blocks: dict[Block, int]) -> None:
        inputs = (self.numbers[part] for part in _parts(source) if not is_copied(part))
        block = source.parent if isinstance(source, Operation) else source.block
        assert block is not None
        number = blocks.setdefault(block, len(blocks))
        index = self.numbers[source] = len(self.nodes)
        kind, label = kind_and_label(source)
        self.nodes.append(Node(index, source, kind, label, tuple(dict.fromkeys(inputs)), number))

    @cached_property
    def tensor_bytes(self) -> list[int]:
        """The bytes of the tensors that each node computes; tuples are no more than their parts."""
        return [
            sum(type_bytes(value.type) for value in node.values if is_tensor_type(value.type))
            for node in self.nodes
        ]

    @cached_property
    def last_users(self) -> list[int]:
        """The last node that reads what each one computes, as it is or in a tuple; itself where none does."""
        found = list(range(len(self.nodes)))
        for index in reversed(range(len(self.nodes))):
            for user in members(self.users[index]):
                is_tuple = isinstance(self[user].op, TupleOp)
                found[index] = max(found[index], found[user] if is_tuple else user)
        return found

    @cached_property
    def footprint(self) -> int:
        """The bytes of memory that runs go through again and again."""
        return self.footprint_of(self.everything, 0)

    def footprint_of(self, part: int, read: int) -> int:
        """
        The same of a part, which gets the tensors of the nodes `read`: the bytes of these, of constants and of parameters, and
        the most of other tensors that are there at once.
        """
        sizes = self.tensor_bytes
        kept, most, now = sum(sizes[index] for index in members(read)), 0, 0
        ends: dict[int, int] = {}
        for index in members(part):
            if self[index].is_constant or self[index].is_parameter:
                kept += sizes[index]
                continue
            now += sizes[index]
            most = max(most, now)
            # What is read outside of the part stays.
            last = self.last_users[index]
            ends[last] = ends.get(last, 0) + sizes[index]
            now -= ends.pop(index, 0)
        return kept + most

    @cached_property
    def everything(self) -> int:
        """The set of all nodes."""
        return up_to(len(self.nodes))

    @cached_property
    def inputs(self) -> list[int]:
        """The set of the inputs of each node."""
        return [index_set(node.inputs) for node in self.nodes]

    @cached_property
    def users(self) -> list[int]:
        """The set of the users of each node."""
        found = [0] * len(self.nodes)
        for node in self.nodes:
            for index in node.inputs:
                found[index] |= 1 << node.index
        return found

    @cached_property
    def downstream(self) -> list[int]:
        """The nodes that need each node, directly or not, without itself."""
        found = [0] * len(self.nodes)
        for index in reversed(range(len(self.nodes))):
            for user in members(self.users[index]):
                found[index] |= found[user] | 1 << user
        return found

    @cached_property
    def constants(self) -> int:
        """The set of the constants."""
        return index_set(node.index for node in self.nodes if node.is_constant)

    @cached_property
    def foldable(self) -> int:
        """
        The set of the conversions of quantised constants, and of what is computed of these alone: folding leaves them, as
        engines may compute with the integers, and what they give is a constant for those that do not.
        """
        ops = (node.op for node in self.nodes if node.op is not None)
        return index_set(self.numbers[op] for op in computed_of_quantized(ops))

    def folded(self, op: Operation) -> ConstantOp:
        """A constant, or the one that a foldable operation gives, which is computed once."""
        if isinstance(op, ConstantOp):
            return op
        known = self._folded.get(op)
        if known is None:
            owners = (operand.owner for operand in op.operands)
            arrays = tuple(
                constant_array(self.folded(owner))
                for owner in owners
                if isinstance(owner, Operation)
            )
            (array,) = relay_interpreter().run_op(op, arrays)
            known = self._folded[op] = constant_op(array)
            known.location = op.location
        return known

    @cached_property
    def blocks(self) -> list[int]:
        """The set of the nodes of each block."""
        found = [0] * (1 + max(node.block for node in self.nodes))
        for node in self.nodes:
            found[node.block] |= 1 << node.index
        return found

    @cached_property
    def post_dominators(self) -> list[int | None]:
        """The first node after each one that all ways from it to the end of the function go through."""
        return self._dominators(self.users, range(len(self.nodes))[::-1])

    @cached_property
    def dominators(self) -> list[int | None]:
        """The last node before each one that all ways to it from parameters and constants go through."""
        return self._dominators(self.inputs, range(len(self.nodes)))

    def _dominators(self, neighbours: list[int], order: range) -> list[int | None]:
        """Lowest common ancestors of neighbours that were visited before, in the tree of dominators."""
        root = len(self.nodes)
        tree = AncestorTree(root)
        found: list[int | None] = [None] * root
        for index in order:
            first, *others = list(members(neighbours[index])) or [root]
            for other in others:
                first, _ = tree.common_ancestor(first, other)
            tree.add(index, first, 0)
            found[index] = None if first == root else first
        return found


def is_copied(source: Source) -> bool:
    """Whether something is no node: a scalar constant."""
    return isinstance(source, ConstantOp) and not source.result.type.get_shape()


def _owner(value: SSAValue) -> Source:
    owner = value.owner
    if isinstance(owner, Operation):
        return owner
    assert isinstance(value, BlockArgument)
    return value


def _parts(source: Source) -> Iterator[Source]:
    """What computes the operands of an operation, and the ends of its blocks."""
    if isinstance(source, BlockArgument):
        parent = source.block.parent_op()
        if parent is not None and not isinstance(parent, func.FuncOp):
            yield from map(_owner, parent.operands)
        return
    yield from map(_owner, source.operands)
    if not source.has_trait(IsolatedFromAbove):
        for region in source.regions:
            for block in region.blocks:
                yield from block.args
                if block.last_op is not None:
                    yield block.last_op


def _reachable(end: Operation) -> set[Source]:
    """What the end of a function needs."""
    found: set[Source] = {end}
    pending: list[Source] = [end]
    while pending:
        for part in _parts(pending.pop()):
            if part not in found:
                found.add(part)
                pending.append(part)
    return found


def _is_of_tensors(type_: Attribute) -> bool:
    return isinstance(type_, TupleType) and all(map(is_tensor_type, type_.types.data))


def kind_and_label(source: Source) -> tuple[OpPatternKind, str]:
    """How a node may be fused, and what it is called."""
    match source:
        case BlockArgument():
            return OpPatternKind.OPAQUE, f"%{source.name_hint or source.index}"
        case ConstantOp():
            return OpPatternKind.ELEMWISE, "constant"
        case TupleOp():
            holds, label = _is_of_tensors(source.result.type), "tuple"
        case TupleGetItemOp():
            holds, label = _is_of_tensors(source.tuple_value.type), "projection"
        case _:
            return _call_kind(source), short_name(source)
    return OpPatternKind.INJECTIVE if holds else OpPatternKind.OPAQUE, label


def _call_kind(op: Operation) -> OpPatternKind:
    if isinstance(op, CompositeOp) or len(op.results) != 1 or not is_side_effect_free(op):
        return OpPatternKind.OPAQUE
    if op.has_trait(ShapeDataDependent) and is_dynamic(op.results[0].type):
        return OpPatternKind.OPAQUE
    return pattern_kind(op)
