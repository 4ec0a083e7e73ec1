"""Reads of registers that nothing has set are faults if the result depends on them."""

import re

import numpy as np
import pytest

from parity.model.dtypes import dtype
from parity.model.launch import Buffer, Launch, Pointer
from parity.runners import runner


@pytest.fixture(scope="module")
def outcome(translated):
    def execute(kernel, target="gfx1100", first=0, block=32):
        data = np.full(block, first, np.uint32)
        launch = Launch(kernel, (1, 1, 1), (block, 1, 1), (Pointer("out"),))
        session = runner("emulated").open(target)
        return session.execute(
            translated("undefined")[target], launch, {"out": Buffer(dtype("u32"), data, writable=True)}
        )

    return execute


@pytest.mark.parametrize(
    ("kernel", "register"),
    [
        ("vector_register", "v99"),
        ("after_arithmetic", "v9[89]"),
        ("scalar_register", "s77"),
        ("trap_register", "ttmp4"),
        ("m0_register", "m0"),
        ("vcc_register", "vcc"),
        ("carry", "scc"),
        ("after_readlane", "v99"),
        ("only_one_lane", "v99"),
        ("on_one_path", "v99"),
        ("as_an_address", "v99"),
    ],
)
def test_result_from_undefined_register_is_fault_with_name_and_line(outcome, kernel, register):
    fault = outcome(kernel).fault
    assert fault and fault.kind == "never-written read"
    assert re.search(rf"register {register}, first met in .*\(undefined\.cu:\d+, ", fault.message)


@pytest.mark.parametrize("target", ["gfx90a"])
def test_result_from_undefined_accumulator_is_fault(outcome, target):
    fault = outcome("accumulator", target).fault
    assert fault and "register a9, first met in v_accvgpr_read_b32" in fault.message


@pytest.mark.parametrize(
    ("kernel", "first", "value"), [("zero_times", 0, 0), ("written_before", 0, 12), ("on_one_path", 1, 8)]
)
def test_result_that_depends_on_no_undefined_register_passes(outcome, kernel, first, value):
    found = outcome(kernel, first=first)
    assert found.fault is None
    assert set(found.buffers["out"].tolist()) == {value}


def test_wave_number_of_generation_12_is_in_trap_register(outcome):
    found = outcome("wave_number", "gfx1201", block=96)
    assert found.fault is None
    assert found.buffers["out"].tolist() == np.repeat(range(3), 32).tolist()


def test_wavefronts_of_block_have_different_slots(outcome):
    found = outcome("slot", block=512)
    assert found.buffers["out"].tolist() == (np.arange(512) // 32 // 4).tolist()
