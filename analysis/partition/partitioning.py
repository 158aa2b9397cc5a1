"""
What the function of each compiler region takes and returns, and in which order all is computed.

- A region is computed where the first value leaves it, after all that its outputs need: so the order of
  the program changes where an operand of a later output comes from behind that place.
- Its parameters are its inputs in the order in which they are reached from there: one for each value,
  however often it enters. Its results are the values that leave it, in the order of its ends.
- A region whose operations are in several blocks is computed in the outermost of them, which asks for
  operations without effects, and for inputs that are there.

One walk over the program, depth first. Source: Relay's PartitionGraph.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.dependencies import Dependencies
from xrelay.analysis.facts.effects import Effects
from xrelay.analysis.facts.names import described
from xrelay.analysis.facts.nesting import Nesting, block_of
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.compiler_regions import (
    CompilerRegion,
    CompilerRegionSet,
    compiler_regions,
    source_of,
)
from xrelay.dialects.core.annotation import CompilerBeginOp, CompilerEndOp


@dataclass(eq=False)
class PartitionedRegion:
    """A region that becomes a function."""

    region: CompilerRegion
    home: Block
    """Where it is computed."""
    time: int = 0
    """When it is computed: before the operations with a greater number in `Partition.order`."""
    params: dict[SSAValue, CompilerBeginOp] = field(default_factory=dict[SSAValue, CompilerBeginOp])
    """The values that enter, in the order of the parameters, with the first begin of each."""
    sources: dict[CompilerBeginOp, SSAValue] = field(
        default_factory=dict[CompilerBeginOp, SSAValue]
    )
    """The value that each begin is for."""
    body: list[Operation] = field(default_factory=list[Operation])
    """What moves into the function, in order."""


@dataclass
class Partition:
    """The functions to be made of a function's regions."""

    function: func.FuncOp
    regions: list[PartitionedRegion] = field(default_factory=list[PartitionedRegion])
    order: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """When each operation that stays in its block is computed."""
    dead: list[Operation] = field(default_factory=list[Operation])
    """Operations of regions that no output of their region needs, in order."""


@dataclass
class _Walk:
    """The walk over one function."""

    partition: Partition
    dependencies: Dependencies
    of: dict[Operation, PartitionedRegion]
    """The region of each operation that is in one."""
    state: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """1 while what comes before an operation is visited, 2 when it was."""
    computed: dict[PartitionedRegion, bool] = field(default_factory=dict[PartitionedRegion, bool])
    """False while what the outputs of a region need is visited, True when it was."""
    time: int = 0
    """How many operations were visited."""

    def run(self) -> Partition:
        for op in self.dependencies.visited():
            self.visit(op)
        return self.partition

    def visit(self, start: Operation) -> None:
        if start in self.state:
            return
        path = [(start, iter(self.dependencies.direct(start)))]
        self.state[start] = 1
        while path:
            op, before = path[-1]
            other = next(before, None)
            if other is None:
                following = self.outputs(op)
                if following:
                    path[-1] = (op, iter(following))
                else:
                    path.pop()
                    self.finish(op)
            elif other not in self.state:
                self.state[other] = 1
                path.append((other, iter(self.dependencies.direct(other))))
            elif self.state[other] == 1 or self.is_pending(op, other):
                raise DiagnosticException(
                    f"{described(other)} in @{self.partition.function.sym_name.data} needs its own "
                    "results, through " + ", ".join(described(each) for each, _ in path[::-1])
                )

    def outputs(self, op: Operation) -> list[Operation]:
        """What the outputs of a region are computed by, for its first end."""
        if not isinstance(op, CompilerEndOp) or self.of[op] in self.computed:
            return []
        self.computed[self.of[op]] = False
        return [value.op for value in self.of[op].region.results if isinstance(value, OpResult)]

    def is_pending(self, user: Operation, op: Operation) -> bool:
        """Whether `op` is an output of a region whose other outputs need it."""
        return isinstance(op, CompilerEndOp) and not self.computed[self.of[op]]

    def finish(self, op: Operation) -> None:
        self.state[op] = 2
        self.time += 1
        partitioned = self.of.get(op)
        if partitioned is None or _moves_along(op, self.of):
            self.partition.order[op] = self.time
        elif isinstance(op, CompilerEndOp):
            if not self.computed[partitioned]:
                self.computed[partitioned] = True
                self.partition.regions.append(partitioned)
                partitioned.time = self.time
        elif self.computed.get(partitioned) or not partitioned.region.outputs:
            if self.dependencies.effects.keeps_place(op):
                raise DiagnosticException(
                    f"{described(op)} of {partitioned.region} has effects that come after the "
                    "outputs of the region"
                )
            self.partition.dead.append(op)
        elif isinstance(op, CompilerBeginOp):
            source = partitioned.sources[op] = source_of(op.data)
            partitioned.params.setdefault(source, op)
        else:
            partitioned.body.append(op)


