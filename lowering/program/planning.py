"""
Where the tensors of a program lie: what shares memory, and in which format.

    formats    a tensor that kernels write gets the spaces that its readers want between elements
    parts      what a concatenation joins is computed into its parts of the result:

                   f ──► conv ──► a ──┐                      ┌─────┬───────┐
                                  concatenate ──► c      c = │  a  │   b   │    no copy, no kernel
                   g ──► pool ──► b ──┘                      └─────┴───────┘

    in place   what nobody reads afterwards is written over: overwriting.py

A concatenation is planned before the concatenations among its fields (DenseNet), so that formats and
places follow from the outermost one. What cannot be computed into its part is copied there.
"""

from collections.abc import Collection
from math import prod

from xdsl.ir import Block, Operation

from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import is_empty, same_shape
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.lowering.emit.evaluate import Leaf, leaf_element, leaf_shape
from xrelay.lowering.emit.format import NO_HALO, NO_SPACING, Spacing
from xrelay.lowering.emit.group import group_of
from xrelay.lowering.operators.core.values import source_leaf, source_leaves
from xrelay.lowering.program.caller_memory import PLAIN, CallerMemory
from xrelay.lowering.program.operations import (
    PASSING_ON,
    calls_kernel,
    program_ops,
    surrounding_block,
)
from xrelay.lowering.program.overwriting import Overwriting
from xrelay.lowering.program.selection import Choices
from xrelay.lowering.program.storage import Part, StoragePlan, leaves_of, origin


def plan_storage(
    block: Block, choices: Choices, outputs: Collection[Leaf] = (), memory: CallerMemory = PLAIN
) -> StoragePlan:
    """
    The plan of a function whose operators are computed as chosen, and whose results `outputs` are
    written to memory of the caller, in which some tensors lie as `memory` says.
    """
    return _Planner(block, choices, outputs, memory).run()


class _Planner:
    """The state of planning. Tensors are known by their origins."""

    def __init__(
        self, block: Block, choices: Choices, outputs: Collection[Leaf], memory: CallerMemory
    ):
        self.program = list(program_ops(block))
        self.choices = choices
        self.outputs = frozenset(outputs)
        self.memory = memory
        self.wanted: dict[Leaf, Spacing] = {}
        """What the readers of a tensor want."""
        self.shared: set[Leaf] = set()
        """Tensors that are also seen in another shape, or by others than kernels: no gaps."""
        self.given: dict[Leaf, Spacing] = {}
        """The spacing of concatenations and of their parts."""
        self.parts: dict[Leaf, Part] = {}
        self.joined: dict[Operation, tuple[tuple[Leaf, int], ...]] = {}

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
        formats.update(self.memory.formats)
        plan = StoragePlan(formats, self.parts, self.joined, {})
        in_place = Overwriting(self.program, self.choices, self.outputs, plan).run()
        return StoragePlan(formats, self.parts, self.joined, in_place)

    def read_operands(self, op: Operation) -> None:
        """Notes how an operation reads its operands."""
        if isinstance(op, PASSING_ON):
            return
        for leaf in leaves_of(*op.operands):
            source = origin(leaf)
            if not calls_kernel(op) or not same_shape(leaf_shape(leaf), leaf_shape(source)):
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
        if not self.memory.fixed.isdisjoint((whole, *map(origin, fields))):
            return
        # Only without axes before the joined one is each field one piece of the result.
        if not certainly(prod(shape[:axis]), 1) or is_empty(shape) or spacing.row_gap:
            return
        if spacing.halo != NO_HALO and axis > 1:
            return
        step = spacing.format(shape).strides[axis] * leaf_element(whole).bytes
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
