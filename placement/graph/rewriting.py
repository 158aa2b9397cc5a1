"""
Many sub-graphs carried out at once: each becomes a call, or a composite, in the place of its nodes.

Functions that are equal become one, which several calls name. Constants that went along, and tuples that were
taken apart, go when nothing uses them any more.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.names import module_symbols, sanitized, unused_name
from xrelay.analysis.facts.walking import walk
from xrelay.backends.onnx_original import OnnxPart
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.extraction import (
    Argument,
    called_in_place,
    exit_values,
    extract,
    function_attributes,
    projection,
    projections,
    results_of,
    wrapper,
)
from xrelay.placement.graph.index_set import index_set, members
from xrelay.placement.graph.onnx_parts import onnx_part
from xrelay.placement.graph.structure import structure
from xrelay.placement.graph.sub_graph import Nested, SubGraph, in_dependence_order


def functions_of(parts: Iterable[SubGraph]) -> list[SubGraph]:
    """The sub-graphs that change something: those wrapped as a function, and the composites in others."""
    found: list[SubGraph] = []
    for part in parts:
        if wrapper(part) is not None:
            found.append(part)
        else:
            found.extend(
                SubGraph(part.graph, each.sub_graph.inside, (each,)) for each in part.nested
            )
    return found


@dataclass(frozen=True)
class Rewritten:
    """What sub-graphs became."""

    functions: Sequence[func.FuncOp]
    onnx: Mapping[str, OnnxPart]
    """What functions were in the ONNX model that the program comes from, by their names."""


@dataclass
class _Rewriting:
    """The change of one function."""

    graph: Graph
    binds: Callable[[str], bool]
    symbols: set[str]
    replaced: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What stands for the values that calls compute."""
    made: dict[str, func.FuncOp] = field(default_factory=dict[str, func.FuncOp])
    """The functions, by their structure."""
    onnx: dict[str, OnnxPart] = field(default_factory=dict[str, OnnxPart])
    """What functions were in an ONNX model, by their names."""
    fields: dict[tuple[SSAValue, int], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, int], SSAValue]
    )
    """The projections of tuples that are taken apart for calls."""

    def run(self, parts: Sequence[SubGraph]) -> None:
        function = self.graph.function
        block = function.body.block
        taken = index_set(index for part in parts for index in members(part.flow))
        alone = list(members(self.graph.everything & ~taken))
        units = [*parts, *(SubGraph(self.graph, 1 << index) for index in alone)]
        order = in_dependence_order(units)
        if order is None:
            raise DiagnosticException(
                f"function @{function.sym_name.data}: some regions of the plan need each other's results, "
                "expected an order in which they can run"
            )
        ours = {op for op in block.ops if op in self.graph.numbers}
        for place in order:
            if place < len(parts):
                self.replace(parts[place])
            else:
                op = self.graph[alone[place - len(parts)]].op
                if op is not None and op in ours:
                    op.detach()
                    block.add_op(op)
        exchange(function, self.replaced)
        for index in members(taken):
            op = self.graph[index].op
            assert op is not None
            if op.parent is block:
                op.detach()
                op.drop_all_references()
        graph = self.graph
        remove_unused(block.ops, {graph[index].op for index in members(graph.foldable)})

    def value(self, value: SSAValue) -> SSAValue:
        return self.replaced.get(value, value)

    def replace(self, part: SubGraph) -> None:
        """Adds what stands for a part at the end of the block."""
        block = self.graph.function.body.block
        outer = wrapper(part)
        if outer is None:
            (nested,) = part.nested
            made = called_in_place(nested, self.value)
        else:
            function, arguments = self.function(part, outer)
            operands = [self.argument(each) for each in arguments]
            (type_,) = function.function_type.outputs.data
            call = func.CallOp(function.sym_name.data, operands, [type_])
            call.location = function.location
            made = [call, *projections(call.results[0], exit_values(part))]
        block.add_ops(made)
        self.replaced.update(results_of(part, made))

    def argument(self, argument: Argument) -> SSAValue:
        """What a call passes."""
        value = self.value(argument.value)
        if argument.field is None:
            return value
        key = value, argument.field
        if key not in self.fields:
            item = projection(*key)
            self.graph.function.body.block.add_op(item)
            self.fields[key] = item.results[0]
        return self.fields[key]

    def function(self, part: SubGraph, outer: Nested) -> tuple[func.FuncOp, tuple[Argument, ...]]:
        """The function of a part, an equal one if there is one, and what it takes."""
        compiler = dict(outer.attributes).get("Compiler", "default")
        found = extract(part, "region", bind_constants=self.binds(str(compiler)))
        text = f"{compiler}\n{structure(found.function)}"
        known = self.made.get(text)
        if known is None:
            main = self.graph.function.sym_name.data
            wanted = sanitized(f"tvmgen_default_{compiler}_{main}_{len(self.made)}")
            name = unused_name(wanted, self.symbols)
            self.symbols.add(name)
            known = self.made[text] = found.function
            known.sym_name = StringAttr(name)
            known.attributes.update(function_attributes(name, outer.attributes))
            original = onnx_part(self.graph, found)
            if original is not None:
                self.onnx[name] = original
        return known, found.arguments


def exchange(function: func.FuncOp, replaced: dict[SSAValue, SSAValue]) -> None:
    """Gives all users of some values others instead."""
    for op in walk(function):
        if any(operand in replaced for operand in op.operands):
            op.operands = [replaced.get(operand, operand) for operand in op.operands]


def remove_unused(
    ops: Iterable[Operation], folded: Collection[Operation | None] = frozenset()
) -> None:
    """Removes constants, what was folded, tuples and projections that nothing uses, users first."""
    for op in reversed(list(ops)):
        is_passive = op in folded or isinstance(op, ConstantOp | TupleOp | TupleGetItemOp)
        if is_passive and not op.results[0].uses:
            op.detach()
            op.erase()


def rewrite(
    module: ModuleOp,
    graph: Graph,
    parts: Iterable[SubGraph],
    binds: Callable[[str], bool] = lambda compiler: True,
) -> Rewritten:
    """
    Carries out disjoint sub-graphs of a function, which is changed in place; the functions that they become
    are added to the module. `binds` says whether a compiler wants constants in its functions.

    Raises DiagnosticException for sub-graphs that need each other's results.
    """
    rewriting = _Rewriting(graph, binds, module_symbols(module))
    rewriting.run(functions_of(parts))
    made = list(rewriting.made.values())
    module.body.block.add_ops(made)
    return Rewritten(made, rewriting.onnx)
