"""Operators of ONNX that are not imported, and why."""

_STRINGS = "it is about strings, and only numbers are supported"

REFUSED = {
    "ImageDecoder": "it decodes files, and only tensors are supported",
    "RegexFullMatch": _STRINGS,
    "StringConcat": _STRINGS,
    "StringNormalizer": _STRINGS,
    "StringSplit": _STRINGS,
}
"""Every operator of the default domain that has no converter."""
