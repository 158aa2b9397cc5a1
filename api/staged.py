"""Models whose sizes depend on data, as stages: two models, each of which is compiled as any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.ports import input_names, ports
from xrelay.compiler import is_onnx
from xrelay.dialects.shapes import is_tensor_type
from xrelay.frontends.onnx.errors import UnknownInputs
from xrelay.options import ModelSource
from xrelay.runtime.arguments import few
from xrelay.runtime.dynamic import MOST_PROGRAMS, DynamicSignature
from xrelay.runtime.signature import (
    InputValue,
    Known,
    OpenTensor,
    Shapes,
    TensorSpec,
    UnknownDimensions,
)
from xrelay.runtime.staged import AnyModel, Repeated, Rounds, StagedModel, Stages
from xrelay.specialise import described, require_known_inputs
from xrelay.transforms.rules.cutting import find_cut
from xrelay.transforms.rules.stages import UnknownSizes
from xrelay.transforms.rules.stages import stages as stages_of

if TYPE_CHECKING:
    from onnx import ModelProto

    from xrelay.frontends.onnx.loaded import LoadedModel

Whole: TypeAlias = "Callable[[ModelProto | ModuleOp], AnyModel]"
"""Compiles a model of whatever kind."""


def loaded_model(unknown: UnknownDimensions) -> LoadedModel | None:
    """
    The model that was read before something turned out to be unknown, which `unknown` does not hold on to any more, nor to
    what was done with it: the error lives on in models, which are to have no more than they need.
    """
    unknown.__traceback__ = unknown.__context__ = None
    if not isinstance(unknown, UnknownInputs):
        return None
    loaded, unknown.loaded = unknown.loaded, None
    return loaded


def require_known_sizes(module: ModuleOp, *, is_stage: bool = False) -> None:
    """
    Raises UnknownSizes, with the stages, for a program whose sizes depend on data; UnknownDimensions for one whose inputs
    have unknown dimensions, and for one that needs no more than the elements of inputs. `is_stage` is as in `find_cut`.
    """
    cut = find_cut(module, is_stage=is_stage)
    both = None if cut is None else stages_of(cut)
    if cut is not None and both is not None:
        raise UnknownSizes(*_described(cut.function), both)
    values: tuple[str, ...] = ()
    if cut is not None and all(is_tensor_type(each.type) for each in cut.values):
        names = dict(zip(cut.function.body.block.args, input_names(cut.function), strict=True))
        values = tuple(names[each] for each in cut.values)
    require_known_inputs(module, values)
    if cut is not None and values:
        raise UnknownDimensions(
            f"dimensions depend on the elements of inputs: {few(map(repr, values))} (xrelay.InputValue, `xrelay run --input`)",
            *_described(cut.function),
            values,
        )


def _described(function: func.FuncOp) -> tuple[tuple[OpenTensor, ...], tuple[OpenTensor, ...]]:
    """The inputs and outputs of a function."""
    inputs, outputs = ports(function)
    return tuple(map(described, inputs)), tuple(map(described, outputs))


def model_name(model: ModelSource) -> str:
    """What a model is called in messages."""
    if isinstance(model, str | Path):
        return Path(model).stem
    return "model" if isinstance(model, ModuleOp) else model.graph.name or "model"


def fixed_stages(unknown: UnknownDimensions, name: str, compiled: Whole) -> StagedModel:
    """
    A model that was found to have sizes that depend on data, in stages, for the shapes and elements of inputs that this was
    found with. Raises `unknown` where it cannot be cut.
    """
    stages = _fixed_stages(unknown)
    if stages is None:
        raise unknown
    return _staged_model(
        DynamicSignature(name, unknown.inputs, unknown.outputs), stages, compiled, fixed=True
    )


def _fixed_stages(
    unknown: UnknownDimensions,
) -> Stages[ModelProto] | Stages[ModuleOp] | None:
    """The stages for what is known of inputs; None where a model cannot be cut."""
    if isinstance(unknown, UnknownSizes):
        return unknown.stages
    if isinstance(unknown, UnknownInputs) and unknown.cut is not None:
        return unknown.cut(False)
    return None


def open_or_fixed_stages(
    unknown: UnknownDimensions,
) -> Stages[ModelProto] | Stages[ModuleOp] | None:
    """
    The stages of a model whose sizes depend on data: for all shapes where inputs leave dimensions open, else for those they
    have. None where it cannot be cut so.
    """
    if isinstance(unknown, UnknownInputs) and unknown.cut is not None and not unknown.fixed:
        return unknown.cut(any(each.is_open for each in unknown.inputs))
    return _fixed_stages(unknown)


class StagesOfElements:
    """
    The stages of a program for shapes and elements of its inputs. Of those with the same elements, as the condition of a
    branch, the same stages serve all shapes: once some shapes have shown that sizes depend on data, others do not matter.
    """

    def __init__(
        self, read: Callable[[ModelSource, Shapes], ModuleOp], whole: Whole, is_stage: bool
    ):
        """
        `read` gives the program for elements of inputs, and `whole` compiles a stage; `is_stage` says whether the program is one,
        too.
        """
        self._read, self._whole, self._is_stage = read, whole, is_stage
        self._lock = Lock()
        self._open: dict[_Elements, Future[StagedModel | None]] = {}
        """By the elements, those that serve all shapes; None where these have to be known."""

    def of(self, shapes: Mapping[str, Known]) -> StagedModel | None:
        """Those that there are already for the elements of inputs, and all shapes."""
        with self._lock:
            found = self._open.get(_elements(shapes)) if self._open else None
        return found.result() if found is not None and found.done() else None

    def made(
        self, model: ModelSource, shapes: Mapping[str, Known], unknown: UnknownDimensions
    ) -> StagedModel:
        """Those for some shapes and elements, for which `unknown` was raised."""
        found: StagedModel | None = None
        if isinstance(unknown, UnknownSizes) and not is_onnx(model):
            found = self.of_all_shapes(model, shapes)
        return fixed_stages(unknown, model_name(model), self._whole) if found is None else found

    def of_all_shapes(self, model: ModelSource, shapes: Mapping[str, Known]) -> StagedModel | None:
        """
        Those that serve all shapes, for elements of inputs with which some shapes have shown that sizes depend on data; None
        where shapes have to be known. Several calls for the same elements make them once.
        """
        elements = _elements(shapes)
        with self._lock:
            future = self._open.get(elements)
            is_mine = future is None
            if future is None:
                if len(self._open) >= MOST_PROGRAMS:
                    del self._open[next(iter(self._open))]
                future = self._open[elements] = Future()
        if is_mine:
            try:
                future.set_result(self._made(model, dict(elements)))
            except BaseException as error:
                with self._lock:
                    self._open.pop(elements, None)
                future.set_exception(error)
                raise
        return future.result()

    def _made(self, model: ModelSource, elements: Shapes) -> StagedModel | None:
        module, name = self._read(model, elements), model_name(model)
        # Without elements, shapes had to be known for it to turn out: nothing else decides.
        for all_shapes in (False, True) if elements else (True,):
            cut = find_cut(module, all_shapes=all_shapes, is_stage=self._is_stage and not elements)
            both = None if cut is None else stages_of(cut)
            if cut is not None and both is not None:
                unknown = UnknownSizes(*_described(cut.function), both)
                return fixed_stages(unknown, name, self._whole)
        return None


_Elements: TypeAlias = frozenset[tuple[str, InputValue]]


def _elements(shapes: Shapes | Mapping[str, Known]) -> _Elements:
    """The inputs whose elements are known, and these."""
    return frozenset((name, each) for name, each in shapes.items() if isinstance(each, InputValue))


def open_stages(
    unknown: UnknownDimensions, signature: DynamicSignature, compiled: Whole
) -> StagedModel | None:
    """
    An ONNX model with the signature, in stages that serve other shapes and elements as well than those that `unknown` was
    raised for; None where it cannot be cut.
    """
    if not isinstance(unknown, UnknownInputs) or unknown.cut is None or unknown.fixed:
        return None
    stages = unknown.cut(True)
    return None if stages is None else _staged_model(signature, stages, compiled)


def _staged_model(
    signature: DynamicSignature,
    stages: Stages[ModelProto] | Stages[ModuleOp],
    compiled: Whole,
    *,
    fixed: bool = False,
) -> StagedModel:
    """With `fixed`, inputs have the shapes that the stages are for, which may say more than the model does."""
    first: AnyModel | Repeated
    if isinstance(stages.first, Rounds):
        first = Repeated(signature.name, stages.first, compiled(stages.first.body))
    else:
        first = compiled(stages.first)
    second = None if stages.second is None else compiled(stages.second)
    if fixed:
        known = {
            spec.name: _open_tensor(spec)
            for stage in (second, first)
            if stage is not None
            for spec in stage.signature.inputs
        }
        inputs = tuple(known.get(spec.name, spec) for spec in signature.inputs)
        signature = DynamicSignature(signature.name, inputs, signature.outputs)
    return StagedModel(signature, first, second, stages.parts)


def _open_tensor(spec: OpenTensor | TensorSpec) -> OpenTensor:
    """An input of a stage as one of a model in stages."""
    if isinstance(spec, OpenTensor):
        return spec
    return OpenTensor(spec.name, spec.shape, spec.dtype)
