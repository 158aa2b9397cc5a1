"""A model as two, where the sizes of results depend on data: what a cut makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from onnx import ModelProto

from xrelay.runtime.staged import Part


@dataclass(frozen=True)
class Stages:
    """
    Two models, of which the second takes inputs of the whole, and results of the first. Names are those of the whole
    where the values are.
    """

    first: ModelProto
    second: ModelProto | None
    """None where nothing is left to compute."""
    parts: Mapping[str, Part]
    """The results of the first that are tensors of a bound, and what part of them is used."""
