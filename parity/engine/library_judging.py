"""Judges one case of a library: computes its operation, and compares the output with the reference."""

from __future__ import annotations

import traceback
from dataclasses import replace

import numpy as np

from parity.compare.comparison import check_unmodified, compare
from parity.compare.verdict import Status, Verdict
from parity.engine.checked_case import NO_REFERENCE, CheckedCase, wrong_inputs
from parity.errors import Unsupported
from parity.model.case import Case
from parity.model.dtypes import Array
from parity.op import Call
from parity.runners import OpSession, Vendor


def compute_and_judge(case: Case, call: Call, library: OpSession, vendor: Vendor) -> CheckedCase:
    """Compute a case with a library, and judge its output and that it left its inputs alone."""
    if call.references is None:
        detail = "the op has no reference, and a library is not judged by CUDA's kernel"
        return CheckedCase(case, Verdict(Status.NOT_JUDGED, NO_REFERENCE, detail=detail))
    if len(call.outputs) > 1:
        reason = f"the op has {len(call.outputs)} outputs, and a library computes one"
        return CheckedCase(case, Verdict(Status.UNSUPPORTED, "unsupported", detail=reason))
    before = {name: buffer.data.copy() for name, buffer in call.buffers.items()}
    expected = call.expected()
    try:
        with np.errstate(all="ignore"):
            output = np.asarray(library.compute(call.computation))
    except Unsupported as reason:
        return CheckedCase(case, Verdict(Status.UNSUPPORTED, "unsupported", detail=str(reason)))
    except MemoryError:
        raise
    except Exception as error:
        own = error.__traceback__ and error.__traceback__.tb_next  # drop the frame of this function
        detail = "".join(traceback.format_exception(type(error), error, own))
        return CheckedCase(case, Verdict(Status.ERROR, "error", detail=detail))
    finally:
        changed = [_written(name, before[name], buffer.data) for name, buffer in call.buffers.items()]
        for name, buffer in call.buffers.items():
            buffer.data[...] = before[name]  # other columns use the same buffers
    verdict = next(filter(None, changed), None) or _wrong_type(call, output) or compare(expected, output, vendor=vendor)
    return CheckedCase(
        case, verdict, "", wrong_inputs(call, verdict), outputs={call.output: output}, expected={call.output: expected}
    )


def _written(name: str, before: Array, after: Array) -> Verdict | None:
    modified = check_unmodified(name, before, after)
    return modified and replace(modified, detail=f"the library wrote to the memory of {name}, which must not change")


def _wrong_type(call: Call, output: Array) -> Verdict | None:
    """Return a failure if the output does not have the requested dtype and shape, else None."""
    asked = call.computation
    for kind, got, wanted in (("dtype", output.dtype, asked.dtype.numpy), ("shape", output.shape, asked.shape)):
        if got != wanted:
            return Verdict(Status.FAIL, kind, detail=f"the output has the {kind} {got} instead of {wanted}")
    return None
