"""The paper's experiments on tiny data: protocol, results that are kept, files, the page."""

import importlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from paper_data import small_problem

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]


def module(name):
    return importlib.import_module(f"experiments.{name}")


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    """Put four clouds in place of every data set, and little work in place of much."""
    monkeypatch.syspath_prepend(str(REPOSITORY))
    monkeypatch.chdir(tmp_path)
    settings, data, main = module("paper.settings"), module("paper.data"), module("paper.main")
    shared = {"n_labelled": 5, "shares": (0.1, 0.2), "n_train": None}
    small = {
        "digits": replace(settings.FULL["digits"], n_components=20, kernel_components=30, **shared),
        "letter": replace(
            settings.FULL["letter"],
            n_components=20,
            kernel_components=30,
            **shared | {"n_train": 1},
        ),
        "reuters": replace(settings.FULL["reuters"], **shared),
    }
    for scale in (settings.FULL, settings.QUICK):
        for name, setting in small.items():
            monkeypatch.setitem(scale, name, setting)
            monkeypatch.setitem(data.LOADERS, name, small_problem)
    monkeypatch.setattr(module("paper.figure3"), "N_LABELLED", 6)
    monkeypatch.setattr(module("paper.figure5"), "N_UPDATES", 35)
    monkeypatch.setattr(module("paper.self_labeling"), "N_RUNS", 1)
    toy = module("paper.toy")
    for name, value in {"N_TRAIN": 300, "N_TEST": 400, "CHECKPOINTS": (10, 30)}.items():
        monkeypatch.setattr(toy, name, value)
    style = module("paper.style")
    monkeypatch.setattr(style, "SHADES", style.SHADES[:2])
    monkeypatch.setattr(data, "all_reuters", lambda: small_problem(small["reuters"], 0))
    monkeypatch.setattr(module("paper.kernel_forms"), "N_COMPONENTS", 20)
    _in_this_process(monkeypatch, main)
    data.raw.cache_clear()
    data.load.cache_clear()
    yield
    data.raw.cache_clear()
    data.load.cache_clear()


def _in_this_process(monkeypatch, main):
    """Do the tasks here: other processes would not know the tiny data."""

    def run_all(tasks, work, store, **_):
        for task in tasks:
            for record in work(task):
                store.add(record)
        return True

    monkeypatch.setattr(main, "run_all", run_all)


def run(*arguments):
    return module("__main__").main([*arguments, "--runs", "2", "--jobs", "1"])


def summary(name):
    return json.loads(Path("docs", "paper", f"{name}.json").read_text())


def check_curve(curve, length, most=1.0):
    assert curve["n_runs"] == 2
    for values in (curve["mean"], curve["standard_error"]):
        assert len(values) == length
        assert all(0 <= value <= most for value in values)


