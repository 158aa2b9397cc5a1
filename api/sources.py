"""Models as placement reads them: with what their values are called, when they come from ONNX."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import OpResult, SSAValue

from xrelay.analysis.facts.ports import entry_function, ports
from xrelay.backends.onnx_original import OnnxOriginal
from xrelay.compiler import is_onnx, read_model, run_passes
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.dialects.model_names import ONNX_NAME, STORED_DTYPE, model_name
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.constants import constant_array
from xrelay.lowering.program.control_flow import check_straight
from xrelay.options import CompileOptions, ModelSource, Progress, silent
from xrelay.partitioned import check_references, preparation_passes
from xrelay.placement.graph.dataflow import Graph
from xrelay.placement.graph.origin import Origin, Place
from xrelay.program_weights import require_weights
from xrelay.runtime.signature import Shapes
from xrelay.staged import require_known_sizes
from xrelay.transforms.dead_code_elimination import DeadCodeEliminationPass


@dataclass
class Source:
    """A program that is to be placed."""

    module: ModuleOp
    name: str = "model"
    original: OnnxOriginal | None = None
    """The ONNX model that it comes from; `main` returns all values of that."""

    @classmethod
    def read(
        cls,
        model: ModelSource,
        shapes: Shapes | None = None,
        limits: Limits = DEFAULT_LIMITS,
        *,
        with_original: bool = True,
    ) -> Source:
        """
        A model as `read_model` reads it, without loops where that can be; `with_original` is for engines that take the nodes
        of an ONNX model as they are.

        Raises DiagnosticException as `read_model`, and for missing weights.
        """
        module, name = read_model(model, shapes, limits, every_value=with_original, unrolled=True)
        require_weights(module, model)
        return cls(module, name, _original(model) if with_original else None)

    def prepared(self, options: CompileOptions, progress: Progress = silent) -> Graph:
        """
        The graph of the program, which is prepared in place, once, as partitioned models are.

        Raises DiagnosticException for what is no tensor, and for what cannot be cut into regions.
        """
        ports(entry_function(self.module))
        require_known_sizes(self.module)
        run_passes(self.module, preparation_passes(), progress, options.limits)
        check_references(self.module)
        main = entry_function(self.module)
        check_straight(main)
        names: dict[str, SSAValue] = {}
        if self.original is not None:
            names = _without_names(main, len(self.original.model.graph.output))
        # What only named values needed goes as well.
        run_passes(self.module, [DeadCodeEliminationPass()], progress, options.limits)
        graph = Graph.of(main)
        if self.original is not None:
            graph.origin = _origin(graph, self.original, names)
        return graph


def _original(model: object) -> OnnxOriginal | None:
    """The ONNX model in a file, or the one that is given; None for programs in other forms."""
    if not is_onnx(model):
        return None
    from onnx import ModelProto

    from xrelay.frontends.onnx import load_model

    if isinstance(model, ModelProto):
        return OnnxOriginal(model)
    assert isinstance(model, str | Path)
    return OnnxOriginal(load_model(model), Path(model).parent)


def _without_names(main: func.FuncOp, outputs: int) -> dict[str, SSAValue]:
    """The results of a function by their names in the model, of which all but the first ones are taken away."""
    end = main.body.block.last_op
    assert isinstance(end, func.ReturnOp) and main.res_attrs is not None
    values, attributes = list(end.arguments), main.res_attrs.data
    found: dict[str, SSAValue] = {}
    for value, attribute in zip(values, attributes, strict=True):
        name = attribute.data[ONNX_NAME]
        if STORED_DTYPE in attribute.data:
            continue
        assert isinstance(name, StringAttr)
        found[name.data] = value
    end.operands = values[:outputs]
    types = main.function_type
    main.function_type = FunctionType.from_lists(types.inputs.data, types.outputs.data[:outputs])
    main.res_attrs = ArrayAttr(attributes[:outputs])
    return found


def _origin(graph: Graph, original: OnnxOriginal, values: dict[str, SSAValue]) -> Origin:
    """The names of the values of a graph, of which some are given with theirs."""
    names: dict[Place, str] = {}
    known: dict[str, Array] = {}
    main = graph.function
    assert main.arg_attrs is not None
    for arg, stated in zip(main.body.block.args, main.arg_attrs.data, strict=True):
        # What is stored as bits is another value in the model.
        if STORED_DTYPE not in stated.data:
            names[graph.numbers[arg], 0] = model_name(arg) or ""
    for name in original.producers:
        value = values.get(name)
        if not isinstance(value, OpResult):
            continue
        if isinstance(value.op, ConstantOp):
            if name in original.fixed:
                continue
            known[name] = constant_array(value.op)
        elif value.op in graph.numbers:
            names.setdefault((graph.numbers[value.op], value.index), name)
    return Origin(original, names, known)
