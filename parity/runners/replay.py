"""The runner ``recorded``: replays a recording, so that a machine without a device has the device's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from parity.errors import UsageError
from parity.model.code_object import CodeObject
from parity.model.launch import Buffer, Fault, Launch, Outcome
from parity.reference.expected import Vendor
from parity.runners.base import Evidence, Probe, Session
from parity.runners.recording_file import RecordedCase, Recording, launch_digest, read_recording


class ReplayRunner:
    """Replays a recording file. A launch gets its recorded outcome if kernel, arguments and inputs are identical.

    Raises:
        UsageError: The file is not a valid recording.
    """

    name = "recorded"
    evidence = Evidence.RECORDED
    vendor: Vendor = "cuda"

    def __init__(self, file: str = "") -> None:
        self._recording = read_recording(Path(file)) if file else None
        if self._recording:
            self.vendor = self._recording.head["vendor"]

    @property
    def recording(self) -> Recording:
        """The recording.

        Raises:
            UsageError: The runner was created without a file.
        """
        if self._recording is None:
            raise UsageError("the runner 'recorded' needs a file: --runner recorded=FILE")
        return self._recording

    def probe(self) -> Probe:
        if self._recording is None:
            return Probe(False, "it replays a file, and no file is given", "use --runner recorded=FILE")
        if not self._recording.cases:
            return Probe(False, "the recording has no case", "record again, and check the output of parity record")
        return Probe(True)

    def targets(self) -> tuple[str, ...]:
        return self._recording.targets if self._recording else ()

    def describe(self) -> dict[str, str]:
        """Describe the device that produced the values, and its software."""
        return dict(self.recording.head["device"])

    def open(self, target: str, *, checked: bool = True) -> Session:
        return ReplaySession([case for case in self.recording.cases if case.target == target])


class ReplaySession:
    """The recorded launches of one target, by digest."""

    def __init__(self, cases: Sequence[RecordedCase]) -> None:
        self._cases = {case.launch: case for case in cases}

    def prepare(self, code: CodeObject, kernels: Sequence[str]) -> None:
        """Do nothing: recorded kernels are not executed."""

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Return the recorded outcome. A launch that was not recorded gets the fault "not recorded"."""
        case = self._cases.get(launch_digest(launch, buffers))
        if case is None:
            message = f"the recording has no launch {launch} on these inputs"
            return Outcome.untouched(buffers, Fault("not recorded", message))
        return case.outcome(buffers)
