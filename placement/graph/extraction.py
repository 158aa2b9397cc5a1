"""
What sub-graphs become: functions of their own, and calls of these in the place of their nodes.

    func.func @main(%x) {                     func.func @main(%x) {
      %0 = relay.nn.relu %x                     %0 = func.call @tvmgen_default_dnnl_main_0(%x)
      %1 = relay.exp %0             ──►         func.return %0
      func.return %1                          }
    }                                         func.func private @tvmgen_default_dnnl_main_0(%p) …

- What is used from outside becomes a parameter, once; fields of a tuple become one each. Constants go
  along, if wanted, and what conversions of quantised ones give; scalar ones always.
- Several exits leave as a tuple.
- Nested sub-graphs become `relay.composite` or, without a name for it, `relay.fused`.

Source: the sub-graph rewriting of TVM's `collage`, and Relay's PartitionGraph.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    FunctionType,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    TupleType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from xrelay.analysis.facts.nesting import Nesting, block_of
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.values import (
    CompositeOp,
    ConstantOp,
    FusedOp,
    TupleGetItemOp,
    TupleOp,
    YieldOp,
)
from xrelay.placement.graph.dataflow import Graph, is_copied
from xrelay.placement.graph.index_set import first_inside, members, union_of
from xrelay.placement.graph.sub_graph import Attributes, Nested, SubGraph, in_dependence_order


@dataclass(frozen=True)
class Argument:
    """What a parameter of an extracted function stands for."""

    value: SSAValue
    field: int | None = None
    """Which field of the value, a tuple; None for the value itself."""


@dataclass(frozen=True)
class Extraction:
    """A sub-graph as a function."""

    function: func.FuncOp
    arguments: tuple[Argument, ...]
    results: tuple[SSAValue, ...]
    """What it computes for others; several are the fields of the one result."""


@dataclass
class _Body:
    """A block that is filled with copies of nodes."""

    graph: Graph
    bind_constants: bool
    block: Block = field(default_factory=Block)
    inside: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What stands for values of the graph."""
    arguments: list[Argument] = field(default_factory=list[Argument])
    split_tuples: bool = True

    def fill(self, part: SubGraph) -> None:
        """Adds the nodes of a sub-graph, composites as one operation."""
        home = min(self.graph[index].block for index in members(part.inside))
        for unit in units_of(part):
            if isinstance(unit, Nested):
                self.nested(unit)
            elif self.graph[unit].block == home:
                op = self.graph[unit].op
                assert op is not None, "parameters are not inside of sub-graphs"
                self.add(op)

    def add(self, op: Operation) -> None:
        """Adds an operation, with the blocks in it."""
        own = Nesting.of(op)
        for inner in walk(op):
            for operand in inner.operands:
                if block_of(operand) not in own:
                    self.value(operand)
        self.block.add_op(op.clone(self.inside))

    def value(self, value: SSAValue) -> SSAValue:
        """What stands for a value, which becomes a parameter if it comes from outside."""
        known = self.inside.get(value)
        if known is not None:
            return known
        owner = value.owner
        if isinstance(owner, ConstantOp) and (self.bind_constants or is_copied(owner)):
            self.block.add_op(owner.clone(self.inside))
        elif self.bind_constants and self.is_foldable(owner):
            constant = self.graph.folded(owner).clone()
            self.block.add_op(constant)
            self.inside[value] = constant.result
        elif isinstance(value.type, TupleType) and self.split_tuples:
            self.inside[value] = self.rebuilt(value, value.type)
        else:
            self.inside[value] = self.parameter(value.type, Argument(value), value.name_hint)
        return self.inside[value]

    def is_foldable(self, owner: Operation | Block) -> TypeGuard[Operation]:
        """Whether constants decide what an operation gives."""
        number = self.graph.numbers.get(owner) if isinstance(owner, Operation) else None
        return number is not None and bool(self.graph.foldable >> number & 1)

    def rebuilt(self, value: SSAValue, type_: TupleType) -> SSAValue:
        """A tuple from outside, made of parameters for its fields."""
        owner = value.owner
        if isinstance(owner, TupleOp):
            fields = [self.value(each) for each in owner.fields]
        else:
            fields = [
                self.parameter(each, Argument(value, i), None)
                for i, each in enumerate(type_.types.data)
            ]
        made = TupleOp(fields)
        self.block.add_op(made)
        return made.result

    def returned(self, results: Sequence[SSAValue]) -> SSAValue:
        """The one value that the block gives: several are a tuple."""
        values = [self.value(value) for value in results]
        if len(values) == 1:
            return values[0]
        packed = TupleOp(values)
        self.block.add_op(packed)
        return packed.result

    def parameter(self, type_: Attribute, argument: Argument, name: str | None) -> SSAValue:
        made = self.block.insert_arg(type_, len(self.arguments))
        made.name_hint = name
        self.arguments.append(argument)
        return made

    def nested(self, nested: Nested) -> None:
        """Adds what a nested sub-graph becomes in place."""
        made = called_in_place(nested, self.value)
        self.block.add_ops(made)
        self.inside.update(results_of(nested.sub_graph, made))


