"""Plot confusion matrices, reliability, convergence and decision regions.

Needs matplotlib (the extra ``plot``). Displays follow scikit-learn's:
`from_estimator` and similar methods compute and plot, `plot` plots again, `ax_` and `figure_` are
the axes and the figure.
"""

from unconfused.plot._confusion import ConfusionEstimateDisplay
from unconfused.plot._convergence import ConvergenceDisplay
from unconfused.plot._regions import RegionsDisplay
from unconfused.plot._reliability import ReliabilityDisplay
from unconfused.plot._style import BLUE, GREY, ORANGE, STYLE

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "STYLE",
    "ConfusionEstimateDisplay",
    "ConvergenceDisplay",
    "RegionsDisplay",
    "ReliabilityDisplay",
]
