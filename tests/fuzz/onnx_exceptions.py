"""What differs between xrelay and other engines on purpose: docs/onnx.md says it to users."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from onnx import NodeProto

from tests.fuzz.onnx_values import Array


class Exception_(NamedTuple):
    """A difference of a node that is known."""

    operators: str
    """A regular expression."""
    applies: Callable[[Mapping[str, Array]], bool]
    """To these operands."""
    reason: str


def has_nan(operands: Mapping[str, Array]) -> bool:
    """Whether a NaN is among the numbers."""
    return any(np.isnan(a).any() for a in operands.values() if a.dtype.kind == "f")


def is_half(operands: Mapping[str, Array]) -> bool:
    """Whether numbers have 16 bits."""
    return any(a.dtype == np.float16 for a in operands.values())


EXCEPTIONS: tuple[Exception_, ...] = ()
REFUSALS: Mapping[str, str] = {}


def is_documented(
    node: NodeProto,
    operands: Mapping[str, Array],
    found: Sequence[Array],
    expected: Sequence[Array],
) -> bool:
    """Whether a node may differ from other engines."""
    del found, expected
    return any(
        re.fullmatch(each.operators, node.op_type) and each.applies(operands) for each in EXCEPTIONS
    )


def is_documented_refusal(message: str) -> bool:
    """Whether docs/onnx.md says why a model is refused."""
    return any(re.search(text, message) for text in REFUSALS)