def _moves_along(op: Operation, of: Mapping[Operation, object]) -> bool:
    """Whether `op` is in a branch of an operation of its region."""
    parent = op.parent_op()
    while parent is not None and not isinstance(op, CompilerBeginOp | CompilerEndOp):
        if of.get(parent) is of[op]:
            return True
        parent = parent.parent_op()
    return False


def _check_place(
    region: CompilerRegion,
    homes: Mapping[CompilerRegion, Block],
    found: CompilerRegionSet,
    nesting: Nesting,
) -> None:
    """Refuses a region that cannot be computed in its outermost block."""
    home = homes[region]
    for op in region.ops:
        _check_captures(op, region, found.of, nesting)
        if op.parent is home or _moves_along(op, found.of):
            continue
        assert op.parent is not None
        if not nesting.encloses(home, op.parent):
            raise DiagnosticException(
                f"{described(op)} of {region} is in a block that neither contains nor is within "
                "the other blocks of the region"
            )
        if found.dependencies.effects.keeps_place(op):
            raise DiagnosticException(
                f"{described(op)} of {region} has effects and is in a branch, outside of which "
                "other operations of the region are"
            )
        if not isinstance(op, CompilerBeginOp):
            continue
        source = source_of(op.data)
        maker = found.of.get(source.owner) if isinstance(source, OpResult) else None
        if not nesting.encloses(block_of(source) if maker is None else homes[maker], home):
            raise DiagnosticException(
                f"{described(op)} of {region} takes a value of a branch, outside of which other "
                "operations of the region are"
            )


def _check_captures(
    op: Operation, region: CompilerRegion, of: Mapping[Operation, CompilerRegion], nesting: Nesting
) -> None:
    """Refuses control flow in a region of which a branch uses a value from outside."""
    if op.has_trait(IsolatedFromAbove):
        return
    for inner in (inner for part in op.regions for inner in walk(part)):
        for value in inner.operands:
            owner = value.owner
            if isinstance(owner, Operation) and of.get(owner) is region:
                continue
            block = block_of(value)
            if not any(nesting.encloses(b, block) for part in op.regions for b in part.blocks):
                what = described(owner) if isinstance(owner, Operation) else "a parameter"
                raise DiagnosticException(
                    f"{described(inner)} within {described(op)} of {region} uses {what} from "
                    "outside, which has to enter by compiler_begin"
                )


def plan_partition(function: func.FuncOp, effects: Effects) -> Partition:
    """
    The functions to be made of a function's regions, in the order in which they are reached. `effects` are
    those of the program.

    Raises DiagnosticException for malformed annotations, for regions that need their own results, and
    for those that no single place can compute. So are regions in functions of several blocks, whose
    order is not that of evaluation.
    """
    found = compiler_regions(function, effects)
    if found.regions and len(function.body.blocks) > 1:
        raise DiagnosticException(
            f"function '{function.sym_name.data}' cannot be cut into regions: it is not one block "
            "that ends in func.return"
        )
    of: dict[Operation, PartitionedRegion] = {}
    nesting = Nesting.of(function)
    homes = {region: region.home(nesting) for region in found.regions}
    for region in found.regions:
        _check_place(region, homes, found, nesting)
        of.update(dict.fromkeys(region.ops, PartitionedRegion(region, homes[region])))
    return _Walk(Partition(function), found.dependencies, of).run()
