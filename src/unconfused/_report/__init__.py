"""The report: what is wrong with the labels, as one HTML file."""

from unconfused._report._write import write_report
from unconfused._report.data import ReportData
from unconfused._report.gather import gather
from unconfused._report.page import render

__all__ = ["ReportData", "gather", "render", "write_report"]
