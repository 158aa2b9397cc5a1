"""
`fake-quantization-to-integer`: operators between `relay.qnn.dequantize` and `relay.qnn.quantize` compute in integers.

    %0 = relay.qnn.dequantize %x, %2.0, %0           %0 = relay.qnn.conv2d %x, %w, %0, %0, %2.0, %0.5
    %1 = relay.qnn.dequantize %w, %0.5, %0     ──►   %1 = relay.qnn.requantize %0, %1.0, %0, %3.0, %7
    %2 = relay.nn.conv2d %0, %1
    %3 = relay.qnn.quantize %2, %3.0, %7

A *region* is what a `relay.qnn.quantize` needs down to dequantized values and constants. It is rewritten as a whole, from
its inputs to its end, when every operator has a rule (`transforms/rules/quantize/operators.py`) and no rule refuses;
with `hard-fail` the pass fails where it is not. A value of which two regions know what it stands for is made once.

    products, bias_add                 sums of i32, whose scale is the product of the scales, around 0
    reshape, max_pool2d, split, …      themselves; scales of channels go where their axis goes
    relu, clip                         bounds as integers, rounded as `qnn.quantize` rounds
    add, multiply, subtract            `relay.qnn.add`, …
    minimum, maximum, concatenate      of what stands for the numbers of the region's end
    sigmoid, tanh, exp, …              `relay.qnn.sigmoid`, …
    avg_pool2d, …                      of integers of 32 bits that stand for the numbers of the region's end
    mean                               of wider integers

With `rules=cpu`, which takes no other option, operators are rewritten one by one, however far a region goes: integers
stay integers as long as an operator allows, and numbers are what ONNX says to the last step
(`transforms/rules/quantize/local.py`). Means are sums of i32 with a smaller scale (`averages.py` there), functions of bytes
that take long become tables (`lookups.py`).

With `use-qat`, operators all of whose operands are dequantized are rewritten one by one where no region is, and their
results dequantized.

Results differ by roundings: each operator rounds to integers, and what an operator that asks for them gives is rounded,
and clamped, to the integers of the region's end; sums of i32 wrap around; the largest of no elements is the least integer
in a region. Left alone, apart from what the original leaves: channels with scales of their own that an operator mixes;
constants that the integers of the other operand do not hold (factors to 1/128, others to a step); biases of integers that
are no sums of products, which would overflow or count their zero point twice; averages that count zeros where these are not
0, and those of nothing; 8-bit integers that change between signed and unsigned within the region;
bodies of `relay.fused` and `relay.composite`.

Source: Relay's FakeQuantizationToInteger, which rewrites some of these to other numbers, applies `nn.leaky_relu` twice,
cuts the bounds of `clip` off, and pads unsigned integers with signed ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.scopes import Within, keeps_body
from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnQuantizeOp
from xrelay.transforms.rules.quantize.local import CPU_RULES, end_of_integers, field_of_tuple
from xrelay.transforms.rules.quantize.lookups import look_up_functions
from xrelay.transforms.rules.quantize.moving import require_elements
from xrelay.transforms.rules.quantize.operators import MORE_RULES, RELAY_RULES
from xrelay.transforms.rules.quantize.values import (
    Affine,
    IntegerRule,
    Kept,
    Quantized,
    Site,
    dequantized,
    requantized,
)
from xrelay.transforms.rules.rewriting import Emitter, apply_rule, erase_unused, replace_and_tidy
from xrelay.transforms.rules.rule_sets import require_rules

ONE_BY_ONE = frozenset(
    f"relay.{name}"
    for name in [
        "broadcast_to",
        "clip",
        "expand_dims",
        "max",
        "maximum",
        "min",
        "minimum",
        "nn.avg_pool2d",
        "nn.batch_flatten",
        "nn.batch_matmul",
        "nn.bias_add",
        "nn.conv2d",
        "nn.conv2d_transpose",
        "nn.dense",
        "nn.depth_to_space",
        "nn.global_avg_pool2d",
        "nn.max_pool2d",
        "nn.pad",
        "nn.relu",
        "reshape",
        "split",
        "squeeze",
        "strided_slice",
        "transpose",
    ]
)
"""The operators that `use-qat` rewrites."""


@dataclass(frozen=True)
class Inputs:
    """What is known of a value from the operators that it is computed from."""

    obstacle: str | None = None
    """Why it cannot be made of integers, if an operator has no rule."""
    needs_out: bool = False
    """Whether its integers depend on what those of the region's end stand for."""


