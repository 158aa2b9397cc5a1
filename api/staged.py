"""Models whose sizes depend on data, as stages: two models, each of which is compiled as any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from xrelay.frontends.onnx.errors import UnknownInputs
from xrelay.runtime.dynamic import DynamicSignature
from xrelay.runtime.signature import UnknownDimensions
from xrelay.runtime.staged import AnyModel, StagedModel

if TYPE_CHECKING:
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp

Whole: TypeAlias = "Callable[[ModelProto | ModuleOp], AnyModel]"
"""Compiles a model of whatever kind."""


def model_name(model: str | Path | ModelProto | ModuleOp) -> str:
    """What a model is called in messages."""
    if isinstance(model, str | Path):
        return Path(model).stem
    return (model.graph.name or "model") if type(model).__name__ == "ModelProto" else "model"


def staged_model(
    unknown: UnknownDimensions, signature: DynamicSignature, compiled: Whole, *, is_open: bool
) -> StagedModel | None:
    """
    A model that was found to have sizes that depend on data, in stages; None where it cannot be cut. With `is_open` it
    serves other shapes as well than those that this was found with.
    """
    if not isinstance(unknown, UnknownInputs) or unknown.cut is None:
        return None
    stages = unknown.cut(is_open)
    if stages is None:
        return None
    first = compiled(stages.first)
    second = None if stages.second is None else compiled(stages.second)
    return StagedModel(signature, first, second, stages.parts)
