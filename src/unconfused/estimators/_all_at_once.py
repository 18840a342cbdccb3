"""Fits that happen as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class FitInterrupted(KeyboardInterrupt):
    """Raised by a fit that Ctrl-C has ended early, once the model so far is complete."""


def all_at_once(fit: Method) -> Method:
    """Let `fit` or `partial_fit` work on a draft, whose attributes the estimator takes on together.

    An interrupt or an error, at whatever moment, leaves the estimator as it was: not fitted, or
    fitted as before. (The draft is a shallow copy: what is to be changed in place is copied.)
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        draft = object.__new__(type(self))
        vars(draft).update(vars(self))
        try:
            fit(draft, *args, **kwargs)
        except FitInterrupted:
            self.__dict__ = vars(draft)
            raise KeyboardInterrupt from None
        self.__dict__ = vars(draft)
        return self

    return cast(Method, whole)