def check_figure(name):
    assert Path("docs/paper", f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in Path("docs/paper", f"{name}.svg").read_text()


def test_noise_hurts_the_perceptron_more_than_uma():
    assert run("toy_noise") == 0
    found = summary("toy_noise")
    assert sum(found["n_matrices"]) == 20 and len(found["noise"]) < 20
    assert found["noise"] == sorted(found["noise"])
    for curves in found["updates"].values():
        for method in ("uma", "perceptron"):
            check_curve(curves[method], len(found["noise"]), most=10**0.5)
    assert "UMA confuses less than the Perceptron" in Path("docs/paper.md").read_text()
    check_figure("toy_noise")


def test_a_wrong_matrix_is_told_from_the_true_one():
    assert run("toy_wrong_matrix") == 0
    found = summary("toy_wrong_matrix")
    np.testing.assert_allclose(found["factor"], np.linspace(-1, 1, 21), atol=1e-9)
    for curves in found["updates"].values():
        check_curve(curves["uma"], 21, most=10**0.5)
        assert curves["excess"]["mean"][10] == 0
    assert "the true matrix is the best one" in Path("docs/paper.md").read_text()
    check_figure("toy_wrong_matrix")


def test_class_distributions():
    assert run("class_distributions") == 0
    found = summary("class_distributions")
    assert list(found) == ["digits", "letter", "reuters"]
    assert sum(found["reuters"]["counts"]) == 480 and len(found["reuters"]["classes"]) == 4
    check_figure("class_distributions")


def test_table1_has_every_column_beside_the_papers():
    assert run("table1") == 0
    table1, page = module("paper.table1"), Path("docs/paper.md").read_text()
    found = summary("table1")
    for name in ("digits", "letter", "reuters"):
        ours = found[name]["ours"]
        expected = {*table1.COLUMNS, *table1.TODAY, table1.OURS, table1.EXACT}
        expected |= {table1.TWIN, table1.ONLINE, table1.WHITENED, "label_noise", "condition_number"}
        assert found[name]["differences"]["uma - f_y"]["n_runs"] == 2
        assert set(ours) == expected
        assert all(ours[column]["n_runs"] == 2 for column in ours)
        assert ours["f_full"]["mean"] < 0.25 > ours["logistic"]["mean"]
        assert found[name]["paper"] == table1.PAPER[name]
    assert found["reuters"]["ours"]["s3vm"] == found["reuters"]["ours"]["s3vm_kernel"]
    assert "| Letter | paper | 0.35 | 0.36 | 0.23 | 0.49 | 0.33 |" in page
    assert "UMA errs less than f_y on all three data sets | Digits" in page
    assert "means over 2 runs" in page
    assert "Without the unlabelled rows: Digits" in page


def test_options_of_self_labeling():
    assert run("options") == 0
    found, page = summary("options"), Path("docs/paper.md").read_text()
    variants = module("paper.options").VARIANTS
    assert set(found) == {"digits", "reuters"}
    for one in found.values():
        assert set(one) == set(variants)
        assert all(0 <= value["mean"] < 0.6 for value in one.values())
        assert all(1 <= value["rounds"] <= 4 for value in one.values())
    assert "known labels, one round" in page


def test_figures_3_and_4():
    assert run("figure3") == 0 and run("figure4") == 0
    three, four = summary("figure3"), summary("figure4")
    assert three["sizes"] == [48, 96] == four["letter"]["sizes"]
    for curve in (three["uma"], three["f_conf"], four["digits"]["s3vm"], four["letter"]["uma"]):
        check_curve(curve, 2)
    check_figure("figure3")
    check_figure("figure4")


def test_figure_5_follows_every_update():
    assert run("figure5") == 0
    found = summary("figure5")
    for measure, most in (("error", 1.0), ("confusion_norm", 2.0)):
        for strategy in ("error", "confusion", "random"):
            check_curve(found[measure][strategy], 35, most)
    by_error = found["error"]["error"]["mean"]
    assert by_error[-1] < by_error[0]
    check_figure("figure5")


def test_updates_followed_one_by_one_are_those_of_the_classifier():
    figure5, protocol, data = map(module, ("paper.figure5", "paper.protocol", "paper.data"))
    problem = data.load("reuters", 0, False)
    scene = protocol.set_scene(problem, 5, [48], seed=0)
    followed = figure5.followed(scene, 48, "error", 0)
    whole = protocol.fit_uma(
        scene.confusion(48), problem.X, scene.observed, problem.n_classes, max_iter=35
    )
    assert followed["error"][-1] == pytest.approx(problem.error(whole))


def test_choices_name_the_lowest_error():
    assert run("updates") == 0 and run("self_labeling") == 0
    means = summary("updates")["mean"]
    assert summary("updates")["lowest"] == int(min(means, key=means.get))
    errors = summary("self_labeling")["held_out_error"]
    lowest = summary("self_labeling")["lowest"]
    assert errors[lowest]["mean"] == min(one["mean"] for one in errors.values())
    assert "Used everywhere" in Path("docs/paper.md").read_text()


def test_finished_runs_are_kept_and_failed_ones_tried_again(monkeypatch, capsys):
    figure3 = module("paper.figure3")
    experiment = module("paper.main").EXPERIMENTS["figure3"]
    done = []

    def once_broken(task):
        done.append(task.run)
        if len(done) == 2:
            raise ArithmeticError("struck by lightning")
        return figure3.work(task)

    monkeypatch.setitem(
        module("paper.main").EXPERIMENTS, "figure3", replace(experiment, work=once_broken)
    )
    assert run("figure3") == 1
    assert "struck by lightning" in capsys.readouterr().out
    assert summary("figure3")["uma"]["n_runs"] == 1
    assert run("figure3") == 0
    assert done == [0, 1, 1]
    assert summary("figure3")["uma"]["n_runs"] == 2
    assert run("figure3") == 0 and len(done) == 3


def test_stored_results_are_made_again(capsys):
    run("updates", "--only", "digits")
    assert run("updates", "--only", "digits", "--check") == 0
    found = summary("check")
    assert found["kinds"] == len(found["results"]) > 1
    assert [one["difference"] for one in found["results"]] == [0.0] * found["kinds"]
    path = Path("experiments", "results", "paper", "results.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    changed = found["results"][0]
    for record in records:
        if (record["part"], record["run"]) == (changed["part"], changed["run"]):
            record["error"] += 0.25
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    run("updates", "--only", "digits", "--check")
    page = Path("docs", "paper.md").read_text()
    assert f"{found['kinds'] - 1} came out the same" in " ".join(page.split())
    assert f"updates digits {changed['part']} (by 0.2500)" in " ".join(page.split())


def test_results_under_other_settings_are_not_taken(monkeypatch):
    experiment, settings = module("paper.experiment"), module("paper.settings")
    task = experiment.Task("table1", "digits", 0, "uma", False)
    before = task.key
    changed = replace(settings.FULL["digits"], n_labelled=6)
    monkeypatch.setitem(settings.FULL, "digits", changed)
    assert task.key != before


def test_a_run_does_not_depend_on_those_before():
    table1, experiment = module("paper.table1"), module("paper.experiment")
    tasks = [experiment.Task("table1", "letter", run, "perceptrons", False) for run in (0, 1)]
    forward = [table1.work(task)["errors"] for task in tasks]
    backward = [table1.work(task)["errors"] for task in reversed(tasks)]
    assert forward == backward[::-1]
    assert forward[0] != forward[1]


def test_projections_are_read_back(tmp_path, monkeypatch):
    data = module("paper.data")
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path / "kept"))
    first = data.load("digits", 0, False)
    data.load.cache_clear()
    monkeypatch.setattr(data, "kernel_projection", None)
    again = data.load("digits", 0, False)
    np.testing.assert_array_equal(first.X_test, again.X_test)
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".npy"]


