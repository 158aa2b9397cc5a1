"""
Well-formed Relay text, made by a grammar whose productions know types.

Programs have functions of tensors, tuples, lists, closures and cells; whatever they compute, @main
takes and returns tensors, so that they can be run.
"""

from collections.abc import Callable, Sequence
from itertools import count
from math import prod
from random import Random

from tests.fuzz.relay_types import Function, ListOf, Tensor, Tuple, Type, fields_text, resized

FLOATS = ("float32", "float32", "float32", "float64")
SCALARS = ("float32", "int32", "bool")
EXTENTS = (1, 2, 2, 3, 4)
DEEPEST = 7
"""How deep productions nest, but for the towers, which are made of one production."""
TOWERS = 0.005
"""The share of blocks, until there is one, that have hundreds of expressions inside each other."""

PRELUDE = """\
type List[A] {
  Cons(A, List[A]),
  Nil,
}
def @id[A](%x: A) -> A { %x }
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%x, %rest) => { Cons(%f(%x), @map(%f, %rest)) }, Nil => { Nil } }
}
"""


BOOL, INT = Tensor((), "bool"), Tensor((), "int32")


def relay_programs(longest: int) -> Sequence[str]:
    """Small programs of so many characters at most, always the same."""
    made = (Grammar(Random(number), most=8).program() for number in range(60))
    return [text for text in made if len(text) <= longest]


def relay_program(random: Random) -> str:
    """
    A program whose functions have 1 to 60 expressions, or hundreds of nested ones. Half of them have 20
    at most, of which there are three for the time of one.
    """
    return Grammar(random, most=random.choice((20, 60))).program()


