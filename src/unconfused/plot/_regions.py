"""Decision regions of a model with two features, for the toy problem."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unconfused._labels import encode_labels
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels
from unconfused.plot._style import TINTS, drawing

RESOLUTION = 400
"""Points along each side of the plane that are asked."""

EDGE = 1.35
"""How far the plane reaches; the circle has radius 1."""


class RegionsDisplay:
    """Decision regions of a classifier with two features, with points of the circle problem.

    Points have the colour of their class, so a point that differs from its region is a mistake, or
    a wrong label. Make it with `from_estimator`.

    Parameters
    ----------
    regions : (R, R) class predicted on a grid, as codes
    classes : names of the classes
    points, codes : points to draw, and their classes

    Attributes
    ----------
    ax_, figure_ : axes and figure
    image_ : the regions
    names_ : the names at the rim

    Examples
    --------
    >>> from unconfused import UMAClassifier, datasets
    >>> from unconfused.plot import RegionsDisplay
    >>> X, y = datasets.make_circle(300, n_classes=4, random_state=0)
    >>> display = RegionsDisplay.from_estimator(UMAClassifier().fit(X, y), X, y)
    >>> len(display.names_)
    4
    """

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

    def plot(self, *, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        from matplotlib.colors import to_rgb

        colours = np.array([to_rgb(TINTS[k % len(TINTS)]) for k in range(len(self.classes))])
        with drawing(ax, (4.8, 4.8)) as axes:
            self.ax_, self.figure_ = axes, axes.figure
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
            self._name_regions()
            axes.set(xticks=[], yticks=[], title="Predicted class")
            for line in axes.spines.values():
                line.set_visible(False)
        return self

    def _name_regions(self) -> None:
        """Write each class in the middle of its longest stretch of a circle outside the points."""
        angles = np.linspace(0, 2 * np.pi, 720, endpoint=False)
        ring = 1.18 * np.column_stack([np.cos(angles), np.sin(angles)])
        place = np.rint((ring + EDGE) / (2 * EDGE) * (RESOLUTION - 1)).astype(np.intp)
        around = self.regions[place[:, 1], place[:, 0]]
        self.names_ = []
        for code, name in enumerate(self.classes.tolist()):
            middle = _middle_of_longest_run(around == code)
            if middle is not None:
                self.names_.append(
                    self.ax_.text(
                        *ring[middle], str(name)[:12], ha="center", va="center", weight="bold"
                    )
                )


def _middle_of_longest_run(inside: FloatArray) -> int | None:
    """Return the middle of the longest run of True around a circle, None if there is none."""
    if not inside.any():
        return None
    if inside.all():
        return 0
    start = int(np.argmin(inside))  # a gap: no run goes past it
    turned = np.roll(inside, -start)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], turned, [False]])))
    begins, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - begins))
    return int((begins[longest] + ends[longest] - 1) // 2 + start) % len(inside)
