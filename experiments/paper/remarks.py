"""What is said about each column of Table 1 and each figure; the numbers come from the results."""

from __future__ import annotations

WHY: dict[str, str] = {
    "f_y": "A Perceptron on the rough classifier's labels can do little but repeat the rough "
    "classifier, so this column tells how good that one is. Ours sees rows of norm 1 and makes a "
    "fixed number of updates, each from a mean over many rows.",
    "f_conf": "The Perceptron on S_conf alone. Reuters has the paper's features; on the other two "
    "the width of the kernel, which the paper does not give, comes from the data.",
    "f_full": "The same fixed number of updates as in the other columns, each from a mean over "
    "many rows: it stops short of fitting every row.",
    "s3vm": "Ours is the gradient method of Chapelle and Zien, one class against the rest, with "
    "the shares of the classes held at those of S_conf; the paper cites Bennett's formulation, "
    "and says nothing of shares, without which such a machine can put nearly all rows on one "
    "side.",
    "uma": "The protocol is the paper's; the rough classifier is the one of f_y.",
    "s3vm_kernel": "The kernel in place of its leading components. On Digits ours takes all of "
    "them; on Letter the kernel is approximated by Nystroem's method, in fewer runs (see above); "
    "Reuters has no kernel, so this is its other S3VM again.",
}
"""Why a column differs from the paper's, or does not."""

FIGURES: dict[str, str] = {
    "toy_noise": "Labels corrupted more and more, the matrix known; beside it the same algorithm "
    "with the identity in place of the matrix, which is a Perceptron. The margin of 0.025 is the "
    "distance of a point from the nearest boundary. (Taken as a difference of scores it would "
    "leave some class without points in 89 % of all draws of the weight vectors, against 7 %; in "
    'the paper that never occurred. `make_circle(margin_of="score")` has it.)',
    "toy_wrong_matrix": "Labels corrupted by one matrix, another one told. The paper calls UMA "
    "robust to underestimated noise, and then quotes the larger confusion for it; so we report "
    "what comes out.",
    "class_distributions": "Training rows. Digits and Letter are even, Reuters is not.",
    "figure3": "The same labels used in two ways: to count C, or to learn from directly.",
    "figure4": "The same labels used to count C, or as the labelled rows of a semi-supervised SVM.",
    "figure5": "The dotted line is where the paper sees a plateau.",
}
"""What a figure shows."""
