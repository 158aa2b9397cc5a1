"""
Models of which backends run parts: from a module to regions, each compiled by its engine.

    module ──► simplify, merge-composite, annotate-target, merge-compiler-regions, partition-graph
           ──► outline-default-regions: the rest becomes functions for xrelay's own code generator
           ──► every function compiled by its engine ──► a model that runs them in order

Tensors between regions lie in one workspace, whose memory is shared by those that never live at
the same time, and engines read and write it in place where they can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.constants import computed_of_quantized
from xrelay.analysis.facts.memory_plan import Lifetime, plan_memory
from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.operation_count import operation_count
from xrelay.analysis.facts.ports import entry_function, ports
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.partition.compilers import DEFAULT, REGISTRY, Yes
from xrelay.backends.base import Backend, BackendError, RegionOptions
from xrelay.backends.checked import CheckedBackend
from xrelay.backends.discovery import find_backend
from xrelay.backends.regions import compile_region, field_slice, region_operators, region_text
from xrelay.cached import cache_place, load_or_compile
from xrelay.compiler import compile_code, run_passes, tensor_spec
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.dialects.shapes import leaf_types
from xrelay.errors import CompileError
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.constants import constant_array
from xrelay.lowering.emit.target import named_target
from xrelay.lowering.program.control_flow import check_straight
from xrelay.options import CompileOptions, Progress, silent
from xrelay.runtime.model import Model, symbol_name
from xrelay.runtime.partitioned import PartitionedModel, RegionStep, RunRegion, Slot
from xrelay.runtime.signature import Signature, TensorSpec
from xrelay.transforms.annotate_target import AnnotateTargetPass
from xrelay.transforms.dead_code_elimination import DeadCodeEliminationPass
from xrelay.transforms.dynamic_to_static import DynamicToStaticPass
from xrelay.transforms.fold_constant import FoldConstantPass
from xrelay.transforms.functional.expand_functions import ExpandFunctionsPass
from xrelay.transforms.functional.to_graph_normal_form import ToGraphNormalFormPass
from xrelay.transforms.merge_compiler_regions import MergeCompilerRegionsPass
from xrelay.transforms.merge_composite import MergeCompositePass
from xrelay.transforms.outline_default_regions import outline_default_regions
from xrelay.transforms.partition_graph import PartitionGraphPass
from xrelay.transforms.promote_references import PromoteReferencesPass, references
from xrelay.transforms.relay_to_tir import RelayToTirPass
from xrelay.transforms.simplify_inference import SimplifyInferencePass

CompileNative = Callable[[ModuleOp, int], Model]
"""xrelay's own compiler, for a module with one function `main`, and so many threads."""


def find_backends(names: Sequence[str | Backend]) -> tuple[Backend, ...]:
    """
    Backends by name, the preferred one first.

    Raises BackendError for unknown names and for the same one twice.
    """
    listed = cast(object, names)
    are_listed = isinstance(listed, Sequence) and not isinstance(listed, str)
    if not are_listed or not all(isinstance(x, str | Backend) for x in cast(list[object], listed)):
        raise BackendError(
            f"the backends are {names!r}, expected a list of names and of Backend objects"
        )
    given = (each if isinstance(each, Backend) else find_backend(each) for each in names)
    found = tuple(
        each if isinstance(each, CheckedBackend) else CheckedBackend(each) for each in given
    )
    known: set[str] = set()
    for backend in found:
        if backend.name in known:
            raise BackendError(f"backend '{backend.name}' is named twice")
        known.add(backend.name)
    return found


def preparation_passes() -> tuple[ModulePass, ...]:
    """
    What happens to a module before it is cut into regions, in order. Weights that are quantised stay so: engines that
    know what they are compute with integers.
    """
    return (
        ToGraphNormalFormPass(),
        DynamicToStaticPass(),
        ExpandFunctionsPass(),
        # Engines compute values; cells would be borders between their regions.
        PromoteReferencesPass(),
        DeadCodeEliminationPass(),
        # Engines have their own kernels for the normalisations that this would take apart.
        SimplifyInferencePass(keep_norms=True),
        FoldConstantPass(fold_qnn=False),
    )


