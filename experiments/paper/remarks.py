"""What is said about each column of Table 1 and each figure; the numbers come from the results."""

from __future__ import annotations

WHY: dict[str, str] = {
    "f_y": "A Perceptron on the rough classifier's labels can do little but repeat the rough "
    "classifier, so this column is about how good that one is. With rows of norm 1 and a kernel "
    "width taken from the data ours errs less than the paper's.",
    "f_conf": "The Perceptron on S_conf alone. Where features are the same as in the paper "
    "(Reuters) it comes out alike; on the other two the width of the kernel is ours.",
    "f_full": "A batch Perceptron makes a fixed number of updates here, each from a mean over many "
    "rows, so it stops short of fitting every row; one that goes on over single rows would come "
    "closer to zero, as the paper's does on Reuters.",
    "s3vm": "Ours is Chapelle and Zien's gradient method, one class against the rest, with the "
    "balance of classes taken from S_conf; the paper does not say which method it ran, and a "
    "semi-supervised SVM without a balance constraint can put nearly all rows on one side.",
    "uma": "Same protocol, same kind of labels.",
    "s3vm_kernel": "The kernel in place of its leading components. On Digits all components are "
    "used; on Letter the kernel is approximated by Nystroem's method and fewer runs are made, see "
    "the number of runs; Reuters has no kernel, so this is the column before it again.",
}
"""Why a column differs from the paper's, or does not."""

FIGURES: dict[str, str] = {
    "toy_noise": "UMA through the true matrix confuses less than the Perceptron at every level of "
    "noise while there is something left to tell the classes by; both get worse with the noise.",
    "toy_wrong_matrix": "The paper calls UMA robust to underestimated noise, and then quotes the "
    "larger confusion for it. What comes out here is in the curve: going left from 0, the noise "
    "is overestimated; going right, underestimated.",
    "class_distributions": "Digits and Letter are even, Reuters is not.",
    "figure5": "Through the confusion matrix a small S_conf is already enough, and a larger one "
    "changes little; the Perceptron that learns from the labels of S_conf itself goes on "
    "improving.",
    "figure6": "The same for the semi-supervised SVM: it goes on improving with more labels, UMA "
    "does not. Where it is the better one from the smallest S_conf on, it is because it sees how "
    "rows lie, which UMA does not ask.",
    "figure7": "The dotted line is at 30 updates, where the paper sees a plateau.",
}
"""What to see in a figure."""
