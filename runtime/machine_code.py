"""Textual LLVM IR to machine code in this process, through llvmlite."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llvmlite import binding

from xrelay.runtime.errors import ModelError


@dataclass(frozen=True)
class Machine:
    """The processor that code is generated for, in LLVM's words."""

    triple: str
    cpu: str
    features: str

    def create(self) -> binding.TargetMachine:
        """LLVM's code generator for it; the code is position independent."""
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        binding.initialize_native_asmparser()
        try:
            target = binding.Target.from_triple(self.triple)
        except RuntimeError as error:
            raise ModelError(f"LLVM does not know the target {self.triple}: {error}") from error
        # The kernels are finished: code generation alone, no passes over the IR.
        return target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=2, reloc="pic", codemodel="small"
        )


def linked(llvm_ir: str, support: str, hidden: Iterable[str]) -> binding.ModuleRef:
    """
    A model's module and its run-time support as one, in which the functions `hidden` are internal.

    Raises ModelError when LLVM does not accept it.
    """
    try:
        module = binding.parse_assembly(llvm_ir)
        module.link_in(binding.parse_assembly(support))
        names = set(hidden)
        for function in module.functions:
            if function.name in names and not function.is_declaration:
                function.linkage = "internal"
        module.verify()
    except RuntimeError as error:
        raise ModelError(f"LLVM does not accept the generated code: {error}") from error
    return module


def emit_object(module: binding.ModuleRef, machine: Machine, assembly: Sequence[str] = ()) -> bytes:
    """
    The object file of a module, with lines of assembly added to it.

    Raises ModelError when LLVM does not accept them.
    """
    generator = machine.create()
    try:
        if assembly:
            lines = [line.replace("\\", "\\5C").replace('"', "\\22") for line in assembly]
            text = "\n".join(f'module asm "{line}"' for line in lines)
            module.link_in(binding.parse_assembly(f'target triple = "{machine.triple}"\n{text}'))
        return generator.emit_object(module)
    except RuntimeError as error:
        raise ModelError(f"LLVM does not accept the generated code: {error}") from error


def missing_features(features: Iterable[str]) -> tuple[str, ...]:
    """Those of some CPU features, in LLVM's names, that this processor lacks."""
    host = binding.get_host_cpu_features()
    return tuple(feature for feature in features if not host.get(feature))


class LoadedCode:
    """Machine code in this process. It stays valid as long as this object lives."""

    def __init__(self, code: bytes, machine: Machine):
        backing = binding.parse_assembly(f'target triple = "{machine.triple}"')
        self._engine = binding.create_mcjit_compiler(backing, machine.create())
        self._engine.add_object_file(binding.object_file.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """The address of a function that the code defines."""
        return self._engine.get_function_address(name)
