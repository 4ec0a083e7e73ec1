"""Executes compiled GPU code on the CPU, with checks of every memory access.

* ``amdgpu`` translates AMD listings and ``ptx`` translates PTX to C++; ``language`` is their common interface.
* ``programs`` and ``jit`` compile and cache kernels, as compiled or as threaded code (``threaded_code``).
* ``device`` is the emulated GPU, with its ``memory``, ``variables`` and ``trace``; ``fault_report`` decodes ``faults``.
* ``runtime`` is the C++ that kernels call: ``workgroups.cpp`` (launches, barriers), ``memory.cpp`` (accesses),
  ``tracing.cpp`` and ``warps.cpp`` (races), ``faults.cpp``, ``requests.cpp`` (printf), ``matrix.cpp``,
  ``functions.cpp`` (long functions), ``heap.cpp`` (malloc), ``threaded.cpp`` and ``ptx.cpp``. ``runtime_headers``
  reads its constants and structs.
"""
