"""
Random ONNX graphs with open dimensions, each at several lengths in a random order.

A model is compiled once, as users do, and called with other lengths again and again. Each result is compared with what
the interpreter makes of the program for these lengths alone (roundings as in `roundings.py` explain a difference), and
with onnxruntime. Code that serves many lengths is run between pages that fault on access. One program for
the lengths of a call alone is compiled as well; where operators compute each element by itself, its bits are the same.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import numpy as np
import onnxruntime
from guard_pages import guarded_run
from onnx import ModelProto, helper
from raw_calls import RawCode
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from tests.fuzz.fuzzer import Difference, Fuzzer, Reductions
from tests.fuzz.onnx.graphs import bits, described, elements, pruned, with_one_output
from tests.fuzz.onnx.open_graphs import OpenGrowth
from tests.fuzz.onnx.open_templates import TEMPLATES, USUAL
from tests.fuzz.onnx.oracle import NO_KERNEL, REFUSED, session_options
from tests.fuzz.onnx.values import Array
from tests.fuzz.roundings import noisy_results, unexplained
from xrelay.frontends.onnx import import_model
from xrelay.interpreters.relay import interpret
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.model import Model

CALLS = "calls"
"""The key of the metadata that holds the lengths of the calls: a finding is one file."""
OF_ELEMENTS = frozenset(
    [
        "Relu",
        "Tanh",
        "Sigmoid",
        "Abs",
        "Neg",
        "Erf",
        "Softplus",
        "Floor",
        "Identity",
        "Elu",
        "Add",
        "Sub",
        "Mul",
        "Max",
        "Min",
        "Greater",
        "Where",
        "Transpose",
        "Reshape",
        "Unsqueeze",
        "Squeeze",
        "Flatten",
        "Slice",
        "Split",
        "Concat",
        "Pad",
        "Expand",
        "ConstantOfShape",
        "Tile",
        "Gather",
        "Shape",
        "Cast",
        "Trilu",
        "Range",
    ]
)
"""Operators whose code has one order of operations."""


class LengthsFuzzer(Fuzzer):
    """Models that serve many lengths."""

    name = "lengths"
    suffix = ".onnx"
    refusals = ()
    seconds = 120
    megabytes = 4096
    quick = 6

    def generate(self, random: Random) -> bytes:
        """A model with the lengths of its calls."""
        return random_open_model(random).SerializeToString()

    def check(self, payload: bytes, folder: Path) -> None:
        """Raises Difference when a result is not what it is for its lengths alone."""
        model = ModelProto.FromString(payload)
        check_lengths(model)

    def reductions(self, payload: bytes) -> Reductions:
        """Fewer outputs, or one from within; then fewer calls."""
        model = yield from with_one_output(ModelProto.FromString(payload))
        model = yield from _with_an_inner_output(model)
        calls = calls_of(model)
        number = 0
        while number < len(calls) > 1:
            fewer = [*calls[:number], *calls[number + 1 :]]
            smaller = _with_calls(model, fewer)
            if (yield smaller.SerializeToString()):
                model, calls = smaller, fewer
            else:
                number += 1
        return model.SerializeToString()


def random_open_model(random: Random) -> ModelProto:
    """A graph of 3 to 25 nodes with one to three open dimensions, and the lengths of its calls."""
    growth = OpenGrowth(random, random.choice((13, 15, 17, 17, 18, 19)), random.randint(3, 6))
    kind = random.randrange(4)
    width = random.choice((3, 8, 16, 17, 24))
    if kind == 0:
        growth.input("float32", ["n", width])
    elif kind == 1:
        growth.input("float32", [random.choice(("n", 2)), "s", width])
    elif kind == 2:
        growth.input("float32", ["n", random.choice((3, 8, 16)), random.choice(("s", 9)), "t"])
    else:
        growth.input("int64", ["n", "s"])
        growth.input("float32", ["n", "s", width])
    if growth.chance(0.3):
        growth.input("float32", [random.choice(("n", "s", "t", 1)), random.choice(("s", width))])
    size = random.randint(3, 9) if growth.chance(0.8) else random.randint(10, 25)
    for _ in range(4 * size):
        growth.try_template(random.choice(USUAL if growth.chance(0.5) else TEMPLATES))
        if len(growth.nodes) >= size:
            break
    if growth.chance(0.3):
        place = random.randrange(len(growth.calls))
        growth.calls[place] = {**growth.calls[place], random.choice("nst"): 0}
    return _with_calls(growth.model(), growth.calls)


def calls_of(model: ModelProto) -> list[dict[str, int]]:
    """The lengths of the calls of a model."""
    return next(json.loads(each.value) for each in model.metadata_props if each.key == CALLS)


def _with_calls(model: ModelProto, calls: Sequence[Mapping[str, int]]) -> ModelProto:
    result = ModelProto()
    result.CopyFrom(model)
    del result.metadata_props[:]
    result.metadata_props.add(key=CALLS, value=json.dumps(list(calls)))
    return result


def _with_an_inner_output(model: ModelProto) -> Any:
    """The model up to the first node whose result alone will do."""
    for node in model.graph.node:
        smaller = ModelProto()
        smaller.CopyFrom(model)
        del smaller.graph.output[:]
        smaller.graph.output.append(helper.make_empty_tensor_value_info(node.output[0]))
        smaller = yield from _kept(smaller, model)
        if smaller is not model:
            return smaller
    return model


def _kept(smaller: ModelProto, model: ModelProto) -> Any:
    smaller = _with_calls(pruned(smaller), calls_of(model))
    return smaller if (yield smaller.SerializeToString()) else model


def data_at(model: ModelProto, call: Mapping[str, int]) -> dict[str, Array]:
    """Inputs of a call."""
    found: dict[str, Array] = {}
    for value in model.graph.input:
        type_ = value.type.tensor_type
        shape = [call[d.dim_param] if d.dim_param else d.dim_value for d in type_.shape.dim]
        random = np.random.default_rng(crc32(f"{value.name} {shape}".encode()))
        if helper.tensor_dtype_to_np_dtype(type_.elem_type) == np.int64:
            found[value.name] = random.integers(0, 5, shape)
        else:
            found[value.name] = random.standard_normal(shape).astype(np.float32)
    return found


def check_lengths(model: ModelProto) -> None:
    """Raises Difference."""
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), session_options(), ["CPUExecutionProvider"]
        )
    except (*NO_KERNEL, *REFUSED):
        return
    dynamic = xrelay.compile(model, cache=False)
    if not isinstance(dynamic, DynamicModel):
        return
    chosen = crc32(model.SerializeToString(deterministic=True))
    for number, call in enumerate(calls_of(model)):
        feeds = data_at(model, call)
        try:
            wanted = session.run(None, feeds)
        except (*NO_KERNEL, *REFUSED):
            wanted = None
        check_call(model, dynamic, feeds, wanted, alone=(chosen + number) % 8 == 0)


def check_call(
    model: ModelProto,
    dynamic: DynamicModel,
    feeds: Mapping[str, Array],
    wanted: Sequence[Array] | None,
    *,
    alone: bool,
) -> None:
    """One call. `wanted` is what onnxruntime gives; None where it refuses. Raises Difference."""
    shapes = {name: array.shape for name, array in feeds.items()}
    try:
        found = list(dynamic.run(feeds).values())
    except DiagnosticException as error:
        try:
            dynamic.specialise(shapes)
        except DiagnosticException as same:
            if str(same) == str(error):
                return
        raise Difference(
            f"refused for many lengths only\n{error}\n{shapes}\n{described(model)}"
        ) from error
    where = f"{shapes}\n{described(model)}"
    try:
        module = import_model(model, shapes=shapes)
    except DiagnosticException:
        if all(map(all, shapes.values())):
            raise
        # What stands beside a length of 0 is known of any length, not of 0 alone: -1 in the shape of a Reshape.
        check_code(dynamic, feeds, found, where)
        return
    given = list(feeds.values())
    with np.errstate(all="ignore"):
        expected = interpret(module, given)
    run = partial(noisy_results, module, given)
    comparisons = [("the interpreter", expected, 8.0)]
    if wanted is not None:
        comparisons.append(("onnxruntime", wanted, 64.0))
    for what, others, units in comparisons:
        types = [[(each.shape, each.dtype) for each in side] for side in (found, others)]
        if types[0] != types[1]:
            raise Difference(f"the type differs from {what}\n{types[0]} {types[1]}\n{where}")
        for number, mask in unexplained(found, others, run, units):
            shown = elements(mask, found[number], others[number])
            raise Difference(f"the result differs from {what}\n{shown}\n{where}")
    check_code(dynamic, feeds, found, where)
    if alone:
        static = list(dynamic.specialise(shapes).run(feeds).values())
        if all(node.op_type in OF_ELEMENTS for node in model.graph.node):
            for one, other in zip(found, static, strict=True):
                if bits(one) != bits(other):
                    raise Difference(
                        f"other bits than the program for these lengths alone\n{where}"
                    )


def check_code(
    dynamic: DynamicModel, feeds: Mapping[str, Array], found: Sequence[Array], where: str
) -> None:
    """Runs the code of the last call between pages that fault on access. Raises Difference for other bits."""
    last = dynamic.specialisations[-1].model
    if not isinstance(last, Model) or last.conditions is None:
        return
    code = last.code
    assert code is not None and code.signature.lengths is not None
    arrays = list(feeds.values())
    known = code.signature.lengths.at([array.shape for array in arrays])
    assert known is not None
    raw = RawCode(code)
    raw.signature = last.signature
    table = np.array(known.table, np.int64)
    for at_end in (False, True):
        again = guarded_run(raw, [*arrays, table], 1, at_end=at_end)
        if any(bits(one) != bits(other) for one, other in zip(found, again, strict=True)):
            raise Difference(f"the result depends on where buffers lie\n{where}")
