"""What `xrelay view` draws: nodes, edges, units and regions of a block. See from_plan.py."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from xdsl.ir import Operation

from xrelay.analysis.fusion.plan import FusionNode, FusionPlan, Refusal
from xrelay.dialects.traits import OpPatternKind

Role: TypeAlias = Literal["operator", "input", "constant", "output"]


@dataclass(frozen=True)
class Operand:
    """What a node computes with."""

    text: str
    """A value that no node computes: its name or number, and its type."""
    source: "Node | None"
    """The node that computes it."""


@dataclass(frozen=True)
class Placed:
    """Where a plan has an operator."""

    engine: str
    colour: int
    """The number of the engine in the order of the plan."""
    seconds: float
    """What its region costs; of own code, its own part."""
    source: str
    """Who says so."""
    reasons: tuple[str, ...] = ()
    """What it would cost elsewhere, and why other candidates were not taken."""


@dataclass(eq=False)
class Node:
    """A box of the picture."""

    number: int
    """Its place in the graph."""
    role: Role
    name: str
    """What it does (`nn.conv2d`), or the name of an input."""
    types: tuple[str, ...]
    """Of the results; of an output node: of the values that leave."""
    kind: OpPatternKind | None = None
    op: Operation | None = None
    fact: FusionNode | None = None
    """What fusion knows about it; None when its block is not fused."""
    operands: list[Operand] = field(default_factory=list[Operand])
    attributes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The properties and attributes of the operation, as text."""
    model_name: str = ""
    """The name of the ONNX node that it comes from."""
    placed: Placed | None = None
    """Where a plan has it, when one is shown."""

    @property
    def label(self) -> str:
        """As explanations call it: the name and the number in the block."""
        return self.name if self.fact is None else f"{self.name} #{self.fact.index}"


@dataclass(frozen=True)
class Edge:
    """Values that go from one node to another."""

    source: Node
    target: Node
    kind: OpPatternKind | None
    """How they are used; None when they leave the dataflow that fusion looks at."""
    refusal: Refusal | None
    """Why the two are not in one group; None when they are, or nobody asked."""


@dataclass(eq=False)
class Unit:
    """What is computed at once."""

    number: int
    members: list[Node]
    fused: bool
    """Whether it is a `relay.fused`, or becomes one."""
    kind: OpPatternKind | None = None
    anchor: Node | None = None
    compiler: str = ""
    """The other compiler that computes it."""

    @property
    def root(self) -> Node:
        """The member that the others lead to."""
        return self.members[-1]

    @property
    def title(self) -> str:
        """The names of the operators."""
        names = [node.name for node in self.members if node.role != "constant"]
        return " + ".join(names or [node.name for node in self.members])


@dataclass(frozen=True)
class Region:
    """Nodes that belong together for another compiler."""

    label: str
    members: tuple[Node, ...]


@dataclass(eq=False)
class Graph:
    """The picture of one block."""

    title: str
    plan: FusionPlan | None
    is_main: bool = False
    """Whether the program begins with this block."""
    nodes: list[Node] = field(default_factory=list[Node])
    edges: list[Edge] = field(default_factory=list[Edge])
    units: list[Unit] = field(default_factory=list[Unit])
    regions: list[Region] = field(default_factory=list[Region])
    unit_of: dict[Node, Unit] = field(default_factory=dict[Node, Unit])

    @property
    def operators(self) -> int:
        """How many of the nodes are operators."""
        return sum(node.role == "operator" for node in self.nodes)

    @property
    def rank(self) -> tuple[bool, int]:
        """The graph to show first has the highest."""
        return self.is_main, self.operators

    def node_of(self) -> dict[Operation, Node]:
        """The nodes of operations. One that is drawn several times has its last node."""
        return {node.op: node for node in self.nodes if node.op is not None}

    def unit_edges(self) -> Iterator[tuple[Unit, Unit]]:
        """Values that go from one unit to another, each pair once."""
        pairs = ((self.unit_of[edge.source], self.unit_of[edge.target]) for edge in self.edges)
        return iter(dict.fromkeys((a, b) for a, b in pairs if a is not b))
