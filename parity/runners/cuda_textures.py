"""Texture and surface objects of the CUDA runtime, through CuPy."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from parity.errors import UsageError
from parity.model.texture import ADDRESS_MODES, Texture

_KINDS = {"i": "cudaChannelFormatKindSigned", "u": "cudaChannelFormatKindUnsigned", "f": "cudaChannelFormatKindFloat"}
_LAYERED, _SURFACE = 1, 2
"""cudaArrayLayered and cudaArraySurfaceLoadStore of driver_types.h, which CuPy does not name."""


class CudaTexture:
    """A texture or surface object with a copy of a tensor at an address of device memory.

    ``value`` is the argument of a kernel. ``store`` copies a surface back to the tensor.

    Raises:
        UsageError: CuPy cannot create such a texture.
    """

    def __init__(self, texture: Texture, address: int) -> None:
        cupy: Any = importlib.import_module("cupy")
        module: Any = importlib.import_module("cupy.cuda.texture")
        runtime, spec = cupy.cuda.runtime, texture.spec
        if spec.layered and spec.dims == 1:
            raise UsageError(
                f"{spec.tensor}: the runner cuda has no layered textures of one dim; use the runner emulated"
            )
        width, *rest = texture.extents
        shape = (*([texture.layers] if spec.layered else []), *rest[::-1], width * texture.channels)
        nbytes = int(np.prod(shape)) * texture.dtype.itemsize
        memory = cupy.cuda.UnownedMemory(address, nbytes, self)
        self._tensor = cupy.ndarray(shape, texture.dtype.numpy, cupy.cuda.MemoryPointer(memory, 0))
        bits = [8 * texture.dtype.itemsize if k < texture.channels else 0 for k in range(4)]
        form = module.ChannelFormatDescriptor(*bits, getattr(runtime, _KINDS[texture.dtype.numpy.kind]))
        self._array: Any = None
        if spec.memory:
            content = self._tensor.copy()  # textures have a larger alignment than buffers
            source = module.ResourceDescriptor(
                runtime.cudaResourceTypeLinear, arr=content, chDesc=form, sizeInBytes=nbytes
            )
        else:
            height, depth = (*rest, 0, 0)[:2]
            flags = _SURFACE * spec.surface | _LAYERED * spec.layered
            self._array = module.CUDAarray(form, width, height, texture.layers or depth, flags)
            self._array.copy_from(self._tensor)
            source = module.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=self._array)
        if spec.surface:
            self._object = module.SurfaceObject(source)
        else:
            normalized = spec.normalized_float and not texture.dtype.is_float
            # An array of one dim is filtered along y as well, where a border would halve its values.
            used = [spec.address] * spec.dims + ["clamp"] * (3 - spec.dims)
            self._object = module.TextureObject(
                source,
                module.TextureDescriptor(
                    tuple(map(ADDRESS_MODES.index, used)),
                    runtime.cudaFilterModeLinear if spec.linear else runtime.cudaFilterModePoint,
                    runtime.cudaReadModeNormalizedFloat if normalized else runtime.cudaReadModeElementType,
                    normalizedCoords=int(spec.normalized),
                ),
            )
        self.value = int(self._object.ptr)

    def store(self) -> None:
        """Copy the texels of a surface to the tensor."""
        if self._array is not None:
            self._array.copy_to(self._tensor)