def take_quantized_weights(module: ModuleOp, backends: Sequence[Backend]) -> bool:
    """
    Whether backends that take the users of quantised constants know these, too, and get them as constants. Otherwise
    what makes numbers of them would be own code's, at each run.
    """

    def takes(backend: Backend, op: Operation) -> bool:
        is_operator = isinstance(op, RelayOp) and not isinstance(op, TupleOp | CompositeOp)
        return is_operator and isinstance(backend.supports(op, op.operand_types), Yes)

    return all(
        takes(backend, op) or not any(takes(backend, use.operation) for use in op.results[0].uses)
        for op in computed_of_quantized(walk(module))
        for backend in backends
    )


def partition_passes(
    backends: Sequence[Backend], *, lowered: bool = True
) -> tuple[ModulePass, ...]:
    """
    The passes that cut a module into regions for these backends, the preferred one first; with `lowered`, backends rewrite
    theirs.
    """
    names = tuple(backend.name for backend in backends)
    with_patterns = tuple(backend.name for backend in backends if backend.patterns())
    return (
        *([MergeCompositePass(with_patterns)] if with_patterns else ()),
        AnnotateTargetPass(names),
        MergeCompilerRegionsPass(),
        PartitionGraphPass(),
        # What a backend has lowered is a step of xrelay's own code.
        *([RelayToTirPass()] if lowered else ()),
    )


def partition(
    module: ModuleOp,
    backends: Sequence[Backend],
    progress: Progress = silent,
    limits: Limits = DEFAULT_LIMITS,
    *,
    lowered: bool = True,
) -> None:
    """
    Cuts a module into regions, in place; with `lowered`, backends rewrite theirs.

    Raises CompileError for references that cannot be promoted (see `promote-references`), and when
    the module outgrows `limits`.
    """
    with REGISTRY.using([each.compiler() for each in backends]):
        run_passes(module, preparation_passes(), progress, limits)
        check_references(module)
        if not take_quantized_weights(module, backends):
            run_passes(module, [FoldConstantPass()], progress, limits)
        run_passes(module, partition_passes(backends, lowered=lowered), progress, limits)


def check_references(module: ModuleOp) -> None:
    """Raises CompileError, with the place, for a reference in a program that is to be cut."""
    graph = CallGraph.of_module(module)
    needed = graph.reachable([entry_function(module).sym_name.data])
    for name, function in graph.functions.items():
        op = next(references(function), None) if name in needed else None
        if op is not None:
            raise CompileError(
                f"function '{name}': the reference of {operation_text(op)} is seen by several blocks or "
                "functions, and backends share values only: pass the value itself in and out"
            )


def compiler_of(function: func.FuncOp) -> str:
    """The backend that a function is for, `default` for xrelay's own code generator."""
    attribute = function.attributes.get("Compiler")
    return attribute.data if isinstance(attribute, StringAttr) else DEFAULT


