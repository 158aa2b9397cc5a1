"""
Random programs with branches, loops and calls in each other: their entry functions on memory that is full of garbage, and
their machine code between guard pages, against the interpreter.
"""

from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest
from entry_runs import simulated
from guard_pages import guarded_run
from raw_calls import RawCode
from xdsl.dialects.builtin import ModuleOp

from xrelay.analysis.facts.ports import entry_function
from xrelay.compiler import compile_code, context, parse_program
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.relay import interpret
from xrelay.options import CompileOptions
from xrelay.transforms.functional.expand_functions import ExpandFunctionsPass
from xrelay.transforms.functional.recursion_to_loops import RecursionToLoopsPass
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.inline import InlinePass

T, B, I = "tensor<3x4xf32>", "tensor<i1>", "tensor<i64>"
ROWS = 3
R = f"tensor<{ROWS}x3x4xf32>"
UNARY = ("tanh", "nn.relu", "negative", "nn.softmax", "copy", "sigmoid")
BINARY = ("add", "subtract", "multiply", "maximum")
HEAD = "\n".join((
    f"(%x: {T}, %y: {T}, %w: tensor<4x4xf32>, %c: {B}, %n: {I}) -> ({T}, {T}) {{",
    *(f"%k{i} = arith.constant {i} : index" for i in range(5)),
    "%one = arith.constant 1 : i64",
    f"%b = tensor.extract %c[] : {B}",
    f"%m = tensor.extract %n[] : {I}",
    "%e = arith.index_cast %m : i64 to index",
))  # fmt: skip
"""How each function begins."""


