"""Loss functions in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.nn import loss
from xrelay.interpreters.arrays import Array, DType
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import narrow, widen


def _mean_of_examples(products: Array, dtype: DType) -> Array:
    count = products.dtype.type(products.shape[0])
    return narrow(-np.sum(products, dtype=products.dtype) / count, dtype)


@register_impls
class LossFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.nn.loss`."""

    @meaning
    def run_cross_entropy(self, op: loss.CrossEntropyOp, x: Array, y: Array) -> Array:
        return _mean_of_examples(np.log(widen(x)) * widen(y), x.dtype)

    @meaning
    def run_cross_entropy_with_logits(
        self, op: loss.CrossEntropyWithLogitsOp, x: Array, y: Array
    ) -> Array:
        return _mean_of_examples(widen(x) * widen(y), x.dtype)

    @meaning
    def run_nll_loss(self, op: loss.NllLossOp, *args: Array) -> Array:
        predictions, weights = widen(args[0]), widen(args[2])
        targets = args[1].astype(np.int64)
        classes = np.clip(targets, 0, max(len(weights) - 1, 0))
        chosen = np.take_along_axis(predictions, np.expand_dims(classes, 1), axis=1)
        counts = targets != op.ignore_index.value.data
        zero = predictions.dtype.type(0)
        weight = np.where(counts, weights[classes], zero)
        losses = np.where(counts, -chosen.squeeze(1) * weight, zero)
        if op.reduction.data == "none":
            return narrow(losses, args[0].dtype)
        total = np.sum(losses, dtype=losses.dtype)
        if op.reduction.data == "mean":
            total = total / np.sum(weight, dtype=weight.dtype)
        return narrow(total, args[0].dtype)
