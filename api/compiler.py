"""From a model to machine code: the pipeline behind `xrelay.compile`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from xrelay import deep
from xrelay.analysis.facts.dominance import check_dominance
from xrelay.analysis.facts.ports import Port, entry_function
from xrelay.analysis.facts.program_size import check_leaves, expanded_size, program_size, types_of
from xrelay.analysis.facts.verification import verify_program
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.fusion.plan import FusionOptions
from xrelay.analysis.relay_pass import RelayPass
from xrelay.collector import collector_paused
from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import hint
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.dialects.relay import Relay
from xrelay.dialects.shapes import HasNoCode, tuple_depth
from xrelay.errors import CompileError
from xrelay.lowering.emit.target import named_target
from xrelay.lowering.llvm.to_llvm import PUBLIC_ATTRIBUTE, convert_module
from xrelay.lowering.llvm.to_text import module_text
from xrelay.lowering.program.fuse_composites import FuseCompositesPass
from xrelay.lowering.program.options import KernelOptions
from xrelay.lowering.program.program import Constants, Program, Step, lower_function
from xrelay.lowering.program.select_strategies import StrategySelection
from xrelay.many_lengths import open_lengths
from xrelay.memory import packed_constants, require_memory
from xrelay.options import CompileOptions, ModelSource, Progress, silent
from xrelay.places import Places, verify_failure
from xrelay.precision import (
    BFLOAT,
    FULL,
    INTEGERS,
    PRECISIONS,
    known_operators,
    multiplies,
    widened,
)
from xrelay.program_parser import ProgramParser
from xrelay.program_weights import attach_side_file
from xrelay.runtime.arguments import kind_of
from xrelay.runtime.code import ModelCode
from xrelay.runtime.machine import Machine
from xrelay.runtime.model import symbol_name
from xrelay.runtime.reading import read_source
from xrelay.runtime.signature import Shapes, Signature, StepSpec, TensorSpec
from xrelay.transforms.cpu_pipeline import cpu_pipeline
from xrelay.transforms.fold_constant import ComputingPass
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.quantize.reduce_precision import ReducePrecisionPass
from xrelay.transforms.quantize.round_block_data import RoundBlockDataPass
from xrelay.transforms.rules.copying import copied

if TYPE_CHECKING:
    from xrelay.frontends.onnx.loaded import LoadedModel


CPU_FUSION = FusionOptions(rules="cpu")
"""How programs are fused, unless a command is told otherwise."""


def context() -> Context:
    """An xDSL context with the dialects that relay programs use."""
    from xdsl.dialects import get_all_dialects

    ctx = Context()
    for name, factory in get_all_dialects().items():
        ctx.register_dialect(name, factory)
    ctx.load_dialect(Relay)
    return ctx


@collector_paused()
def read_model(
    model: ModelSource,
    shapes: Shapes | None = None,
    limits: Limits = DEFAULT_LIMITS,
    *,
    every_value: bool = False,
    unrolled: bool = False,
    loaded: LoadedModel | None = None,
    verified: bool = False,
) -> tuple[ModuleOp, str]:
    """
    A relay module and a name for it, from an ONNX file or model, a `.mlir` file (whose weights
    are read from the `.weights.npz` beside it), a `.relay` file (TVM's text format) or a module,
    which is copied. `shapes` fixes unknown dimensions of inputs. With `every_value` the program of an ONNX model
    returns all its values, the outputs first; with `unrolled` or `every_value` it has no loops where that can be, as
    programs that other engines run parts of. What was `loaded` of the file is not read again, and a module that was
    `verified` before is not verified again.

    Raises DiagnosticException that says what is wrong with the file, or that it exceeds `limits`, and
    RecursionError when it nests deeper than calls may: see `with_room`.
    """
    module, name = _module_of(model, loaded, shapes, limits, every_value, unrolled, verified)
    check_leaves(module)
    if shapes and not is_onnx(model):
        from xrelay.specialise import specialise

        specialise(module, shapes)
    size = expanded_size(module)
    excess = limits.nodes_excess(size.operations)
    if excess is not None:
        raise CompileError(f"with each call expanded the program has {excess}")
    require_limits(module, limits)
    deep.require_room(size.levels, size.tuples)
    return module, name


def is_onnx(model: object) -> bool:
    """Whether a model is imported from ONNX; the importer has seen to the shapes of its inputs then."""
    if isinstance(model, str | Path):
        return Path(model).suffix not in (".mlir", ".relay")
    return not isinstance(model, ModuleOp)


def require_limits(module: ModuleOp, limits: Limits) -> None:
    """Raises CompileError for a module that is too large."""
    size = program_size(module)
    for excess, what in (
        (limits.nodes_excess(size.operations), "the program has"),
        (limits.bytes_excess(size.constant_bytes), "the constants of the program have"),
    ):
        if excess is not None:
            raise CompileError(f"{what} {excess}")


def _module_of(
    model: ModelSource,
    loaded: LoadedModel | None,
    shapes: Shapes | None,
    limits: Limits,
    every_value: bool,
    unrolled: bool,
    verified: bool,
) -> tuple[ModuleOp, str]:
    """What `read_model` reads, before calls are counted."""
    if isinstance(model, ModuleOp):
        try:
            if not verified:
                verify_program(model)
        except VerifyException as error:
            raise CompileError(verify_failure(model, error)) from error
        return copied(model), "model"
    if isinstance(model, str | Path):
        path = Path(model)
        if path.suffix in (".mlir", ".relay"):
            module = read_mlir(path, limits) if path.suffix == ".mlir" else read_relay(path)
            return module, path.stem
        name = path.stem
    elif type(model).__name__ == "ModelProto":
        name = model.graph.name or "model"
    else:
        raise CompileError(
            f"the model is {kind_of(model)}, expected the path of an .onnx, .mlir or "
            ".relay file, an onnx.ModelProto or an xDSL module"
        )
    from xrelay.frontends.onnx import import_every_value, import_model

    if every_value:
        return import_every_value(model, shapes=shapes, limits=limits), name
    return import_model(loaded or model, shapes=shapes, limits=limits, unrolled=unrolled), name


def read_mlir(path: Path, limits: Limits = DEFAULT_LIMITS) -> ModuleOp:
    """
    A module from a text file, verified, with the weights of its side file.

    Raises CompileError with the place in the file, also for a constant that exceeds `limits`.
    """
    content = read_bytes(path)
    try:
        places: Places = {}
        module = parse_program(content, str(path), context(), places=places, limits=limits)
        try:
            verify_program(module)
        except VerifyException as error:
            raise CompileError(verify_failure(module, error, places)) from error
        attach_side_file(module, path)
    except ParseError as error:
        raise CompileError(str(error).strip()) from error
    except VerifyException as error:
        raise CompileError(f"'{path}' does not verify: {error}") from error
    return module


def read_relay(path: Path) -> ModuleOp:
    """
    A module from a file in TVM's text format, verified.

    Raises DiagnosticException (RelayTextError) with the place in the file.
    """
    module = parse_relay(read_bytes(path), str(path))
    try:
        verify_program(module)
    except VerifyException as error:
        raise CompileError(f"'{path}': {verify_failure(module, error)}") from error
    return module


def parse_relay(content: bytes, name: str) -> ModuleOp:
    """
    The module in a Relay text that may be damaged.

    Raises DiagnosticException (RelayTextError, CompileError).
    """
    from xrelay.frontends.relay_text import read_relay_text

    return read_relay_text(decoded(content, name), name)


def read_bytes(path: Path) -> bytes:
    """The content of a file; raises CompileError when it cannot be read."""
    try:
        return read_source(path)
    except OSError as error:
        raise CompileError(f"cannot read '{path}': {error.strerror}") from error


def decoded(content: bytes, name: str) -> str:
    """The text in a file; raises CompileError when it is none."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CompileError(f"cannot read '{name}': it is not a text file") from error


def parse_program(
    content: bytes,
    name: str,
    ctx: Context,
    *,
    implicit_module: bool = True,
    places: Places | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> ModuleOp:
    """
    The module in a text that may be damaged. `places` gets to know where its operations stand.

    Raises ParseError or VerifyException as the parser does, CompileError where that would raise
    something else or would not end.
    """
    text = decoded(content, name)
    check_strings(text, name)
    try:
        return ProgramParser(ctx, text, name, places, limits).parse_module(implicit_module)
    except (ParseError, DiagnosticException, RecursionError):
        raise
    except Exception as error:
        # Assertions of the parser, …
        raise CompileError(f"cannot parse '{name}': {error}") from error


_STRING = r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"'
_STRINGS = re.compile(rf'{_STRING}|//[^\n]*|"|[^\x00-\x7f]')


def check_strings(text: str, name: str) -> None:
    """
    Raises CompileError with the line of a string that is not closed, or that holds an unknown
    escape. xDSL's lexer finds this out as well, but takes time exponential in the string's length. Neither are
    other characters than those of ASCII part of MLIR outside of strings and comments: xDSL reads names with them, and
    writes what it cannot read.
    """
    for match in _STRINGS.finditer(text):
        found = match.group()
        if found == '"' or not found[0].isascii():
            line = text.count("\n", 0, match.start()) + 1
            wrong = "expected a complete string literal"
            if found != '"':
                wrong = f"the character {found!r} is outside of a string"
            raise CompileError(f"'{name}', line {line}: {wrong}")


def preparation(options: CompileOptions) -> tuple[ModulePass, ...]:
    """What happens to a relay module before it is fused, in order."""
    target = named_target(options.target)
    rounding: list[RelayPass] = []
    float_lanes = 0
    if options.precision == INTEGERS:
        rounding.append(RoundBlockDataPass())
    elif options.precision != FULL:
        products = multiplies(options.precision, target)
        lists = known_operators(options.precision_rules)
        rounding.append(ReducePrecisionPass(PRECISIONS[options.precision], products, **lists))
        if products and "nn.conv2d" not in (*lists["never"], *lists["follow"]):
            float_lanes = target.bf16_tile_lanes
    passes = cpu_pipeline(
        target.lanes(4), rounding, target.byte_tile_lanes, float_lanes, widened(target)
    )
    return (*passes, FuseCompositesPass(options.target, options.threads))


def generation(
    options: CompileOptions, fusion: FusionOptions = CPU_FUSION
) -> tuple[ModulePass, ...]:
    """What happens after that, before code is generated, in order."""
    return FuseOpsPass.of(fusion), StrategySelection(kernel_options(options))


def relay_passes(options: CompileOptions) -> tuple[ModulePass, ...]:
    """What happens to a relay module before its code is generated, in order."""
    return (*preparation(options), *generation(options))


def run_passes(
    module: ModuleOp,
    passes: Sequence[ModulePass],
    progress: Progress = silent,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """
    Runs passes on a module, in place. Raises DiagnosticException when it, or a constant that a pass
    is about to compute, outgrows `limits`.
    """
    check_dominance(module)
    ctx = context()
    for each in passes:
        progress(each.name)
        if isinstance(each, ComputingPass):
            each = replace(each, limit=limits.max_bytes)
        if isinstance(each, RelayPass):
            each.rewrite(module)  # What passes leave is in order: it was checked when it came in.
        else:
            each.apply(ctx, module)
        require_limits(module, limits)


@collector_paused()
def lower(module: ModuleOp, options: CompileOptions, progress: Progress = silent) -> Program:
    """Runs the relay passes on a module, in place, and lowers its main function to kernel IR."""
    run_passes(module, relay_passes(options), progress, options.limits)
    return generate(module, options, progress)


def generate(
    module: ModuleOp,
    options: CompileOptions,
    progress: Progress = silent,
    constants: Constants | None = None,
) -> Program:
    """
    Lowers the main function of a module whose relay passes have run to kernel IR. `constants` are those of other
    programs that it is kept with.
    """
    progress("generate kernels")
    function = entry_function(module)
    return lower_function(
        function,
        kernel_options(options),
        profile=options.profile,
        layouts=options.layouts,
        constants=constants,
    )


def kernel_options(options: CompileOptions) -> KernelOptions:
    """What the code generator takes of the options."""
    return KernelOptions.of(
        options.target,
        options.threads,
        winograd=options.winograd,
        records=options.tuning,
        flushes_bfloat=options.precision == BFLOAT,
    )


@collector_paused()
def build(
    program: Program,
    name: str,
    options: CompileOptions,
    progress: Progress = silent,
    scope: Scope | None = None,
) -> ModelCode:
    """
    The LLVM IR and the weights of a lowered program, which is used up. `scope` has its lengths that are not known
    before it runs.

    Raises DiagnosticException for programs that no memory can hold.
    """
    require_memory(program, options.limits)
    progress("convert to LLVM")
    symbol = symbol_name(name)
    # NumPy copies the weights beside the interpreter.
    with ThreadPoolExecutor(1) as beside:
        constants = beside.submit(packed_constants, program)
        text = llvm_text(program, symbol, options)
    signature = signature_of(program, symbol, options, text, scope)
    return ModelCode(signature, text, machine_of(options), constants.result())


def machine_of(options: CompileOptions) -> Machine:
    """What code is generated for."""
    target = named_target(options.target)
    return Machine(target.triple, target.cpu, target.features)


def llvm_text(program: Program, symbol: str, options: CompileOptions) -> bytes:
    """The LLVM IR of a program, which is used up: its entry function `<symbol>_step_all`, and kernels of its own."""
    module, target = program.module, named_target(options.target)
    convert_module(module, target.triple)
    entry = f"{symbol}_step_all"
    for op in module.ops:
        if isinstance(op, llvm.FuncOp) and PUBLIC_ATTRIBUTE in op.attributes:
            op.sym_name = StringAttr(entry)
    return module_text(module, target.triple).encode()


def signature_of(
    program: Program,
    symbol: str,
    options: CompileOptions,
    text: bytes,
    scope: Scope | None = None,
) -> Signature:
    """
    What a program takes, returns and needs, with the LLVM IR `text`; with a `scope`, also what it finds out when it is
    called.
    """
    target = named_target(options.target)
    # The system has to grant tile registers: only what uses them asks for them.
    tiles = b"llvm.x86.ldtilecfg" in text
    features = [each for each in target.required if tiles or not each.startswith("amx-")]
    return Signature(
        symbol,
        tuple(map(tensor_spec, program.inputs)),
        tuple(map(tensor_spec, program.outputs)),
        program.constant_bytes,
        hint(program.workspace_bytes),
        target.title,
        tuple(features),
        options.threads,
        tuple(map(step_spec, program.steps)),
        options.profile,
        program.loops,
        None if scope is None else open_lengths(program, scope),
        program.most_calls,
        program.is_shared,
        program.failures,
    )


def tensor_spec(port: Port) -> TensorSpec:
    """An input or output as the run time describes it."""
    return TensorSpec(port.name, tuple(map(hint, port.type.get_shape())), port.dtype)


def step_spec(step: Step) -> StepSpec:
    """A step as the run time describes it."""
    how = ", ".join(step.implementations)
    return StepSpec(step.name, hint(step.flops), hint(step.bytes), how, step.nodes)


def check_tuples(module: ModuleOp) -> None:
    """Raises CompileError for a value whose type nests deeper than calls may, which look into types."""
    most = deep.MOST_CALLS // deep.CALLS_PER_TUPLE
    for function in walk(module):
        if not isinstance(function, func.FuncOp):
            continue
        depth = tuple_depth(types_of(function))
        if depth > most:
            raise CompileError(
                f"function '{function.sym_name.data}' has tuples in tuples, {depth} levels deep, the limit "
                f"is {most}"
            )


def compile_code(
    module: ModuleOp,
    name: str,
    options: CompileOptions,
    progress: Progress = silent,
    scope: Scope | None = None,
) -> ModelCode:
    """
    The LLVM IR and the weights of a relay module, which is used up. `scope` has its lengths that are not known
    before it runs.

    Raises DiagnosticException for what has no code.
    """
    check_tuples(module)
    try:
        program = lower(module, options, progress)
    except HasNoCode as error:
        raise CompileError(
            f"{error} (`xrelay run --interpret` and xrelay.interpret run in NumPy what has no code)"
        ) from error
    return build(program, name, options, progress, scope)
