"""
What `xrelay view` draws: the graphs of a module, from their fusion plans.

    block + FusionPlan ──► Graph: nodes, edges, units (what is computed at once), regions

- A node is an operation, an input, or the values that leave the block. Constants that never fuse
  are no nodes; they are operands of others.
- `relay.fused`, `relay.composite` and calls of functions with `Compiler` are drawn as what they
  contain: a unit or a region around it. Other operations with blocks are nodes, and their blocks
  are graphs of their own.
- A unit is a fused group, a region for another compiler, or a node alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from xrelay.analysis.facts.scopes import has_flag
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.fusion.plan import (
    FusionGroup,
    FusionOptions,
    FusionPlan,
    fusion_blocks,
    plan_fusion,
)
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.annotation import CompilerAnnotationOp, CompilerBeginOp, CompilerEndOp
from xrelay.dialects.core.blob import BlobAttr
from xrelay.dialects.core.dense import is_dense
from xrelay.dialects.core.values import (
    INLINE_ELEMENTS,
    CalledBodyOp,
    CompositeOp,
    ConstantOp,
    FusedOp,
)
from xrelay.dialects.model_names import model_name
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.tools.explain.lengths import type_text
from xrelay.tools.view.graph import Edge, Graph, Node, Operand, Region, Role, Unit

LONGEST_TEXT = 200
"""Characters of an attribute that are shown."""


def _scalar_text(op: ConstantOp) -> str:
    """The value of a constant with one element."""
    if not is_dense(op.value):
        return "constant"
    value = op.value.get_values()[0]
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def attribute_text(value: Attribute) -> str:
    """An attribute as text, shortened; large constants without their elements."""
    if isinstance(value, BlobAttr):
        return "elements in a file"
    if is_dense(value):
        count = prod(value.get_shape())
        if count > INLINE_ELEMENTS:
            return f"dense<{count} elements>"
    text = str(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def graphs(module: ModuleOp, options: FusionOptions) -> list[Graph]:
    """The graphs of a module that have operators, also in regions inside, in program order."""
    plans = {block: plan_fusion(block, options) for block in fusion_blocks(module)}
    compiled = {
        op.sym_name.data: op
        for op in module.ops
        if isinstance(op, func.FuncOp) and has_flag(op, ("Compiler",)) and not op.is_declaration
    }
    called = {
        compiled[op.callee.root_reference.data]
        for op in walk(module)
        if isinstance(op, func.CallOp) and op.callee.root_reference.data in compiled
    }
    result: list[Graph] = []
    for op in walk(module):
        if isinstance(op, CalledBodyOp) or op in called:
            continue
        for block in (block for region in op.regions for block in region.blocks):
            if _has_operators(block):
                result.append(_Drawing(block, plans, compiled).graph)
    return result


def _has_operators(block: Block) -> bool:
    """Whether a block computes something; the functions of a module compute nothing themselves."""
    inside = not isinstance(block.parent_op(), ModuleOp)
    return any(
        isinstance(op, RelayOp | CalledBodyOp)
        for child in block.ops
        for op in (walk(child) if inside else (child,))
    )


def _is_main(block: Block) -> bool:
    """Whether a program begins with this block."""
    op = block.parent_op()
    return (
        isinstance(op, func.FuncOp) and op.sym_name.data == "main" and op.body.first_block is block
    )


def _title(block: Block) -> str:
    """The operation that a block belongs to, and the function around it."""
    names: list[str] = []
    op = block.parent_op()
    while op is not None and not isinstance(op, ModuleOp):
        symbol = op.properties.get("sym_name")
        names.append(f"{op.name} {symbol.data}" if isinstance(symbol, StringAttr) else op.name)
        op = op.parent_op()
    region = block.parent
    if region is not None and len(region.blocks) > 1:
        names[0] += f", block {region.get_block_index(block)}"
    elif region is not None and region.parent is not None and len(region.parent.regions) > 1:
        names[0] += f", region {region.parent.get_region_index(region)}"
    return " in ".join(names) or "module"


class _Drawing:
    """A graph under construction."""

    def __init__(
        self,
        block: Block,
        plans: Mapping[Block, FusionPlan],
        compiled: Mapping[str, func.FuncOp],
    ):
        self.plans = plans
        self.compiled = compiled
        self.graph = Graph(_title(block), plans.get(block), _is_main(block))
        self.sources: dict[SSAValue, Node | None] = {}
        """The node that computes a value; None for constants that are not drawn."""
        self.texts: dict[SSAValue, str] = {}
        """What is said of values that no node computes."""
        self.members: dict[Operation, list[Node]] = {}
        """The nodes inside of the operations that are drawn as what they contain."""
        self.groups: dict[FusionGroup, list[Node]] = {}
        for arg in block.args:
            self.input(arg)
        self.walk(block)
        self.graph.regions.extend(_annotated_regions(self.graph))
        self.make_units()

    # -- nodes ----------------------------------------------------------------------------------

    def add(self, role: Role, name: str, types: Sequence[Attribute]) -> Node:
        node = Node(len(self.graph.nodes), role, name, tuple(map(type_text, types)))
        self.graph.nodes.append(node)
        return node

    def input(self, arg: BlockArgument) -> None:
        name = model_name(arg) or arg.name_hint or f"argument {arg.index}"
        self.sources[arg] = self.add("input", name, [arg.type])

    def walk(self, block: Block) -> None:
        """Draws the operations of a block, and those of the bodies that are called in it."""
        # A frame: the operations to come, the operation whose body it is, the nodes made so far.
        frames: list[tuple[Iterator[Operation], Operation | None, int]] = [
            (iter(block.ops), None, 0)
        ]
        while frames:
            ops, owner, first = frames[-1]
            op = next(ops, None)
            if op is None:
                frames.pop()
                if owner is not None:
                    self.close(owner, first)
                continue
            body = self.body(op, [frame[1] for frame in frames])
            if body is not None:
                for parameter, value in zip(body.args, op.operands, strict=True):
                    self.sources[parameter] = self.sources.get(value)
                    if value in self.texts:
                        self.texts[parameter] = self.texts[value]
                frames.append((iter(body.ops), op, len(self.graph.nodes)))
            elif owner is not None and op.has_trait(IsTerminator):
                for result, value in zip(owner.results, op.operands, strict=True):
                    self.sources[result] = self.sources.get(value)
            else:
                self.operation(op)

    def body(self, op: Operation, owners: Sequence[Operation | None]) -> Block | None:
        """The block to draw in the place of `op`."""
        if isinstance(op, CalledBodyOp):
            return op.block
        # A function for another compiler is drawn where it is called, but not within another.
        if isinstance(op, func.CallOp) and not any(isinstance(o, func.CallOp) for o in owners):
            function = self.compiled.get(op.callee.root_reference.data)
            if function is not None and len(function.body.blocks) == 1:
                return function.body.block
        return None

    def close(self, owner: Operation, first: int) -> None:
        """The body of `owner` is drawn: the nodes from `first` on."""
        members = self.members[owner] = self.graph.nodes[first:]
        if members and not isinstance(owner, FusedOp):
            if isinstance(owner, CompositeOp):
                label = f"composite {owner.composite.data}"
            else:
                assert isinstance(owner, func.CallOp)
                label = f"{owner.callee.root_reference.data} for {self.compiler(owner)}"
            self.graph.regions.append(Region(label, tuple(members)))

    def compiler(self, call: func.CallOp) -> str:
        value = self.compiled[call.callee.root_reference.data].attributes["Compiler"]
        return value.data if isinstance(value, StringAttr) else str(value)

    def operation(self, op: Operation) -> None:
        """Draws an operation as a node, with the edges that lead to it."""
        block = op.parent
        assert block is not None
        plan = self.plans.get(block)
        fact = None if plan is None else plan.nodes.get(op)
        constant = isinstance(op, ConstantOp)
        if constant and (fact is None or fact.kind is OpPatternKind.OPAQUE):
            self.sources[op.result] = None
            name = model_name(op) or op.result.name_hint
            type_ = type_text(op.result.type)
            self.texts[op.result] = f"constant {f'{name}: ' if name else ''}{type_}"
            return
        if op.has_trait(IsTerminator):
            node = self.add("output", op.name.removeprefix("func."), op.operand_types)
        else:
            name = op.name.removeprefix("relay.")
            if isinstance(op, func.CallOp):
                name = f"call {op.callee.root_reference.data}"
            if isinstance(op, ConstantOp):
                name = _scalar_text(op)
            node = self.add("constant" if constant else "operator", name, op.result_types)
            node.kind = pattern_kind(op) if fact is None else fact.kind
        node.op, node.fact, node.model_name = op, fact, model_name(op) or ""
        named = {**op.properties, **op.attributes}
        node.attributes.extend((name, attribute_text(value)) for name, value in named.items())
        for result in op.results:
            self.sources[result] = node
        self.connect(node, plan)
        if plan is not None and fact is not None and node.role != "output":
            self.groups.setdefault(plan.group_of[op], []).append(node)

    def connect(self, node: Node, plan: FusionPlan | None) -> None:
        """The operands of a node, and edges from those that other nodes compute."""
        assert node.op is not None
        for operand in node.op.operands:
            hint = f"%{operand.name_hint}: " if operand.name_hint else ""
            text = self.texts.get(operand, f"{hint}{type_text(operand.type)}")
            node.operands.append(Operand(text, self.sources.get(operand)))
        read = (self.sources.get(value) for inner in walk(node.op) for value in inner.operands)
        for source in dict.fromkeys(read):
            if source is not None:
                self.graph.edges.append(_edge(source, node, plan))

    # -- units ----------------------------------------------------------------------------------

    def make_units(self) -> None:
        """Puts each node into the unit that computes it."""
        taken: set[Node] = set()
        units: list[Unit] = []
        for owner, nodes in self.members.items():
            # A function for another compiler is one unit, whatever is in it.
            members = [node for node in nodes if node not in taken]
            if members and isinstance(owner, FusedOp | func.CallOp):
                compiler = self.compiler(owner) if isinstance(owner, func.CallOp) else ""
                if compiler:
                    units = [unit for unit in units if unit.members[0] not in nodes]
                    members = nodes
                units.append(Unit(0, members, not compiler, compiler=compiler))
                taken.update(members)
        for group, nodes in self.groups.items():
            members = [node for node in nodes if node not in taken]
            if members:
                anchors = [node for node in members if node.op is group.anchor]
                anchor = anchors[0] if anchors else None
                units.append(Unit(0, members, group.fused, group.kind, anchor))
                taken.update(members)
        for node in self.graph.nodes:
            if node not in taken:
                units.append(Unit(0, [node], False, node.kind))
        self.graph.units = sorted(units, key=lambda unit: (not unit.fused, unit.root.number))
        for number, unit in enumerate(self.graph.units):
            unit.number = number
            if unit.kind is None:
                kinds = [node.kind for node in unit.members if node.kind is not None]
                unit.kind = max(kinds, default=None)
            for node in unit.members:
                self.graph.unit_of[node] = unit


def _edge(source: Node, target: Node, plan: FusionPlan | None) -> Edge:
    """An edge, with what the plan of the block says about it."""
    producer, consumer = source.fact, target.fact
    if plan is None or producer is None or consumer is None or producer.op not in plan.nodes:
        return Edge(source, target, None, None)
    kinds = [edge.kind for edge in producer.edges if edge.consumer is consumer]
    apart = plan.group_of[producer.op] is not plan.group_of[consumer.op]
    refusal = producer.refusal if kinds else producer.extern
    return Edge(source, target, max(kinds, default=None), refusal if apart else None)


def _annotated_regions(graph: Graph) -> list[Region]:
    """
    The nodes between `compiler_begin` and `compiler_end`: those that hang together, where nothing
    does across an annotation from outside.

    Source: Relay's AnnotatedRegionSet.
    """
    parents = list(range(len(graph.nodes)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = number = parents[parents[number]]
        return number

    for edge in graph.edges:
        enters = isinstance(edge.target.op, CompilerBeginOp)
        leaves = isinstance(edge.source.op, CompilerEndOp)
        is_inside = edge.source.role != "input" and edge.target.role != "output"
        if is_inside and not enters and not leaves:
            parents[root(edge.source.number)] = root(edge.target.number)
    members: dict[int, list[Node]] = {}
    compilers: dict[int, str] = {}
    for node in graph.nodes:
        members.setdefault(root(node.number), []).append(node)
        if isinstance(node.op, CompilerAnnotationOp):
            compilers[root(node.number)] = node.op.compiler.data
    return [
        Region(f"region for {compiler}", tuple(members[number]))
        for number, compiler in compilers.items()
    ]
