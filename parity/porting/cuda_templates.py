"""Compiles a CUDA source together with kernel templates that its host code does not launch."""

from __future__ import annotations

import re
from collections.abc import Sequence

from parity.compilers.errors import CompileError
from parity.compilers.nvcc import CudaOutputs, compile_module
from parity.compilers.targets import Target
from parity.compilers.unit import Unit
from parity.model.code_object import CodeObject
from parity.porting.kernel_templates import INSTANTIATIONS, Instantiation, instantiations

_REFUSED = re.compile(rf"^{re.escape(INSTANTIATIONS)}\((\d+)\): error", re.MULTILINE)


def compile_with_templates(unit: Unit, outputs: CudaOutputs, target: Target, kernels: Sequence[str]) -> CodeObject:
    """Compile a source, and add those templates with arguments in ``kernels`` that it does not instantiate itself.

    A second file includes the source and instantiates them. Templates that the source does not have are omitted.

    Raises:
        CompileError, MissingTool: as ``compile_module``.
    """
    code = compile_module(unit, outputs, target)
    wanted = [Instantiation((), name) for name in kernels if code.symbol(name) not in code.kernels]
    main = outputs.ptx.with_name(f"{unit.main.stem}-kernels.cu")
    while wanted:
        main.write_text(f'#include "{unit.main.absolute()}"\n{instantiations(wanted)}')
        try:
            return compile_module(unit, outputs, target, main=main)
        except CompileError as error:
            refused = {int(line) - 1 for line in _REFUSED.findall(error.log)}
            if not refused:
                raise
            wanted = [each for i, each in enumerate(wanted) if i not in refused]
        finally:
            main.unlink()
    return code
