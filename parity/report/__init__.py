"""Renders the results of a run for people and programs. ``model`` holds the data; other modules render it."""

from parity.report.document import as_json, document
from parity.report.failures import (
    Failure,
    Reproduction,
    failure_text,
    failures_file,
    kernel_file,
    not_judged,
    shown_failures,
)
from parity.report.folder import check_folder, write_reports
from parity.report.frames import bench_frame, case_frame, matrix_frame, static_frame
from parity.report.junit import junit
from parity.report.matrix import make_matrix
from parity.report.model import Cell, CellState, KernelRow, Matrix
from parity.report.printable import PrintableMatrix
from parity.report.render import as_csv, markdown, plain, summary, terminal

__all__ = [
    "Cell",
    "CellState",
    "Failure",
    "KernelRow",
    "Matrix",
    "PrintableMatrix",
    "Reproduction",
    "as_csv",
    "as_json",
    "bench_frame",
    "case_frame",
    "check_folder",
    "document",
    "failure_text",
    "failures_file",
    "junit",
    "kernel_file",
    "make_matrix",
    "markdown",
    "matrix_frame",
    "not_judged",
    "plain",
    "shown_failures",
    "static_frame",
    "summary",
    "terminal",
    "write_reports",
]
