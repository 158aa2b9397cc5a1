"""Numbers of bytes as people write them."""

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
"""What may stand behind a number of bytes."""


def byte_count(text: str) -> int | None:
    """The bytes that a text such as 500, 500M or 4G says; None for another text."""
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if not (number.isascii() and number.isdigit() and unit in UNITS):
        return None
    return int(number) * UNITS[unit]
