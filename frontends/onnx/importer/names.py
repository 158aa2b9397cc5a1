"""From ONNX names, which are arbitrary strings, to names that the IR can print."""

import re


def identifier(name: str) -> str:
    """`name` as the name of an SSA value."""
    cleaned = re.sub(r"[^A-Za-z0-9_$.]+", "_", name)
    return cleaned if re.match("[A-Za-z]", cleaned) else "v" + cleaned
