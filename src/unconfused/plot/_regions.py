"""Decision regions of a model with two features, for the toy problem."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unconfused._labels import encode_labels
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels
from unconfused.plot._style import TINTS, Display

RESOLUTION = 400
"""Grid points along each side of the plane."""

EDGE = 1.35
"""Half the width of the plane; the circle has radius 1."""


class RegionsDisplay(Display):
    """Decision regions of a classifier with two features, with points of the circle problem.

    Points have the colour of their class, so a point whose colour differs from its region is a
    mistake of the model or a wrong label. Make it with `from_estimator`.

    Parameters
    ----------
    regions : (R, R) class predicted on a grid, as codes
    classes : names of the classes
    points, codes : points to draw, and their classes

    Attributes
    ----------
    ax_, figure_ : axes and figure
    image_ : the regions
    names_ : the class names around the circle

    Examples
    --------
    >>> from unconfused import UMAClassifier, datasets
    >>> from unconfused.plot import RegionsDisplay
    >>> X, y = datasets.make_circle(300, n_classes=4, random_state=0)
    >>> display = RegionsDisplay.from_estimator(UMAClassifier().fit(X, y), X, y)
    >>> len(display.names_)
    4
    """

    size = (4.8, 4.8)

    def __init__(
        self,
        regions: IntArray,
        *,
        classes: Labels,
        points: FloatArray | None = None,
        codes: IntArray | None = None,
    ) -> None:
        self.regions, self.classes = regions, classes
        self.points, self.codes = points, codes

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: ArrayLike | None = None, *, ax: Any = None
    ) -> Self:
        """Plot the regions of a fitted classifier, and the points `X`, coloured by `y`."""
        if getattr(estimator, "n_features_in_", 2) != 2:
            raise ValueError(
                f"Regions can be drawn for two features only; this model has "
                f"{estimator.n_features_in_}."
            )
        side = np.linspace(-EDGE, EDGE, RESOLUTION)
        plane = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])
        classes = np.asarray(estimator.classes_)
        regions = np.searchsorted(classes, estimator.predict(plane))
        points, codes = None, None
        if X is not None:
            points = np.asarray(X, dtype=np.float64)
            labels = estimator.predict(X) if y is None else y
            codes = encode_labels(labels, classes=classes).observed
        shaped = regions.reshape(RESOLUTION, RESOLUTION)
        return cls(shaped, classes=classes, points=points, codes=codes).plot(ax=ax)

    def _draw(self, axes: Any) -> None:
        from matplotlib.colors import to_rgb

        colours = np.array([to_rgb(TINTS[k % len(TINTS)]) for k in range(len(self.classes))])
        self.image_ = axes.imshow(
            1.0 - 0.38 * (1.0 - colours[self.regions]),
            origin="lower",
            extent=(-EDGE, EDGE, -EDGE, EDGE),
            interpolation="nearest",
        )
        if self.points is not None and self.codes is not None:
            axes.scatter(
                *self.points.T, c=colours[self.codes], s=16, edgecolor="#222222", linewidth=0.4
            )
        axes.set(xticks=[], yticks=[], title="Predicted class")
        axes.spines[:].set_visible(False)
        # Each class is named in the middle of its part of a circle outside the points.
        angles = np.linspace(0, 2 * np.pi, 720, endpoint=False)
        ring = 1.18 * np.column_stack([np.cos(angles), np.sin(angles)])
        place = np.rint((ring + EDGE) / (2 * EDGE) * (RESOLUTION - 1)).astype(np.intp)
        around = self.regions[place[:, 1], place[:, 0]]
        self.names_ = []
        for code in np.unique(around):
            own = ring[around == code]
            middle = own[(own @ own.mean(axis=0)).argmax()]
            name = str(self.classes[code])[:12]
            self.names_.append(axes.text(*middle, name, ha="center", va="center", weight="bold"))
