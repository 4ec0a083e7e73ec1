"""Every PTX instruction, with all modifiers, matches an H200 bit for bit on special and random values."""

from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from marks import thorough
from sweep import BLOCK, SAMPLE, TUPLES, Recording, differences, dtype_of, forms, module, operands

from parity.compilers import ptx_code_object
from parity.compilers.targets import target
from parity.emulator.amdgpu.kernarg import pack

FORMS = sorted(forms(), key=lambda form: form.base)
BASES = {base: list(group) for base, group in groupby(FORMS, key=lambda form: form.base)}
# By default only the sample runs, because every form is compiled.
PARTS = {"sample": FORMS[::128], **BASES}
SHOWN = 5


@pytest.fixture(scope="module")
def recorded():
    return Recording.load(Path(__file__).parent / "recorded.npz").of_forms(forms())


@pytest.fixture
def device(cache):
    from parity.emulator.ptx.device import PtxDevice

    return PtxDevice(cache=cache, traced=True)


def run(device, code, form):
    device.reset()
    buffers = []
    for position, kind in enumerate(form.sources):
        words = operands(kind, position)
        buffers.append(device.allocate(words.nbytes, f"source{position}"))
        device.write(buffers[-1], words)
    outs = [device.allocate(TUPLES * dtype_of(kind).itemsize, f"result{i}") for i, kind in enumerate(form.results)]
    args = pack(code.kernels[form.kernel], [*buffers, *outs])
    device.launch(code, form.kernel, grid=(TUPLES // BLOCK, 1, 1), block=(BLOCK, 1, 1), args=args)
    return [device.read(out).view(dtype_of(kind)) for out, kind in zip(outs, form.results, strict=True)]


@pytest.mark.parametrize("part", [part if part == "sample" else thorough(part) for part in PARTS])
def test_every_form_matches_gpu(device, recorded, part):
    code = ptx_code_object.parse_ptx(module(PARTS[part]), "sweep", target("sm_90"))
    wrong = []
    for form in PARTS[part]:
        for got, (sample, checksums) in zip(run(device, code, form), recorded[form.kernel], strict=True):
            if found := differences(got, sample, checksums):
                i = found[0]
                with_these = ", ".join(f"{operands(kind, p)[i]:#x}" for p, kind in enumerate(form.sources))
                gave = f"not {sample[i]:#x}" if i < SAMPLE else "what the GPU did not in this or the next threads"
                wrong.append(f"{form}: {len(found)} differ, first thread {i} of {with_these}: {got[i]:#x}, {gave}")
    assert not wrong, "\n".join([f"{len(wrong)} results of {len(PARTS[part])} forms:", *wrong[:SHOWN]])


def test_any_changed_bit_is_detected(recorded):
    """Covers bits of the sample, and of chunks that only have checksums."""
    (form,) = (form for form in FORMS if form.text == "and.b32 %d, %a, %b")
    ((sample, checksums),) = recorded[form.kernel]
    words = operands("b32", 0) & operands("b32", 1)
    assert not differences(words, sample, checksums)
    for thread in (0, SAMPLE - 1, SAMPLE, TUPLES - 1):
        changed = words.copy()
        changed[thread] ^= 1 << 31
        assert len(differences(changed, sample, checksums)) == 1


def test_recording_of_other_forms_is_refused():
    stored = Recording.load(Path(__file__).parent / "recorded.npz")
    with pytest.raises(ValueError, match=r"record it again"):
        stored.of_forms(forms()[1:])


def test_operands_include_all_pairs_of_special_values():
    pairs = set(zip(operands("f32", 0).tolist(), operands("f32", 1).tolist(), strict=True))
    special = [
        0x00000000,
        0x80000000,
        0x00000001,
        0x7F800000,
        0xFF800000,
        0x3F800000,
        0x7FC00000,
        0x7F800001,
        0x7F7FFFFF,
    ]
    assert all((a, b) in pairs for a in special for b in special)
    assert len(np.unique(operands("f32", 0))) > TUPLES // 3
