"""Problems for the tests of the report: digits with labels confused in a known way."""

import numpy as np
from sklearn.datasets import load_digits

from unconfused import noise


def confused_digits():
    """Return rows, true classes, noisy labels and C; 4 is often labelled 9, and 3 is 8."""
    X, true = load_digits(return_X_y=True)
    C = 0.85 * np.eye(10) + 0.005
    C[4, 9] += 0.2
    C[3, 8] += 0.1
    C /= C.sum(axis=1, keepdims=True)
    return X / 16, true, noise.corrupt_labels(true, C, random_state=0), C


def some_truth(true, every=4):
    """Return the truth of every fourth row, missing elsewhere."""
    return np.where(np.arange(len(true)) % every == 0, true, -1)


HOSTILE = np.array(
    [
        "<script>window.hacked=1</script>",
        "</script><b>out</b>",
        '"><img src=x onerror="window.hacked=2">',
        "<!-- comment",
        "&lt;escaped&gt;",
        "a'b\"c",
        "line\u2028separator",
        "\u202eright to left",
        "null\x00byte",
        "}</style><svg onload=window.hacked=3>",
    ],
    dtype=object,
)
"""Ten labels that would like to be more than text."""
