"""
`to-mixed-precision`: operators compute with fewer bits where that is worth it and does no harm.

    %0 = relay.nn.dense %x, %w  (f32)          %0 = relay.cast %x to f16
    %1 = relay.add %0, %0                      %1 = relay.cast %w to f16
    %2 = relay.nn.softmax %1            ──►    %2 = relay.nn.dense %0, %1 {out_dtype = f16}
                                               %3 = relay.add %2, %2  (f16)
                                               %4 = relay.cast %3 to f32
                                               %5 = relay.nn.softmax %4

`transforms/rules/quantize/mixed_precision.py` lists which operators *always* take operands of `mixed-precision-type`, which
*follow* their operands, and which *never* do: these get what they had before. Parameters, constants and names count as
having fewer bits for those that follow. A value is cast once, where it is computed. An operator that does not take the
type stays as it was, and so do those that other operations than operators, tuples and names use: calls, loops,
branches that end in different types, references, data types. Results of functions change their types, unless
`keep-orig-output-dtype` is given, or something calls the function by its name.

Sums of f16 and bf16 are those of f32 in this project, rounded once at the end, whatever `out_dtype` says; for
engines where it decides, `accumulation-type` states it, and the sums are cast. With `original-type` operators on
elements of other types stay as they are; with `constants-only` operators of the first list take their constants
in the type, unless it makes them infinite, and all else as it is, which is for products that convert weights as they
read them.

Left alone: bodies of `relay.fused` and `relay.composite`, and functions for other compilers, whose arguments keep their
types. Results change, within the roundings of the type.

Source: Relay's ToMixedPrecision. It widens to f32 whatever a value was before, does not take calls of functions of the
module, takes
operands of `cast` along, and keeps the dtypes of operators and tuples only at the end of functions.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FunctionType, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue, TypeAttribute
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.suggestions import PassOptionError, unknown_choice
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.adt import MatchOp
from xrelay.dialects.core.functional import ApplyOp, ClosureOp, FnType, GlobalVarOp, LetOp
from xrelay.dialects.core.references import RefCreateOp, RefReadOp, RefWriteOp
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp, YieldOp
from xrelay.dialects.dtypes import DTYPES, dtype_name
from xrelay.dialects.shapes import is_float, is_tensor_type, same_type, types_within
from xrelay.dialects.tensor.unary import CastOp
from xrelay.transforms.rules.operator_names import require_operators
from xrelay.transforms.rules.quantize.cpu_precision import CPU_LISTS, WIDE_LISTS, holds
from xrelay.transforms.rules.quantize.dtypes import with_dtypes, with_floats
from xrelay.transforms.rules.quantize.mixed_precision import (
    FILLED,
    LISTS,
    SUMS,
    Category,
    category_table,
)
from xrelay.transforms.rules.rewriting import erase_unused

FAIL, WARN, IGNORE = range(3)
"""What `missing-op-mode` says of operators that no list has."""
PASSING = (CastOp, LetOp, TupleGetItemOp, TupleOp)
"""What takes whatever it gets."""
RULES = {"relay": LISTS, "cpu": CPU_LISTS, "wide": WIDE_LISTS}
OTHERWISE = {"relay": Category.FOLLOW, "cpu": Category.NEVER, "wide": Category.ALWAYS}
"""The category of operators that no list has."""
FLOATS = frozenset(dtype.type for dtype in DTYPES if is_float(dtype.type))
KEEPING = (ApplyOp, ConstantOp, RefCreateOp, RefReadOp, RefWriteOp)
"""Operators, as the dialect has them, that get what they got before."""


@dataclass
class Conversion:
    """The state of the conversion of a module."""

    mixed: TypeAttribute
    sums: TypeAttribute
    categories: dict[str, Category]
    keeps_results: bool
    called: frozenset[str]
    """The functions of the module that something names."""
    source: Attribute | None = None
    """What operators are converted that compute in it; None for all floating-point types."""
    constants_only: bool = False
    """Whether only constants are."""
    exactly: bool = False
    """Whether only those that are the same in the type."""
    otherwise: Category = Category.FOLLOW
    """The category of operators that no list has: what follows then takes the type of any operand that has changed."""
    original: dict[SSAValue, Attribute] = field(default_factory=dict[SSAValue, Attribute])
    """What types values had that have others now."""
    casts: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    """Values with other types: a value has few."""
    parts: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    """The fields of tuples that some operation gives whole."""
    made: list[Operation] = field(default_factory=list[Operation])

    @property
    def widens(self) -> bool:
        """Whether all operators take more bits."""
        return self.otherwise is Category.ALWAYS

    def visit(self, op: Operation) -> None:
        """Converts an operation, after its operands and what its regions hold."""
        match op:
            case YieldOp() | scf.YieldOp():
                pass  # Those around them know what they have to give.
            case ClosureOp():
                self.closure(op)
            case MatchOp():
                self.join(op, [region.block for region in op.clauses])
            case scf.IfOp():
                self.join(op, [region.block for region in op.regions if region.blocks])
            case scf.ForOp() | scf.WhileOp():
                self.loop(op)
            case func.ReturnOp():
                self.end(op)
            case ApplyOp():
                self.restore(op)
                self.reinfer(op)
            case RelayOp() if isinstance(op, PASSING):
                self.reinfer(op)
                if isinstance(op, CastOp) and self.widens:
                    # What takes the wide type needs no rounded value.
                    self.casts.setdefault(op.result, []).append(op.data)
            case RelayOp() if not isinstance(op, KEEPING):
                self.operator(op)
            case _:
                self.restore(op)

    def operator(self, op: RelayOp) -> None:
        """Converts an operator, or gives it what it had before."""
        category = self.categories.get(op.name.removeprefix("relay."), self.otherwise)
        if category is Category.FOLLOW:
            ready = self.is_ready_for(op)
            category = Category.ALWAYS if ready else Category.NEVER
        takes_it = category is Category.ALWAYS and self.concerns(op)
        if not takes_it or not self.convert(op):
            self.restore(op)

    def concerns(self, op: RelayOp) -> bool:
        """Whether an operator has operands to convert, and none of types that are not."""
        if self.constants_only:
            short = [each for each in op.operands if self.narrow(each) != each.type]
            if not short or not all(
                holds(self.mixed, each, exactly=self.exactly) for each in short
            ):
                return False
        if self.source is None:
            return True
        parts = (part for type_ in op.operand_types for part in types_within(type_))
        floats = {part.element_type for part in parts if is_tensor_type(part)} & FLOATS
        return bool(floats) and floats <= {self.source, self.mixed}

    def mixed_type(self, type_: Attribute) -> Attribute:
        """A type with fewer bits, where that is asked for."""
        return with_floats(type_, self.mixed, self.source)

    def narrow(self, value: SSAValue) -> Attribute:
        """The type in which a converted operator takes a value."""
        kept = self.constants_only and not isinstance(value.owner, ConstantOp)
        return value.type if kept else self.mixed_type(value.type)

    def is_ready_for(self, op: RelayOp) -> bool:
        """Whether an operator that follows its operands may be converted for them."""
        if self.widens:
            return any(operand in self.original for operand in op.operands)
        return all(self.is_ready(operand) for operand in op.operands)

    def is_ready(self, value: SSAValue) -> bool:
        """Whether an operator that follows its operands may be converted for one."""
        if isinstance(value, BlockArgument) or isinstance(value.owner, ConstantOp | LetOp):
            return True
        return same_type(self.mixed_type(value.type), value.type)

    def convert(self, op: RelayOp) -> bool:
        """Lets an operator compute with fewer bits. Returns whether it takes them."""
        before = tuple(op.operands), dict(op.properties)
        op.operands = [self.cast(each, self.narrow(each)) for each in op.operands]
        op.properties.update(self.dtypes(op))
        try:
            type_ = with_dtypes(op.results[0].type, op.infer_type())
        except VerifyException:
            op.operands, op.properties = before
            return False
        self.retype(op.results[0], type_)
        result = op.results[0]
        is_done = before == (tuple(op.operands), dict(op.properties)) or self.constants_only
        if self.sums != self.mixed and "out_dtype" in self.dtypes(op) and not is_done:
            narrow = self.cast(result, with_floats(type_, self.mixed))
            result.replace_uses_with_if(narrow, lambda use: use.operation is not narrow.owner)
            self.original[narrow] = self.original.get(result, type_)
        return True

    def dtypes(self, op: RelayOp) -> dict[str, Attribute]:
        """The properties of an operator that say what it computes in."""
        if self.widens:
            stated = {name: op.properties.get(name) for name in ("out_dtype", "dtype")}
            given: dict[str, Attribute] = {
                name: self.mixed for name, each in stated.items() if each == self.source
            }
            if given:
                return given
        name = op.name.removeprefix("relay.")
        result = op.results[0].type
        if (
            self.source is not None
            and is_tensor_type(result)
            and is_float(result.element_type)
            and result.element_type != self.source
        ):
            return {}  # A type that the program asks for.
        if name in SUMS and is_tensor_type(result) and is_float(result.element_type):
            return {"out_dtype": self.sums}
        filled = op.properties.get("dtype")
        if name in FILLED and filled is not None and is_float(filled):
            return {"dtype": self.mixed}
        return {}

    def restore(self, op: Operation) -> None:
        """Gives an operation operands of the types that it had before."""
        if any(operand in self.original for operand in op.operands):
            op.operands = [self.as_before(operand) for operand in op.operands]

    def as_before(self, value: SSAValue) -> SSAValue:
        """A value with the type that it had before."""
        return self.cast(value, self.original.get(value, value.type))

    def closure(self, op: ClosureOp) -> None:
        """What is only called, here, may give another type; recursive and polymorphic functions may not."""
        end = op.block.last_op
        assert isinstance(end, YieldOp)
        is_called = all(isinstance(u.operation, ApplyOp) and u.index == 0 for u in op.result.uses)
        type_ = op.result.type
        if is_called and not op.recursive and isinstance(type_, FnType):
            self.retype(op.result, FnType(type_.inputs, end.value.type))
        else:
            self.restore(end)

    def join(self, op: Operation, blocks: Sequence[Block]) -> None:
        """Branches that end in the same types give these."""
        self.restore(op)
        ends = [end for block in blocks if (end := block.last_op) is not None]
        types = [tuple(end.operand_types) for end in ends]
        if not all(all(map(same_type, each, types[0])) for each in types):
            for end in ends:
                self.restore(end)
        elif types:
            for result, type_ in zip(op.results, types[0], strict=True):
                self.retype(result, with_dtypes(result.type, type_))

    def loop(self, op: scf.ForOp | scf.WhileOp) -> None:
        """What loops carry has the types that it had before."""
        for each in (op, *filter(None, (region.block.last_op for region in op.regions))):
            self.restore(each)

    def end(self, op: func.ReturnOp) -> None:
        """What a function returns; its type says so where nobody has to know."""
        function = op.parent_op()
        assert isinstance(function, func.FuncOp)
        if self.keeps_results or function.sym_name.data in self.called:
            self.restore(op)
        else:
            inputs, outputs = function.function_type.inputs, function.function_type.outputs
            types = map(with_dtypes, outputs, op.operand_types)
            function.function_type = FunctionType.from_lists(list(inputs), list(types))

    def reinfer(self, op: RelayOp) -> None:
        """Gives a result the dtypes that follow from the operands."""
        (result,) = op.results
        self.retype(result, with_dtypes(result.type, op.infer_type()))

    def retype(self, value: SSAValue, type_: Attribute) -> None:
        """Gives a value another type."""
        if not same_type(value.type, type_):
            before = self.original.pop(value, value.type)
            self.original[Rewriter.replace_value_with_new_type(value, type_)] = before

    def cast(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """A value as one of another type, made where the value is: tuples after their fields, without recursion."""
        pending = [(value, type_)]
        while pending:
            each, wanted = pending.pop()
            if self.known_cast(each, wanted) is not None:
                continue
            if isinstance(wanted, TupleType):
                fields = list(zip(self.fields(each, wanted), wanted.types, strict=True))
                found = [self.known_cast(*field) for field in fields]
                missing = [field for field, new in zip(fields, found, strict=True) if new is None]
                if missing:
                    pending += [(each, wanted), *reversed(missing)]
                    continue
                new = self.insert_tuple(each, [new for new in found if new is not None])
            else:
                assert is_tensor_type(wanted) and isinstance(wanted.element_type, TypeAttribute)
                new = self.insert(CastOp(each, wanted.element_type), each)
                self.casts.setdefault(new, []).append(each)
            self.casts.setdefault(each, []).append(new)
        new = self.known_cast(value, type_)
        assert new is not None
        return new

    def known_cast(self, value: SSAValue, type_: Attribute) -> SSAValue | None:
        """A value as one of another type, where there is one."""
        if not isinstance(type_, TupleType) and not is_tensor_type(type_):
            return value  # Functions and references are what they are.
        choices = (value, *self.casts.get(value, ()))
        return next((each for each in choices if same_type(each.type, type_)), None)

    def fields(self, value: SSAValue, type_: TupleType) -> Sequence[SSAValue]:
        """The fields of a tuple, taken once."""
        if isinstance(value.owner, TupleOp):
            return value.owner.fields
        if value not in self.parts:
            # Each stands directly behind the value: the last one to be put there is the first.
            numbers = reversed(range(len(type_.types)))
            parts = [self.insert(TupleGetItemOp(value, n), value) for n in numbers]
            self.parts[value] = parts[::-1]
        return self.parts[value]

    def insert_tuple(self, value: SSAValue, fields: Sequence[SSAValue]) -> SSAValue:
        """A tuple of fields that are cast, behind the last of them."""
        behind = value if isinstance(value.owner, TupleOp) or not fields else fields[-1]
        return self.insert(TupleOp(fields), behind)

    def insert(self, op: RelayOp, value: SSAValue) -> SSAValue:
        """Puts an operation behind what computes a value."""
        source = value.owner
        if isinstance(source, Operation):
            op.location = source.location
            Rewriter.insert_op(op, InsertPoint.after(source))
        else:
            Rewriter.insert_op(op, InsertPoint.at_start(source))
        self.made.append(op)
        return op.results[0]


@dataclass(frozen=True)
class ToMixedPrecisionPass(RelayPass):
    """Lets operators compute with fewer bits."""

    name = "to-mixed-precision"

    mixed_precision_type: str = "float16"
    """What operators compute in: "float16", "bfloat16", or another floating-point type."""

    missing_op_mode: int = WARN
    """What happens to operators that no list has: 0 fails, 1 names them on stderr, 2 says nothing. Unless it fails, they count as `follow`."""

    keep_orig_output_dtype: bool = False
    """Whether functions return what they returned before."""

    accumulation_type: str = ""
    """What `out_dtype` says of sums, which are cast; by default the type that operators compute in."""

    original_type: str = ""
    """The type of operators that are converted; by default any floating-point type."""

    constants_only: bool = False
    """Whether operators take constants of the type, and all else as it is."""

    exact_constants: bool = False
    """Whether these are only constants whose numbers are the same in the type."""

    rules: str = "relay"
    """
    Whose lists: "relay"; "cpu", by which products alone take the type, or "wide", by which all operators do but those that move
    elements that have fewer bits. No operator is missing there.
    """

    always: tuple[str, ...] = ()
    """Operators that are always converted, whatever the lists say."""

    follow: tuple[str, ...] = ()
    """Operators that follow their operands."""

    never: tuple[str, ...] = ()
    """Operators that are never converted."""

    def rewrite(self, op: ModuleOp) -> None:
        mixed = self.dtype("mixed-precision-type", self.mixed_precision_type)
        sums = self.dtype("accumulation-type", self.accumulation_type or self.mixed_precision_type)
        categories = self.categories()
        is_kept = Within(keeps_body)
        ops = [each for each in walk(op, region_first=True) if not is_kept(each)]
        otherwise = OTHERWISE[self.rules]
        if otherwise is Category.FOLLOW:
            self.report_missing(ops, categories)
        called = frozenset(filter(None, map(_named_function, walk(op))))
        source = self.dtype("original-type", self.original_type) if self.original_type else None
        state = Conversion(
            mixed,
            sums,
            categories,
            self.keep_orig_output_dtype,
            called,
            source,
            self.constants_only,
            self.exact_constants,
            otherwise,
        )
        for each in ops:
            state.visit(each)
        # What was made for operators that do not take it.
        erase_unused(result for each in state.made for result in each.results)

    def dtype(self, option: str, name: str) -> TypeAttribute:
        """The type of a name. Raises PassOptionError for others than floating-point types."""
        for dtype in DTYPES:
            if is_float(dtype.type) and name in (dtype.name, str(dtype.type)):
                return dtype.type
        known = ", ".join(dtype_name(dtype.type) for dtype in DTYPES if is_float(dtype.type))
        raise PassOptionError(f"'{option}' is {name!r}, expected one of {known}")

    def categories(self) -> dict[str, Category]:
        """The category of each operator. Raises PassOptionError for names of none, and of several lists."""
        if self.rules not in RULES:
            raise PassOptionError(unknown_choice("rules", self.rules, RULES))
        changes = {category: getattr(self, category.value) for category in Category}
        for option, names in changes.items():
            require_operators(option.value, names)
        for name, count in Counter(chain.from_iterable(changes.values())).items():
            if count > 1:
                raise PassOptionError(f"{name!r} is named {count} times, expected once")
        return category_table(changes, RULES[self.rules])

    def report_missing(self, ops: Iterable[Operation], categories: dict[str, Category]) -> None:
        """Tells of operators that no list has. Raises PassFailedException where that is asked for."""
        if self.missing_op_mode not in (FAIL, WARN, IGNORE):
            raise PassOptionError(
                f"'missing-op-mode' is {self.missing_op_mode}, expected 0, 1 or 2"
            )
        names = (
            each.name.removeprefix("relay.")
            for each in ops
            if isinstance(each, RelayOp) and not isinstance(each, (*PASSING, *KEEPING))
        )
        missing = Counter(name for name in names if name not in categories)
        if not missing or self.missing_op_mode == IGNORE:
            return
        counts = ", ".join(f"{name} ({count})" for name, count in sorted(missing.items()))
        message = f"no list says how many bits these operators need: {counts}"
        if self.missing_op_mode == FAIL:
            raise PassFailedException(message)
        print(f"{self.name}: {message}", file=sys.stderr)


def _named_function(op: Operation) -> str | None:
    """The function of the module that an operation names."""
    if isinstance(op, func.CallOp):
        return op.callee.string_value()
    return op.function.string_value() if isinstance(op, GlobalVarOp) else None
