"""What the page says of each column of Table 1 and of each figure, without the numbers."""

from __future__ import annotations

WHY: dict[str, str] = {
    "f_y": "A Perceptron on rough labels can do little but repeat them, so this column measures "
    "the rough classifier. Our rows have norm 1, and the Perceptron makes a fixed number of "
    "updates, each with the mean of many rows.",
    "f_conf": "The Perceptron on S_conf. Reuters has the features of the paper. For the others, "
    "the paper does not state the width of the kernel, so we estimate it from the data.",
    "f_full": "The number of updates, each with the mean of many rows, is fixed as in the other "
    "columns and too small to fit every row.",
    "s3vm": "Ours is the gradient method of Chapelle and Zien, one class against the rest, with "
    "the class shares of S_conf; the paper cites Bennett's formulation and does not mention class "
    "shares, without which such a machine can put nearly all rows on one side.",
    "uma": "The protocol is the paper's; the rough labels are those of f_y.",
    "s3vm_kernel": "The S3VM uses the kernel instead of its leading components: exactly on "
    "Digits, by Nystroem's approximation on Letter. Reuters has no kernel, so its column is the "
    "S3VM again.",
}
"""Why a column differs from the paper's, or does not."""

FIGURES: dict[str, str] = {
    "toy_noise": "UMA with a known matrix at increasing noise, and the same algorithm with the "
    "identity as its matrix, which is a Perceptron. We take the margin of 0.025 as the distance "
    "of a point to the nearest boundary. (If it were a difference of scores, as with "
    '`make_circle(margin_of="score")`, 89 % of the draws of the true weights would leave some '
    "class without points, instead of 7 %; the paper says this never occurred.)",
    "toy_wrong_matrix": "Labels are corrupted by one matrix, and UMA is given another one. The "
    "paper calls UMA robust to underestimated noise, but quotes the larger confusion for it.",
    "class_distributions": "Training rows of each class. Digits and Letter are balanced, Reuters "
    "is not.",
    "figure3": "The labels of S_conf are used to count C (UMA), or as training labels (the "
    "Perceptron).",
    "figure4": "The labels of S_conf are used to count C (UMA), or as labelled rows of a "
    "semi-supervised SVM.",
    "figure5": "The dotted line is where, according to the paper, the error becomes stable.",
}
"""What a figure shows."""
