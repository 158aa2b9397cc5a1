"""What a template is."""

from collections.abc import Callable

from tests.fuzz.onnx.growth import Growth

Template = Callable[[Growth, str], None]
"""
Adds a node of the operator of that name to a graph.

Raises Unfit when it cannot.
"""
