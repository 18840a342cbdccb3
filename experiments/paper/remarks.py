"""What the page says of each column of Table 1 and of each figure, without the numbers."""

from __future__ import annotations

WHY: dict[str, str] = {
    "f_y": "A Perceptron on rough labels can do little but repeat them: this column measures the "
    "rough classifier. Our rows have norm 1, and it makes a fixed number of updates, each with the "
    "mean of many rows.",
    "f_conf": "The Perceptron on S_conf. Reuters has the features of the paper; on the others the "
    "width of the kernel, which the paper does not state, comes from the data.",
    "f_full": "The number of updates, each with the mean of many rows, is fixed as in the other "
    "columns and too small to fit every row.",
    "s3vm": "Ours is the gradient method of Chapelle and Zien, one class against the rest, with "
    "the class shares of S_conf; the paper cites Bennett's formulation and does not mention class "
    "shares, without which such a machine can put nearly all rows on one side.",
    "uma": "The protocol is the paper's; the rough labels are those of f_y.",
    "s3vm_kernel": "The kernel instead of its leading components: all of them on Digits, "
    "Nystroem's approximation on Letter. Reuters has no kernel; its column is the S3VM again.",
}
"""Why a column differs from the paper's, or does not."""

FIGURES: dict[str, str] = {
    "toy_noise": "More and more noise, the matrix known, beside the same algorithm with the "
    "identity as its matrix, which is a Perceptron. The margin of 0.025 is the distance of a point "
    "to the nearest boundary. (With a difference of scores, 89 % of the draws of the true weights "
    "leave some class without points, against 7 %; the paper says this never occurred. "
    '`make_circle(margin_of="score")` is that margin.)',
    "toy_wrong_matrix": "Labels corrupted by one matrix, and UMA told another one. The paper calls "
    "UMA robust to underestimated noise, but quotes the larger confusion for it.",
    "class_distributions": "Training rows. Digits and Letter are balanced, Reuters is not.",
    "figure3": "The same labels, used to count C or to learn from directly.",
    "figure4": "The same labels, used to count C or as labelled rows of a semi-supervised SVM.",
    "figure5": "The dotted line is where the paper sees a plateau.",
}
"""What a figure shows."""
