"""
Imports an ONNX model as a `func.func @main` of relay operations.

1. A `Scope` converts the nodes that the graph outputs need, each once all of its inputs are.
2. Converters create operations outside of any block. A second walk, over these, puts them into
   the function in post-DFS order from the returned values through the operands in order: program
   order is then the index that Relay's passes number nodes by. What it does not reach is dropped.

The walks keep their own stacks, so that deep models need no recursion.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto
from onnx.inliner import inline_local_functions
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
    i1,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.dialects.model_names import ONNX_NAME, STORED_DTYPE
from xrelay.dialects.shapes import element_count, is_integer_type, is_tensor_type, tensor_type
from xrelay.frontends.onnx.errors import Cut, OnnxImportError, UnknownInputs, UnknownValue
from xrelay.frontends.onnx.importer.branches import with_branches, with_constants
from xrelay.frontends.onnx.importer.core.rows import one_by_one
from xrelay.frontends.onnx.importer.cutting import Cutter
from xrelay.frontends.onnx.importer.folding import arguments_of
from xrelay.frontends.onnx.importer.functions import (
    default_domain,
    functions_by_key,
    operator_sets,
    used_names,
)
from xrelay.frontends.onnx.importer.inputs import (
    described_ports,
    has_open_dimension,
    input_types,
    input_values,
    present,
    stored_type,
)
from xrelay.frontends.onnx.importer.loading import check_model, load_model
from xrelay.frontends.onnx.importer.names import identifier
from xrelay.frontends.onnx.importer.narrow import from_bits, to_bits
from xrelay.frontends.onnx.importer.node import Body, Builder
from xrelay.frontends.onnx.importer.placing import drop_unplaced, place_in_post_dfs_order
from xrelay.frontends.onnx.importer.scope import Scope, Surroundings
from xrelay.frontends.onnx.loaded import LoadedModel
from xrelay.frontends.onnx.narrow import UI8
from xrelay.frontends.onnx.tensors import element_type_of
from xrelay.runtime.arguments import few, kind_of, path_argument
from xrelay.runtime.signature import MOST_NUMBERS, InputSequence, InputValue, Shapes
from xrelay.runtime.staged import Stages


def import_model(
    model: ModelProto | str | Path | LoadedModel,
    *,
    shapes: Shapes | None = None,
    base_dir: Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
    unrolled: bool = False,
) -> ModuleOp:
    """
    A module whose function `@main` computes the graph of `model`.

    Its arguments are the graph inputs that are not initializers, its results the graph outputs;
    their attribute `onnx.name` holds the ONNX name. `shapes` gives the shapes of inputs, by name,
    whose dimensions the model leaves open, or the lengths of such dimensions, by their names; of an input with an
    InputValue the elements are constants, and it is no argument. `base_dir` is the folder that external data are
    read from; for a path it is the folder of the file. `limits` bounds the operations that nodes, functions
    and loops become, and the bytes of constants. With `unrolled` loops and recurrent networks become their rounds, one
    after the other, wherever that can be, for formats that have no loops.

    Raises OnnxImportError when the model is broken, too large or not supported; one error lists all
    nodes that are not supported. It is UnknownInputs when they would be, were more known of inputs.
    """
    return _imported(model, shapes, base_dir, limits, every_value=False, unrolled=unrolled)


def import_every_value(
    model: ModelProto | str | Path,
    *,
    shapes: Shapes | None = None,
    base_dir: Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> ModuleOp:
    """
    As `import_model` with loops unrolled, but after the outputs of the graph the function returns all other values that nodes of the
    graph compute, those of bodies in them apart: whatever passes make of the program, these results are what the
    nodes computed.

    Raises OnnxImportError as `import_model`.
    """
    return _imported(model, shapes, base_dir, limits, every_value=True, unrolled=True)


def _imported(
    model: ModelProto | str | Path | LoadedModel,
    shapes: Shapes | None,
    base_dir: Path | None,
    limits: Limits,
    *,
    every_value: bool,
    unrolled: bool,
) -> ModuleOp:
    if shapes is not None and not isinstance(cast(object, shapes), Mapping):
        what = f"shapes is {kind_of(shapes)}"
        raise OnnxImportError(f"{what}, expected a mapping from inputs to their dimensions")
    if base_dir is not None:
        base_dir = path_argument("base_dir", base_dir, OnnxImportError)
    loaded: LoadedModel | None = None
    if isinstance(model, ModelProto):
        title = f"model '{model.graph.name}'" if model.graph.name else "the model"
        check_model(model, title)
    else:
        if isinstance(model, LoadedModel):
            loaded = model
        else:
            path = path_argument("the model, no onnx.ModelProto,", model, OnnxImportError)
            loaded = LoadedModel(load_model(path), path)
        title, model = f"model '{loaded.path}'", loaded.model
        base_dir = loaded.path.parent if base_dir is None else base_dir
    try:
        builder = Builder(limits, unrolls=unrolled)
        return _Importer(model, base_dir, builder).run(shapes or {}, every_value=every_value)
    except UnknownInputs as error:
        cut, fixed, text = error.cut, error.fixed, str(error)
        if error.many and cut is None and (error.taken or model.functions):
            # Nodes of bodies cannot be cut apart, those of the graph can.
            if error.taken:
                fixed = not all(map(partial(_is_constant_condition, model.graph), error.taken))
                model = with_branches(model, error.taken)
            else:
                model = inline_local_functions(model)
            cut, is_fixed = _cut_of(model, shapes, base_dir, limits)
            if cut is not None:
                fixed |= is_fixed
                text = text.replace(ELEMENTS_ARE_DATA, STAGED)
        raise UnknownInputs(
            f"cannot import {title}: {text}",
            error.inputs,
            error.outputs,
            error.values,
            many=error.many,
            ranges=error.ranges,
            fixed=fixed and cut is not None,
            cut=cut,
            loaded=None if error.many else loaded,
        ) from None
    except OnnxImportError as error:
        raise OnnxImportError(f"cannot import {title}: {error}") from None


def _cut_of(
    model: ModelProto, shapes: Shapes | None, base_dir: Path | None, limits: Limits
) -> tuple[Cut | None, bool]:
    """What makes stages of a model, and whether these are for what is known alone: one stage of a model that needs no cut."""
    try:
        _imported(model, shapes, base_dir, limits, every_value=False, unrolled=False)
    except UnknownInputs as error:
        return error.cut, error.fixed
    except OnnxImportError:
        return None, False
    values = {name: each for name, each in (shapes or {}).items() if isinstance(each, InputValue)}
    whole = with_constants(model, values)
    return lambda _: Stages(whole, None, {}), False


MOST_VALUES = 256
"""Inputs with more elements are data, not shapes."""


ELEMENTS_ARE_NEEDED = (
    "supported once the elements of inputs are known (xrelay.InputValue, `xrelay run --input`)"
)
ELEMENTS_ARE_DATA = (
    "sizes depend on the elements of inputs, which xrelay.interpret and --interpret allow"
)

STAGED = (
    "sizes depend on the elements of inputs, which xrelay.compile and `xrelay run` find out in stages, and xrelay.interpret "
    "and --interpret allow"
)


class _Importer:
    """The state of one import."""

    def __init__(self, model: ModelProto, base_dir: Path | None, builder: Builder):
        self.model, self.base_dir = model, base_dir
        self.graph: GraphProto = model.graph
        opsets = operator_sets(model.opset_import)
        if model.ir_version < 3:
            opsets.setdefault("", 1)
        self.builder = builder
        body = Body(model.graph.node, model.graph.initializer, opsets=opsets)
        functions = functions_by_key(model.functions)
        self.scope = Scope(body, Surroundings(self.builder, base_dir, functions))

    def run(self, shapes: Shapes, *, every_value: bool = False) -> ModuleOp:
        """Imports the graph."""
        scope = self.scope
        inputs = [present(each) for each in self.graph.input if each.name not in scope.initializers]
        inputs = self._without_sequences(inputs, shapes)
        shapes = {
            name: each for name, each in shapes.items() if not isinstance(each, InputSequence)
        }
        try:
            types = input_types(inputs, shapes, self.graph.output)
        except UnknownInputs:
            outputs = (output.name for output in self.graph.output)
            problems = scope.without_converter(outputs, set())
            if problems:
                raise OnnxImportError(_unsupported(problems)) from None
            raise
        values = input_values(inputs, shapes)
        self._enter_values(inputs, values)
        types = [
            type_ if stored_type(value) is None else TensorType(UI8, type_.get_shape())
            for value, type_ in zip(inputs, types, strict=True)
            if value.name not in values
        ]
        inputs = [value for value in inputs if value.name not in values]
        block = Block(arg_types=types)
        for value, arg in zip(inputs, block.args, strict=True):
            if value.name in scope.values:
                raise OnnxImportError(f"two inputs have the name '{value.name}'")
            if value.name in scope.producers:
                raise OnnxImportError(f"'{value.name}' is an input and the output of a node")
            arg.name_hint = identifier(value.name)
            arg.location = NameLoc(StringAttr(value.name), arg.location)
            scope.values[value.name] = self._entering(value, arg)

        scope.compute([output.name for output in self.graph.output])
        self._require_supported(inputs, values)

        results = [self._result(output) for output in self.graph.output]
        others = self._computed() if every_value else {}
        results += others.values()
        return_op = ReturnOp(*results)
        place_in_post_dfs_order(block, return_op)
        drop_unplaced(self.builder.created)
        stated = (inputs, [*self.graph.output, *(ValueInfoProto(name=name) for name in others)])
        names = [ArrayAttr(map(_port, side)) for side in stated]
        function = FuncOp(
            "main",
            (types, [result.type for result in results]),
            Region(block),
            arg_attrs=names[0],
            res_attrs=names[1],
        )
        return ModuleOp([function])

    def _computed(self) -> dict[str, SSAValue]:
        """
        The values that nodes compute, by name, in the order in which they were converted, without the outputs of the
        graph. Those of types that programs do not have are left out, which are other values here, and sequences.
        """
        outputs = {output.name for output in self.graph.output}
        return {
            name: value
            for name, value in self.scope.values.items()
            if value is not None
            and name in self.scope.producers
            and name not in outputs
            and value not in self.builder.narrow
            and is_tensor_type(value.type)
        }

    def _without_sequences(
        self, inputs: Sequence[ValueInfoProto], shapes: Shapes
    ) -> list[ValueInfoProto]:
        """
        The inputs that are tensors. Makes constants of the tensors of sequences.

        Raises UnknownInputs for sequences that are not given, OnnxImportError for other names of sequences.
        """
        sequences = [each for each in inputs if each.type.WhichOneof("value") == "sequence_type"]
        names = [each.name for each in sequences]
        for name, each in shapes.items():
            if isinstance(each, InputSequence) and name not in names:
                raise OnnxImportError(
                    f"shapes= gives the tensors of '{name}', which is no sequence"
                )
        for value in sequences:
            given = shapes.get(value.name)
            if not isinstance(given, InputSequence):
                raise UnknownInputs(
                    f"input '{value.name}' is a sequence, of a length that xrelay.interpret and "
                    "--interpret take",
                    *described_ports(inputs, self.graph.output),
                    tuple(names),
                    many=True,
                )
            fields = [self.builder.given(field, value.name) for field in given.fields]
            self.scope.values[value.name] = self.builder.emit(TupleOp(fields), value.name)
        return [value for value in inputs if value not in sequences]

    def _enter_values(
        self, inputs: Sequence[ValueInfoProto], values: Mapping[str, InputValue]
    ) -> None:
        """Makes constants of the inputs whose elements are given."""
        for value in inputs:
            given = values.get(value.name)
            if given is not None:
                constant = self.builder.given(given, value.name)
                self.scope.values[value.name] = self._entering(value, constant)

    def _entering(self, value: ValueInfoProto, given: SSAValue) -> SSAValue:
        """What the graph computes with for an input."""
        narrow = stored_type(value)
        if narrow is None:
            return given
        return from_bits(self.scope.node(NodeProto(name=value.name)), given, narrow)

    def _require_supported(
        self, inputs: Sequence[ValueInfoProto], values: Mapping[str, InputValue]
    ) -> None:
        """
        Raises OnnxImportError for nodes that are not supported; UnknownInputs when they all would be, were
        elements of inputs known.
        """
        problems = self.scope.problems
        if not problems:
            return
        cutter = Cutter(self.model, self.base_dir, self.scope, values)
        unknown = self._unknown(cutter)
        if problems == self.scope.wrong[:1]:
            raise OnnxImportError(problems[0])
        count, message = len(problems), _unsupported(problems)
        needed = {arg: None for each in unknown for arg in arguments_of(each.value)}
        given = {id(self.scope.values[value.name]): value for value in inputs}
        if len(unknown) < count or not needed or any(id(arg) not in given for arg in needed):
            raise OnnxImportError(message)
        names = tuple(given[id(arg)].name for arg in needed)
        many = any(
            each.decides_sizes or any(_is_data(arg, each.value) for arg in arguments_of(each.value))
            for each in unknown
        )
        may_be_data = many or any(
            arg is not each.value and id(arg) in given and has_open_dimension(given[id(arg)])
            for each in unknown
            for arg in arguments_of(each.value)
        )
        cut = None
        if (
            may_be_data
            and len(self.scope.failed) == count
            and cutter.cut_at(self.scope.failed) is not None
        ):
            cut = partial(cutter.stages, self.scope.failed)
            many = True
        taken = self._taken_branches() if many and cut is None else {}
        remedy = ELEMENTS_ARE_NEEDED if not many else ELEMENTS_ARE_DATA if cut is None else STAGED
        raise UnknownInputs(
            f"{message}\n  {remedy}: {few(map(repr, names))}",
            *described_ports(inputs, self.graph.output),
            names,
            many=many,
            fixed=cut is not None and self._takes_branches(),
            cut=cut,
            taken=taken,
        )

    def _unknown(self, cutter: Cutter) -> list[UnknownValue]:
        """The operands that nodes ask for; where rounds of a loop cannot be runs of a model, what the loop asks for otherwise."""
        instead = {
            id(error): error.otherwise
            for node, error in self.scope.failed
            if error.otherwise is not None and cutter.listed(node) is None
        }
        self.scope.failed = [
            (node, instead.get(id(error), error)) for node, error in self.scope.failed
        ]
        return [instead.get(id(error), error) for error in self.scope.shared.unknown]

    def _takes_branches(self) -> bool:
        """Whether inputs decide which branches there are, so that others may hand on tensors of another rank."""
        return any(
            self._condition(node) is not None and not _is_constant_condition(self.graph, number)
            for number, node in enumerate(self.graph.node)
        )

    def _taken_branches(self) -> dict[int, bool]:
        """
        The If nodes that are not supported though their condition is known, by their places in the graph, and their conditions;
        none where something else is not supported for other reasons than unknown elements.
        """
        found: dict[int, bool] = {}
        waiting = {self._number(node) for node, _ in self.scope.failed}
        for node in self.scope.refused:
            number, condition = self._number(node), self._condition(node)
            if condition is not None:
                found[number] = condition
            elif number not in waiting:
                return {}
        return found

    def _condition(self, node: NodeProto) -> bool | None:
        """The condition of an If node, where it is known; None for other nodes."""
        if node.op_type != "If" or default_domain(node.domain) != "" or not node.input:
            return None
        value = self.scope.values.get(node.input[0])
        known = None if value is None else self.builder.known(value)
        return bool(known.item()) if known is not None and known.size == 1 else None

    def _number(self, node: NodeProto) -> int:
        return self.scope.producers[next(filter(None, node.output))]

    def _result(self, output: ValueInfoProto) -> SSAValue:
        """The value of a graph output, whose dtype must be the stated one."""
        value = self.scope.values[output.name]
        assert value is not None
        if value in self.builder.sequences:
            return one_by_one(self.scope.node(NodeProto(name=output.name)), value)
        narrow, stated_narrow = self.builder.narrow.get(value), stored_type(output)
        if narrow != stated_narrow:
            raise OnnxImportError(
                f"output '{output.name}' is stated with elements of type {_type_name(output)}, "
                f"but has those of {'another type' if narrow is None else narrow.name}"
            )
        if narrow is not None:
            return to_bits(self.scope.node(NodeProto(name=output.name)), value, narrow)
        if output.type.WhichOneof("value") == "tensor_type":
            stated = element_type_of(output.type.tensor_type.elem_type, f"output '{output.name}'")
            if tensor_type(value, "the value").element_type != stated:
                raise OnnxImportError(
                    f"output '{output.name}' is stated with elements of type {stated}, "
                    f"but is {value.type}"
                )
        return value


def _is_constant_condition(graph: GraphProto, number: int) -> bool:
    """Whether nothing that an If node decides by depends on inputs of the graph, not even on their shapes."""
    producers = {name: node for node in graph.node for name in node.output}
    stack, seen = [graph.node[number].input[0]], set[str]()
    given = {value.name for value in graph.input} - {each.name for each in graph.initializer}
    while stack:
        name = stack.pop()
        if name in given:
            return False
        if name in producers and name not in seen:
            seen.add(name)
            stack += used_names(producers[name])
    return True


def _unsupported(problems: Sequence[str]) -> str:
    """What is said of nodes that are not supported, a line for each."""
    count = len(problems)
    lines = few(problems, "\n  ")
    return f"{count} node{'s are' if count > 1 else ' is'} not supported:\n  {lines}"


def _is_data(arg: SSAValue, value: SSAValue) -> bool:
    """
    Whether an input that decides about a value is data, and no shape, axis or number, of whose elements programs are made: it is
    large; or it has more than a few rows of numbers or no integers, unless it is that value itself, as the scales of a Resize.
    """
    type_ = tensor_type(arg, "an input")
    count = element_count(type_.get_shape())
    if count > MOST_VALUES:
        return True
    is_whole = is_integer_type(type_.element_type) and type_.element_type != i1
    is_shape = is_whole and (type_.get_num_dims() <= 1 or count <= MOST_NUMBERS)
    return arg is not value and not is_shape


def _port(value: ValueInfoProto) -> DictionaryAttr:
    """The attributes of an input or output of the function."""
    narrow = stored_type(value)
    stored = {} if narrow is None else {STORED_DTYPE: StringAttr(narrow.name)}
    return DictionaryAttr({ONNX_NAME: StringAttr(value.name), **stored})


def _type_name(output: ValueInfoProto) -> str:
    """The element type that the model states of an output."""
    narrow = stored_type(output)
    if narrow is not None:
        return narrow.name
    return str(element_type_of(output.type.tensor_type.elem_type, f"output '{output.name}'"))
