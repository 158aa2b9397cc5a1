"""What the fuzzers of ONNX models share: models to start from, the use of one, smaller ones."""

import base64
import json
import os
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from onnx import ModelProto
from xdsl.utils.exceptions import VerifyException

from tests.fuzz.fuzzer import Difference, Reductions
from tests.fuzz.onnx.runs import run_some
from tests.fuzz.worker import ROOT
from xrelay.cached import cache_place
from xrelay.frontends.onnx import import_model
from xrelay.options import CompileOptions

LARGEST = 3000
"""The bytes of a model to start from."""
CORPUS = ROOT / "build" / "fuzz" / f"onnx-{onnx.__version__}.json"
"""Making the models takes seconds, because their results are computed as well."""


@cache
def corpus() -> Sequence[bytes]:
    """The models of onnx's tests of single operators, and of the functions that define these."""
    if not CORPUS.exists():
        CORPUS.parent.mkdir(parents=True, exist_ok=True)
        whole = CORPUS.with_suffix(f".{os.getpid()}")
        whole.write_text(json.dumps([base64.b64encode(each).decode() for each in _models()]))
        whole.replace(CORPUS)
    return [base64.b64decode(each) for each in json.loads(CORPUS.read_text())]


def _models() -> Sequence[bytes]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        # Their inputs are infinities and the like.
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    contents = {case.model.SerializeToString(deterministic=True) for case in cases if case.model}
    return sorted(content for content in contents if len(content) <= LARGEST)


def use(payload: bytes, folder: Path) -> None:
    """Does with an ONNX file what `xrelay.compile` does before it makes code, and rarely the rest."""
    path = folder / "model.onnx"
    path.write_bytes(payload)
    # A cache that is on, in which nothing is stored.
    os.environ.update(XRELAY_CACHE_SIZE="1M", XRELAY_CACHE_DIR=str(folder / "cache"))
    place = cache_place(path, None, CompileOptions())
    if place is not None:
        place.dependencies()
    module = import_model(path)
    try:
        module.verify()
    except VerifyException as error:
        raise Difference(f"the importer makes a program that is not valid: {error}") from error
    run_some(module, payload)


def smaller_models(payload: bytes) -> Reductions:
    """The model without one of its parts after the other."""
    number = 0
    while True:
        model = ModelProto()
        try:
            model.ParseFromString(payload)
        except DecodeError:
            return payload
        parts = list(parts_of(model))
        if number >= len(parts):
            return payload
        _remove(*parts[number])
        fewer = model.SerializeToString(deterministic=True)
        if len(fewer) < len(payload) and (yield fewer):
            payload = fewer
        else:
            number += 1


Part = tuple[Message, FieldDescriptor, int | None]
"""A message, a field of it, and the place in a repeated field."""


def parts_of(message: Message) -> Iterator[Part]:
    """Everything that can be taken out of a message, outer parts first."""
    inner: list[Message] = []
    for field, value in message.ListFields():
        items: Sequence[Any] = value if field.is_repeated else [value]
        for place, item in enumerate(items):
            yield message, field, place if field.is_repeated else None
            if isinstance(item, Message):
                inner.append(item)
    for each in inner:
        yield from parts_of(each)


def _remove(message: Message, field: FieldDescriptor, place: int | None) -> None:
    if place is None:
        message.ClearField(field.name)
    else:
        del getattr(message, field.name)[place]
