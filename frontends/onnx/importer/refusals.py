"""Operators of ONNX that are not imported, and why."""

_SEQUENCES = "it is about sequences or optional values, and only tensors are supported"
_STRINGS = "it is about strings, and only numbers are supported"

REFUSED = {
    "ConcatFromSequence": _SEQUENCES,
    "ImageDecoder": "it decodes files, and only tensors are supported",
    "Optional": _SEQUENCES,
    "OptionalGetElement": _SEQUENCES,
    "OptionalHasElement": _SEQUENCES,
    "RegexFullMatch": _STRINGS,
    "SequenceAt": _SEQUENCES,
    "SequenceConstruct": _SEQUENCES,
    "SequenceEmpty": _SEQUENCES,
    "SequenceErase": _SEQUENCES,
    "SequenceInsert": _SEQUENCES,
    "SequenceLength": _SEQUENCES,
    "SequenceMap": _SEQUENCES,
    "SplitToSequence": _SEQUENCES,
    "StringConcat": _STRINGS,
    "StringNormalizer": _STRINGS,
    "StringSplit": _STRINGS,
}
"""Every operator of the default domain that has no converter."""