class Grammar:
    """A program under construction."""

    def __init__(self, random: Random, most: int = 60):
        self.random = random
        self.size = random.randint(1, most)
        """The expressions of a function, about."""
        self.left = self.size
        """How many are still to come."""
        self.depth = 0
        self.names = count()
        self.has_tower = False
        self.scope: list[tuple[str, Type]] = []
        self.globals: list[tuple[str, Function]] = []
        self.productions: Sequence[Callable[[Type], str | None]] = (
            *(self.operator,) * 8,
            *(self.variable, self.variable, self.construction, self.construction),
            *(self.conditional, self.projection, self.closure_call, self.literal_call),
            *(self.global_call, self.match_list, self.match_tuple, self.identity, self.mapped),
        )
        self.operators: Sequence[Callable[[Tensor], str | None]] = (
            *(self.unary, self.unary, self.binary, self.binary, self.binary, self.select),
            *(self.cast, self.compare, self.reshape, self.transpose, self.reduce, self.dense),
            *(self.concatenate, self.split, self.softmax, self.slice),
        )

    def program(self) -> str:
        """Everything: some functions, and @main."""
        helpers = self.random.choice((0, 0, 1, 1, 2, 3))
        definitions = [self.definition(f"f{number}") for number in range(helpers)]
        params = tuple(self.any_tensor() for _ in range(self.random.randint(1, 4)))
        results = tuple(
            self.random.choice((*params, self.any_tensor()))
            for _ in range(self.random.choice((1, 1, 2, 3)))
        )
        result = results[0] if len(results) == 1 else Tuple(results)
        main = f"def @main{self.function(Function(params, result))}\n"
        order = [*definitions, main]
        self.random.shuffle(order)
        text = "".join(order)
        used = any(word in text for word in ("Cons", "Nil", "List", "@id", "@map"))
        return f'#[version = "0.0.5"]\n{PRELUDE if used else ""}{text}'

    def definition(self, name: str) -> str:
        """A function of the module, which may call itself a few times."""
        type_ = Function(tuple(self.any_type() for _ in range(self.random.randint(0, 3))),
                         self.any_type())  # fmt: skip
        if self.random.random() < 0.3:
            type_ = Function((INT, type_.result), type_.result)
            i, value = self.fresh("i"), self.fresh("a")
            self.scope = [(value, type_.result)]
            step = self.expression(type_.result)
            text = (
                f"def @{name}({i}: int32, {value}: {type_.result}) -> {type_.result} {{\n"
                f"if ({i} <= 0) {{ {value} }} else {{ @{name}(minimum({i}, 3) - 1, {step}) }}\n}}\n"
            )
        else:
            text = f"def @{name}{self.function(type_)}\n"
        self.globals.append((f"@{name}", type_))
        self.scope = []
        self.left = self.size
        return text

    def function(self, type_: Function) -> str:
        """Parameters, result and body of a function."""
        mark = len(self.scope)
        params = [(self.fresh("p"), each) for each in type_.params]
        if params:
            params[0] = (self.parameter(), type_.params[0])
        self.scope.extend(params)
        body = self.block(type_.result)
        del self.scope[mark:]
        listed = ", ".join(f"{name}: {each}" for name, each in params)
        return f"({listed}) -> {type_.result} {{\n{body}\n}}"

    def block(self, type_: Type) -> str:
        """Bindings of several kinds, and what they are for."""
        mark = len(self.scope)
        lines: list[str] = []
        while self.left > 0 and self.random.random() < 0.55:
            lines.append(self.binding())
        is_tower = not self.has_tower and self.random.random() < TOWERS
        lines.append(self.tower(type_) if is_tower else self.expression(type_))
        del self.scope[mark:]
        return "\n".join(lines)

    def binding(self) -> str:
        """A name for a value: with or without its type, by `let` or in the graph."""
        type_ = self.any_type()
        kind = self.random.random()
        if kind < 0.1:
            cell, unit = self.fresh("r"), self.fresh("u")
            name = self.fresh("v")
            value, written = self.expression(type_), self.expression(type_)
            self.scope.append((name, type_))
            return (
                f"let {cell} = ref({value});\nlet {unit} = ref_write({cell}, {written});\n"
                f"let {name} = ref_read({cell});"
            )
        value = self.block_value(type_)
        name = f"%{next(self.names)}" if kind < 0.5 else self.fresh("v")
        self.scope.append((name, type_))
        if kind < 0.5:
            return f"{name} = {value};"
        stated = f": {type_}" if self.random.random() < 0.5 else ""
        return f"let {name}{stated} = {value};"

    def block_value(self, type_: Type) -> str:
        """What a name stands for; rarely something that only stands there."""
        if isinstance(type_, Function) or self.random.random() < 0.9:
            return self.expression(type_)
        function = self.function(Function((), type_))
        return f"(fn {function})()"

    def fresh(self, start: str) -> str:
        """A name that is new in the program."""
        return f"%{start}{next(self.names)}"

    def parameter(self) -> str:
        """A new name, or, now and then, one that hides another."""
        if self.scope and self.random.random() < 0.1:
            name, _ = self.random.choice(self.scope)
            if not name[1:].isdigit():
                return name
        return self.fresh("p")

    def variables(self, type_: Type | None = None) -> list[tuple[str, Type]]:
        """What can be named here; of one type, if one is given."""
        visible = dict(self.scope)
        return [(name, each) for name, each in visible.items() if type_ in (None, each)]

    # -- types --------------------------------------------------------------------------------

    def any_tensor(self) -> Tensor:
        """A small tensor, mostly of numbers."""
        known = [each for _, each in self.variables() if isinstance(each, Tensor)]
        if known and self.random.random() < 0.4:
            return self.random.choice(known)
        if self.random.random() < 0.3:
            return Tensor((), self.random.choice(SCALARS))
        rank = self.random.choice((1, 1, 2, 2, 2, 3))
        dtype = self.random.choice((*FLOATS, "int32", "bool"))
        return Tensor(tuple(self.random.choice(EXTENTS) for _ in range(rank)), dtype)

    def any_type(self, depth: int = 0) -> Type:
        """A type; often one that there is a value of."""
        kind = self.random.random()
        if self.scope and kind < 0.3:
            return self.random.choice(self.variables())[1]
        if depth > 2 or kind < 0.75:
            return self.any_tensor()
        if kind < 0.87:
            many = self.random.choice((1, 2, 2, 3))
            return Tuple(tuple(self.any_type(depth + 1) for _ in range(many)))
        if kind < 0.93:
            return ListOf(self.any_type(depth + 1))
        many = self.random.randint(0, 2)
        params = tuple(self.any_type(depth + 1) for _ in range(many))
        return Function(params, self.any_type(depth + 1))

    # -- expressions --------------------------------------------------------------------------

    def expression(self, type_: Type) -> str:
        """Any expression of a type."""
        self.left -= 1
        if self.left <= 0 or self.depth >= DEEPEST:
            return self.variable(type_) or self.least(type_)
        self.depth += 1
        text = None
        while text is None:
            text = self.random.choice(self.productions)(type_)
        self.depth -= 1
        return text

    def least(self, type_: Type) -> str:
        """A value that needs no other."""
        match type_:
            case Tuple(fields):
                return fields_text([self.least(each) for each in fields])
            case ListOf(element):
                return f"Cons({self.least(element)}, Nil)"
            case Function(params, result):
                listed = ", ".join(f"{self.fresh('p')}: {each}" for each in params)
                return f"fn ({listed}) -> {result} {{ {self.least(result)} }}"
            case Tensor((), dtype):
                return self.literal(dtype)
            case Tensor(shape, dtype):
                return f'full({self.literal(dtype)}, shape={list(shape)}, dtype="{dtype}")'

    def literal(self, dtype: str) -> str:
        """A number."""
        match dtype:
            case "bool":
                return self.random.choice(("True", "False"))
            case "int32":
                return str(self.random.randint(0, 9))
            case "float64":
                return f"{self.random.choice((0.0, 0.5, 1.25, 3.0))}f64"
            case _:
                return f"{self.random.choice((0.0, 0.5, 1.25, 1e-3, 3.0))}f"

    def variable(self, type_: Type) -> str | None:
        found = self.variables(type_)
        return self.random.choice(found)[0] if found else None

    def construction(self, type_: Type) -> str | None:
        """What values of a type are made by."""
        match type_:
            case Tuple(fields):
                return fields_text([self.expression(each) for each in fields])
            case ListOf(element):
                return f"Cons({self.expression(element)}, {self.expression(type_)})"
            case Function():
                mark = len(self.scope)
                text = f"fn {self.function(type_)}"
                del self.scope[mark:]
                return text
            case Tensor():
                return None

    def conditional(self, type_: Type) -> str:
        condition = self.expression(BOOL)
        return f"if ({condition}) {{\n{self.block(type_)}\n}} else {{\n{self.block(type_)}\n}}"

    def projection(self, type_: Type) -> str:
        fields: list[Type] = [self.any_type() for _ in range(self.random.randint(0, 2))]
        place = self.random.randint(0, len(fields))
        fields.insert(place, type_)
        held = [
            (name, each.fields.index(type_))
            for name, each in self.variables()
            if isinstance(each, Tuple) and type_ in each.fields
        ]
        if held:
            name, place = self.random.choice(held)
            return f"{name}.{place}"
        return f"{fields_text([self.expression(each) for each in fields])}.{place}"

    def call(self, name: str, function: Function) -> str:
        """A call with any arguments."""
        return f"{name}({', '.join(self.expression(each) for each in function.params)})"

    def closure_call(self, type_: Type) -> str | None:
        return self.call_of_one([
            (name, each)
            for name, each in self.variables()
            if isinstance(each, Function) and each.result == type_
        ])  # fmt: skip

    def global_call(self, type_: Type) -> str | None:
        return self.call_of_one([each for each in self.globals if each[1].result == type_])

    def call_of_one(self, functions: Sequence[tuple[str, Function]]) -> str | None:
        """A call of one of some functions, if there are any."""
        return self.call(*self.random.choice(functions)) if functions else None

    def literal_call(self, type_: Type) -> str:
        function = Function((self.any_type(),), type_)
        return self.call(f"(fn {self.function(function)})", function)

    def match_list(self, type_: Type) -> str:
        matched = ListOf(self.any_type())
        found = [each for _, each in self.variables() if isinstance(each, ListOf)]
        if found:
            matched = self.random.choice(found)
        value = self.expression(matched)
        first, rest = self.fresh("h"), self.fresh("t")
        mark = len(self.scope)
        self.scope.extend([(first, matched.element), (rest, matched)])
        cons = f"Cons({first}, {rest}) => {{\n{self.block(type_)}\n}}"
        del self.scope[mark:]
        other = self.random.choice(("Nil", "_"))
        return f"match ({value}) {{\n{cons},\n{other} => {{\n{self.block(type_)}\n}},\n}}"

    def match_tuple(self, type_: Type) -> str:
        fields = tuple(self.any_type() for _ in range(self.random.randint(2, 3)))
        value = self.expression(Tuple(fields))
        names = [self.fresh("m") for _ in fields]
        mark = len(self.scope)
        self.scope.extend(zip(names, fields, strict=True))
        text = f"match ({value}) {{\n{fields_text(names)} => {{\n{self.block(type_)}\n}},\n}}"
        del self.scope[mark:]
        return text

    def identity(self, type_: Type) -> str:
        return f"@id({self.expression(type_)})"

    def mapped(self, type_: Type) -> str | None:
        if not isinstance(type_, ListOf):
            return None
        element = self.any_type()
        function = self.expression(Function((element,), type_.element))
        return f"@map({function}, {self.expression(ListOf(element))})"

    def tower(self, type_: Type) -> str:
        """Hundreds of expressions of one kind inside each other."""
        self.has_tower = True
        text = self.expression(type_)
        before, after = self.random.choice((
            ("(", ",).0"),
            ("@id(", ")"),
            ("if (True) { ", f" }} else {{ {self.least(type_)} }}"),
            (f"(fn () -> {type_} {{ ", " })()"),
            ("(", ")"),
        ))  # fmt: skip
        times = self.random.choice((20, 100, 300))
        return before * times + text + after * times

    # -- operators ----------------------------------------------------------------------------

    def operator(self, type_: Type) -> str | None:
        """A call of an operator of tensors."""
        if not isinstance(type_, Tensor):
            return None
        return self.random.choice(self.operators)(type_)

    def unary(self, type_: Tensor) -> str:
        if type_.dtype == "bool":
            name = "logical_not"
        elif type_.dtype == "int32":
            name = self.random.choice(("negative", "abs", "copy"))
        else:
            name = self.random.choice(("negative", "tanh", "sigmoid", "nn.relu", "exp", "floor"))
        return f"{name}({self.expression(type_)})"

    def binary(self, type_: Tensor) -> str:
        left, right = self.expression(type_), self.expression(self.broadcast(type_))
        if self.random.random() < 0.3:
            left, right = right, left
        if type_.dtype == "bool":
            return f"{self.random.choice(('logical_and', 'logical_or'))}({left}, {right})"
        if self.random.random() < 0.5:
            return f"({left} {self.random.choice('+-*')} {right})"
        name = self.random.choice(("add", "subtract", "multiply", "maximum", "minimum"))
        return f"{name}({left}, {right})"

    def broadcast(self, type_: Tensor) -> Tensor:
        """A tensor that fits a larger one."""
        shape = type_.shape[self.random.choice((0, 0, 0, 1, 2)) :]
        shape = tuple(1 if self.random.random() < 0.1 else extent for extent in shape)
        return Tensor(shape, type_.dtype)

    def select(self, type_: Tensor) -> str:
        condition = Tensor(type_.shape, "bool")
        parts = [self.expression(each) for each in (condition, type_, type_)]
        return f"where({', '.join(parts)})"

    def cast(self, type_: Tensor) -> str | None:
        source = {"float32": "int32", "float64": "float32", "int32": "bool"}.get(type_.dtype)
        if source is None:
            return None
        operand = self.expression(Tensor(type_.shape, source))
        return f'cast({operand}, dtype="{type_.dtype}")'

    def compare(self, type_: Tensor) -> str | None:
        if type_.dtype != "bool":
            return None
        operands = Tensor(type_.shape, self.random.choice(("int32", "float32")))
        name = self.random.choice(("less", "greater_equal", "equal", "not_equal"))
        return f"{name}({self.expression(operands)}, {self.expression(operands)})"

    def reshape(self, type_: Tensor) -> str | None:
        shape = list(type_.shape)
        self.random.shuffle(shape)
        if self.random.random() < 0.5:
            shape = [prod(shape)]
        if not type_.shape:
            return None
        return f"reshape({self.expression(Tensor(tuple(shape), type_.dtype))}, newshape={list(type_.shape)})"

    def transpose(self, type_: Tensor) -> str:
        axes = list(range(len(type_.shape)))
        self.random.shuffle(axes)
        shape = tuple(type_.shape[axes.index(place)] for place in range(len(axes)))
        return f"transpose({self.expression(Tensor(shape, type_.dtype))}, axes={axes})"

    def reduce(self, type_: Tensor) -> str | None:
        if type_.dtype == "bool" or len(type_.shape) > 3:
            return None
        axis = self.random.randint(0, len(type_.shape))
        shape = (*type_.shape[:axis], self.random.choice(EXTENTS), *type_.shape[axis:])
        operand = self.expression(Tensor(shape, type_.dtype))
        return f"{self.random.choice(('sum', 'max', 'min'))}({operand}, axis=[{axis}])"

    def dense(self, type_: Tensor) -> str | None:
        if len(type_.shape) != 2 or type_.dtype != "float32":
            return None
        depth = self.random.choice(EXTENTS)
        data, weight = (Tensor((extent, depth), type_.dtype) for extent in type_.shape)
        return f"nn.dense({self.expression(data)}, {self.expression(weight)}, units=None)"

    def concatenate(self, type_: Tensor) -> str | None:
        axes = [axis for axis, extent in enumerate(type_.shape) if extent > 1]
        if not axes:
            return None
        axis = self.random.choice(axes)
        first = self.random.randint(1, type_.shape[axis] - 1)
        parts = [
            self.expression(resized(type_, axis, extent))
            for extent in (first, type_.shape[axis] - first)
        ]
        return f"concatenate({fields_text(parts)}, axis={axis})"

    def split(self, type_: Tensor) -> str | None:
        if not type_.shape:
            return None
        axis = self.random.randrange(len(type_.shape))
        operand = self.expression(resized(type_, axis, 2 * type_.shape[axis]))
        place = self.random.randrange(2)
        return f"split({operand}, indices_or_sections=2, axis={axis}).{place}"

    def softmax(self, type_: Tensor) -> str | None:
        if not type_.shape or not type_.dtype.startswith("float"):
            return None
        return f"nn.softmax({self.expression(type_)})"

    def slice(self, type_: Tensor) -> str | None:
        if not type_.shape:
            return None
        axis = self.random.randrange(len(type_.shape))
        extent = type_.shape[axis]
        operand = self.expression(resized(type_, axis, extent + 2))
        start = self.random.randint(0, 2)
        return (
            f"strided_slice({operand}, begin=[{start}], end=[{start + extent}], strides=[1], "
            f"axes=[{axis}])"
        )
