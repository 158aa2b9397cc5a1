"""`xrelay.load`: models that were saved as shared libraries."""

from __future__ import annotations

from pathlib import Path

from xrelay.runtime.arguments import few, path_argument
from xrelay.runtime.dimensions.functions import entry_name, programs_name
from xrelay.runtime.dimensions.interface import OpenInterface, not_served
from xrelay.runtime.dynamic import DynamicModel, DynamicSignature
from xrelay.runtime.errors import ModelError
from xrelay.runtime.executor import Executor
from xrelay.runtime.layouts import ROW_MAJOR, Layouts
from xrelay.runtime.library import LoadedLibrary
from xrelay.runtime.model import Model
from xrelay.runtime.signature import InputValue, Known, Signature, told_by


def load(path: str | Path) -> Model | DynamicModel:
    """
    A model that `Model.save` or `DynamicModel.save` wrote as a shared library. One for many lengths runs those that
    its programs serve.

    The library is machine code and runs with your rights: load only files that you trust.

    Raises ModelError for anything else.
    """
    path = path_argument("path", path, ModelError)
    if path.suffix == ".o":
        raise ModelError(
            f"'{path}' is an object file, which is for linking; expected a shared library, which "
            "Model.save('NAME.so') writes"
        )
    library = LoadedLibrary(path)
    interface = OpenInterface.from_json(library.metadata)
    if interface is not None:
        return _dynamic_model(interface, library)
    signature = Signature.from_json(library.metadata)
    constants = library.address(f"{signature.name}_constants")
    return Model(signature, library.address, constants, (library,), None)


def _dynamic_model(interface: OpenInterface, library: LoadedLibrary) -> DynamicModel:
    """The model on the programs of a library."""
    name, constants = interface.name, library.address(f"{interface.name}_constants")

    def address(symbol: str) -> int:
        # What a program alone calls `<name>_run` takes a table and an entry here.
        return library.address(programs_name(name) + symbol.removeprefix(name))

    programs: list[Model] = []
    for number, signature in enumerate(interface.programs):
        entry = library.address(entry_name(name, number))
        executor = Executor(signature, address, constants, library, entry)
        programs.append(Model(signature, address, constants, (library,), None, executor))

    def program_for(shapes: dict[str, Known], layouts: Layouts) -> Model | None:
        if layouts != ROW_MAJOR:
            raise ModelError(
                f"the file of model '{name}' has programs for C-contiguous arrays apart; parts of larger arrays need the "
                "model's source"
            )
        given = {each for each, known in shapes.items() if isinstance(known, InputValue)}
        if given != set(interface.values):
            raise ModelError(
                f"elements are given of {few(map(repr, sorted(given)))}; the file of model '{name}' has programs "
                f"for those of {few(map(repr, interface.values))}"
            )
        known = told_by(shapes)
        found = (program.at(known) for program in programs)
        return next((each for each in found if each is not None), None)

    def program_or_error(shapes: dict[str, Known], layouts: Layouts) -> Model:
        found = program_for(shapes, layouts)
        if found is not None:
            return found
        raise not_served(interface, told_by(shapes))

    return DynamicModel(
        DynamicSignature(name, interface.inputs, interface.outputs),
        program_or_error,
        values=interface.values,
        for_many=program_for,
        ranges=interface.ranges,
    )
