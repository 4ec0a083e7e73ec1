"""The report that a browser opens: one file without network or server, drawn from data that are compressed inside."""

from parity.report.html.content import PageInput, comparison_content, page_content, recall_content
from parity.report.html.excerpts import SourceFolders
from parity.report.html.page import render_badge, render_page

__all__ = [
    "PageInput",
    "SourceFolders",
    "comparison_content",
    "page_content",
    "recall_content",
    "render_badge",
    "render_page",
]
