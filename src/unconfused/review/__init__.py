"""Check labels: choose rows, record verdicts, refit, and decide when to stop."""

from unconfused.review.checked import CheckedRows, match_verdicts
from unconfused.review.drawing import RowsToCheck, next_to_check
from unconfused.review.exchange import (
    from_hugging_face,
    read_label_studio,
    to_hugging_face,
    write_label_studio,
)
from unconfused.review.fit import fit_checked
from unconfused.review.left_out import LeftOut, judge_left_out
from unconfused.review.stopping import StoppingCurve, WrongLeft, when_to_stop, wrong_left
from unconfused.review.verdicts import Verdict, Verdicts, append_verdicts, read_verdicts

__all__ = [
    "CheckedRows",
    "LeftOut",
    "RowsToCheck",
    "StoppingCurve",
    "Verdict",
    "Verdicts",
    "WrongLeft",
    "append_verdicts",
    "fit_checked",
    "from_hugging_face",
    "judge_left_out",
    "match_verdicts",
    "next_to_check",
    "read_label_studio",
    "read_verdicts",
    "to_hugging_face",
    "when_to_stop",
    "write_label_studio",
    "wrong_left",
]
