"""The regions of priority order, `backends=[…]` without a plan, as candidates of a placement."""

from collections.abc import Iterator, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.compilers import DEFAULT
from xrelay.backends.base import Backend
from xrelay.dialects.core.values import CompositeOp, ConstantOp
from xrelay.dialects.model_names import location_names
from xrelay.numbering import number_in, numbered
from xrelay.options import CompileOptions
from xrelay.partitioned import compiler_of, partition
from xrelay.placement.costs.cost import Cost
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import index_set
from xrelay.placement.graph.sub_graph import Nested, SubGraph
from xrelay.placement.placing import Placement, with_regions
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.transforms.outline_default_regions import outline_default_regions


def priority_placement(
    placement: Placement, regions: Sequence[Candidate], costs: Sequence[Cost]
) -> Placement | None:
    """
    The placement of priority order, which is cut into some regions; None when an engine cannot run one of them, or nobody
    knows what it costs.
    """
    if not all(cost.is_known and cost.is_valid for cost in costs):
        return None
    return with_regions(placement, regions, costs)


def priority_regions(
    module: ModuleOp, graph: Graph, backends: Sequence[Backend], options: CompileOptions
) -> list[Candidate]:
    """The regions that a prepared module is cut into, those of own code among them. A copy of it is cut."""
    copy = numbered(module, graph)
    partition(copy, backends, limits=options.limits)
    main = entry_function(copy)
    outline_default_regions(copy, main)
    found: list[Candidate] = []
    for op in copy.ops:
        if not isinstance(op, func.FuncOp) or op is main:
            continue
        compiler = compiler_of(op)
        composites = [each for each in walk(op) if isinstance(each, CompositeOp)]
        nested = tuple(
            Nested(SubGraph(graph, numbers_in(each)), (("Composite", each.composite.data),))
            for each in composites
        )
        part = SubGraph(graph, numbers_in(op), nested)
        if not part.flow:
            continue
        if compiler == DEFAULT:
            found.append(Candidate("priority", part, OWN))
        else:
            attributes: dict[str, str | int] = {"Compiler": compiler, "Primitive": 1}
            found.append(Candidate("priority", part.wrapped(attributes), compiler))
    return found


def numbers_in(op: Operation) -> int:
    """The set of the nodes that operations within another one stand for."""
    return index_set(dict.fromkeys(_numbers(op)))


def _numbers(op: Operation) -> Iterator[int]:
    for inner in walk(op):
        # Constants are what something was folded to, as weights of engines that know no quantised ones.
        is_call = not isinstance(inner, CompositeOp | ConstantOp)
        for name in location_names(inner.location) if is_call else ():
            number = number_in(name)
            if number is not None:
                yield number
