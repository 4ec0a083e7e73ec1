"""Writes the report for browsers: one HTML file with compressed data, which needs neither a network nor a server."""

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
