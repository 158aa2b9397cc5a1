"""TVM's Relay text format 0.0.5: `read_relay_text` and `print_relay_text`."""

from xrelay.frontends.relay_text.errors import RelayPrintError, RelayTextError
from xrelay.frontends.relay_text.importer import read_relay_text
from xrelay.frontends.relay_text.printer import print_relay_text

__all__ = ["RelayPrintError", "RelayTextError", "print_relay_text", "read_relay_text"]
