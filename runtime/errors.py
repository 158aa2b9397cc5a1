"""What can go wrong with a compiled model that its user can mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import DiagnosticException

if TYPE_CHECKING:
    from xrelay.runtime.signature import OpenTensor


class ModelError(DiagnosticException):
    """A compiled model cannot be saved, loaded or run as asked."""


class UnknownDimensions(DiagnosticException):
    """Dimensions of a model's inputs are not known: code is generated once they are."""

    def __init__(
        self, message: str, inputs: tuple[OpenTensor, ...], outputs: tuple[OpenTensor, ...]
    ):
        super().__init__(message)
        self.inputs = inputs
        self.outputs = outputs
