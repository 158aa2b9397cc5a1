"""
Where the tensors of a program can lie: places, and which tensors are one in memory.

    names      tuples, annotations, reshapes and borders of composites are other names of a tensor; so are
               the results of loops, of what these carry

`planning.py` decides what shares memory beyond that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.reshapes import reshaped_argument
from xrelay.dialects.base import RelayOp
from xrelay.dialects.branches import passed_on
from xrelay.dialects.core.references import RefType
from xrelay.dialects.core.values import CompositeOp, FusedOp
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import leaf_type, leaf_types
from xrelay.dialects.traits import ReshapeOnly
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.evaluate import Leaf
from xrelay.lowering.emit.format import Format, row_major
from xrelay.lowering.operators.core.values import source_leaf
from xrelay.lowering.program.operations import is_scalar


@dataclass(frozen=True)
class Storage:
    """A place: in a numbered input or output, at an offset in the constants, or in a numbered
    buffer of the workspace; or that of a number in the table of lengths."""

    place: str
    number: int
    before: int = 0
    """Bytes in front of the element at the origin."""


@dataclass(frozen=True)
class Part:
    """A tensor that lies inside of another one."""

    whole: Leaf
    offset: int
    """Bytes from the origin of the whole to that of the part."""


@dataclass(frozen=True)
class StoragePlan:
    """What shares memory with what, and the formats."""

    formats: Mapping[Leaf, Format]
    """Of the tensors that do not lie row-major in their buffer."""
    parts: Mapping[Leaf, Part]
    """Results that kernels write into a concatenation."""
    joined: Mapping[Operation, tuple[tuple[Leaf, int], ...]]
    """The concatenations whose fields are parts: the fields that have to be copied all the same,
    and to how many bytes behind the origin."""
    in_place: Mapping[Leaf, Leaf]
    """Results that are written over another tensor."""

    def format(self, leaf: Leaf) -> Format:
        """How a tensor lies in its buffer."""
        known = self.formats.get(origin(leaf))
        return known if known is not None else row_major(tensor_type_of(leaf).get_shape())


# -- tensors under other names ------------------------------------------------------------------------


def origin(leaf: Leaf) -> Leaf:
    """
    The tensor whose memory this one shares, through tuples, annotations, reshapes and the borders
    of composites.
    """
    while True:
        leaf = source_leaf(leaf)
        source = _origin_step(*leaf)
        if source is None:
            return leaf
        if not certainly(leaf_bytes(source), leaf_bytes(leaf)) and leaf_bytes(source) != leaf_bytes(
            leaf
        ):
            raise DiagnosticException(
                f"{leaf[0].type} and {source[0].type} are one tensor in memory, but differ in size"
            )
        leaf = source


def _origin_step(value: SSAValue, number: int) -> Leaf | None:
    """The tensor that this one is under another name or in another shape, if it is."""
    match value.owner:
        case Block() as block:
            assert isinstance(value, BlockArgument)
            match block.parent_op():
                case CompositeOp() as op:
                    return op.args[value.index], number
                case scf.WhileOp() as op if block is op.after_region.block:
                    return passed_on(op.before_region.block)[value.index], number
                case _:
                    return None
        case scf.ForOp() as op:
            assert isinstance(value, OpResult)
            return op.body.block.args[1 + value.index], number
        case scf.WhileOp() as op:
            assert isinstance(value, OpResult)
            return passed_on(op.before_region.block)[value.index], number
        case CompositeOp() as op:
            return op.yielded, number
        case FusedOp() as op if op.reshape_only is not None:
            parameter = reshaped_argument(op)
            return None if parameter is None else (op.args[parameter], 0)
        case RelayOp() as op if op.has_trait(ReshapeOnly):
            return op.operands[0], 0
        case _:
            return None


def value_types(type_: Attribute) -> tuple[TensorType[Attribute], ...]:
    """The tensors of a value; those in its cell for a reference."""
    return leaf_types(type_.value if isinstance(type_, RefType) else type_)


def byte_size(type_: TensorType[Attribute]) -> int:
    """Bytes of the elements of a tensor."""
    return prod(type_.get_shape()) * element(type_.element_type).bytes


def leaf_bytes(leaf: Leaf) -> int:
    """Bytes of the elements of one tensor of a value."""
    return byte_size(tensor_type_of(leaf))


def tensor_type_of(leaf: Leaf) -> TensorType[Attribute]:
    """The type of one of the `value_types` of a value."""
    value, number = leaf
    return leaf_type(value.type.value if isinstance(value.type, RefType) else value.type, number)


def leaves_of(*values: SSAValue) -> Iterator[Leaf]:
    """The tensors of values; a number in a register has none."""
    for value in values:
        if not is_scalar(value.type):
            for i in range(len(value_types(value.type))):
                yield value, i
