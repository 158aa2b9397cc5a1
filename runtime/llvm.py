"""What needs LLVM: textual LLVM IR to object files, and object files into this process."""

import re
from collections.abc import Iterable, Sequence

from llvmlite import binding

from xrelay.runtime.errors import ModelError
from xrelay.runtime.machine import Address, Machine

INTRINSIC = re.compile(r"^(?:; Function Attrs: .*\n)?declare .*@(llvm\.[\w.]+)\(.*", re.MULTILINE)
"""The declaration of a function of LLVM, with a comment that names its attributes."""
ATTRIBUTES = re.compile(r"^attributes #(\d+) = .*\n?", re.MULTILINE)
"""A list of attributes."""


def code_generator(machine: Machine, *, optimization: int = 2) -> binding.TargetMachine:
    """
    LLVM's code generator for a processor; the code is position independent. `optimization` is LLVM's level, 0 to 3.

    Raises ModelError when LLVM does not know the processor.
    """
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()
    try:
        target = binding.Target.from_triple(machine.triple)
    except RuntimeError as error:
        raise ModelError(f"LLVM does not know the target {machine.triple}: {error}") from error
    # The kernels are finished: code generation alone, no passes over the IR.
    return target.create_target_machine(
        cpu=machine.cpu,
        features=machine.features,
        opt=optimization,
        reloc="pic",
        codemodel="small",
    )


def linked(parts: Sequence[str], hidden: Iterable[str]) -> binding.ModuleRef:
    """
    A model's modules, as text, and its run-time support as one, in which the functions `hidden` are internal.

    Raises ModelError when LLVM does not accept it.
    """
    try:
        module = binding.parse_assembly(parts[0])
        for each in parts[1:]:
            module.link_in(binding.parse_assembly(each))
        names = set(hidden)
        for function in module.functions:
            if function.name in names and not function.is_declaration:
                function.linkage = "internal"
        module.verify()
    except RuntimeError as error:
        raise ModelError(f"LLVM does not accept the generated code: {error}") from error
    return module


def portable_text(module: binding.ModuleRef) -> str:
    """
    The text of a module, without the attributes of LLVM's own functions: each version of LLVM knows those of its
    functions, and refuses attributes that only newer ones have.
    """

    def plain(match: re.Match[str]) -> str:
        type_ = module.get_function(match[1]).global_value_type
        result, parameters = str(type_).split(" (", 1)
        return f"declare {result} @{match[1]}({parameters}"

    text = INTRINSIC.sub(plain, str(module))
    used = set(re.findall(r"^(?!attributes ).* #(\d+)", text, re.MULTILINE))
    return ATTRIBUTES.sub(lambda match: match[0] if match[1] in used else "", text)


def emit_object(module: binding.ModuleRef, machine: Machine, assembly: Sequence[str] = ()) -> bytes:
    """
    The object file of a module, with lines of assembly added to it.

    Raises ModelError when LLVM does not accept them.
    """
    generator = code_generator(machine)
    try:
        if assembly:
            lines = [line.replace("\\", "\\5C").replace('"', "\\22") for line in assembly]
            text = "\n".join(f'module asm "{line}"' for line in lines)
            module.link_in(binding.parse_assembly(f'target triple = "{machine.triple}"\n{text}'))
        return generator.emit_object(module)
    except RuntimeError as error:
        raise ModelError(f"LLVM does not accept the generated code: {error}") from error


def load_object(code: bytes, machine: Machine) -> Address:
    """The addresses of the functions of an object file, which LLVM brings into this process."""
    backing = binding.parse_assembly(f'target triple = "{machine.triple}"')
    engine = binding.create_mcjit_compiler(backing, code_generator(machine))
    engine.add_object_file(binding.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine.get_function_address
