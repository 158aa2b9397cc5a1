"""The work of passes grows no faster than the program."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from work import calls_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xrelay.deep import with_deep_stack
from xrelay.frontends.relay_text import read_relay_text
from xrelay.lowering.program.convert_relay_to_kernels import ConvertRelayToKernelsPass
from xrelay.transforms.extract.extract_fused_functions import ExtractFusedFunctionsPass
from xrelay.transforms.functional.defunctionalization import DefunctionalizationPass
from xrelay.transforms.functional.lambda_lift import LambdaLiftPass
from xrelay.transforms.functional.to_cps import ToCpsPass
from xrelay.transforms.memory.annotate_used_memory import AnnotateUsedMemoryPass
from xrelay.transforms.outline_default_regions import OutlineDefaultRegionsPass
from xrelay.transforms.promote_references import PromoteReferencesPass

T = "Tensor[(2), float32]"


def row(count: int) -> str:
    """Operators in a row."""
    lines = [
        f"%{i} = {('exp', 'tanh')[i % 2]}({f'%{i - 1}' if i else '%x'});" for i in range(count)
    ]
    return f"def @main(%x: {T}) {{ {' '.join(lines)} %{count - 1} }}"


def pairs(count: int) -> str:
    """Tuples of twice the one before: one of 2**count tensors."""
    lines = [f"%{i} = (%{i - 1}, %{i - 1});" for i in range(1, count)]
    return (
        f"def @main(%x: {T}) {{ %0 = (%x, %x); {' '.join(lines)} exp(%{count - 1}{'.0' * count}) }}"
    )


def pair_of_results(count: int) -> str:
    """A tuple of very many tensors that an operator takes, and which are results of another one."""
    lines = [f"%{i} = (%{i - 1}, %{i - 1});" for i in range(1, count)]
    return (
        f"def @main(%x: {T}, %c: bool) {{ let %y = exp(%x); %0 = (%y, %y); {' '.join(lines)} "
        f"if (%c) {{ %{count - 1}{'.0' * count} }} else {{ %x }} }}"
    )


def chain(count: int) -> str:
    """Tuples in each other, of each of which an operator uses a field."""
    lines = [f"%{i} = (%{i - 1}, %x);" for i in range(1, count)]
    lines += [f"%{count + i} = exp(%{i}.1);" for i in range(count)]
    fields = ", ".join(f"%{count + i}" for i in range(count))
    return f"def @main(%x: {T}) {{ %0 = (%x, %x); {' '.join(lines)} ({fields}) }}"


def calls(count: int) -> str:
    """Calls of a function, and branches, in a row."""
    lines = [
        f"let %v{i + 1} = if (%c) {{ @f(%v{i}) }} else {{ %v{i} }};"
        if i % 2
        else f"let %v{i + 1} = @f(%v{i});"
        for i in range(count)
    ]
    return (
        f"def @f(%x: {T}) -> {T} {{ exp(%x) }}\n"
        f"def @main(%x: {T}, %c: bool) -> {T} {{ let %v0 = exp(%x); {' '.join(lines)} %v{count} }}"
    )


def literals(count: int) -> str:
    """Function values, each of which uses what the one before gave."""
    lines = [
        f"let %f{i} = fn (%a: {T}) -> {T} {{ add(%a, %v{i}) }}; let %v{i + 1} = %f{i}(%x);"
        for i in range(count)
    ]
    return f"def @main(%x: {T}) -> {T} {{ let %v0 = exp(%x); {' '.join(lines)} %v{count} }}"


def scaled(count: int) -> str:
    """Products with different numbers, none of which fuses with another."""
    lines = [f"let %v{i + 1} = multiply(%v{i}, {i + 2}f);" for i in range(count)]
    return f"def @main(%v0: {T}) {{ {' '.join(lines)} %v{count} }}"


@dataclass(frozen=True)
class Growth:
    """A pass, and programs of a size."""

    step: ModulePass
    program: Callable[[int], str]

    def __str__(self) -> str:
        return f"{self.step.name} of {self.program.__name__}"

    def work(self, size: int) -> int:
        """What the pass does in a program."""
        module: ModuleOp = with_deep_stack(lambda: read_relay_text(self.program(size)))
        return with_deep_stack(lambda: calls_of(lambda: self.step.apply(Context(), module)))


GROWTH = (
    Growth(AnnotateUsedMemoryPass(), pairs),
    Growth(ConvertRelayToKernelsPass(target="x86-64"), row),
    Growth(DefunctionalizationPass(), literals),
    Growth(DefunctionalizationPass(), pairs),
    Growth(ExtractFusedFunctionsPass(), row),
    Growth(ExtractFusedFunctionsPass(), scaled),
    Growth(LambdaLiftPass(), literals),
    Growth(LambdaLiftPass(), pairs),
    Growth(OutlineDefaultRegionsPass(), calls),
    Growth(OutlineDefaultRegionsPass(), chain),
    Growth(OutlineDefaultRegionsPass(), pair_of_results),
    Growth(OutlineDefaultRegionsPass(), pairs),
    Growth(PromoteReferencesPass(), pairs),
    Growth(ToCpsPass(), calls),
    Growth(ToCpsPass(), literals),
    Growth(ToCpsPass(), pairs),
)


@pytest.mark.parametrize("growth", GROWTH, ids=str)
def test_work_is_linear_in_the_size(growth: Growth) -> None:
    growth.work(2)
    small, medium, large = map(growth.work, (20, 40, 80))
    # With work for each pair of operations it would be four times as much.
    assert large - medium < 2.2 * (medium - small)
