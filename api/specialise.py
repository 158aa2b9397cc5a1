"""Programs with unknown dimensions: what they leave open, and the program for given lengths."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.rewriter import Rewriter

from xrelay.analysis.facts.ports import Port, entry_function, ports
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import LengthsAttr, is_open
from xrelay.dialects.shapes import HasNoCode, is_dynamic, is_tensor_type, types_within
from xrelay.errors import CompileError
from xrelay.interpreters.arrays import element_type_of
from xrelay.interpreters.constants import constant_op
from xrelay.many_lengths import ManyLengths, Opener
from xrelay.options import ModelSource
from xrelay.runtime.arguments import few, number_argument
from xrelay.runtime.code import SavedCode
from xrelay.runtime.dynamic import DynamicModel, DynamicSignature, Program, Specialisation
from xrelay.runtime.layouts import Layouts
from xrelay.runtime.model import Model
from xrelay.runtime.signature import (
    InputValue,
    Known,
    OpenTensor,
    OpenValue,
    Shapes,
    UnknownDimensions,
    stored,
)
from xrelay.runtime.staged import StagedModel
from xrelay.transforms.infer_type import TypeInference
from xrelay.transforms.rules.copying import copied
from xrelay.transforms.rules.parameters import parameter_attributes, take_tuples_apart
from xrelay.transforms.rules.stages import UnknownSizes

if TYPE_CHECKING:
    from xrelay.frontends.onnx.loaded import LoadedModel

logger = logging.getLogger("xrelay.lengths")


def require_known_inputs(module: ModuleOp, values: tuple[str, ...] = ()) -> None:
    """
    Raises UnknownDimensions, which describes inputs and outputs, for a program whose inputs have unknown
    dimensions; it names the inputs whose elements, the `values`, decide about others. Other values may have them: passes find
    out most, and code generation names what is left.
    """
    function = entry_function(module)
    types = function.function_type.inputs.data
    leaves = [leaf for type_ in types for leaf in types_within(type_)]
    if len(function.body.blocks) != 1 or not any(map(is_dynamic, leaves)):
        return
    if not all(map(is_tensor_type, leaves)):
        return  # Passes may do without, or say why not.
    inputs, outputs = ports(function)
    unknown = [port for port in inputs if not port.type.has_static_shape()]
    if unknown:
        listed = few(f"'{port.name}' {port.type}" for port in unknown)
        raise UnknownDimensions(
            f"dimensions of inputs are unknown: {listed}; use shapes={{'{unknown[0].name}': […]}}, "
            f"or --shape {unknown[0].name}=… on the command line",
            tuple(map(described, inputs)),
            tuple(map(described, outputs)),
            values,
        )


def described(port: Port) -> OpenTensor:
    """An input or output, whose type may have unknown dimensions."""
    dims = tuple(dim if dim >= 0 else "" for dim in port.type.get_shape())
    return OpenTensor(port.name, dims, port.dtype)


def dynamic_model(
    model: ModelSource,
    unknown: UnknownDimensions,
    compiled: Callable[[ModelSource, Mapping[str, Known], Layouts, LoadedModel | None], Program],
    for_many: Callable[[ModelSource, Shapes, Layouts, Scope, LoadedModel | None], Model] | None,
    for_file: Callable[[ModelSource, UnknownDimensions, Sequence[Mapping[str, Known]]], SavedCode],
    staged: Callable[[UnknownDimensions, DynamicSignature], StagedModel | None],
    specialise_after: int = 0,
    loaded: LoadedModel | None = None,
    *,
    stages_for: Callable[[Mapping[str, Known]], StagedModel | None],
    stages_of_all: Callable[[ModelSource, Mapping[str, Known]], StagedModel | None],
    is_imported: bool,
) -> DynamicModel:
    """
    A model of which programs are compiled for the lengths and elements that come: by `for_many` those that serve other
    lengths as well, where there are such, and by `compiled` those for one combination; by `for_file` those of a file, with those for some shapes among them. It keeps a copy of
    a model in memory, and of a file only the place, and until there is a program what was `loaded` of it: `run` raises CompileError when
    the file has changed. `staged` and `stages_for` are as in DynamicModel; `stages_of_all` makes what `stages_for` finds, where
    the stages for some shapes serve all. `is_imported` says whether the model is one of ONNX.
    """
    kept = [] if loaded is None else [loaded]
    del loaded

    def once() -> LoadedModel | None:
        """What is kept, for the first who asks."""
        try:
            return kept.pop()
        except IndexError:
            return None

    if isinstance(model, str | Path):
        source: ModelSource = model
        name, before = Path(model).stem, _stamp(model)
    elif isinstance(model, ModuleOp):
        source, name, before = copied(model), "model", None
    else:
        source, name, before = deepcopy(model), model.graph.name or "model", None

    def require_same() -> None:
        if _stamp(source) != before:
            raise CompileError(f"'{source}' has changed since it was compiled: compile it again")

    def program(shapes: dict[str, Known], layouts: Layouts) -> Program:
        require_same()
        return compiled(source, shapes, layouts, once())

    dynamic = partial(
        DynamicModel,
        DynamicSignature(name, unknown.inputs, unknown.outputs),
        program,
        values=unknown.values,
        ranges=unknown.ranges,
        staged=staged,
        stages_for=stages_for,
    )
    if for_many is None:
        return dynamic()
    make = for_many

    def program_for_many(shapes: Shapes, layouts: Layouts, scope: Scope) -> Model:
        require_same()
        return make(source, shapes, layouts, scope, once())

    def save(path: Path, specialisations: Sequence[Specialisation]) -> None:
        require_same()
        for_file(source, unknown, [each.shapes for each in specialisations]).save(path)

    many = ManyLengths(Opener(unknown.inputs, program_for_many, unknown.ranges))
    named = {each.name: each for each in unknown.inputs}

    def model_for_many(shapes: dict[str, Known], layouts: Layouts) -> Program | None:
        try:
            return many.model(shapes, layouts)
        except UnknownDimensions as error:
            if is_imported:
                values = [named[each] for each in error.values]
                if values and not error.many and all(each.may_be_lengths for each in values):
                    raise  # With their elements, which may be lengths, too.
                # The importer may need less where lengths are numbers.
                logger.info("no program for many lengths: %s", error)
                return None
            if not isinstance(error, UnknownSizes):
                raise
            try:
                return stages_of_all(source, shapes)
            except HasNoCode:
                return None  # With the numbers of the shapes it may have.

    return dynamic(for_many=model_for_many, save=save, specialise_after=specialise_after)


def _stamp(source: object) -> tuple[int, int] | None:
    """What tells a file from another one that took its place; None for what is no file."""
    if not isinstance(source, str | Path):
        return None
    try:
        state = Path(source).stat()
    except OSError as error:
        raise CompileError(f"cannot read '{source}': {error.strerror}") from error
    return state.st_mtime_ns, state.st_size


def specialise(module: ModuleOp, shapes: Shapes) -> None:
    """
    Gives inputs of a program their shapes, and infers all types that follow.

    Raises CompileError for names that are no inputs and for shapes that contradict the program, and what
    type inference raises for shapes for which it makes no sense.
    """
    function = entry_function(module)
    block = function.body.blocks[0]
    if not take_tuples_apart(function):
        raise CompileError(
            f"function '{function.sym_name.data}' takes tuples and is called by others, expected tensors as its parameters, as "
            "shapes or elements of these are given"
        )
    inputs, _ = ports(function)
    by_name = {port.name: number for number, port in enumerate(inputs)}
    for name, given in shapes.items():
        if name not in by_name:
            inputs_there = few(f"'{each}'" for each in by_name)
            raise CompileError(
                f"shapes= names '{name}', which is not an input; inputs: {inputs_there}"
            )
        arg = block.args[by_name[name]]
        assert is_tensor_type(arg.type)
        lengths = list(given.shape) if isinstance(given, InputValue) else _lengths(name, given)
        stated = arg.type.get_shape()
        if len(stated) != len(lengths) or any(
            0 <= dim != length for dim, length in zip(stated, lengths, strict=True)
        ):
            raise CompileError(
                f"shapes= gives input '{name}' the shape {lengths}, the program states {arg.type}"
            )
        known = TensorType(arg.type.element_type, lengths)
        Rewriter.replace_value_with_new_type(arg, known)
    values = {name: given for name, given in shapes.items() if isinstance(given, InputValue)}
    if values:
        _make_constants(function, values)
    outputs = function.function_type.outputs
    function.function_type = FunctionType.from_lists(block.arg_types, outputs.data)
    TypeInference(module, fails=True).run()


def _make_constants(function: func.FuncOp, values: Mapping[str, InputValue]) -> None:
    """Makes constants of inputs whose elements are given. Raises CompileError for those of another type."""
    block = function.body.blocks[0]
    stated = ports(function)[0]
    kept = [port for port in stated if port.name not in values]
    for port, arg in zip(stated, tuple(block.args), strict=True):
        given = values.get(port.name)
        if given is None:
            continue
        if given.dtype != port.dtype:
            raise CompileError(
                f"shapes= gives input '{port.name}' elements of type {given.dtype}, the program states {port.dtype}"
            )
        op = _constant(given)
        assert block.first_op is not None
        block.insert_op_before(op, block.first_op)
        arg.replace_all_uses_with(op.result)
        block.erase_arg(arg)
    # Names that follow from places would change with these.
    function.arg_attrs = parameter_attributes(kept)


def _constant(given: InputValue) -> ConstantOp:
    """The elements of an input, some of which may be lengths."""
    if not isinstance(given, OpenValue):
        return constant_op(stored(given.array))
    type_ = TensorType(element_type_of(given.dtype), given.shape)
    return ConstantOp(LengthsAttr(given.elements), type_)


def _lengths(name: str, given: object) -> list[int]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise CompileError(
            f"shapes= gives input '{name}' {given!r}, expected a list of whole numbers"
        )
    what = f"a length of input '{name}' in shapes="
    return [
        length if is_open(length) else number_argument(what, length, 0, None, CompileError)
        for length in cast(Sequence[int], given)
    ]
