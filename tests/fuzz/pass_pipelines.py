"""
Random relay programs through random sequences of passes.

A case is the text of a program whose first line names the passes. After each pass the program has to
verify, and to mean what it meant before the pass: the interpreter runs it on inputs of the kinds that
`xrelay-opt --verify-semantics` tries. Differences are weighed by `roundings.py`.
"""

import importlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.exceptions import DiagnosticException, InterpretationError, VerifyException

from tests.fuzz.fuzzer import Difference, Fuzzer, Reductions
from tests.fuzz.onnx.graphs import random_model
from tests.fuzz.onnx.values import Array
from tests.fuzz.roundings import noisy_results, unexplained
from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.partition.compilers import REGISTRY, Compiler, SupportedOperators
from xrelay.analysis.patterns.composites import CompositePattern
from xrelay.analysis.patterns.language import is_op, wildcard
from xrelay.compiler import context, parse_program
from xrelay.dialects.core.values import BlobAttr, ConstantOp
from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.interpreters.relay import interpret
from xrelay.tools.reduction import Part
from xrelay.tools.semantics import KINDS, input_of, leaves
from xrelay.tools.universe import XRELAY_UNIVERSE

FIRST_LINE = "// passes: "
TESTS = Path(__file__).parents[1]
MOST_OPERATIONS = 120
MOST_BYTES = 200_000
"""Of the text of a program."""

OTHERS: Mapping[str, str] = {
    "apply-fusion-plan": "needs the file of a plan",
    "convert-kernels-to-llvm": "is about lowered programs",
    "convert-relay-to-kernels": "makes a lowered program",
    "extract-fused-functions": "leaves functions that nothing calls",
    "extract-intermediate-expr": "returns something else",
    "first-order-gradient": "functions return more",
    "simplify-fc-transpose": "changes the parameters",
    "to-cps": "functions take more",
}
"""The passes that do not make relay programs of relay programs alone, or programs of other signatures."""

INEXACT: Mapping[str, str] = {
    "lazy-gradient-init": "zeros times NaN are zeros, and -0 plus zeros is -0, as in the original",
}
"""The passes that tests/unit/transforms tries on numbers that say nothing of this."""

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

FLAG = (False, True)
RULES = ("'relay'", "'cpu'")
COMPILERS = ("('first',)", "('second',)", "('first','second')")
"""What `prepare` registers."""
OPTIONS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "alter-op-layout": {"lanes": (4, 8, 16), "target": ("'cpu'", "'llvm'")},
    "annotate-memory-scope": {"default-device": (1, 4)},
    "annotate-target": {"targets": COMPILERS, "annotate-non-call-ops": FLAG},
    "combine-parallel-batch-matmul": {"min-num-branches": (2, 3), "rules": RULES},
    "combine-parallel-conv2d": {"min-num-branches": (2, 3), "rules": RULES},
    "combine-parallel-dense": {"min-num-branches": (2, 3), "to-batch": FLAG, "rules": RULES},
    "cpu-pipeline": {"lanes": (4, 8, 16)},
    "dead-code-elimination": {"ignore-impurity": FLAG, "inline-once": FLAG},
    "defuse-ops": {"include-composite": FLAG},
    "dynamic-to-static": {"max-bytes": (64, 1 << 20)},
    "eta-expand": {"expand-constructor": FLAG, "expand-global-var": FLAG},
    "convert-layout": {
        "desired-layouts": (
            "('nn.conv2d:NHWC:default',)",
            "('nn.conv2d:NCHW:default','nn.max_pool2d:NHWC','image.resize2d:NHWC')",
            "('nn.conv2d:NCHW2c:OIHW2i2o',)",
            "('nn.conv2d:HWNC:default','nn.avg_pool2d:NHWC','nn.global_avg_pool2d:NHWC')",
        ),
    },
    "fold-constant": {"max-bytes": (64, 1 << 20), "fold-qnn": FLAG},
    "fold-scale-axis": {
        "directions": ("('forward',)", "('backward',)", "('backward','forward')"),
        "constant-weights": FLAG,
        "rules": RULES,
    },
    "fuse-composites": {"target": ("'x86-64'", "'x86-64-v3'", "'x86-64-v4'"), "threads": (1, 2)},
    "fuse-ops": {
        "opt-level": (0, 1, 2, 3),
        "max-depth": (1, 2, 5, 256),
        "link-params": FLAG,
        "max-function-args": (0, 2, 5),
        "rules": ("'relay'", "'cpu'", "'extended'"),
    },
    "inline": {"calls": FLAG},
    "layout-rewrite": {
        "weights": (
            "('nn.dense:NC2n','nn.matmul:NC','nn.batch_matmul:BNC')",
            "('nn.conv2d:OIHW2i2o','nn.conv3d:DHWIO')",
            "('nn.conv2d:HWIO','nn.matmul:CN','nn.batch_matmul:BCN')",
        ),
    },
    "manifest-alloc": {"reuse": FLAG},
    "merge-compiler-regions": {"speculate": FLAG},
    "merge-composite": {"targets": COMPILERS},
    "partial-eval": {"max-bytes": (64, 1 << 20), "max-operations": (0, 10, 100_000)},
    "partition-graph": {"bind-constants": FLAG},
    "plan-devices": {"default-device": (1, 2)},
    "recognize-operators": {"composites": FLAG, "attention": FLAG},
    "simplify-expr": {"reassociate": FLAG, "rules": ("'relay'", "'cpu'")},
    "split-args": {"max-function-args": (3, 4, 8)},
    "simplify-inference": {"keep-norms": FLAG},
}
"""What the options of passes are drawn from. (Signed zeros are ignored only where one asks for it.)"""


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
            if not before.is_structurally_equivalent(module):
                compare(each, before, module, inputs)

    def reductions(self, payload: bytes) -> Reductions:
        """Fewer passes, then fewer operations."""
        payload = yield from without_passes(payload)
        return (yield from without_operations(payload))


