"""
Imports an ONNX model as a `func.func @main` of relay operations.

1. A `Scope` converts the nodes that the graph outputs need, each once all of its inputs are.
2. Converters create operations outside of any block. A second walk, over these, puts them into
   the function in post-DFS order from the returned values through the operands in order: program
   order is then the index that Relay's passes number nodes by. What it does not reach is dropped.

The walks keep their own stacks, so that deep models need no recursion.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from onnx import GraphProto, ModelProto, ValueInfoProto
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, NameLoc, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from xrelay.dialects.core.values import ONNX_NAME
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.dialects.shapes import tensor_type
from xrelay.frontends.onnx.errors import OnnxImportError, UnknownInputs
from xrelay.frontends.onnx.importer.inputs import input_types
from xrelay.frontends.onnx.importer.loading import check_model, load_model
from xrelay.frontends.onnx.importer.names import identifier
from xrelay.frontends.onnx.importer.node import Body, Builder
from xrelay.frontends.onnx.importer.placing import drop_unplaced, place_in_post_dfs_order
from xrelay.frontends.onnx.importer.scope import Scope, Surroundings, default_domain
from xrelay.frontends.onnx.tensors import element_type_of
from xrelay.runtime.arguments import few, kind_of, path_argument


def import_model(
    model: ModelProto | str | Path,
    *,
    shapes: Mapping[str, int | Sequence[int]] | None = None,
    base_dir: Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> ModuleOp:
    """
    A module whose function `@main` computes the graph of `model`.

    Its arguments are the graph inputs that are not initializers, its results the graph outputs;
    their attribute `onnx.name` holds the ONNX name. `shapes` gives the shapes of inputs, by name,
    whose dimensions the model leaves open, or the lengths of such dimensions, by their names. `base_dir` is the folder that external data are read
    from; for a path it is the folder of the file. `limits` bounds the operations that nodes, functions
    and loops become, and the bytes of constants.

    Raises OnnxImportError when the model is broken, too large or not supported; one error lists all
    nodes that are not supported.
    """
    if shapes is not None and not isinstance(cast(object, shapes), Mapping):
        what = f"shapes is {kind_of(shapes)}"
        raise OnnxImportError(f"{what}, expected a mapping from inputs to their dimensions")
    if base_dir is not None:
        base_dir = path_argument("base_dir", base_dir, OnnxImportError)
    if isinstance(model, ModelProto):
        title = f"model '{model.graph.name}'" if model.graph.name else "the model"
        check_model(model, title)
    else:
        path = path_argument("the model, no onnx.ModelProto,", model, OnnxImportError)
        title = f"model '{path}'"
        base_dir = path.parent if base_dir is None else base_dir
        model = load_model(path)
    try:
        return _Importer(model, base_dir, limits).run(shapes or {})
    except UnknownInputs as error:
        message = f"cannot import {title}: {error}"
        raise UnknownInputs(message, error.inputs, error.outputs) from None
    except OnnxImportError as error:
        raise OnnxImportError(f"cannot import {title}: {error}") from None


class _Importer:
    """The state of one import."""

    def __init__(self, model: ModelProto, base_dir: Path | None, limits: Limits):
        self.graph: GraphProto = model.graph
        opsets = {entry.domain: entry.version for entry in model.opset_import}
        if model.ir_version < 3:
            opsets.setdefault("", 1)
        self.builder = Builder(limits)
        functions = {
            (default_domain(function.domain), function.name, function.overload): function
            for function in model.functions
        }
        body = Body(model.graph.node, model.graph.initializer, opsets=opsets)
        self.scope = Scope(body, Surroundings(self.builder, base_dir, functions))

    def run(self, shapes: Mapping[str, int | Sequence[int]]) -> ModuleOp:
        """Imports the graph."""
        scope = self.scope
        inputs = [value for value in self.graph.input if value.name not in scope.initializers]
        types = input_types(inputs, shapes, self.graph.output)
        block = Block(arg_types=types)
        for value, arg in zip(inputs, block.args, strict=True):
            if value.name in scope.values:
                raise OnnxImportError(f"two inputs have the name '{value.name}'")
            if value.name in scope.producers:
                raise OnnxImportError(f"'{value.name}' is an input and the output of a node")
            arg.name_hint = identifier(value.name)
            arg.location = NameLoc(StringAttr(value.name), arg.location)
            scope.values[value.name] = arg

        scope.compute([output.name for output in self.graph.output])
        if scope.problems:
            count = len(scope.problems)
            lines = few(scope.problems, "\n  ")
            raise OnnxImportError(
                f"{count} node{'s are' if count > 1 else ' is'} not supported:\n  {lines}"
            )

        results = [self._result(output) for output in self.graph.output]
        return_op = ReturnOp(*results)
        place_in_post_dfs_order(block, return_op)
        drop_unplaced(self.builder.created)
        names = [
            ArrayAttr([DictionaryAttr({ONNX_NAME: StringAttr(value.name)}) for value in side])
            for side in (inputs, self.graph.output)
        ]
        function = FuncOp(
            "main",
            (types, [result.type for result in results]),
            Region(block),
            arg_attrs=names[0],
            res_attrs=names[1],
        )
        return ModuleOp([function])

    def _result(self, output: ValueInfoProto) -> SSAValue:
        """The value of a graph output, whose dtype must be the stated one."""
        value = self.scope.values[output.name]
        assert value is not None
        if output.type.WhichOneof("value") == "tensor_type":
            stated = element_type_of(output.type.tensor_type.elem_type, f"output '{output.name}'")
            if tensor_type(value, "the value").element_type != stated:
                raise OnnxImportError(
                    f"output '{output.name}' is stated with elements of type {stated}, "
                    f"but is {value.type}"
                )
        return value