@dataclass
class Writer:
    """Writes a program: `func.func @main(%x, %y, %w, %c, %n)`."""

    random: Random
    lines: list[str] = field(default_factory=list[str])
    names: int = 0
    functions: int = 0
    """How many there are that call each other, `@f0`, `@f1`, …."""
    calls: int = 0
    """How many calls may still be written."""
    left: str = "%n"
    """What counts down to the end of calls."""

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def emit(self, text: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name

    def program(self) -> str:
        written = [self.function(i) for i in range(self.functions)]
        self.lines, self.left, self.calls = [], "%n", 2 * self.functions
        values = self.statements(["%x", "%y"], 0, 6)
        if self.functions:
            values += self.make_call(values, 0)
        results = [self.random.choice(values), values[-1]]
        return "\n".join((
            *written,
            f"func.func @main{HEAD}",
            *self.lines,
            f"func.return {results[0]}, {results[1]} : {T}, {T}",
            "}",
        ))  # fmt: skip

    def function(self, number: int) -> str:
        """A function that ends, or calls itself and others, which it may do last, with the number before."""
        self.lines, self.left, self.calls = [], "%less", 2
        values = self.statements(["%x", "%y"], 1, 4)
        last = self.calls == 2 or self.calls and self.random.random() < 0.5
        results = self.make_call(values, 1) if last else [self.pick(values) for _ in range(2)]
        return "\n".join((
            f"func.func private @f{number}{HEAD}",
            f"%1 = relay.constant dense<1> : {I}",
            f"%less = relay.subtract %n, %1 : ({I}, {I}) -> {I}",
            "%zero = arith.constant 0 : i64",
            "%ends = arith.cmpi sle, %m, %zero : i64",
            f"%r, %s = scf.if %ends -> ({T}, {T}) {{",
            f"scf.yield %y, %x : {T}, {T}",
            "} else {",
            *self.lines,
            f"scf.yield {results[0]}, {results[1]} : {T}, {T}",
            "}",
            f"func.return %r, %s : {T}, {T}",
            "}",
        ))  # fmt: skip

    def make_call(self, values: list[str], depth: int) -> list[str]:
        if not self.calls:
            return self.make_unary(values, depth)
        self.calls -= 1
        names = [self.name() for _ in range(2)]
        args = f"{self.pick(values)}, {self.pick(values)}, %w, %c, {self.left}"
        types = f"{T}, {T}, tensor<4x4xf32>, {B}, {I}"
        callee = f"@f{self.random.randrange(self.functions)}"
        self.lines.append(
            f"{', '.join(names)} = func.call {callee}({args}) : ({types}) -> ({T}, {T})"
        )
        return names

    def statements(self, values: list[str], depth: int, count: int) -> list[str]:
        """The values in scope after some statements."""
        values = list(values)
        kinds = ["unary", "unary", "binary", "binary", "dense"]
        kinds += ["if", "for", "while", "rows"] * (depth < 3)
        kinds += ["call"] * (3 if self.functions else 0)
        for _ in range(self.random.randint(1, count)):
            made = getattr(self, "make_" + self.random.choice(kinds))(values, depth)
            values.extend(made)
        return values

    def pick(self, values: list[str]) -> str:
        """Often one of the newest."""
        return self.random.choice(values[-3:] if self.random.random() < 0.6 else values)

    def make_unary(self, values: list[str], depth: int) -> list[str]:
        op = self.random.choice(UNARY)
        return [self.emit(f"relay.{op} {self.pick(values)} : ({T}) -> {T}")]

    def make_binary(self, values: list[str], depth: int) -> list[str]:
        op, one, other = self.random.choice(BINARY), self.pick(values), self.pick(values)
        return [self.emit(f"relay.{op} {one}, {other} : ({T}, {T}) -> {T}")]

    def make_dense(self, values: list[str], depth: int) -> list[str]:
        one = self.pick(values)
        return [self.emit(f"relay.nn.dense {one}, %w : ({T}, tensor<4x4xf32>) -> {T}")]

    def condition(self, values: list[str]) -> str:
        if self.random.random() < 0.4:
            return "%b"
        total = self.emit(f"relay.sum {self.pick(values)} : ({T}) -> tensor<f32>")
        other = self.emit(f"relay.min {self.pick(values)} : ({T}) -> tensor<f32>")
        less = self.emit(f"relay.less {total}, {other} : (tensor<f32>, tensor<f32>) -> {B}")
        return self.emit(f"tensor.extract {less}[] : {B}")

    def make_if(self, values: list[str], depth: int) -> list[str]:
        condition, names = self.condition(values), [self.name() for _ in range(2)]
        self.lines.append(f"{', '.join(names)} = scf.if {condition} -> ({T}, {T}) {{")
        for end in ("} else {", "}"):
            inside = self.statements(values, depth + 1, 3)
            chosen = [self.pick(inside) for _ in names]
            self.lines.append(f"scf.yield {', '.join(chosen)} : {T}, {T}")
            self.lines.append(end)
        return names

    def make_for(self, values: list[str], depth: int) -> list[str]:
        count = self.random.randint(1, 3)
        results, carried = [self.name() for _ in range(count)], [self.name() for _ in range(count)]
        initial = [self.pick(values) for _ in range(count)]
        given = ", ".join(f"{new} = {old}" for new, old in zip(carried, initial, strict=True))
        end, types = self.random.choice(("%k2", "%k3", "%e")), ", ".join([T] * count)
        self.lines.append(
            f"{', '.join(results)} = scf.for %i{depth} = %k0 to {end} step %k1 iter_args({given}) "
            f"-> ({types}) {{"
        )
        inside = self.statements([*values, *carried], depth + 1, 4)
        following = [self.pick(inside) for _ in range(count)]
        self.lines.append(f"scf.yield {', '.join(following)} : {types}\n}}")
        return results

    def make_rows(self, values: list[str], depth: int) -> list[str]:
        """A loop that collects rows, of which the last is taken."""
        empty, result, rows = self.emit(f"tensor.empty() : {R}"), self.name(), self.name()
        self.lines.append(
            f"{result} = scf.for %i{depth} = %k0 to %k{ROWS} step %k1 iter_args({rows} = {empty}) "
            f"-> ({R}) {{"
        )
        number = self.emit(f"arith.index_cast %i{depth} : index to i64")
        count = self.emit(f"tensor.from_elements {number} : {I}")
        scale = self.emit(f"relay.cast {count} {{dtype = f32}} : ({I}) -> tensor<f32>")
        row = self.pick(self.statements(values, depth + 1, 2))
        row = self.emit(f"relay.multiply {row}, {scale} : ({T}, tensor<f32>) -> {T}")
        more = self.emit(
            f"tensor.insert_slice {row} into {rows}[%i{depth}, 0, 0][1, 3, 4][1, 1, 1] : {T} into {R}"
        )
        self.lines.append(f"scf.yield {more} : {R}\n}}")
        return [self.emit(f"relay.max {result} {{axis = array<i64: 0>}} : ({R}) -> {T}")]

    def make_while(self, values: list[str], depth: int) -> list[str]:
        """Counts down from the input, and ends early by a value."""
        result, left, rest = self.name(), self.name(), self.name()
        other, carried, inner = self.name(), self.name(), self.name()
        self.lines.append(
            f"{left}, {result} = scf.while ({rest} = %m, {carried} = {self.pick(values)}) : "
            f"(i64, {T}) -> (i64, {T}) {{"
        )
        inside = self.statements([*values, carried], depth + 1, 2)
        zero = self.emit("arith.constant 0 : i64")
        some = self.emit(f"arith.cmpi sgt, {rest}, {zero} : i64")
        go = self.emit(f"arith.ori {some}, {some} : i1")
        passed = self.pick(inside)
        self.lines.append(f"scf.condition({go}) {rest}, {passed} : i64, {T}\n}} do {{")
        self.lines.append(f"^bb0({other}: i64, {inner}: {T}):")
        following = self.pick(self.statements([*values, inner], depth + 1, 3))
        less = self.emit(f"arith.subi {other}, %one : i64")
        self.lines.append(f"scf.yield {less}, {following} : i64, {T}\n}}")
        return [result]


def program(seed: int, functions: int = 0) -> tuple[ModuleOp, list[Array]]:
    """A program with some functions that call each other, and inputs."""
    random, rng = Random(seed), np.random.default_rng(seed)
    text = Writer(random, functions=functions).program()
    module = parse_program(text.encode(), f"program {seed}", context())
    module.verify()
    tensors = [rng.uniform(-2, 2, shape).astype(np.float32) for shape in ((3, 4), (3, 4), (4, 4))]
    if seed % 5 == 0:
        tensors[0][0, :3] = np.nan, np.inf, -0.0
    most = 2 if functions else 3  # Calls in loops in functions are many.
    return module, [*tensors, np.array(random.random() < 0.5), np.array(random.randint(-1, most))]


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("functions", [0, 2])
def test_nothing_that_is_read_was_written_over(
    functions: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(8 if functions else 15):
        module, inputs = program(1000 * threads + seed, functions)
        expected = interpret(module, inputs)
        FuseOpsPass(rules="cpu", opt_level=0 if seed % 3 else 2).apply(context(), module)
        found = simulated(entry_function(module), inputs, threads, monkeypatch)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, f"seed {1000 * threads + seed}")


@pytest.mark.parametrize("functions", [0, 1, 2])
def test_machine_code(functions: int) -> None:
    for seed in range(3):
        module, inputs = program(seed, functions)
        expected = interpret(module, inputs)
        code = RawCode(compile_code(module, "program", CompileOptions(threads=2)))
        runs = [guarded_run(code, inputs, team, at_end=team == 2) for team in (2, 1)]
        for one, other, wanted in zip(*runs, expected, strict=True):
            assert one.tobytes() == other.tobytes(), f"seed {seed}"
            np.testing.assert_allclose(one, wanted, 1e-4, 1e-4, err_msg=f"seed {seed}")


@pytest.mark.slow
def test_functions_are_expanded() -> None:
    """What `expand-functions` leaves, and what its first passes leave one by one, means the same."""
    loops = calls = 0
    for seed in range(16):
        module, inputs = program(seed, 1 + seed % 3)
        expected = interpret(module, inputs)
        for step in (RecursionToLoopsPass(), InlinePass(calls=True), ExpandFunctionsPass()):
            before = str(module)
            step.apply(context(), module)
            if str(module) == before:
                continue
            module.verify()
            for one, other in zip(interpret(module, inputs), expected, strict=True):
                np.testing.assert_array_equal(one, other, f"seed {seed}, {step.name}")
            loops += step.name == "recursion-to-loops" and "scf.while" in str(module)
        calls += "func.call" in str(module)
    assert loops > 2 and calls > 2