@dataclass
class PartitionedCompiler:
    """Compiles the regions of a partitioned module and puts them together."""

    module: ModuleOp
    """Partitioned; it is used up."""
    name: str
    """The name of the model."""
    backends: Sequence[Backend]
    options: CompileOptions
    native: CompileNative
    fallback: bool = False
    """Whether xrelay's own code runs what an engine fails to compile or run."""
    progress: Progress = silent
    onnx: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """What regions were in the ONNX model that the program comes from, by the names of their functions."""
    side_by_side: bool = False
    """Whether regions that need nothing of each other run at once, and share the threads."""
    slots: list[Slot] = field(default_factory=list[Slot])
    places: dict[SSAValue, tuple[int, ...]] = field(default_factory=dict[SSAValue, tuple[int, ...]])
    """The slots of the tensors of each value."""
    constants: dict[int, Array] = field(default_factory=dict[int, Array])
    steps: list[RegionStep] = field(default_factory=list[RegionStep])
    regions: dict[str, func.FuncOp] = field(default_factory=dict[str, func.FuncOp])
    """The functions of the steps, by name."""

    def run(self) -> PartitionedModel:
        """
        The model.

        Raises DiagnosticException for what a backend, or xrelay, cannot compile.
        """
        main = entry_function(self.module)
        check_straight(main)
        inputs, outputs = ports(main)
        outline_default_regions(self.module, main)
        self.module.verify()
        functions = {op.sym_name.data: op for op in self.module.ops if isinstance(op, func.FuncOp)}
        block = main.body.block
        for arg in block.args:
            self.places[arg] = self.new_slots(arg.type)
        taken = [slot for arg in block.args for slot in self.places[arg]]
        returned: list[int] = []
        for op in block.ops:
            if isinstance(op, func.ReturnOp):
                returned = [slot for value in op.arguments for slot in self.places[value]]
            else:
                self.visit(op, functions)
        threads = self.schedule()
        for step, count in zip(self.steps, threads, strict=True):
            self.compile_step(step, count)
        target = named_target(self.options.target)
        signature = Signature(
            symbol_name(self.name),
            tuple(map(tensor_spec, inputs)),
            tuple(map(tensor_spec, outputs)),
            constant_bytes=0,
            workspace_bytes=self.plan(frozenset(returned)),
            target=target.title,
            features=(),
            threads=self.options.threads,
        )
        return PartitionedModel(signature, taken, returned, self.slots, self.constants, self.steps)

    def new_slots(self, type_: Attribute) -> tuple[int, ...]:
        """Slots for the tensors of a type."""
        first = len(self.slots)
        for leaf in leaf_types(type_):
            spec = TensorSpec("", tuple(leaf.get_shape()), dtype_of(leaf.element_type))
            self.slots.append(Slot(spec))
        return tuple(range(first, len(self.slots)))

    def visit(self, op: Operation, functions: dict[str, func.FuncOp]) -> None:
        """Places the results of an operation."""
        match op:
            case ConstantOp():
                (slot,) = self.places[op.result] = self.new_slots(op.result.type)
                self.constants[slot] = constant_array(op)
            case TupleOp():
                slots = (slot for field in op.fields for slot in self.places[field])
                self.places[op.result] = tuple(slots)
            case TupleGetItemOp():
                self.places[op.result] = self.places[op.tuple_value][field_slice(op)]
            case func.CallOp():
                self.step(op, functions[op.callee.string_value()])
            case _:
                raise CompileError(f"{op.name} cannot be part of a partitioned model")

    def step(self, op: func.CallOp, function: func.FuncOp) -> None:
        """Adds the step that a call is."""
        name, compiler = function.sym_name.data, compiler_of(function)
        if function.is_declaration:
            raise CompileError(f"@{name} is called, but only declared")
        reads = tuple(slot for value in op.arguments for slot in self.places[value])
        for result in op.results:
            self.places[result] = self.new_slots(result.type)
        writes = tuple(slot for result in op.results for slot in self.places[result])
        described = region_text(function)
        stage = len(self.steps)
        self.steps.append(RegionStep(name, compiler, described, _unset, reads, writes, stage))
        self.regions[name] = function

    def schedule(self) -> list[int]:
        """
        Puts the steps into stages, and in the order of these; the threads of each. Side by side, a stage has the steps
        behind equally many others, as many as there are threads at most, and those with the most arithmetic get what
        does not divide.
        """
        threads = self.options.threads
        if not self.side_by_side or threads == 1:
            return [threads] * len(self.steps)
        depths: dict[int, int] = {}
        by_depth: dict[int, list[RegionStep]] = {}
        for step in self.steps:
            depth = 1 + max((depths[slot] for slot in step.reads if slot in depths), default=-1)
            depths.update(dict.fromkeys(step.writes, depth))
            by_depth.setdefault(depth, []).append(step)
        self.steps = []
        shares: list[int] = []
        stage = 0
        for _, together in sorted(by_depth.items()):
            for begin in range(0, len(together), threads):
                some = together[begin : begin + threads]
                work = {each.name: self.work_of(each) for each in some}
                most = sorted(some, key=lambda each: -work[each.name])[: threads % len(some)]
                for each in some:
                    each.stage = stage
                    self.steps.append(each)
                    shares.append(threads // len(some) + (each in most))
                stage += 1
        return shares

    def work_of(self, step: RegionStep) -> int:
        """The arithmetic of a step."""
        return sum(operation_count(op) for op in region_operators(self.regions[step.name]))

    def compile_step(self, step: RegionStep, threads: int) -> None:
        """Compiles the region of a step for so many threads."""
        self.progress(f"compile {step.name}")
        function = self.regions[step.name]
        if step.backend == DEFAULT:
            step.run = self.native_region(function, threads)
            return
        backend = next((each for each in self.backends if each.name == step.backend), None)
        if backend is None:
            raise CompileError(
                f"{step.described} is for backend '{step.backend}', which is not given"
            )
        # The backend may rewrite what it gets.
        region = function.clone()
        ModuleOp([region])
        try:
            options = RegionOptions(threads, self.onnx.get(step.name))
            step.run = compile_region(backend, region, options)
        except (Exception, SystemExit) as error:
            problem = f"{step.described} cannot be compiled by backend '{step.backend}': {error}"
            if not self.fallback:
                raise BackendError(problem) from error
            step.failures.append(str(error))
            step.run = self.native_region(function, threads)
            return
        if self.fallback:
            step.fallback = lambda: self.native_region(function, threads)

    def native_region(self, function: func.FuncOp, threads: int) -> RunRegion:
        """A region compiled by xrelay's own code generator."""
        return self.native(as_program(function), threads).run_unchecked

    def plan(self, returned: frozenset[int]) -> int:
        """Places what lies between steps in a workspace; its size in bytes."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for step in self.steps:
            for slot in step.writes:
                first[slot] = last[slot] = step.stage
            for slot in step.reads:
                last[slot] = step.stage
        inner = [slot for slot in first if slot not in returned]
        lifetimes = [
            Lifetime(self.slots[slot].spec.size, first[slot], last[slot]) for slot in inner
        ]
        plan = plan_memory(lifetimes)
        for slot, offset in zip(inner, plan.offsets, strict=True):
            self.slots[slot] = Slot(self.slots[slot].spec, offset)
        return plan.size


def _unset(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    raise AssertionError("the region is not compiled")


def as_program(function: func.FuncOp) -> ModuleOp:
    """A region as a module of its own, whose function is `main`."""
    main = function.clone()
    main.sym_name = StringAttr("main")
    main.sym_visibility = None
    main.attributes.clear()
    return ModuleOp([main])


def compile_partition(
    module: ModuleOp,
    name: str,
    backends: Sequence[Backend],
    options: CompileOptions,
    *,
    cache: bool = True,
    fallback: bool = False,
    progress: Progress = silent,
    onnx: Mapping[str, bytes] | None = None,
    side_by_side: bool = False,
) -> PartitionedModel:
    """
    The model that a partitioned module, which is used up, describes. `cache` is about the code of
    what no backend takes; `onnx` has regions in the form in which they were in an ONNX model. `side_by_side` lets regions
    that need nothing of each other run at once, on threads of their own.

    Raises DiagnosticException for what a user can mend.
    """
    if options.profile:
        raise CompileError("profile is for models that run in one engine, not with backends")

    def native(program: ModuleOp, threads: int) -> Model:
        own = replace(options, threads=threads)
        place = cache_place(program, None, own) if cache else None
        return load_or_compile(place, lambda: compile_code(program, name, own), silent)

    return PartitionedCompiler(
        module, name, backends, options, native, fallback, progress, onnx or {}, side_by_side
    ).run()
