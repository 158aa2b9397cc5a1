"""What can go wrong with a compiled model that its user can mend."""

from xdsl.utils.exceptions import DiagnosticException


class ModelError(DiagnosticException):
    """A compiled model cannot be saved, loaded or run as asked."""
