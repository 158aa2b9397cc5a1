"""Loss functions."""

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp, Value, operators
from xrelay.dialects.fields import Integer, Tensor, Text, operand, prop
from xrelay.dialects.shapes import (
    compatible,
    element_count,
    integer,
    integer_tensor,
    ranked,
    require_float,
    require_one_of,
    require_same_dtype,
    same_dimension,
    shape_text,
    string,
)
from xrelay.dialects.traits import HasPatternKind, OpPatternKind


class CrossEntropyFamilyOp(RelayOp, ABC):
    """The distance of predictions `x` [N, C] from targets `y` [N, C], as a scalar."""

    x: Tensor = operand()
    y: Tensor = operand()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OPAQUE))

    def infer_type(self) -> Attribute:
        x, y = ranked(self.x, "'x'", 2), ranked(self.y, "'y'", 2)
        require_float(x, "x")
        if not compatible(x, y):
            raise VerifyException(f"'x' is {x}, 'y' is {y}, expected the same")
        return TensorType(x.element_type, [])


@irdl_op_definition
class CrossEntropyOp(CrossEntropyFamilyOp):
    """
    - (sum of log(x) * y) / N. The predictions are probabilities.

    Source: Relay's `nn.cross_entropy`.
    """

    name = "relay.nn.cross_entropy"


@irdl_op_definition
class CrossEntropyWithLogitsOp(CrossEntropyFamilyOp):
    """
    - (sum of x * y) / N. The predictions are logarithms of probabilities, such as
    `relay.nn.log_softmax` gives.

    Source: Relay's `nn.cross_entropy_with_logits`.
    """

    name = "relay.nn.cross_entropy_with_logits"


@irdl_op_definition
class NllLossOp(RelayOp):
    """
    The negative log-likelihood of `targets` [N, …] given logarithms of probabilities
    `predictions` [N, C, …], weighted with `weights` [C]: with t the class at a place,
    loss[n, …] = - predictions[n, t, …] * weights[t], and 0 where t is `ignore_index`. Other classes
    out of range count as the nearest one in range.

    `reduction` "none" gives these losses, "sum" their sum, and "mean" their sum divided by the sum
    of the weights of all places that are not ignored.

    Source: Relay's `nn.nll_loss`, ONNX's NegativeLogLikelihoodLoss.
    """

    name = "relay.nn.nll_loss"

    predictions: Tensor = operand()
    targets: Tensor = operand()
    weights: Tensor = operand()
    reduction: Text = prop(default="mean")
    ignore_index: Integer = prop(kw_only=True)
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.OUT_EWISE_FUSABLE))

    def __init__(
        self,
        predictions: Value,
        targets: Value,
        weights: Value,
        *,
        reduction: str = "mean",
        ignore_index: int = -100,
    ):
        self.initialize(
            [predictions, targets, weights],
            {"reduction": string(reduction), "ignore_index": integer(ignore_index)},
        )

    def infer_type(self) -> Attribute:
        require_one_of("reduction", self.reduction, "mean", "sum", "none")
        predictions = self.predictions.type
        weights = ranked(self.weights, "'weights'", 1)
        require_float(predictions, "predictions")
        require_same_dtype(predictions, "predictions", weights, "weights")
        targets = integer_tensor(self.targets, "targets")
        shape, places = predictions.get_shape(), targets.get_shape()
        if len(shape) < 2 or len(shape) != len(places) + 1:
            raise VerifyException(
                f"'predictions' {shape_text(shape)} has rank {len(shape)}, expected one more than "
                f"'targets' {shape_text(places)}, at least 2"
            )
        if not all(map(same_dimension, (shape[0], *shape[2:]), places)):
            raise VerifyException(
                f"'targets' is {shape_text(places)}, expected the axes of 'predictions' "
                f"{shape_text(shape)} without axis 1"
            )
        classes = weights.get_shape()[0]
        if not same_dimension(classes, shape[1]):
            raise VerifyException(
                f"'weights' has {classes} elements, axis 1 of 'predictions' {shape[1]}"
            )
        if 0 in (classes, shape[1]) and element_count(places) > 0:
            raise VerifyException("'predictions' has no class, and 'targets' has elements")
        reduced = self.reduction.data != "none"
        return TensorType(predictions.element_type, [] if reduced else places)


LOSS_OPS = operators(__name__)
