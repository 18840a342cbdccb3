"""Run an experiment: ``python -m experiments NAME``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

RESULTS = Path("experiments/results")

NAMES = {
    "league": "methods against one another on noisy labels",
    "uma": "UMA beside the likelihood and forward correction (a block of the league)",
    "probabilities": "wrong labels from pred_probs, beside cleanlab",
    "review": "which rows to check: labels corrected and accuracy against rows checked",
    "evaluation": "how often the intervals of NoisyEvaluation cover",
    "break_even": "accuracy against the number of trusted rows",
    "extra_trees": "extra-trees on raw letters through C, beside CleanLearning",
    "paper": "everything below, with the page docs/paper.md",
    "toy_noise": "the toy problem under more and more noise",
    "toy_wrong_matrix": "the toy problem with a wrong confusion matrix",
    "class_distributions": "how many rows each class has",
    "updates": "how the number of updates was chosen",
    "self_labeling": "how the setting of SelfLabelingClassifier was chosen",
    "table1": "Table 1, and what you would use today",
    "options": "known labels and rounds in SelfLabelingClassifier",
    "figure3": "UMA and the Perceptron on S_conf as S_conf grows",
    "figure4": "UMA and the semi-supervised SVM as S_conf grows",
    "figure5": "three ways to select the pair",
    "monotonic": "mistakes near the boundary, and by class",
    "confusion_risk": "class weights on Reuters with all its classes",
    "kernel_forms": "UMA with a kernel: the dual form beside features",
}


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(
        "python -m experiments",
        description=__doc__,
        epilog="\n".join(f"{name:20} {what}" for name, what in NAMES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=list(NAMES), help="which experiment", metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="few seeds: a look in minutes")
    parser.add_argument("--runs", type=int, help="at most so many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--only", nargs="+", help="only these data sets")
    parser.add_argument("--methods", nargs="+", help="only these methods (league)")
    parser.add_argument("--noises", nargs="+", help="only these noises (league)")
    parser.add_argument(
        "--block", default="linear", help="which methods meet: linear, tables, any, uma (league)"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for results")
    parser.add_argument("--docs", type=Path, help="folder for pages and figures")
    parser.add_argument("--check", action="store_true", help="make a sample again (paper)")
    parser.add_argument("--summary", action="store_true", help="only write tables and figures")
    options = parser.parse_args(arguments)
    if options.name == "uma":
        options.name, options.block = "league", "uma"
    if options.name == "league":
        from experiments.league.main import run_league

        return run_league(options)
    if options.name == "probabilities":
        from experiments.probabilities import run_probabilities

        return run_probabilities(options)
    if options.name == "review":
        from experiments.review.main import run_review

        return run_review(options)
    if options.name == "evaluation":
        from experiments.evaluation import run_evaluation

        return run_evaluation(options)
    if options.name == "break_even":
        from experiments.break_even import run_break_even

        return run_break_even(options)
    if options.name == "extra_trees":
        from experiments.extra_trees import run_extra_trees

        return run_extra_trees(options)
    from experiments.paper.main import run_paper

    return run_paper(options)


if __name__ == "__main__":
    sys.exit(main())
