"""Turns a CUDA or HIP source as shipped into one that a compiler accepts.

Other packages import from here only. The main functions are:

* ``find_modules`` and ``closure`` find the sources of a suite, and ``Source`` describes the sources of one module.
* ``compile_as_hip`` and ``compile_as_cuda`` write a source as each compiler accepts it, and call the compiler until
  only errors in device code remain; ``Translation`` lists the changes, and ``PortError`` gives advice.
* ``after_errors`` and ``with_kernels`` list further ``Variant`` forms of a source, from the project's build files.

Each name is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.platform.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from parity.porting.build_files import Switch
    from parity.porting.compat import confirmed
    from parity.porting.conditionals import ARCH, macros_of
    from parity.porting.cuda_staging import HIP_ON_CUDA, StagedCuda, compile_as_cuda, compile_with_templates
    from parity.porting.errors import PortError
    from parity.porting.hints import build_macros, setting_for, switches_of_kernels
    from parity.porting.hipify import HELPFUL, LITERAL
    from parity.porting.include_closure import closure
    from parity.porting.includes import forget_folders, found_in, included
    from parity.porting.kernel_templates import (
        Instantiation,
        as_in_cuda,
        guess_instantiations,
        has_dependent,
        instantiations,
        kernels_of,
        parameters,
        template_arguments,
    )
    from parity.porting.python_sources import cuda_code, embeds_cuda, has_source, is_cuda_source
    from parity.porting.source_tree import SourceTree, ancestors, descendants, parse, source_of
    from parity.porting.sources import PORTED_SUFFIXES, Source, find_modules, find_ported
    from parity.porting.staging import compile_as_hip
    from parity.porting.stubs import real_libraries, stubbed_libraries
    from parity.porting.translation import Translation
    from parity.porting.translators import HIPIFIERS, HIPIFY, TranslationError, chosen_hipifier, hipifier_fingerprint
    from parity.porting.variants import COMBINABLE, Variant, after_errors, with_cuda_version, with_kernels

__all__ = [
    "ARCH", "COMBINABLE", "HELPFUL", "HIPIFIERS", "HIPIFY", "HIP_ON_CUDA", "LITERAL", "PORTED_SUFFIXES",
    "Instantiation", "PortError", "Source", "SourceTree", "StagedCuda", "Switch", "Translation", "TranslationError",
    "Variant", "after_errors", "ancestors", "as_in_cuda", "build_macros", "chosen_hipifier", "closure",
    "compile_as_cuda", "compile_as_hip", "compile_with_templates", "confirmed", "cuda_code", "descendants",
    "embeds_cuda", "find_modules", "find_ported", "forget_folders", "found_in", "guess_instantiations", "has_dependent",
    "has_source", "hipifier_fingerprint", "included", "instantiations", "is_cuda_source", "kernels_of", "macros_of",
    "parameters", "parse", "real_libraries", "setting_for", "source_of", "stubbed_libraries", "switches_of_kernels",
    "template_arguments", "with_cuda_version", "with_kernels",
]  # fmt: skip

__getattr__ = lazy_getattr(__name__, __file__)
