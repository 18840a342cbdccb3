"""Checks of attributes, of which the table of types is made, and errors of saved models.

A check gets a value and the attributes read so far, and returns whether the value is
acceptable. The shape of an array is given by names: ``numbers("Q", "d")`` has two sizes, and every
other attribute of the same object that names them must agree.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from numbers import Integral, Real
from types import NoneType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from unconfused._text import printable


class ModelFileError(ValueError):
    """A model cannot be saved, or a file cannot be loaded as one; the message says why."""


class ExportError(ValueError):
    """A model cannot be written in another format; the message says why."""


def in_words(error: BaseException) -> str:
    """Return type and message of an error, on one line."""
    text = printable(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__


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


def plain(value: Any, held: Held) -> bool:
    """Accept numbers, text, arrays, and lists and dictionaries of them."""
    if value is None or isinstance(value, bool | int | float | str | np.number | np.bool_ | slice):
        return True
    if isinstance(value, np.generic):
        return value.dtype.kind in SIMPLE
    if isinstance(value, np.ndarray):
        return value.dtype.kind in SIMPLE + "O"
    if type(value) is dict:
        return all(plain(one, held) for one in value.values())
    if type(value) in (list, tuple):
        return all(plain(one, held) for one in value)
    return bool(sparse.issparse(value))


def setting(value: Any, held: Held) -> bool:
    """Accept what a parameter may be: data, estimators, strategies; no functions and no types."""
    if type(value) is dict:
        return all(setting(one, held) for one in value.values())
    if type(value) in (list, tuple):
        return all(setting(one, held) for one in value)
    return plain(value, held) or held.is_value(value)


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

Types = Mapping[str, Kind]
"""Every type a file may hold, with what it may hold, by its full name."""


def full_name(one: Any) -> str:
    """Return the name of a type or function, with the module it is in."""
    return name_in(one.__module__, one.__qualname__)


def name_in(module: str, name: str) -> str:
    """Return the name of something in a module, if it is ours with the package alone.

    Modules move from version to version, and files outlast them.

    Examples
    --------
    >>> name_in("unconfused.solvers.likelihood", "LikelihoodState")
    'unconfused.LikelihoodState'
    >>> name_in("sklearn.svm._classes", "SVC")
    'sklearn.svm._classes.SVC'
    """
    package = module.split(".")[0]
    return f"{package if package == 'unconfused' else module}.{name}"


def check_object(name: str, types: Types, held: dict[str, Any], allow: frozenset[str]) -> None:
    """Raise if an object of the type of this name may not hold these attributes.

    Parameters after which nothing was saved (a file by an older version) get their default.
    """

    def is_value(value: Any) -> bool:
        name = full_name(value if inspect.isroutine(value) else type(value))
        if name in allow or isinstance(value, np.random.RandomState):
            return True
        return name in types and not types[name].is_part

    kind, known = types[name], Held(is_value)
    made, settings = kind.made, _settings(kind.made)
    for name, parameter in settings.items():
        if parameter.default is not parameter.empty:
            held.setdefault(name, parameter.default)
    for name, value in held.items():
        if not _check_for(name, kind, settings)(value, known):
            raise ModelFileError(
                f"the {made.__name__} in it has {printable(repr(name))}, which is not there in a "
                "model that was fitted, or is of another kind or size there"
            )
    given = {name: held[name] for name in settings if name in held}
    try:
        constraints = getattr(made, "_parameter_constraints", {})
        validate_parameter_constraints(constraints, given, caller_name=made.__name__)
    except InvalidParameterError as error:
        raise ModelFileError(printable(" ".join(str(error).split()))[:300].rstrip(".")) from None
    if kind.agree is not None and not kind.agree(held):
        raise ModelFileError(f"the parts of the {made.__name__} in it do not fit each other")


def _check_for(name: str, kind: Kind, settings: Mapping[str, Any]) -> Check:
    if name in kind.checks:
        return kind.checks[name]
    if name in settings or (kind.any_setting and not hasattr(kind.made, name)):
        return setting
    return lambda value, held: False


@cache
def _settings(made: type) -> dict[str, inspect.Parameter]:
    """Return the parameters of an estimator's constructor."""
    if not issubclass(made, BaseEstimator):
        return {}
    return dict(inspect.signature(made).parameters)
