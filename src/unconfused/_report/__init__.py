"""The report: what is wrong with the labels, as one HTML file."""

from unconfused._report.analysis.case import take_items
from unconfused._report.analysis.gather import gather
from unconfused._report.data import ReportData
from unconfused._report.html.page import render
from unconfused._report.write import write_report

__all__ = ["ReportData", "gather", "render", "take_items", "write_report"]
