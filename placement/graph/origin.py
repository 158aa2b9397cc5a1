"""
What the values of a graph are called in the ONNX model that it comes from.

A program is imported with every value of the model as a result. Passes keep what results are, so that in the end
the results say which value of the program each value of the model is; then they go. Between values that
have a name, the nodes of the model compute what the operations compute, however passes have changed these.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from xrelay.backends.onnx_original import OnnxOriginal
from xrelay.interpreters.arrays import Array

Place = tuple[int, int]
"""The node of a value, and which of its results it is. Copies of a function have the same."""


@dataclass(frozen=True)
class Origin:
    """The model of a graph, and the names of values in it."""

    original: OnnxOriginal
    names: Mapping[Place, str]
    """Of several names of a value the one that is computed first; constants have none."""
    known: Mapping[str, Array] = field(repr=False)
    """The values that are constants in the program."""
