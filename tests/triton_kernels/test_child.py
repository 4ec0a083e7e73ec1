"""Which launch of host code ``parity init --triton`` chooses. Triton is not needed."""

from __future__ import annotations

from types import SimpleNamespace

from parity.triton_kernels import child


def test_launch_that_needs_too_much_shared_memory_is_tried_without_pipelining(tmp_path, monkeypatch):
    launch = {"kernel": {"options": {"num_stages": 4}}}
    monkeypatch.setattr(child, "made_launches", lambda *_: iter([launch]))
    monkeypatch.setattr(child, "compiled", lambda kernel, *_: {"shared": 30_000 * kernel["options"]["num_stages"]})
    monkeypatch.setattr(child, "set_driver", lambda _: None)
    where = SimpleNamespace(arch="gfx942")

    def stages(*shared):
        """The pipelining of the launch that is chosen for targets with so much shared memory."""
        found = child.described({"kernels": []}, tmp_path, [(where, None, each) for each in shared], tmp_path)
        return [each["kernel"]["options"]["num_stages"] for each in found["launches"]] or found["error"]

    assert stages(65_536, 65_536) == [1] and stages(163_840, 163_840) == [4]
    assert stages(163_840, 163_840, 65_536) == [1] and stages(163_840, 163_840, 20_000) == [4]
    assert stages(20_000, 65_536) == "the kernel needs 30000 bytes of shared memory; gfx942 has 20000"


def test_launches_with_larger_tensors_are_not_compiled(tmp_path, monkeypatch):
    launches = [{"kernel": {"options": {"num_stages": 3}}, "larger": each} for each in (False, True, True, False)]
    compiled = []
    monkeypatch.setattr(child, "made_launches", lambda *_: iter(launches))
    monkeypatch.setattr(child, "compiled", lambda kernel, *_: compiled.append(kernel) or {"shared": 0})
    monkeypatch.setattr(child, "set_driver", lambda _: None)
    targets = [(SimpleNamespace(arch="gfx942"), None, 1)] * 2
    found = child.described({"kernels": []}, tmp_path, targets, tmp_path)
    assert len(compiled) == len(targets)
    assert [each["kernel"]["options"]["num_stages"] for each in found["launches"]] == [3, 1, 1]


def test_option_is_the_value_of_a_parameter_of_the_same_name(tmp_path):
    function = SimpleNamespace(arg_names=["x", "num_stages"], params=[])
    loader = SimpleNamespace(module=lambda _: SimpleNamespace(kernel=function))
    asked = {"file": "a.py", "function": "kernel", "options": {"num_stages": 2, "num_warps": 4}, "constants": {}}
    found, kernel = child.jit_function({**asked, "signature": ["*fp32"]}, tmp_path, loader)
    assert found is function and kernel["constants"] == {"num_stages": 2}
