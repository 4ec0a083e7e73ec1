"""The hooks of ``pytest --parity``: collect and run the suite, and print the matrix in the controlling process."""

from __future__ import annotations

import functools
import io
import os
import signal
import tempfile
import threading
import time
import zlib
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import IO, Any

import pytest
from rich.console import Console
from rich.text import Text

from parity.application.run import Run, Settings
from parity.application.stored_results import RECORD
from parity.compilers.rocm import TOOLCHAINS, VARIABLE
from parity.compilers.toolchain import ROCM, as_variable
from parity.engine.case_records import CaseRecord, Column, Provenance
from parity.errors import ParityError, UsageError, nearest
from parity.op import Entry
from parity.platform.serialization import read_json
from parity.porting import HIPIFY, chosen_hipifier
from parity.report.excerpts import SourceFolders
from parity.report.failures import Reproduction
from parity.report.folder import REPORTS, output_folder, remove_files, write_reports
from parity.report.matrix import make_matrix
from parity.report.model import Matrix
from parity.report.render import summary, terminal
from parity.report.tables import terminal_width
from parity.suite.loading import find_suite
from parity.suite.settings import LAUNCHES
from parity.testing.execution import Execution
from parity.testing.items import CaseFile, KernelItem

LOCK = "parity_lock"
TERMINATED = 143
FOLDERS = {"kernels": "kernels", "hip": "hip", "cases": "cases", "known": "known_issues"}
"""The options that name a path, by argument of ``find_suite``."""


