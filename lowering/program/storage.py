"""
Where the tensors of a program lie: what shares memory, and in which format.

    names      tuples, annotations, reshapes and borders of composites are other names of a tensor; so are
               the results of loops, of what these carry
    formats    a tensor that kernels write gets the spaces that its readers want between elements
    parts      what a concatenation joins is computed into its parts of the result:

                   f ──► conv ──► a ──┐                      ┌─────┬───────┐
                                  concatenate ──► c      c = │  a  │   b   │    no copy, no kernel
                   g ──► pool ──► b ──┘                      └─────┴───────┘

    in place   what is computed element by element takes the memory of an operand that nobody
               reads afterwards

A concatenation is planned before the concatenations among its fields (DenseNet), so that formats and
places follow from the outermost one. What cannot be computed into its part is copied there.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.reshapes import reshaped_argument
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import CompositeOp, FusedOp, RefType
from xrelay.dialects.shapes import leaf_type, leaf_types
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.dialects.traits import ReshapeOnly
from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.evaluate import Leaf, leaf_shape
from xrelay.lowering.emit.format import NO_HALO, NO_SPACING, Format, Spacing, row_major
from xrelay.lowering.emit.group import group_of
from xrelay.lowering.operators.core.values import source_leaf, source_leaves
from xrelay.lowering.program.anchors import keeps_indices
from xrelay.lowering.program.nesting import Nesting
from xrelay.lowering.program.operations import (
    PASSING_ON,
    calls_kernel,
    is_scalar,
    passed_on,
    program_ops,
    surrounding_block,
)
from xrelay.lowering.program.selection import Choices


@dataclass(frozen=True)
class Storage:
    """A place: in a numbered input or output, at an offset in the constants, or in a numbered
    buffer of the workspace."""

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


def plan_storage(block: Block, choices: Choices, outputs: Collection[Leaf] = ()) -> StoragePlan:
    """
    The plan of a function whose operators are computed as chosen, and whose results `outputs` are
    written to memory of the caller.
    """
    return _Planner(block, choices, outputs).run()


class _Planner:
    """The state of planning. Tensors are known by their origins."""

    def __init__(self, block: Block, choices: Choices, outputs: Collection[Leaf]):
        self.program = list(program_ops(block))
        self.choices = choices
        self.outputs = frozenset(outputs)
        self.wanted: dict[Leaf, Spacing] = {}
        """What the readers of a tensor want."""
        self.shared: set[Leaf] = set()
        """Tensors that are also seen in another shape, or by others than kernels: no gaps."""
        self.given: dict[Leaf, Spacing] = {}
        """The spacing of concatenations and of their parts."""
        self.parts: dict[Leaf, Part] = {}
        self.joined: dict[Operation, tuple[tuple[Leaf, int], ...]] = {}
        self.in_place: dict[Leaf, Leaf] = {}
        self.homes: dict[Leaf, Leaf] = {}
        """Shorter ways along parts and results in place: those of a row of operators have one home."""

    def run(self) -> StoragePlan:
        for op in self.program:
            self.read_operands(op)
        for op in reversed(self.program):
            self.join(op)
        formats = {
            leaf: self.spacing(leaf).format(leaf_shape(leaf))
            for leaf in {**self.wanted, **self.given}
            if self.spacing(leaf) != NO_SPACING
        }
        plan = StoragePlan(formats, self.parts, self.joined, self.in_place)
        self.overwrite(plan)
        return plan

    def read_operands(self, op: Operation) -> None:
        """Notes how an operation reads its operands."""
        if isinstance(op, PASSING_ON):
            return
        for leaf in _operand_leaves(op):
            source = origin(leaf)
            if not calls_kernel(op) or leaf_shape(leaf) != leaf_shape(source):
                self.shared.add(source)
        if not calls_kernel(op):
            return
        group = group_of(op)
        args = dict(zip(group.params, group.args, strict=True))
        for choice in self.choices.get(op, ()):
            operands = choice.op.operands
            if operands and operands[0] in args:
                leaf = origin((args[operands[0]], 0))
                wanted = choice.implementation.spacing(choice.site)
                self.wanted[leaf] = self.wanted.get(leaf, NO_SPACING) | wanted

    def spacing(self, leaf: Leaf) -> Spacing:
        """The spaces in a tensor."""
        if leaf in self.given:
            return self.given[leaf]
        if leaf in self.shared or leaf in self.outputs or not calls_kernel(leaf[0].owner):
            return NO_SPACING
        return self.wanted.get(leaf, NO_SPACING)

    # -- parts of concatenations ------------------------------------------------------------------

    def join(self, op: Operation) -> None:
        """Lets the fields of a concatenation be computed into its result, if that is possible."""
        concatenation = _concatenation(op)
        if concatenation is None:
            return
        axis, fields = concatenation
        whole = (op.results[0], 0)
        spacing, shape = self.spacing(whole), leaf_shape(whole)
        # Only without axes before the joined one is each field one piece of the result.
        if prod(shape[:axis]) != 1 or 0 in shape or spacing.row_gap:
            return
        if spacing.halo != NO_HALO and axis > 1:
            return
        step = spacing.format(shape).strides[axis] * _element_bytes(whole)
        placed: dict[Leaf, int] = {}
        copied: list[tuple[Leaf, int]] = []
        start = 0
        for field in fields:
            source = origin(field)
            if source not in placed and self.fits(op, source, field, spacing):
                placed[source] = start
            elif spacing == NO_SPACING == self.spacing(source):
                copied.append((field, start))
            else:
                return
            start += leaf_shape(field)[axis] * step
        if placed:
            self.joined[op] = tuple(copied)
            self.given[whole] = spacing
            for source, offset in placed.items():
                self.parts[source] = Part(whole, offset)
                self.given[source] = spacing

    def fits(self, op: Operation, source: Leaf, field: Leaf, spacing: Spacing) -> bool:
        """Whether a tensor can be computed with the spacing of a concatenation, into its part."""
        if not calls_kernel(source[0].owner) or source in self.outputs or source in self.parts:
            return False
        if surrounding_block(source[0].owner) is not surrounding_block(op):
            return False  # The next round of a loop may find the part written over.
        if self.spacing(source) | spacing != spacing:
            return False
        same_shape = source not in self.shared and leaf_shape(source) == leaf_shape(field)
        return spacing == NO_SPACING or same_shape

    # -- results in the place of operands ---------------------------------------------------------

    def overwrite(self, plan: StoragePlan) -> None:
        """Lets elementwise kernels write over an operand that they are the last to read."""
        nesting = Nesting(self.program)
        last: dict[Leaf, int] = {}
        for number, op in enumerate(self.program):
            if isinstance(op, PASSING_ON):
                continue  # Nobody reads yet; whoever does knows the tensor by its origin.
            for leaf in (*map(origin, _operand_leaves(op)), *_result_leaves(op)):
                home, end = self.home(leaf), nesting.last_use(leaf[0], op, number, carried=True)
                last[home] = max(end, last.get(home, 0))
        for number, op in enumerate(self.program):
            result = next(_result_leaves(op), None)
            if result is None or not calls_kernel(op) or origin(result) != result:
                continue
            if op in self.joined or result in self.parts or result in self.outputs:
                continue
            source = self.overwritten(op, result, number, last, plan)
            if source is not None:
                ends = last[result]
                self.in_place[result] = source
                last[self.home(source)] = ends

    def overwritten(
        self, op: Operation, result: Leaf, number: int, last: Mapping[Leaf, int], plan: StoragePlan
    ) -> Leaf | None:
        """The first operand that a result can replace."""
        group = group_of(op)
        # Loops of an operator's own may hand elements over twice; else each is computed once.
        if self.choices.get(op) or len(leaf_types(group.result.type)) != 1:
            return None
        homes = [self.home(origin(leaf)) for arg in group.args for leaf in leaves_of(arg)]
        for param, arg in zip(group.params, group.args, strict=True):
            if not isinstance(param.type, TensorType) or not keeps_indices(param, group):
                continue
            source = origin((arg, 0))
            home = self.home(source)
            owned = calls_kernel(source[0].owner) and not self.outputs & {source, home}
            alike = plan.format((arg, 0)) == plan.format(result) and (
                tensor_type_of((arg, 0)).element_type == tensor_type_of(result).element_type
            )
            if owned and alike and last[home] == number and homes.count(home) == 1:
                return source
        return None

    def home(self, leaf: Leaf) -> Leaf:
        """The tensor that a buffer was made for, in which this one lies."""
        passed: list[Leaf] = []
        while (around := self._around(leaf)) is not None:
            passed.append(leaf)
            leaf = around
        self.homes.update(dict.fromkeys(passed, leaf))
        return leaf

    def _around(self, leaf: Leaf) -> Leaf | None:
        """A tensor that another one lies in; None when a buffer is made for it."""
        if leaf in self.homes:
            return self.homes[leaf]
        if leaf in self.parts:
            return self.parts[leaf].whole
        return self.in_place.get(leaf)


def _concatenation(op: Operation) -> tuple[int, list[Leaf]] | None:
    """The axis and the fields of a kernel that only concatenates, as the program sees them."""
    if not calls_kernel(op):
        return None
    group = group_of(op)
    joining = [inner for inner in group.ops if not isinstance(inner, PASSING_ON)]
    if len(joining) != 1 or not isinstance(joining[0], ConcatenateOp):
        return None
    concatenate = joining[0]
    if source_leaf((group.result, 0)) != (concatenate.result, 0):
        return None
    args = dict(zip(group.params, group.args, strict=True))
    # Outside of relay.fused, what a field is a name of is a value of the program already.
    return concatenate.normalized_axis, [
        (args.get(value, value), i) for value, i in source_leaves(concatenate.data)
    ]


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
        if leaf_bytes(source) != leaf_bytes(leaf):
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


def _element_bytes(leaf: Leaf) -> int:
    return element(tensor_type_of(leaf).element_type).bytes


def _operand_leaves(op: Operation) -> Iterator[Leaf]:
    for operand in op.operands:
        yield from leaves_of(operand)


def _result_leaves(op: Operation) -> Iterator[Leaf]:
    for result in op.results:
        yield from leaves_of(result)


def leaves_of(value: SSAValue) -> Iterator[Leaf]:
    """The tensors of a value; a number in a register has none."""
    if not is_scalar(value.type):
        for i in range(len(value_types(value.type))):
            yield value, i
