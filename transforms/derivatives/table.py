"""All rules of derivatives."""

from collections.abc import Mapping

from xdsl.ir import Operation

from xrelay.dialects.core.annotation import CheckpointOp, StopFusionOp
from xrelay.transforms.derivatives import (
    binary,
    conv,
    creation,
    dense,
    indexing,
    loss,
    norm,
    pool,
    reduce,
    transform,
    unary,
)
from xrelay.transforms.derivatives.terms import Rule

FAMILIES = (
    *(binary, conv, creation, dense, indexing, loss, norm),
    *(pool, reduce, transform, unary),
)

RULES: Mapping[type[Operation], Rule] = {
    CheckpointOp: lambda op, g: [g],
    StopFusionOp: lambda op, g: [g],
    **{op: rule for family in FAMILIES for op, rule in family.RULES.items()},
}
"""
The rule of each operator that has one.

Source: Relay's gradients (`_tensor_grad.py`), and those of the operators that rules emit: `relay.broadcast_to` and
`relay.broadcast_to_like`. Operators whose result is no floating-point tensor need none.
"""
