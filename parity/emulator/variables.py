"""The variables of code objects in the memory of a device."""

from __future__ import annotations

from parity.emulator.image import Image
from parity.emulator.language import Language
from parity.emulator.memory import Allocation, DeviceMemory
from parity.errors import UsageError, nearest
from parity.model.code_object import CodeObject, spelled

VARIABLES_BYTES = 1 << 20
"""Memory for variables in front of LDS. Variables of further code objects are elsewhere, and not traced."""
_BETWEEN = 256


class VariableMemory:
    """Places the data of code objects into memory, and finds their variables.

    Args:
        start: the device address of the first variable.
        end: the address after the memory for variables; images that do not fit get other memory.
    """

    def __init__(self, memory: DeviceMemory, language: Language, start: int, end: int) -> None:
        self._memory, self._language, self._next, self._end = memory, language, start, end
        self._images: dict[tuple[str, int], tuple[Image, int]] = {}
        self._contents: dict[tuple[str, int], bytes] = {}
        self._writable: dict[tuple[str, int], tuple[Allocation, ...]] = {}

    def place(self, code: CodeObject) -> tuple[Image, int]:
        """Return the data of a code object and its address; places it on the first call."""
        key = code.digest, code.copy
        if key not in self._images:
            image = self._language.image(code.listing)
            address = self._next
            following = address + -(-len(image.content) // _BETWEEN) * _BETWEEN + _BETWEEN
            if following > self._end:
                address = self._memory.reserve(len(image.content))
            else:
                self._next = following
            self._contents[key] = image.placed(address)
            self._memory.place_image(address, self._contents[key], image.writable)
            self._images[key] = image, address
        return self._images[key]

    def restore(self, code: CodeObject | None = None) -> None:
        """Reset the variables of all code objects, or of one, to their initial values."""
        for key, (image, address) in self._images.items():
            if any(image.sizes) and (code is None or key == (code.digest, code.copy)):
                self._memory.place_image(address, self._contents[key], image.writable)

    def find(self, code: CodeObject, name: str) -> Allocation:
        """Return the memory of a variable, ``__constant__`` or ``__device__``, by its name in the source.

        Raises:
            UsageError: the code object has no variable of that name.
        """
        image, address = self.place(code)
        variables = {called: each for each in image.sizes if each in image.symbols for called in (*spelled(each), each)}
        if name not in variables:
            raise UsageError(f"module {code.module!r} has no variable {name!r}{nearest(name, variables)}")
        symbol = variables[name]
        return Allocation(f"variable {name}", address + image.symbols[symbol], image.sizes[symbol])

    def writable(self, code: CodeObject) -> tuple[Allocation, ...]:
        """Return the memory of each variable that kernels may write, named by its symbol."""
        key = code.digest, code.copy
        if key not in self._writable:
            image, address = self.place(code)
            symbols = image.symbols.items() if 1 in image.writable else ()
            self._writable[key] = tuple(
                Allocation(name, address + at, image.sizes[name])
                for name, at in symbols
                if image.sizes.get(name) and image.writable[at]
            )
        return self._writable[key]

    def nearest(self, address: int, beginning: int) -> Allocation | None:
        """Return the variable that contains an address, or that ends before it.

        Returns ``None`` for an address before ``beginning`` that is not close to the data of a code object.
        """
        for image, start in sorted(self._images.values(), key=lambda placed: placed[1], reverse=True):
            last = start + len(image.content) + _BETWEEN
            if start <= address and (address < last or address >= beginning) and image.sizes:
                # Skips the compiler's own variable, which identifies a compilation.
                places = [name for name in image.sizes if name in image.symbols and not name.startswith("__hip_cuid_")]
                before = [name for name in places if start + image.symbols[name] <= address] or places
                name = max(before, key=lambda name: image.symbols[name], default="")
                return Allocation(f"variable {name}", start + image.symbols.get(name, 0), image.sizes.get(name, 0))
        return None
