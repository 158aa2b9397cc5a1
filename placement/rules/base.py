"""Rules that find candidates in a graph itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Operation

from xrelay.analysis.partition.compilers import Supports, Yes
from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.analysis.patterns.groups import group_of
from xrelay.analysis.patterns.language import Pattern
from xrelay.analysis.patterns.matching import Match, match
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import CalledBodyOp, ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.tensor.like import NdarraySizeOp, ShapeOfOp
from xrelay.dialects.traits import OpPatternKind
from xrelay.placement.graph.dataflow import Graph, Node
from xrelay.placement.graph.index_set import index_set, members, union_of
from xrelay.placement.graph.sub_graph import SubGraph
from xrelay.placement.rules.candidate import HOST, Candidate
from xrelay.placement.rules.rule import Rule, listed

_STRUCTURE = (ConstantOp, TupleOp, TupleGetItemOp)


def is_call(op: Operation | None) -> bool:
    """Whether a node stands for a call of an operator, or of a function."""
    if isinstance(op, CalledBodyOp | func.CallOp):
        return True
    return isinstance(op, RelayOp) and not isinstance(op, _STRUCTURE) and not op.regions


def needs_no_kernel(node: Node) -> bool:
    """Whether a node costs nothing: a parameter, a tuple, a constant, control flow, the reading of a shape."""
    return not is_call(node.op) or isinstance(node.op, ShapeOfOp | NdarraySizeOp)


def host_nodes(graph: Graph) -> int:
    """The nodes that need no kernel, or are computed before anything runs."""
    return index_set(n.index for n in graph.nodes if needs_no_kernel(n)) | graph.foldable


@dataclass(frozen=True)
class DFPattern(Rule):
    """
    Each node where a pattern matches and its check holds: everything that it names, without what wildcards
    stand for.
    """

    name: str
    pattern: Pattern
    check: Callable[[Match], bool] = field(default=lambda found: True, repr=False)

    @classmethod
    def of(cls, pattern: CompositePattern) -> "DFPattern":
        """The rule of a line of a backend's table."""
        return cls(pattern.name, pattern.pattern, pattern.check)

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        found: list[Candidate] = []
        for node in graph.nodes:
            matched = match(self.pattern, node.values[0]) if len(node.values) == 1 else None
            group = None if matched is None else group_of(self.pattern, matched)
            if group is None or not self.check(group.match):
                continue
            inside = index_set(graph.numbers[op] for op in group.ops if op in graph.numbers)
            found.append(Candidate(self.name, SubGraph(graph, inside), engine))
        return list(dict.fromkeys(found))

    def __str__(self) -> str:
        return listed("DFPattern", [self.name])


@dataclass(frozen=True)
class OpCallByKind(Rule):
    """Each call of an operator of a kind up to `most`, alone."""

    most: OpPatternKind = OpPatternKind.OUT_EWISE_FUSABLE

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        return [
            Candidate(node.label, SubGraph(graph, 1 << node.index), engine)
            for node in graph.nodes
            if is_call(node.op) and node.kind <= self.most
        ]

    def __str__(self) -> str:
        return listed("OpCallByKind", [self.most.label])


@dataclass(frozen=True)
class OpPredicate(Rule):
    """
    Each call that an engine supports, with the constants that it needs, and what it supports of the calls that compute
    others of constants for it alone, such as weights that are dequantised.
    """

    name: str
    supports: Supports = field(repr=False)

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        found: list[Candidate] = []
        alone: dict[int, int] = {}
        """What is computed of constants for one user: with these."""
        for node in graph.nodes:
            op = node.op
            if op is None or not is_call(op):
                continue
            if isinstance(self.supports(op, op.operand_types), Yes):
                inputs = graph.inputs[node.index]
                before = union_of(alone.get(i, 0) for i in members(inputs & ~graph.constants))
                inside = 1 << node.index | inputs & graph.constants | before
                if inputs and not inputs & ~inside and graph.users[node.index].bit_count() == 1:
                    alone[node.index] = inside
                name = f"{self.name}.{node.label}"
                found.append(Candidate(name, SubGraph(graph, inside), engine))
        return found

    def __str__(self) -> str:
        return listed("OpPredicate", [self.name])


@dataclass(frozen=True)
class Host(Rule):
    """Whatever needs no kernel, alone. It costs nothing, whatever the engine is called."""

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        return [
            Candidate("host", SubGraph(graph, 1 << index), HOST)
            for index in members(host_nodes(graph))
        ]


@dataclass(frozen=True)
class Whole(Rule):
    """
    The function, in the form in which it came: all but parameters and the end, if the engine supports each
    call, or takes the ONNX model that the function comes from.
    """

    supports: Supports = field(repr=False)
    takes_onnx: bool = False

    def candidates(self, graph: Graph, engine: str) -> list[Candidate]:
        calls = [node.op for node in graph.nodes if node.op is not None and is_call(node.op)]
        is_taken = self.takes_onnx and graph.origin is not None
        if not calls or not (is_taken or self.supports_all(calls)):
            return []
        inside = index_set(
            node.index for node in graph.nodes[:-1] if node.block or not node.is_parameter
        )
        return [Candidate("whole", SubGraph(graph, inside), engine)]

    def supports_all(self, calls: Sequence[Operation]) -> bool:
        """Whether the engine runs some operators."""
        return all(isinstance(self.supports(op, op.operand_types), Yes) for op in calls)
