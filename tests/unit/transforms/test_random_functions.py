"""The passes on Relay's language keep the meaning of programs with functions, cells, data types and recursion."""

from functools import cache
from random import Random

import numpy as np
import pytest
from guards.passes import results_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from xrelay.frontends.relay_text import read_relay_text
from xrelay.interpreters.arrays import Array
from xrelay.tools.universe import XRELAY_UNIVERSE

PROGRAMS = 16
PIPELINES = (
    "dead-code-elimination",
    "dead-code-elimination{inline-once=true}",
    "partial-eval",
    "partial-eval{max-operations=20}",
    "partial-eval,dead-code-elimination{inline-once=true}",
    "lambda-lift",
    "defunctionalization",
    "defunctionalization,partial-eval,dead-code-elimination",
    "capture-post-dfs-index-in-spans,to-a-normal-form,partial-eval,lambda-lift",
)
INPUTS = tuple((np.asarray(x, np.int32), np.asarray(y, np.int32)) for x, y in ((2, -1), (0, 3)))
HEADER = """
type List[A] { Cons(A, List[A]), Nil }
def @apply_to[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }
def @total(%l: List[int32]) -> int32 { match (%l) { Cons(%x, %r) => { %x + @total(%r) }, Nil => { 0 } } }
def @bump(%r: ref(int32), %by: int32) -> int32 {
  let %u = ref_write(%r, ref_read(%r) + %by);
  ref_read(%r)
}
"""


class Writer:
    """Writes a program of whole numbers, in which each step may use what steps before it have named."""

    def __init__(self, seed: int):
        self.random = Random(seed)
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def body(self, numbers: list[str], functions: list[str], cells: list[str], depth: int) -> str:
        """The steps of a scope, and a number."""
        numbers, functions, cells = [*numbers], [*functions], [*cells]
        lines: list[str] = []
        for _ in range(self.random.randint(1, 5)):
            new = self.name()
            kind = self.random.choice(("number", "number", "function", "cell", "write", "bump"))
            if kind == "function":
                lines.append(f"let {new} = {self.function(numbers, functions, cells, depth, new)};")
                functions.append(new)
            elif kind == "cell":
                lines.append(f"let {new} = ref({self.number(numbers, functions, cells, depth)});")
                cells.append(new)
            elif kind == "write" and cells:
                value = self.number(numbers, functions, cells, depth)
                lines.append(f"let {new} = ref_write({self.random.choice(cells)}, {value});")
            elif kind == "bump" and cells:
                lines.append(
                    f"let {new} = @bump({self.random.choice(cells)}, {self.random.choice(numbers)});"
                )
                numbers.append(new)
            else:
                lines.append(f"let {new} = {self.number(numbers, functions, cells, depth)};")
                numbers.append(new)
        lines.append(self.number(numbers, functions, cells, depth))
        return "\n".join(lines)

    def function(
        self, numbers: list[str], functions: list[str], cells: list[str], depth: int, name: str
    ) -> str:
        """A function literal, which may call itself with a smaller number."""
        param = self.name()
        if depth <= 0 or self.random.random() < 0.3:
            body = f"{param} + {self.random.choice(numbers)}"
            return f"fn ({param}: int32) -> int32 {{ {body} }}"
        inner = self.body([*numbers, param], functions, cells, depth - 1)
        if self.random.random() < 0.5:
            limit = f"less({param}, 1)"
            again = f"{name}(minimum({param}, 4) - 1)"
            return (
                f"fn ({param}: int32) -> int32 {{ if ({limit}) {{ {inner} }} "
                f"else {{ {again} + {self.random.randint(0, 3)} }} }}"
            )
        return f"fn ({param}: int32) -> int32 {{ {inner} }}"

    def number(self, numbers: list[str], functions: list[str], cells: list[str], depth: int) -> str:
        """An expression that gives a number."""
        pick = self.random.choice
        one, other = pick(numbers), pick([*numbers, str(self.random.randint(-2, 3))])
        kinds = ["sum", "product", "tuple", "list"]
        kinds += ["call", "call", "passed", "branch of functions"] * bool(functions)
        kinds += ["read", "read"] * bool(cells)
        kinds += ["branch"] * (depth > 0)
        match pick(kinds):
            case "sum":
                return f"({one} + {other})"
            case "product":
                return f"({one} * {other})"
            case "tuple":
                return f"({one}, {other}).{self.random.randint(0, 1)}"
            case "list":
                return f"@total(Cons({one}, Cons({other}, Nil)))"
            case "call":
                return f"{pick(functions)}({other})"
            case "passed":
                return f"@apply_to({pick(functions)}, {other})"
            case "branch of functions":
                yes, no = pick(functions), pick(functions)
                return f"(if (less({one}, {other})) {{ {yes} }} else {{ {no} }})({one})"
            case "read":
                return f"ref_read({pick(cells)})"
            case _:
                yes, no = (self.body(numbers, functions, cells, depth - 1) for _ in range(2))
                return f"(if (less({one}, {other})) {{ {yes} }} else {{ {no} }})"


@cache
def program(seed: int) -> tuple[ModuleOp, list[list[Array]]]:
    """A program, and what it gives for INPUTS."""
    body = Writer(seed).body(["%x", "%y"], [], [], 2)
    module = read_relay_text(f"{HEADER}def @main(%x: int32, %y: int32) -> int32 {{\n{body}\n}}")
    return module, [results_of(module, inputs) for inputs in INPUTS]


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_results_stay(pipeline: str):
    passes = PassPipeline.parse_spec(dict(XRELAY_UNIVERSE.all_passes), pipeline)
    for seed in range(PROGRAMS):
        before, expected = program(seed)
        after = before.clone()
        for each in passes.passes:
            each.apply(Context(), after)
            after.verify()
        found = [results_of(after, inputs) for inputs in INPUTS]
        assert found == expected, f"{pipeline} on program {seed}\n{before}\n{after}"
