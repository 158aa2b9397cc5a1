"""
`outline-compiler-functions`: function values for compilers become functions of the module.

    %f = relay.closure {Compiler = "dnnl", global_symbol = "g"} …       %0 = func.call @g(%x)
    %0 = relay.apply %f(%x)                                     ──►     func.func private @g …

The function is named by its attribute `global_symbol`; without one by the compiler and a number. Two
equal functions of one name become one function. `inline` is the opposite.

Leaves alone: closures without `Compiler`, recursive ones, and those with type parameters.

Source: Relay's OutlineCompilerFunctions (`…WithExistingGlobalSymbols`).
"""

from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.ir import OpResult
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.names import module_symbols, operation_text, sanitized, unused_name
from xrelay.analysis.facts.nesting import Nesting, block_of
from xrelay.analysis.facts.pattern_walker import PatternWalker
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import ApplyOp, ClosureOp, GlobalVarOp
from xrelay.transforms.rules.inlining import compiler_of


def check_closed(op: ClosureOp) -> None:
    """Refuses a function that uses values from outside."""
    inside = Nesting.of(op)
    for inner in walk(op.body):
        for value in inner.operands:
            if block_of(value) not in inside:
                what = operation_text(value.op) if isinstance(value, OpResult) else "a parameter"
                raise DiagnosticException(
                    f"{operation_text(inner)} in a function for compiler '{compiler_of(op)}' uses {what} "
                    "from outside of the function"
                )


@dataclass(frozen=True)
class OutlineClosure(RewritePattern):
    """A closure becomes a function of the module."""

    module: ModuleOp
    compiler: str
    symbols: set[str]
    made: dict[str, func.FuncOp] = field(default_factory=dict[str, func.FuncOp])

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ClosureOp, rewriter: PatternRewriter, /) -> None:
        compiler = compiler_of(op)
        if compiler is None or self.compiler not in ("", compiler):
            return
        if op.recursive is not None or op.type_params is not None:
            return
        check_closed(op)
        function = self.function(op, compiler)
        name = function.sym_name.data
        for use in tuple(op.result.uses):
            user = use.operation
            if isinstance(user, ApplyOp) and use.index == 0:
                call = func.CallOp(name, user.args, [user.result.type])
                call.location = user.location
                rewriter.replace(user, (call,))
            else:
                reference = GlobalVarOp(name, op.result.type)
                rewriter.insert(reference)
                user.operands[use.index] = reference.result
        rewriter.erase(op)

    def function(self, op: ClosureOp, compiler: str) -> func.FuncOp:
        """The function of the module for a closure."""
        body = op.body.clone()
        end = body.block.last_op
        assert end is not None
        returned = func.ReturnOp(*end.operands)
        Rewriter.replace_op(end, returned)
        symbol = op.attributes.get("global_symbol")
        if isinstance(symbol, StringAttr):
            name = symbol.data
        else:
            name = unused_name(sanitized(f"tvmgen_{compiler}_0"), self.symbols)
        type_ = FunctionType.from_lists(body.block.arg_types, [returned.operands[0].type])
        function = func.FuncOp(name, type_, body, "private")
        function.location = op.location
        function.attributes.update(op.attributes)
        function.attributes["global_symbol"] = StringAttr(name)
        if name not in self.symbols:
            self.symbols.add(name)
            self.made[name] = function
            return function
        known = self.made.get(name) or SymbolTable.lookup_symbol(self.module, name)
        if not isinstance(known, func.FuncOp) or not known.is_structurally_equivalent(function):
            raise DiagnosticException(
                f"a function for compiler '{compiler}' has the global_symbol {name}, which the "
                "module has for another one"
            )
        return known


@dataclass(frozen=True)
class OutlineCompilerFunctionsPass(RelayPass):
    """Makes functions of the module of function values for compilers."""

    name = "outline-compiler-functions"

    compiler: str = ""
    """
    The compiler whose functions are outlined; all when none is named. One of which the program has none is no
    mistake: it may take nothing of this program.
    """

    def rewrite(self, op: ModuleOp) -> None:
        outline = OutlineClosure(op, self.compiler, module_symbols(op))
        PatternWalker(outline, apply_recursively=False).rewrite_module(op)
        op.body.block.add_ops(outline.made.values())
