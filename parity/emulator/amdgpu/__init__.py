"""Translates AMDGPU listings to C++ and executes them.

* ``listing``, ``data_sections``: parse the listing of a code object.
* ``codegen`` (compiled code) and ``threaded`` (threaded code): translate a kernel.
* ``instructions``: dispatches an instruction to the module of its kind:
    ``alu`` (with the table ``isa.csv``), ``control_flow`` (branches, calls, ``s_barrier``),
    ``cross_lane`` (``v_readlane_b32``, ``ds_bpermute_b32``), ``memory_instructions``, ``matrix``
    and ``indexed``. ``operands``, ``dpp`` and ``sdwa`` read operands and write results.
* ``language``, ``kernarg``, ``device``: what an emulated AMD GPU needs for a launch.
* ``shadow``, ``approximate``: roundings and approximate instructions.
"""