class Regions:
    """The regions of a program, and what was made of their values."""

    def __init__(self, rules: Mapping[type[Operation], IntegerRule]):
        self.rules = rules
        self.inputs: dict[SSAValue, Inputs] = {}
        """Of the values that are computed from dequantized values and constants alone."""
        self.shared: dict[SSAValue, Quantized | Kept] = {}
        """What values have become whose integers do not depend on the region."""
        self.made: list[Operation] = []

    def learn(self, op: Operation) -> None:
        """Notes what is known of the result of an operation, after its operands."""
        if isinstance(op, ConstantOp | QnnDequantizeOp):
            self.inputs[op.results[0]] = Inputs()
            return
        known = [self.inputs.get(operand) for operand in op.operands]
        found = [each for each in known if each is not None]
        if len(op.results) != 1 or not known or len(found) < len(known):
            return
        rule = self.rules.get(type(op))
        obstacles = [each.obstacle for each in found if each.obstacle is not None]
        if rule is None:
            obstacles.append(f"there is no rule for {op.name}")
        needs_out = any(each.needs_out for each in found) or (rule is not None and rule.needs_out)
        self.inputs[op.results[0]] = Inputs(obstacles[0] if obstacles else None, needs_out)

    def integers(self, root: SSAValue, site: Site) -> Quantized:
        """
        `root` made of integers, `site` the place of what depends on the region. Raises Kept, or VerifyException, where
        that is refused.
        """
        own: dict[SSAValue, Quantized] = {}
        pending = [root]
        while pending:
            value = pending[-1]
            if value in own or value in self.shared:
                pending.pop()
                continue
            op = value.owner
            assert isinstance(op, Operation)
            needed = () if isinstance(op, ConstantOp | QnnDequantizeOp) else op.operands
            missing = [each for each in needed if each not in own and each not in self.shared]
            if missing:
                pending.extend(missing)
                continue
            if self.inputs[value].needs_out:
                own[value] = self.made_of(op, own, site)
            else:
                self.shared[value] = self.made_once(op)
        return self.found(root, own)

    def found(self, value: SSAValue, own: Mapping[SSAValue, Quantized]) -> Quantized:
        """What a value has become. Raises Kept where that was refused."""
        known = own.get(value) or self.shared[value]
        if isinstance(known, Kept):
            raise known
        return known

    def made_of(self, op: Operation, own: Mapping[SSAValue, Quantized], site: Site) -> Quantized:
        """What the result of an operation becomes."""
        if isinstance(op, ConstantOp):
            return Quantized(op.result, None)
        if isinstance(op, QnnDequantizeOp):
            return dequantized(op, site.emit)
        args = [self.found(operand, own) for operand in op.operands]
        result = self.rules[type(op)].build(op, args, site)
        if result.value.name_hint is None:
            result.value.name_hint = op.results[0].name_hint
        return result

    def made_once(self, op: Operation) -> Quantized | Kept:
        """What the result of an operation becomes in all regions; it stands behind the operation."""
        site = Site(Emitter(), None)
        try:
            result = self.made_of(op, {}, site)
        except (Kept, VerifyException) as error:
            site.emit.discard()
            return error if isinstance(error, Kept) else Kept(str(error))
        self.insert(site.emit, op, InsertPoint.after(op))
        return result

    def insert(self, emit: Emitter, source: Operation, place: InsertPoint) -> None:
        """Inserts what stands for an operation."""
        new = emit.located(source)
        self.made.extend(new)
        for op in new:
            Rewriter.insert_op(op, place)
            self.learn(op)


def as_numbers(source: Quantized, emit: Emitter) -> SSAValue:
    """The numbers that integers, or a tuple of them, stand for."""
    if isinstance(source.kind, tuple):
        fields = [
            as_numbers(Quantized(emit(TupleGetItemOp(source.value, number)), kind), emit)
            for number, kind in enumerate(source.kind)
        ]
        return emit(TupleOp(fields))
    kind = source.affine
    return emit(QnnDequantizeOp(source.value, *kind.parameters, axis=kind.axis))


def rewrite_one_by_one(module: ModuleOp) -> None:
    """Computes in integers what operators do with dequantized ones, in the order of the program."""
    is_kept = Within(keeps_body)
    for op in list(walk(module)):
        if op.parent is not None and not is_kept(op) and len(op.results) == 1:
            apply_rule(_on_integers, op, PatternRewriter(op))


def _on_integers(op: Operation, emit: Emitter) -> SSAValue | None:
    """What takes the place of the result of an operator; None where it stays."""
    site = Site(emit, None)
    try:
        if isinstance(op, QnnQuantizeOp):
            return end_of_integers(op, site)
        if isinstance(op, TupleGetItemOp):
            return field_of_tuple(op)
        rule = CPU_RULES.get(type(op))
        return None if rule is None else as_numbers(rule(op, site), emit)
    except (Kept, VerifyException):
        return None


