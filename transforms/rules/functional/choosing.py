"""One of several cases, by a number."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xrelay.dialects.tensor.binary import LessOp
from xrelay.transforms.rules.rewriting import Emitter


@dataclass(frozen=True)
class Case:
    """What is done for a number: operations, and what they give."""

    number: int
    ops: Sequence[Operation]
    values: Sequence[SSAValue]

    @property
    def region(self) -> Region:
        """The case as a branch."""
        return Region(Block([*self.ops, scf.YieldOp(*self.values)]))


def chosen(
    which: SSAValue, cases: Sequence[Case], types: Sequence[Attribute], emit: Emitter
) -> Sequence[SSAValue]:
    """
    What the case of a number gives, which is a tensor of one element. The cases are halved by comparisons, all of which stand in front of
    the branches: they know at once where to go.
    """
    case = _halved(which, sorted(cases, key=lambda case: case.number), types, emit)
    emit.ops += case.ops
    return case.values


def _halved(
    which: SSAValue, cases: Sequence[Case], types: Sequence[Attribute], tests: Emitter
) -> Case:
    """Some cases as one."""
    if len(cases) == 1:
        return cases[0]
    middle = len(cases) // 2
    test = tests(LessOp(which, tests.constant(np.array(cases[middle].number, np.int32))))
    first, second = (
        _halved(which, half, types, tests).region for half in (cases[:middle], cases[middle:])
    )
    condition = tensor.ExtractOp(test, [], i1)
    branch = scf.IfOp(condition.result, types, first, second)
    return Case(cases[0].number, [condition, branch], branch.results)
