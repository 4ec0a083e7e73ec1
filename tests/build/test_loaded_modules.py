"""Loading of code objects and look-up of functions."""

import threading

import pytest

from parity.build.loaded_modules import LoadedModules, MissingKernel
from parity.errors import UsageError
from parity.model.code_object import CodeObject, Kernel


def code(module, digest, *kernels):
    return CodeObject(module, "gfx1100", "", {k: Kernel(k, (), 0, 1, 1, 0, 0, 32) for k in kernels}, digest)


def recording_store():
    loaded, found = [], []

    def load(code):
        loaded.append(code.module)
        return code.module

    def find(handle, name):
        found.append((handle, name))
        return f"{handle}.{name}"

    return LoadedModules(load, find), loaded, found


UNARY = code("unary", "d1", "uexp_f32", "ulog_f32")


def test_loaded_modules_second_lookup_loads_nothing():
    store, loaded, found = recording_store()
    assert store.function(UNARY, "uexp_f32") == "unary.uexp_f32"
    assert store.function(UNARY, "ulog_f32") == "unary.ulog_f32"
    assert store.function(UNARY, "uexp_f32") == "unary.uexp_f32"
    assert loaded == ["unary"]
    assert found == [("unary", "uexp_f32"), ("unary", "ulog_f32")]
    assert (store.loads, store.lookups, len(store)) == (1, 3, 1)


def test_loaded_modules_rebuilt_module_is_loaded():
    store, loaded, _ = recording_store()
    store.function(UNARY, "uexp_f32")
    store.function(code("unary", "d2", "uexp_f32"), "uexp_f32")
    assert loaded == ["unary", "unary"]


def test_loaded_modules_missing_kernel_suggests_nearest():
    store, loaded, _ = recording_store()
    with pytest.raises(MissingKernel, match="unary has no uexp_f16; did you mean uexp_f32"):
        store.function(UNARY, "uexp_f16")
    with pytest.raises(UsageError, match="it has no kernels"):
        store.function(code("empty", "d3"), "k")
    assert loaded == []
    assert store.loads == 0


def test_loaded_modules_failed_load_is_retried():
    outcomes = iter([RuntimeError("out of memory"), "handle"])

    def load(_):
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    store = LoadedModules(load, lambda handle, name: (handle, name))
    with pytest.raises(RuntimeError):
        store.function(UNARY, "uexp_f32")
    assert store.function(UNARY, "uexp_f32") == ("handle", "uexp_f32")
    assert store.loads == 1


def test_loaded_modules_threads_share_one_load():
    store, loaded, _ = recording_store()
    threads = [threading.Thread(target=store.function, args=(UNARY, "uexp_f32")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loaded == ["unary"]
    assert store.lookups == 8