def test_s_conf_shows_every_class_and_can_be_inverted():
    protocol, data = module("paper.protocol"), module("paper.data")
    problem = data.load("reuters", 0, False)
    for seed in range(5):
        scene = protocol.set_scene(problem, 5, [8, 48], seed)
        assert np.linalg.cond(scene.confusion(8)) < protocol.WORST_CONDITION
        np.testing.assert_allclose(scene.confusion(48).sum(axis=1), 1)
    with pytest.raises(ValueError, match="No S_conf of 3 rows"):
        protocol.set_scene(problem, 5, [3], 0)


def test_unknown_data_sets_are_refused(capsys):
    assert run("table1", "--only", "mnist") == 2
    assert "No such data set: mnist" in capsys.readouterr().out


def test_words_for_differences():
    page = module("paper.page")
    value = {"mean": 0.2, "standard_error": 0.01, "n_runs": 10}
    assert page.compared(value, 0.22) == "alike"
    assert page.compared(value, 0.3) == "lower"
    assert page.compared(value, 0.1) == "higher"
    assert page.cell(value) == "0.200 ± 0.010"
    assert page.cell(value | {"standard_error": None}) == "0.200"


def test_quick_results_stay_apart():
    assert run("class_distributions", "--quick") == 0
    assert not Path("docs").exists()
    folder = Path("experiments/results/paper-quick")
    assert (folder / "paper" / "class_distributions.json").exists()
    assert "This is a quick look" in (folder / "paper.md").read_text()


def test_words_for_two_curves():
    along = module("paper.figure_words")._along
    flat, falling = {"mean": [0.2, 0.2, 0.2]}, {"mean": [0.3, 0.15, 0.1]}
    assert along([10, 20, 40], {"UMA": flat, "it": falling}).endswith("it errs less from 20 rows.")
    assert along([10, 20, 40], {"UMA": falling, "it": flat}).endswith("more at the largest size.")
    never = {"mean": [0.1, 0.1, 0.05]}
    assert along([10, 20, 40], {"UMA": falling, "it": never}).endswith("errs less at every size.")


def test_what_is_beyond_the_paper():
    for name in ("monotonic", "confusion_risk", "kernel_forms"):
        assert run(name) == 0
    page = Path("docs/paper.md").read_text()
    for words in ("### Monotonic noise", "### Error or confusion rate", "### UMA with a kernel"):
        assert words in page
    for one in summary("monotonic")["errors"].values():
        assert one["uma"]["uniform"]["n_runs"] == 2
    methods = module("paper.confusion_risk").METHODS
    assert list(summary("confusion_risk")["table"]) == list(methods)
    forms = module("paper.kernel_forms").FORMS
    for kinds in summary("kernel_forms")["errors"].values():
        assert all(set(by_form) == set(forms) for by_form in kinds.values())


def test_a_claim_needs_two_standard_errors():
    claims = module("paper.claims")
    values = [{"mean": mean, "standard_error": 0.01} for mean in (-0.03, -0.015, 0.03)]
    assert [claims.sign(value) for value in values] == [-1, 0, 1]
    assert claims.verdict([-1, -1], -1) == claims.AGREES
    assert claims.verdict([-1, 0], -1) == claims.OPEN
    assert claims.verdict([-1, 0, 1], -1) == claims.NOT
    table = {
        name: {"differences": {"uma - f_y": value}}
        for name, value in zip(("digits", "letter", "reuters"), values, strict=True)
    }
    (line,) = [one for one in claims.claim_lines({"table1": table}) if "f_y" in one[1]]
    assert line[2].startswith("Digits -0.030 ± 0.010")
    assert line[3] == "agrees on Digits; does not on Reuters; cannot be told on Letter"