@dataclass(frozen=True)
class FakeQuantizationToIntegerPass(RelayPass):
    """Computes in integers what lies between dequantize and quantize."""

    name = "fake-quantization-to-integer"

    hard_fail: bool = False
    """Whether the pass fails where a region, or with `use-qat` an operator, cannot be rewritten."""

    use_qat: bool = False
    """Whether operators on dequantized values outside of regions are rewritten one by one."""

    optional_qnn_ops: tuple[str, ...] = ()
    """Operators whose rules are used only if they are asked for: `take`, `nn.max_pool1d`, …"""

    rules: str = "relay"
    """`relay` for regions as the original rewrites them, `cpu` for each operator with what ONNX says."""

    def rewrite(self, op: ModuleOp) -> None:
        require_rules(self.rules)
        if self.rules == "cpu":
            if self.hard_fail or self.use_qat or self.optional_qnn_ops:
                raise PassOptionError("'rules' is \"cpu\", expected no other option")
            rewrite_one_by_one(op)
            look_up_functions(op)
            return
        rules = self.rules_in_use()
        for rewrite in (self.rewrite_region, self.rewrite_operator)[: 1 + self.use_qat]:
            regions, is_kept = Regions(rules), Within(keeps_body)
            for each in list(walk(op)):
                if each.parent is None or is_kept(each):
                    continue
                if not rewrite(each, regions):
                    regions.learn(each)
            # What was made for regions that were refused later.
            erase_unused(result for each in regions.made for result in each.results)

    def rules_in_use(self) -> dict[type[Operation], IntegerRule]:
        """The rules in use. Raises PassOptionError for operators that have none."""
        more = {op.name.removeprefix("relay."): (op, rule) for op, rule in MORE_RULES.items()}
        for name in self.optional_qnn_ops:
            if name not in more:
                raise PassOptionError(
                    f"'optional-qnn-ops' has {name!r}, expected some of {', '.join(sorted(more))}"
                )
        return {**RELAY_RULES, **dict(more[name] for name in self.optional_qnn_ops)}

    def rewrite_region(self, op: Operation, regions: Regions) -> bool:
        """Rewrites the region that a quantization ends. Returns whether the operation has been replaced."""
        if not isinstance(op, QnnQuantizeOp) or op.data not in regions.inputs:
            return False
        if isinstance(op.data.owner, ConstantOp):
            return False
        out = Affine(op.output_scale, op.output_zero_point, op.axis.value.data, op.out_dtype)
        emit = Emitter()
        try:
            obstacle = regions.inputs[op.data].obstacle
            if obstacle is not None:
                raise Kept(obstacle)
            source = regions.integers(op.data, Site(emit, out))
            if not source.affine.is_near(out, source.value):
                source = requantized(emit, source, out, op.out_dtype)
            replace(op, source.value, regions, emit, InsertPoint.before(op))
        except (Kept, VerifyException) as error:
            self.refuse(op, error, emit)
            return False
        return True

    def rewrite_operator(self, op: Operation, regions: Regions) -> bool:
        """Rewrites an operator whose operands are dequantized. Returns whether it has been replaced."""
        if op.name not in ONE_BY_ONE:
            return False
        emit = Emitter()
        try:
            require_elements(op)
            for operand in op.operands:
                source = operand.owner
                if isinstance(source, Block) or operand not in regions.inputs:
                    return False
                if not isinstance(source, ConstantOp | QnnDequantizeOp):
                    raise Kept(f"{source.name} stands in front of {op.name}")
            regions.learn(op)
            behind = op.next_op
            assert behind is not None
            result = as_numbers(regions.integers(op.results[0], Site(emit, None)), emit)
            replace(op, result, regions, emit, InsertPoint.before(behind))
        except (Kept, VerifyException) as error:
            self.refuse(op, error, emit)
            return False
        return True

    def refuse(self, op: Operation, error: Exception, emit: Emitter) -> None:
        """Drops what was emitted. Raises PassFailedException with `hard-fail`."""
        emit.discard()
        if self.hard_fail:
            raise PassFailedException(f"{operation_text(op)} stays: {error}") from error


def replace(
    op: Operation, result: SSAValue, regions: Regions, emit: Emitter, place: InsertPoint
) -> None:
    """Replaces an operation and what only it used. Raises Kept for a result of another type."""
    (old,) = op.results
    if result.type != old.type:
        raise Kept(f"it has type {old.type}, integers give {result.type}")
    regions.insert(emit, op, place)
    if result.name_hint is None or result.owner in emit.ops:
        result.name_hint = old.name_hint
    replace_and_tidy(op, (), (result,), PatternRewriter(op))