class SuitePlugin:
    """A pytest run with ``--parity``, in a single process, or in a worker or the controller of pytest-xdist."""

    execution: Execution

    def __init__(self, config: pytest.Config) -> None:
        """Find the suite and the runners.

        Raises:
            pytest.UsageError: The suite or a runner cannot be used.
        """
        self.config = config
        self._claimed = ExitStack()
        self._environment = pytest.MonkeyPatch()
        config.addinivalue_line("markers", "parity: the cases of a kernel, collected by --parity")
        try:
            self._claim_output()
            _check_choices(config)
            self._set_environment()  # before the run, whose columns depend on the versions of ROCm
            self.run = _run(config)
        except ParityError as error:
            self._environment.undo()
            raise pytest.UsageError(f"--parity: {error}") from error
        # The controller of pytest-xdist passes the lock to its workers.
        given = getattr(config, "workerinput", {}).get(LOCK)
        self._is_worker, self._lock = given is not None, Path(given) if given else None
        self._shared: IO[bytes] | None = None
        self._terminated = self._finishing = False
        self._handlers: dict[int, Any] = {}
        self._records, self._uncompiled = list[CaseRecord](), dict[tuple[str, str], str]()
        self._made_by: dict[str, str] = {}
        self._entries: dict[tuple[str, tuple[str, ...]], Entry] = {}
        self._ran: set[tuple[str, str]] = set()
        self._start = time.perf_counter()
        self._add_folder()

    def _set_environment(self) -> None:
        """Pass the compilers that the options choose on to everything that compiles."""
        option = self.config.option
        if toolchain := option.parity_toolchain:
            self._environment.setenv(VARIABLE, toolchain)
        if paths := option.parity_rocm:
            self._environment.setenv(ROCM, as_variable(paths))
        if hipifier := option.parity_hipify:
            self._environment.setenv(HIPIFY, hipifier)

    def _claim_output(self) -> None:
        """Lock the output folder, and remove the reports and the record of an earlier run."""
        option = self.config.option
        if option.parity_output and not hasattr(self.config, "workerinput"):
            folder = Path(option.parity_output)
            self._claimed.enter_context(output_folder(folder))
            if not option.collectonly:
                remove_files(folder, *REPORTS, RECORD)

    def _add_folder(self) -> None:
        """Let pytest collect the cases folder, unless the user names what to collect."""
        config, source = self.config, pytest.Config.ArgsSource
        folder = self.run.suite.cases.resolve()
        if config.args_source is source.ARGS:
            return
        if not any(folder.is_relative_to(Path(arg).resolve()) for arg in config.args if "::" not in arg):
            config.args.append(str(folder))

    def reproduction(self, column: Column | None = None) -> Reproduction:
        """Return the command that runs a case again, on one column or on all."""
        names = ("target", "runner", "toolchain", "rocm", "launches", "hipify", "kernels", "hip", "cases")
        given = {name: getattr(self.config.option, f"parity_{name}") for name in names}
        if column:
            given |= {"target": [column.target], "runner": [column.spec]}
        return Reproduction.with_options(given)

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Collect case files as kernels instead of test modules."""
        found = yield
        if file_path.suffix != ".py" or file_path.parent != self.run.suite.cases.resolve():
            return found
        if not self.run.suite.ops_in(self.run.suite.cases / file_path.name):
            return []
        file: CaseFile = CaseFile.from_parent(parent, path=file_path)
        file.suite = self
        return [file]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Build and translate before the first item; stop the workers after the last item."""
        items = [item for item in session.items if isinstance(item, KernelItem)]
        if not items or session.config.option.collectonly or session.testsfailed:
            return (yield)
        selected = [(item.entry, item.column) for item in items]
        try:
            with Execution(self.run, selected, self._lock, self._progress) as self.execution:
                self._progress("", 0, 0)
                return (yield)
        except ParityError as error:
            raise pytest.UsageError(f"--parity: {error}") from error

    def _progress(self, what: str, done: int, total: int) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter and reporter.isatty and not self._is_worker:
            reporter.rewrite(f"parity: {what} {done} of {total}" if what else "", erase=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the records of a kernel to the report, which is sent to the controller."""
        report = yield
        if isinstance(item, KernelItem) and call.when == "call":
            report.parity = item.report_data()  # type: ignore[attr-defined]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the records of a report in the process that prints the matrix."""
        sent = getattr(report, "parity", None)
        if sent is None or self._is_worker:
            return
        (op, dtypes), column = sent["entry"], tuple(sent["column"])
        entry = Entry(self.run.suite.op(op), tuple(dtypes))
        self._entries[op, entry.dtypes] = entry
        self._ran.add(column)
        if sent["error"]:
            self._uncompiled[entry.op.module, column[1]] = sent["error"]
        if sent["made_by"]:
            self._made_by[column[1]] = sent["made_by"]
        self._records += (read_json(line, CaseRecord, "a line of a record") for line in sent["records"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Let SIGTERM interrupt the run like Ctrl-C, so that CI systems get the matrix of the cases so far.

        Before this hook, pytest would ignore the exit code; after the session, there is nothing to interrupt.
        """
        self._handle(signal.SIGTERM, signal.SIG_DFL, self._terminate)

    def _handle(self, number: int, usual: Any, handler: Any) -> None:
        """Handle a signal until the end of the run, if it has the default handler."""
        here = threading.current_thread() is threading.main_thread()
        if here and not self._is_worker and signal.getsignal(number) == usual:
            self._handlers[number] = signal.signal(number, handler)

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        if not (self._terminated or self._finishing):
            self._terminated = True
            raise KeyboardInterrupt

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that passed if a known issue needs attention or something could not be used.

        From here on, ignore interrupts: they would only lose results while reports are written.
        """
        self._finishing = True
        self._handle(signal.SIGINT, signal.default_int_handler, signal.SIG_IGN)
        if self._terminated:
            session.exitstatus = TERMINATED
            return
        if self._entries and session.exitstatus == pytest.ExitCode.OK and (self._matrix.failed or self.run.problems):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the matrix."""
        if self._is_worker or not self._entries:
            return
        matrix = self._matrix
        terminalreporter.section("parity", sep="=", bold=True)
        text = terminal(matrix, width=terminal_width())
        text.append("\n" + summary(matrix), "bold red" if matrix.failed else "bold green")
        terminalreporter.write_line(_rendered(text, terminalreporter.hasmarkup))
        for problem in self.run.problems:
            terminalreporter.write_line(f"parity: {problem}", red=True)
        kernels = {entry.kernel for entry in self._entries.values()}
        columns, suite = self.run.columns, self.run.suite
        for note in (*columns.changed_kernels(suite, kernels), *columns.stale(self._records, suite)):
            terminalreporter.write_line(f"parity: {note}", yellow=True)
        if folder := self.config.option.parity_output:
            write_reports(Path(folder), matrix, self._records, self.reproduction(), SourceFolders.of(self.run.suite))
            terminalreporter.write_line(f"matrix and failures: {folder}{os.sep}")

    @functools.cached_property
    def _matrix(self) -> Matrix:
        order = {entry.name: i for i, entry in enumerate(self.run.suite.entries)}
        run = self.run
        entries = sorted(self._entries.values(), key=lambda entry: order[entry.name])
        columns = [column for column in run.columns.runnable if (column.runner, column.target) in self._ran]
        records = [*self._records, *run.without_code(entries, columns, self._uncompiled)]
        issues = run.known.review(records, {entry.kernel for entry in entries} if run.draws_all else ())
        seconds = time.perf_counter() - self._start
        provenance = Provenance(seconds, run.seed, run.examples, made_by=self._made_by)
        return make_matrix(entries, columns, records, issues=issues, provenance=provenance)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Pass a common lock to the workers of pytest-xdist."""
        if self._shared is None:
            self._shared = tempfile.TemporaryFile()  # noqa: SIM115 - without a name, so it cannot outlive this process
        node.workerinput[LOCK] = f"/proc/{os.getpid()}/fd/{self._shared.fileno()}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Send all columns of a kernel to one worker, which compares them; schedule other tests as usual."""
        if config.option.dist != "load":
            return None
        from xdist.scheduler import LoadScopeScheduling

        folder = f"{self.run.suite.cases.name}/"

        class KernelScheduling(LoadScopeScheduling):  # type: ignore[misc]
            def _split_scope(self, nodeid: str) -> str:
                return str(nodeid.rpartition("-")[0] if folder in nodeid and "[" in nodeid else nodeid)

        return KernelScheduling(config, log)

    def pytest_unconfigure(self) -> None:
        """Restore the environment and the signal handlers, and release the lock."""
        self._environment.undo()
        self._claimed.close()
        if self._shared:
            self._shared.close()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)


def _check_choices(config: pytest.Config) -> None:
    """Check the options that choose compilers.

    Raises:
        UsageError: A toolchain or a translator is unknown.
    """
    if (asked := config.option.parity_toolchain) not in (None, *TOOLCHAINS):
        raise UsageError(f"{asked!r} is not a toolchain; known: {' '.join(TOOLCHAINS)}{nearest(asked, TOOLCHAINS)}")
    chosen_hipifier(config.option.parity_hipify)


def _run(config: pytest.Config) -> Run:
    """Return a run of all kernels with the given options.

    Raises:
        UsageError, NotAvailable: The suite or a runner cannot be used.
    """
    option = config.option
    folders = {
        name: Path(given) if (given := getattr(option, f"parity_{option_name}")) else None
        for name, option_name in FOLDERS.items()
    }
    if (launches := option.parity_launches) not in (None, *LAUNCHES):
        known = f"{' '.join(LAUNCHES)}{nearest(launches, LAUNCHES)}"
        raise UsageError(f"--parity-launches {launches}: unknown value; known: {known}")
    suite = find_suite(**folders, launches=launches)
    usual = Settings(as_usual=launches is None)
    run = Run.of(runners=option.parity_runner, targets=option.parity_target, suite=suite, settings=usual)
    if compiled := run.columns.compiled:
        raise UsageError(f"no runner can run {' or '.join(compiled)}; parity build checks whether it compiles")
    if not run.columns.live:
        return run
    examples, seed = option.parity_examples, option.parity_seed
    if examples is None and config.getoption("--hypothesis-profile", None):
        from hypothesis import settings as hypothesis_settings

        examples = hypothesis_settings.default.max_examples  # type: ignore[union-attr]
    if seed is None and (given := config.getoption("--hypothesis-seed", None)) is not None:
        seed = int(given) if str(given).isdecimal() else zlib.crc32(str(given).encode())
    return replace(run, settings=replace(usual, examples=examples, seed=seed))


def _rendered(text: Text, coloured: bool) -> str:
    if not coloured:
        return text.plain
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", highlight=False)
    with console.capture() as capture:
        console.print(text, soft_wrap=True)
    return capture.get()
