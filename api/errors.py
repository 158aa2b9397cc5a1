"""What `xrelay.compile` raises of its own."""

from xdsl.utils.exceptions import DiagnosticException


class CompileError(DiagnosticException):
    """A model cannot be read or compiled."""


class OptionError(CompileError):
    """An option of `xrelay.compile` has a value that it cannot have, whatever the model."""
