"""How modules are built, and who follows the progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from parity.build.result import Built
from parity.compilers.compile_options import Sides


@dataclass(frozen=True)
class BuildSettings:
    """How modules are built.

    Attributes:
        sides: The compile options of each vendor, and the folder of AMD's sources if hipify does not generate them.
        hipifier: Name of the translator. The default is the value of ``$PARITY_HIPIFY``.
        kernels: Templates with arguments, by module, to instantiate whether or not host code launches them.
        chosen: The only instances of kernel templates to compile, by module. Other instances are empty kernels.
    """

    sides: Sides = field(default_factory=Sides)
    hipifier: str | None = None
    kernels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class BuildCallbacks:
    """Callbacks for a build. Worker threads call them.

    ``done`` gets each result. ``retrying`` gets a text for each source that is compiled again, as a variant.
    """

    done: Callable[[Built], None] | None = None
    retrying: Callable[[str], None] | None = None
