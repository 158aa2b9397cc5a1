"""
Which loops stand around what: a value from outside of a loop is read until its last round ends.

    %a = …            0
    scf.for …         1
      %b = … %a       2    %a is in use until 4: the next round reads it again
      … %b            3    %b is in use until 3
      scf.yield       4
"""

from collections.abc import Sequence
from itertools import takewhile

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from xrelay.lowering.program.operations import CONTROL_FLOW, LoopOp, surrounding_block


class Nesting:
    """The loops of a program, whose operations are numbered in order."""

    def __init__(self, program: Sequence[Operation]):
        self._around: dict[Block, tuple[LoopOp, ...]] = {}
        """The loops around what is in a block, the outermost first."""
        self._ends: dict[LoopOp, int] = {}
        """The last operation within a loop."""
        for number, op in enumerate(program):
            around = self.loops(op)
            if around:
                self._ends[around[-1]] = number
            if isinstance(op, CONTROL_FLOW):
                inside = around if isinstance(op, scf.IfOp) else (*around, op)
                for region in op.regions:
                    self._around.update((block, inside) for block in region.blocks)
        for op in reversed(list(self._ends)):
            around = self.loops(op)
            if around:
                self._ends[around[-1]] = max(self._ends[around[-1]], self._ends[op])

    def loops(self, node: Operation | Block) -> tuple[LoopOp, ...]:
        """The loops around an operation, or around what is in a block."""
        block = surrounding_block(node)
        return () if block is None else self._around.get(block, ())

    def last_use(self, value: SSAValue, user: Operation, number: int, *, carried: bool) -> int:
        """
        Until when a value is in use that an operation of some number uses. What a loop carries is in
        use until it ends with `carried`, and else only within a round.
        """
        home = self.loops(value.owner)
        if carried and isinstance(value.owner, Block) and home:
            home = home[:-1]
        around = self.loops(user)
        pairs = zip(home, around, strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        return max(number, self._ends[around[common]]) if common < len(around) else number