# -- making cases ---------------------------------------------------------------------------------


def pass_names() -> list[str]:
    """The passes that are tried."""
    return [name for name in XRELAY_UNIVERSE.all_passes if name not in OTHERS]


def random_pass(random: Random) -> str:
    """A pass with some of its options, as text."""
    name = random.choice([name for name in pass_names() if name not in INEXACT])
    chosen = {
        option: random.choice(values)
        for option, values in OPTIONS.get(name, {}).items()
        if random.random() < 0.6 or option == "targets"
    }
    options = " ".join(f"{option}={option_text(value)}" for option, value in chosen.items())
    return f"{name}{{{options}}}" if options else name


def option_text(value: Any) -> str:
    """An option's value as a pipeline has it: lists without parentheses, strings in quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    return re.sub(r"[()]|,(?=\))", "", str(value)).replace("'", '"')


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


def register_compilers() -> None:
    """Two compilers that share some operators, and know some chains as one operator."""
    patterns = {
        "first": CompositePattern("first.add_relu", is_op("nn.relu")(wildcard() + wildcard())),
        "second": CompositePattern("second.scale_add", wildcard() * wildcard() + wildcard()),
    }
    operators = {
        "first": "add multiply nn.relu exp tanh reshape transpose nn.conv2d nn.dense sum",
        "second": "add subtract sigmoid tanh nn.softmax concatenate split reshape strided_slice",
    }
    for name, pattern in patterns.items():
        supported = SupportedOperators(frozenset(operators[name].split()))
        REGISTRY.register(Compiler(name, supported, (pattern,)))


# -- checking -------------------------------------------------------------------------------------


def passes_of(payload: bytes) -> tuple[ModulePass, ...]:
    """The passes that the first line names."""
    line = payload.decode().partition("\n")[0].removeprefix(FIRST_LINE)
    return PassPipeline.parse_spec(dict(XRELAY_UNIVERSE.all_passes), line).passes


def random_inputs(module: ModuleOp) -> Iterator[tuple[Any, ...]]:
    """Inputs of several kinds for the main function, the same each time."""
    types = entry_function(module).function_type.inputs
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng(number)
        yield tuple(input_of(type_, kind, rng) for type_ in types)


def compare(
    step: ModulePass, before: ModuleOp, after: ModuleOp, inputs: Sequence[tuple[Any, ...]]
) -> None:
    """Raises Difference unless a program verifies and means what it meant before."""
    name = step.name
    try:
        after.verify()
    except VerifyException as error:
        raise Difference(f"{name}: the program does not verify\n{error}") from error
    if entry_function(before).function_type != entry_function(after).function_type:
        raise Difference(f"{name}: @main has another type")
    for values in inputs:
        expected = results_of(before, values)
        try:
            found = results_of(after, values)
        except InterpretationError as error:
            raise Difference(f"{name}: the program cannot be interpreted\n{error}") from error
        run = partial(_noisy, before, values)
        for number, mask in unexplained(found, expected, run):
            place = tuple(np.argwhere(mask)[0].tolist())
            raise Difference(
                f"{name}: a result changes\n{step.pipeline_pass_spec()}: result {number}, "
                f"{int(mask.sum())} of {mask.size} elements, at {list(place)}: "
                f"{found[number][place]!r}, before {expected[number][place]!r}"
            )


def results_of(module: ModuleOp, inputs: tuple[Any, ...]) -> list[Array]:
    """What the main function gives, tuples flattened."""
    with np.errstate(all="ignore"):
        results = interpret(module, inputs, entry_function(module).sym_name.data)
    return [array for value in results for array in leaves(value)]


def _noisy(module: ModuleOp, inputs: tuple[Any, ...], noise: Any) -> list[Array]:
    return [array for value in noisy_results(module, inputs, noise) for array in leaves(value)]


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
