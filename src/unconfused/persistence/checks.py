"""Checks of attributes, of which the table of types is made, and errors of saved models.

A check gets a value and the attributes read so far, and returns whether the value is
acceptable. The shape of an array is given by names: ``numbers("Q", "d")`` has two sizes, and every
other attribute of the same object that names them must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from types import NoneType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted


class ModelFileError(ValueError):
    """A model cannot be saved, or a file cannot be loaded as one; the message says why."""


class ExportError(ValueError):
    """A model cannot be written in another format; the message says why."""


def refuse_unfitted(model: Any, kind: type[ValueError], done: str) -> None:
    """Raise an error of this kind if a model is not a fitted estimator; `done` is "saved", say."""
    if not isinstance(model, BaseEstimator):
        raise kind(f"Only scikit-learn estimators can be {done}; this is a {type(model).__name__}.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise kind(
            f"This {type(model).__name__} is not fitted; only fitted models can be {done}."
        ) from None


NUMBERS = "biuf"
SIMPLE = "biufSUMm"
"""Kinds of NumPy types: numbers, and all that need no pickle."""

LARGEST_INTEGER = 2**128
"""The state of a random generator is this large; nothing else in a model is."""

MOST_JOBS = 256
"""Largest accepted number of threads or processes."""


@dataclass
class Held:
    """What is known of the object whose attributes are checked."""

    is_value: Callable[[Any], bool]
    """Whether an object (an estimator, a strategy) may be a setting of another."""

    sizes: dict[str, int] = field(default_factory=dict)


Check = Callable[[Any, Held], bool]

Checks = dict[str, Check]
"""A check for each attribute; a key may name several, with spaces between."""

Agree = Callable[[Mapping[str, Any]], bool]
"""Whether the attributes of an object agree with each other."""


@dataclass(frozen=True)
class Kind:
    """What objects of one type may hold.

    Attributes
    ----------
    made : the type
    checks : for every fitted attribute, and for parameters that are held to more than
        scikit-learn's own constraints
    agree : whether they agree with each other
    is_part : the type is a part of another one, never a model or a setting by itself
    any_setting : other attributes may be there as well, with whatever a parameter could hold
    """

    made: type
    checks: Checks
    agree: Agree | None
    is_part: bool
    any_setting: bool


def instance(*types: type) -> Check:
    """Accept an object of exactly these types."""
    return lambda value, held: type(value) in types


nothing = instance(NoneType)
flag = instance(bool, np.bool_)
text = instance(str, np.str_)


def number(value: Any, held: Held) -> bool:
    """Accept a number, not a Boolean."""
    return isinstance(value, Real) and not isinstance(value, bool)


def count(value: Any, held: Held) -> bool:
    """Accept a non-negative integer."""
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < 2**63


def jobs(value: Any, held: Held) -> bool:
    """Accept a number of threads or processes."""
    return value is None or (isinstance(value, Integral) and abs(int(value)) <= MOST_JOBS)


def scalar_type(value: Any, held: Held) -> bool:
    """Accept a type of numbers or text, as NumPy names it."""
    return isinstance(value, np.dtype) or (isinstance(value, type) and value in SCALAR_TYPES)


def size(name: str) -> Check:
    """Accept an integer that is the size of other attributes, by name."""
    return lambda value, held: count(value, held) and _fits((int(value),), (name,), held)


def one_of(*values: Any) -> Check:
    """Accept one of these."""
    return lambda value, held: any(type(value) is type(one) and value == one for one in values)


def optional(check: Check) -> Check:
    """Accept None, or what another check takes."""
    return lambda value, held: value is None or check(value, held)


def either(*checks: Check) -> Check:
    """Accept what any of these takes."""
    return lambda value, held: any(check(value, held) for check in checks)


def several(check: Check, name: str = "*") -> Check:
    """Accept a list or tuple, of a named length if there is a name."""
    return lambda value, held: (
        type(value) in (list, tuple)
        and _fits((len(value),), (name,), held)
        and all(check(one, held) for one in value)
    )


def record(*checks: Check) -> Check:
    """Accept a list or tuple of what each of these takes, in this order."""
    return lambda value, held: (
        type(value) in (list, tuple)
        and len(value) == len(checks)
        and all(check(one, held) for check, one in zip(checks, value, strict=True))
    )


def mapping(check: Check) -> Check:
    """Accept a dictionary of what another check takes; keys are plain in any file."""
    return lambda value, held: (
        type(value) is dict and all(check(one, held) for one in value.values())
    )


def array(kinds: str, *shape: str | int) -> Check:
    """Accept an array of these kinds of NumPy types; the shape in names and sizes, "*" for any."""
    return lambda value, held: (
        isinstance(value, np.ndarray)
        and value.dtype.kind in kinds
        and _fits(value.shape, shape, held)
    )


numbers = partial(array, NUMBERS)
indices = partial(array, "iu")
labels = partial(array, "biufSUMmO")


def matrix(*shape: str | int) -> Check:
    """Accept an array of numbers or a sparse matrix, whose indices have been checked."""
    dense = numbers(*shape)
    return lambda value, held: (
        _fits(value.shape, shape, held) if sparse.issparse(value) else dense(value, held)
    )


def setting(value: Any, held: Held) -> bool:
    """Accept what a parameter may be: data, estimators, strategies; no functions and no types."""
    if type(value) is dict:
        value = list(value.values())
    if type(value) in (list, tuple):
        return all(setting(one, held) for one in value)
    if isinstance(value, np.generic | np.ndarray):
        return value.dtype.kind in SIMPLE + "O"
    plain = value is None or isinstance(value, bool | int | float | str | slice)
    return plain or bool(sparse.issparse(value)) or held.is_value(value)


def plain(value: Any, held: Held) -> bool:
    """Accept numbers, text, arrays, and lists and dictionaries of them."""
    return setting(value, Held(is_value=lambda one: False))


def _fits(found: tuple[int, ...], shape: tuple[str | int, ...], held: Held) -> bool:
    return len(found) == len(shape) and all(
        name == "*"
        or length == (held.sizes.setdefault(name, length) if isinstance(name, str) else name)
        for length, name in zip(found, shape, strict=True)
    )


SCALAR_TYPES = frozenset(
    {bool, int, float, str, np.bool_, np.str_, np.object_, np.float16, np.float32, np.float64}
    | {getattr(np, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
"""Types that may be named in a file: as a dtype, as that of a key, as that of one number."""


def full_name(one: Any) -> str:
    """Return the name of a type or function, with the module it is in."""
    return name_in(one.__module__, one.__qualname__)


def name_in(module: str, name: str) -> str:
    """Return the full name of an object; for objects of this package, without the module.

    Modules may move from version to version, but files have to remain readable.

    Examples
    --------
    >>> name_in("unconfused.solvers.likelihood", "LikelihoodState")
    'unconfused.LikelihoodState'
    >>> name_in("sklearn.svm._classes", "SVC")
    'sklearn.svm._classes.SVC'
    """
    package = module.split(".")[0]
    return f"{package if package == 'unconfused' else module}.{name}"
