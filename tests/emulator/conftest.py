"""Fixtures: small HIP kernels, compiled once by the real compiler and executed by the emulator."""

import functools
from pathlib import Path

import pytest
from array_runs import Run

from parity.build.modules import build
from parity.emulator.amdgpu.device import AmdgpuDevice

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def translated(cache):
    """Return the code objects of a module of ``kernels`` by target; builds and translates each on first use."""

    class Codes(dict):
        def __init__(self, module):
            self.module = module

        def __missing__(self, target):
            (built,) = build(HERE / "kernels", [self.module], [target], cache=cache)
            assert built.error is None, built.error
            AmdgpuDevice(cache=cache, traced=True).prepare(built.code_object)
            return self.setdefault(target, built.code_object)

    return functools.cache(Codes)


@pytest.fixture(scope="session")
def code(cache):
    (built,) = build(HERE / "kernels", ["small"], ["gfx1100"], cache=cache)
    assert built.error is None, built.error
    return built.code_object


@pytest.fixture(scope="session")
def prepared(code, cache):
    for traced in (False, True):
        AmdgpuDevice(cache=cache, traced=traced).prepare(code)
    return code


@pytest.fixture(params=[False, True], ids=["compiled", "threaded"])
def device(request, cache, prepared):
    return AmdgpuDevice(cache=cache, traced=request.param, instruction_budget=5_000_000)


@pytest.fixture
def run(device, code):
    return Run(device, code)
