"""What backends take of a program, and what keeps them from taking more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.names import short_name
from xrelay.analysis.facts.operation_count import operation_count
from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.compilers import DEFAULT, No
from xrelay.backends.base import Backend
from xrelay.backends.regions import region_bytes, region_operators
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, FusedOp, TupleGetItemOp, TupleOp
from xrelay.partitioned import compiler_of


@dataclass(frozen=True)
class RegionCoverage:
    """One region."""

    name: str
    backend: str
    operators: tuple[str, ...]
    """In program order, composites by their name."""
    flops: int
    bytes: int
    """Of what goes in and out."""
    seconds: float | None = None
    """How long it would take, as a simulated backend says."""


@dataclass(frozen=True)
class Blocker:
    """Operators of one kind that a backend leaves to the host, for one reason."""

    operator: str
    backend: str
    reason: str
    count: int
    flops: int


@dataclass(frozen=True)
class Coverage:
    """What backends take of a program."""

    regions: tuple[RegionCoverage, ...]
    host: RegionCoverage
    """All that is left."""
    blockers: tuple[Blocker, ...]
    """Those that keep the most operations on the host first."""

    @property
    def offloaded_flops(self) -> float:
        """The share of all operations that backends take, from 0 to 1."""
        taken = sum(region.flops for region in self.regions)
        return taken / total if (total := taken + self.host.flops) else 0.0

    @property
    def offloaded_operators(self) -> float:
        """The share of all operators that backends take, from 0 to 1."""
        taken = sum(len(region.operators) for region in self.regions)
        return taken / total if (total := taken + len(self.host.operators)) else 0.0


def coverage(module: ModuleOp, backends: Sequence[Backend]) -> Coverage:
    """The coverage of what the entry function of a partitioned module calls, itself included."""
    regions: list[RegionCoverage] = []
    host: list[Operation] = []
    by_name = {backend.name: backend for backend in backends}
    graph = CallGraph.of_module(module)
    entry = entry_function(module).sym_name.data
    needed = graph.reachable([entry])
    for name, function in graph.functions.items():
        if name not in needed or function.is_declaration:
            continue
        compiler = compiler_of(function)
        if compiler == DEFAULT:
            host.extend(_operators(function))
            continue
        inside = list(region_operators(function))
        seconds = getattr(by_name.get(compiler), "seconds", None)
        regions.append(
            RegionCoverage(
                function.sym_name.data,
                compiler,
                tuple(map(short_name, inside)),
                sum(map(_flops, inside)),
                region_bytes(function),
                None if seconds is None else seconds(function),
            )
        )
    rest = RegionCoverage(entry, DEFAULT, tuple(map(short_name, host)), sum(map(_flops, host)), 0)
    return Coverage(tuple(regions), rest, _blockers(host, backends))


def _operators(function: func.FuncOp) -> Iterable[Operation]:
    """The operators of the host, those inside of control flow too."""
    structure = (ConstantOp, TupleOp, TupleGetItemOp)
    for op in walk(function):
        inside = op.parent_op()
        if isinstance(inside, CompositeOp | FusedOp) or isinstance(op, structure):
            continue
        if isinstance(op, RelayOp | CompositeOp):
            yield op


def _flops(op: Operation) -> int:
    """
    The operations that an operator does.

    Raises DiagnosticException that names the operator when a shape is not known.
    """
    try:
        return operation_count(op)
    except DiagnosticException as error:
        raise DiagnosticException(f"operator {short_name(op)}: {error}") from error


def _blockers(host: Sequence[Operation], backends: Sequence[Backend]) -> tuple[Blocker, ...]:
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for op in host:
        flops = _flops(op)
        for backend in backends:
            answer = backend.supports(op, op.operand_types)
            if isinstance(answer, No):
                reason = answer.reason
            elif not op.operands:
                reason = "it has no operands"
            else:
                # What is supported and still here would have closed a circle between regions.
                reason = "its region would wait for itself"
            key = short_name(op), backend.name, reason
            count, total = found.get(key, (0, 0))
            found[key] = count + 1, total + flops
    rows = [Blocker(*key, *numbers) for key, numbers in found.items()]
    return tuple(sorted(rows, key=lambda row: (-row.flops, -row.count, row.operator, row.backend)))
