"""An engine that rectifies, by whatever function a test gives it, and a program of which it takes two parts."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from texts import parsed
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

import xrelay
from xrelay.analysis.partition.compilers import No
from xrelay.backends.base import Array, Backend, CompiledRegion, RegionOptions, Support, Yes
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.runtime.partitioned import PartitionedModel

DIAMOND = """
func.func @main(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %c = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.nn.relu %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = relay.exp %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = relay.multiply %1, %c : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %3 = relay.nn.relu %2 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %4 = relay.add %3, %0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %4, %0 : tensor<3x4xf32>, tensor<3x4xf32>
}
"""
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
RELU = np.maximum(X, 0)
EXPECTED = np.exp(RELU) * 2 + RELU, RELU


def module(text: str = DIAMOND) -> ModuleOp:
    """The diamond, or another program."""
    return parsed(text)


class RectifierBackend(Backend):
    """Runs `nn.relu`, by whatever function a test gives it."""

    name = "rectifier"

    def __init__(self, run: Callable[..., Any] | None = None):
        super().__init__()
        self.given = run

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        return Yes() if isinstance(op, ReluOp) else No("the engine rectifies only")

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        return self.given or rectify


def rectify(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    """What is right."""
    np.maximum(inputs[0], 0, out=outputs[0])


def run(backends: Sequence[str | Backend], **options: Any) -> tuple[PartitionedModel, list[Array]]:
    """The partitioned diamond, and its results."""
    model = xrelay.compile(module(), backends=backends, cache=False, **options)
    assert isinstance(model, PartitionedModel)
    return model, list(model.run({"x": X}).values())
