"""
Priority order, `backends=[…]` without a plan: each operator goes to the first engine that supports it.

The regions are those of the passes. Engines that take ONNX get theirs as the nodes that they were in the model; and so that
placements can be compared with it, they are candidates as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.compilers import DEFAULT
from xrelay.backends.base import Backend
from xrelay.compiler import is_onnx
from xrelay.dialects.core.values import CompositeOp, ConstantOp
from xrelay.dialects.limits import Limits
from xrelay.dialects.model_names import location_names
from xrelay.finalists import apply_regions
from xrelay.numbering import number_in, numbered
from xrelay.options import CompileOptions, ModelSource, Progress, silent
from xrelay.partitioned import compile_partition, compiler_of, find_backends, partition
from xrelay.placement.costs.cost import Cost
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.index_set import index_set
from xrelay.placement.graph.sub_graph import Nested, SubGraph
from xrelay.placement.placing import Placement, with_regions
from xrelay.placement.rules.candidate import OWN, Candidate
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.runtime.signature import Shapes
from xrelay.sources import Source
from xrelay.staged import require_known_sizes
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
    module: ModuleOp,
    graph: Graph,
    backends: Sequence[Backend],
    options: CompileOptions,
    *,
    lowered: bool = True,
) -> list[Candidate]:
    """
    The regions that a prepared module is cut into, those of own code among them; with `lowered`, so are those that backends
    rewrite. A copy of it is cut.
    """
    copy = numbered(module, graph)
    partition(copy, backends, limits=options.limits, lowered=lowered)
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


def priority_model(
    source: Source,
    backends: Sequence[Backend],
    options: CompileOptions,
    *,
    cache: bool = True,
    fallback: bool = False,
    progress: Progress = silent,
) -> PartitionedModel:
    """
    The model of which backends, the preferred one first, run the parts that they support. The program is used up.

    Raises DiagnosticException for what a user can mend.
    """
    module = source.module
    onnx: dict[str, bytes] = {}
    if source.original is None:
        require_known_sizes(module)
        partition(module, backends, progress, options.limits)
    else:
        graph = source.prepared(options, progress)
        progress("cut into regions")
        regions = priority_regions(module, graph, backends, options, lowered=False)
        parts = [each.part for each in regions if each.engine != OWN]
        binds = {each.name: each.bind_constants for each in backends}
        onnx = apply_regions(module, graph, parts, binds.__getitem__, backends, options)
    return compile_partition(
        module,
        source.name,
        backends,
        options,
        cache=cache,
        fallback=fallback,
        progress=progress,
        onnx=onnx,
    )


def priority_source(
    model: ModelSource,
    shapes: Shapes | None,
    backends: Sequence[Backend],
    limits: Limits,
) -> Source:
    """A model as `priority_model` wants it. Raises DiagnosticException as `Source.read`."""
    takes_onnx = is_onnx(model) and any(each.takes_onnx for each in backends)
    return Source.read(model, shapes, limits, with_original=takes_onnx)


def compile_partitioned(
    model: ModelSource,
    shapes: Shapes | None,
    options: CompileOptions,
    backends: Sequence[str | Backend],
    *,
    cache: bool = True,
    fallback: bool = False,
    progress: Progress = silent,
) -> PartitionedModel:
    """The model that `priority_model` makes of one in any form; see `xrelay.compile`."""
    found = find_backends(backends)
    progress("read the model")
    source = priority_source(model, shapes, found, options.limits)
    return priority_model(source, found, options, cache=cache, fallback=fallback, progress=progress)


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
