"""The report that a browser opens: one file without network or server, drawn from data that are compressed inside."""

from parity.report.html.content import Shown, comparison_content, content, recall_content
from parity.report.html.excerpts import Sources
from parity.report.html.page import badge, page

__all__ = ["Shown", "Sources", "badge", "comparison_content", "content", "page", "recall_content"]
