"""What users can cause, and mend."""

from xdsl.utils.exceptions import DiagnosticException


class PlacementError(DiagnosticException):
    """A placement cannot be made, read or used; the message says what was found and what is expected."""
