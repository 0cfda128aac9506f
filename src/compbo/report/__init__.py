"""One static HTML page from a finished or running job."""

from compbo.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