def called_in_place(nested: Nested, stands_for: Callable[[SSAValue], SSAValue]) -> list[Operation]:
    """
    The `relay.composite` or `relay.fused` of a nested sub-graph, with the projections of several results.
    `stands_for` gives its operands.
    """
    part = nested.sub_graph
    body = _Body(part.graph, bind_constants=False, split_tuples=False)
    body.fill(part)
    results = exit_values(part)
    yielded = body.returned(results)
    body.block.add_op(YieldOp(yielded))
    args = [stands_for(argument.value) for argument in body.arguments]
    region = Region(body.block)
    if nested.composite is None:
        made = FusedOp(args, region, yielded.type)
    else:
        nodes = map(part.graph.__getitem__, members(part.inside))
        names = "".join(f"{node.label}_" for node in nodes if not node.is_constant)
        made = CompositeOp(
            nested.composite, args, region, yielded.type, partitioned_from_pattern=names
        )
    made.location = place_of(part)
    return [made, *projections(made.result, results)]


def projections(value: SSAValue, results: Sequence[SSAValue]) -> list[TupleGetItemOp]:
    """The fields of what is computed in the place of several values."""
    if len(results) == 1:
        return []
    return [projection(value, index) for index in range(len(results))]


def results_of(part: SubGraph, made: Sequence[Operation]) -> dict[SSAValue, SSAValue]:
    """What stands for the results of a sub-graph: results of an operation, or of its projections."""
    results = exit_values(part)
    computed = list(made[0].results) if len(results) == 1 else [op.results[0] for op in made[1:]]
    for value, new in zip(results, computed, strict=True):
        new.name_hint = value.name_hint
    return dict(zip(results, computed, strict=True))


def place_of(part: SubGraph) -> LocationAttr:
    """Where the first operation of a sub-graph comes from in the model."""
    op = part.graph[first_inside(part.inside & ~part.graph.constants or part.inside)].op
    assert op is not None
    return op.location


def units_of(part: SubGraph) -> list[int | Nested]:
    """The nodes of a sub-graph and its nested ones, each after what it uses."""
    nested = part.nested
    taken = union_of(each.sub_graph.inside for each in nested)
    alone = list(members(part.inside & ~taken))
    units = [each.sub_graph for each in nested]
    units += [SubGraph(part.graph, 1 << index) for index in alone]
    order = in_dependence_order(units)
    assert order is not None, "nested sub-graphs need each other"
    return [nested[i] if i < len(nested) else alone[i - len(nested)] for i in order]


def exit_values(part: SubGraph) -> tuple[SSAValue, ...]:
    """The values of a sub-graph that are used outside."""
    graph, found = part.graph, list[SSAValue]()
    for index in members(part.exits):
        values = graph[index].values
        if len(values) > 1:
            values = tuple(value for value in values if _leaves(value, part))
        found.extend(values)
    return tuple(found)


def _leaves(value: SSAValue, part: SubGraph) -> bool:
    numbers = part.graph.numbers
    users = (numbers.get(use.operation) for use in value.uses)
    return any(user is not None and not part.inside >> user & 1 for user in users)


def wrapper(part: SubGraph) -> Nested | None:
    """The function of the module that a whole sub-graph is to become, None when it is none."""
    if len(part.nested) == 1 and part.nested[0].sub_graph.inside == part.inside:
        (nested,) = part.nested
        return nested if "Compiler" in dict(nested.attributes) else None
    return None


def extract(part: SubGraph, name: str, *, bind_constants: bool = True) -> Extraction:
    """
    A sub-graph as a function, whose attributes are those that it is wrapped with. With `bind_constants`
    the constants that enter it are in the function.
    """
    outer = wrapper(part)
    inner = part if outer is None else outer.sub_graph
    body = _Body(part.graph, bind_constants)
    body.fill(inner)
    results = exit_values(part)
    returned = body.returned(results)
    body.block.add_op(func.ReturnOp(returned))
    type_ = FunctionType.from_lists(body.block.arg_types, [returned.type])
    function = func.FuncOp(name, type_, Region(body.block), "private")
    function.location = place_of(part)
    if outer is not None:
        function.attributes.update(function_attributes(name, outer.attributes))
    return Extraction(function, tuple(body.arguments), results)


def function_attributes(name: str, attributes: Attributes) -> dict[str, Attribute]:
    """The attributes of a function as the compiler has them, which partitioned programs state."""
    found: dict[str, Attribute] = {
        key: StringAttr(value) if isinstance(value, str) else IntegerAttr(value, i32)
        for key, value in attributes
    }
    if "Compiler" in found:
        found["Inline"] = IntegerAttr(1, i32)
    found["global_symbol"] = StringAttr(name)
    return found


def projection(value: SSAValue, index: int) -> TupleGetItemOp:
    """One field of a tuple."""
    made = TupleGetItemOp(value, index)
    if isinstance(value, OpResult):
        made.location = value.op.location
    return made
