"""Operators of ONNX that are not imported, and why."""

_RANDOM = "its numbers are random, and ONNX does not say which they are"
_SEQUENCES = "it is about sequences or optional values, and only tensors are supported"
_SIZE = "the size of its result depends on data"
_STRINGS = "it is about strings, and only numbers are supported"

REFUSED = {
    "Bernoulli": _RANDOM,
    "ConcatFromSequence": _SEQUENCES,
    "Det": "there is no operator for determinants",
    "ImageDecoder": "it decodes files, and only tensors are supported",
    "Multinomial": _RANDOM,
    "NonMaxSuppression": _SIZE,
    "Optional": _SEQUENCES,
    "OptionalGetElement": _SEQUENCES,
    "OptionalHasElement": _SEQUENCES,
    "RandomNormal": _RANDOM,
    "RandomNormalLike": _RANDOM,
    "RandomUniform": _RANDOM,
    "RandomUniformLike": _RANDOM,
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
    "TfIdfVectorizer": "there is no operator that counts sequences of tokens",
    "Unique": _SIZE,
}
"""Every operator of the default domain that has no converter."""
