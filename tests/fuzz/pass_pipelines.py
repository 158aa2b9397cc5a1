"""
Random relay programs through random sequences of passes.

A case is the text of a program whose first line names the passes. After each pass the program has to
verify, and to mean what it meant before the pass: the interpreter runs it on inputs of the kinds that
`xrelay-opt --verify-semantics` tries. Differences are weighed by `roundings.py`.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.exceptions import DiagnosticException

from tests.fuzz.fuzzer import Fuzzer, Reductions
from tests.fuzz.meaning import Meaning, same_program
from tests.fuzz.onnx.graphs import random_model
from tests.fuzz.pass_rows import pass_names, register_compilers, row, spec_of
from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import context, parse_program
from xrelay.dialects.core.blob import BlobAttr
from xrelay.dialects.core.values import ConstantOp
from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.tools.reduction import Part
from xrelay.tools.semantics import KINDS, input_of, repeating_functions
from xrelay.tools.universe import XRELAY_UNIVERSE

FIRST_LINE = "// passes: "
TESTS = Path(__file__).parents[1]
MOST_OPERATIONS = 120
MOST_BYTES = 200_000
"""Of the text of a program."""

CASE_TABLES = (
    ("cases.dtype", "OPERANDS"),
    ("cases.dyn", "TABLE"),
    ("cases.elementwise", "ELEMENTWISE"),
    ("cases.export", "EXPORTED"),
    ("cases.image", "TABLE"),
    ("cases.indexing", "INDEXING"),
    ("cases.qnn", "TABLE"),
    ("cases.sort", "SORT"),
    ("cases.sum", "SUMS"),
)
"""Programs of single operators, in modules of tests/support."""


class PassPipelineFuzzer(Fuzzer):
    """Programs and the passes that they go through."""

    name = "pass-pipelines"
    suffix = ".mlir"
    seconds = 60
    megabytes = 4096
    quick = 15

    def prepare(self) -> None:
        sys.path.insert(0, str(TESTS / "support"))
        register_compilers()

    def generate(self, random: Random) -> bytes:
        """A program with its passes."""
        passes = ",".join(random_pass(random) for _ in range(random.randint(1, 6)))
        while True:
            module = random_program(random)
            if module is None or sum(1 for _ in module.walk()) > MOST_OPERATIONS:
                continue
            text = f"{FIRST_LINE}{passes}\n{with_inline_weights(module)!s}\n"
            if len(text) < MOST_BYTES:
                return text.encode()

    def check(self, payload: bytes, folder: Path) -> None:
        """Raises Difference when a pass leaves a program that does not verify, or means another."""
        module = parse_program(payload, "program.mlir", context())
        module.verify()
        inputs = list(random_inputs(module))
        for each in passes_of(payload):
            before = module.clone()
            each.apply(context(), module)
            if not same_program(before, module):
                Meaning(before, inputs).require_same(each, module)

    def reductions(self, payload: bytes) -> Reductions:
        """Fewer passes, then fewer operations."""
        payload = yield from without_passes(payload)
        return (yield from without_operations(payload))


# -- making cases ---------------------------------------------------------------------------------


def random_pass(random: Random) -> str:
    """A pass with some of its options, as text."""
    return random_spec(random, [name for name in pass_names() if not row(name).inexact])


def random_spec(random: Random, names: Sequence[str]) -> str:
    """One of some passes with some of its options, as text."""
    name = random.choice(names)
    chosen = {
        option: random.choice(values)
        for option, values in row(name).options.items()
        if random.random() < 0.6 or option == "targets"
    }
    needed = row(name).needed if random.random() < 0.5 else {}
    return spec_of(name, {**needed, **chosen})


def random_program(random: Random) -> ModuleOp | None:
    """An imported graph, or a program of the tests of algebra, attributes, fusion or kernels. None if it is refused."""
    kind = random.random()
    if kind < 0.1:
        programs = importlib.import_module("algebra_programs")
        dtype = random.choice(importlib.import_module("attribute_programs").DTYPES)
        return programs.random_program(random.randrange(10**6), dtype).module().clone()
    if kind < 0.3:
        programs = importlib.import_module("attribute_programs")
        theme, dtype = random.choice(programs.THEMES), random.choice(programs.DTYPES)
        return programs.random_program(random.randrange(10**6), theme, dtype).module().clone()
    if kind < 0.6:
        try:
            return import_model(random_model(random))
        except OnnxImportError:
            return None
    if kind < 0.75:
        program = importlib.import_module("fusion_graphs").random_program
        return program(random.randrange(10**6), random.randint(5, 40))[0]
    graph = importlib.import_module("graphs").Graph(random.randrange(10**6))
    file, table = random.choice(CASE_TABLES)
    cases = getattr(importlib.import_module(file), table).cases
    cases[random.choice(sorted(cases))](graph)
    return graph.module().clone()


def with_inline_weights(module: ModuleOp) -> ModuleOp:
    """A program whose text holds all constants."""
    for op in module.walk():
        if isinstance(op, ConstantOp) and isinstance(op.value, BlobAttr):
            assert op.value.data.data is not None
            content = BytesAttr(bytes(op.value.data.data))
            op.value = DenseIntOrFPElementsAttr(op.result.type, content)
    return module


# -- checking -------------------------------------------------------------------------------------


def passes_of(payload: bytes) -> tuple[ModulePass, ...]:
    """The passes that the first line names."""
    return parsed(payload.decode().partition("\n")[0].removeprefix(FIRST_LINE))


@cache
def parsed(spec: str) -> tuple[ModulePass, ...]:
    """Passes as a command line has them."""
    return PassPipeline.parse_spec(dict(XRELAY_UNIVERSE.all_passes), spec).passes


def random_inputs(module: ModuleOp) -> Iterator[tuple[Any, ...]]:
    """Inputs of several kinds for the main function, the same each time."""
    function = entry_function(module)
    counts = function.sym_name.data in repeating_functions(module)
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng(number)
        types = function.function_type.inputs
        yield tuple(input_of(type_, kind, rng, counts=counts) for type_ in types)


# -- making findings smaller ----------------------------------------------------------------------


def without_passes(payload: bytes) -> Reductions:
    """Without some of the passes, the first ones first."""
    program = payload.decode().partition("\n")[2]
    passes = [str(each.pipeline_pass_spec()) for each in passes_of(payload)]
    number = 0
    while number < len(passes) > 1:
        fewer = passes[:number] + passes[number + 1 :]
        smaller = f"{FIRST_LINE}{','.join(fewer)}\n{program}".encode()
        if (yield smaller):
            payload, passes = smaller, fewer
        else:
            number += 1
    return payload


def without_operations(payload: bytes) -> Reductions:
    """One result, then operations replaced by parameters."""
    line = payload.decode().partition("\n")[0]
    try:
        module = parse_program(payload, "program.mlir", context())
    except DiagnosticException:
        return payload
    function = entry_function(module)

    def text(part: Part) -> bytes:
        return f"{line}\n{part.program(module, function.sym_name.data)!s}\n".encode()

    *ops, end = function.body.block.ops
    assert isinstance(end, func.ReturnOp)
    part = Part(tuple(ops), tuple(end.operands))
    values: list[SSAValue] = [result for op in ops for result in op.results]
    for value in (*values, *end.operands):
        smaller = Part(part.ops, (value,))
        if value.owner in ops and (yield text(smaller)):
            part = Part(tuple(smaller.needed()), (value,))
            break
    number = 0
    while number < len(part.ops):
        kept = part.ops[:number] + part.ops[number + 1 :]
        smaller = Part(tuple(Part(kept, part.returned).needed()), part.returned)
        if kept and (yield text(smaller)):
            part = smaller
        else:
            number += 1
    return text(part)
