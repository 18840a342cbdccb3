"""From the columns of a frame to a model: what is used how, and what is said about it."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer

import unconfused
from unconfused import UMAClassifier, UnconfusedLogisticRegression
from unconfused._columns.kinds import ColumnError, ColumnRoles
from unconfused._columns.steps import (
    DateParts,
    build_pipeline,
    check_columns,
    columns_as_text,
    prepare_frame,
)
from unconfused._files.read import iter_tables, read_table
from unconfused._files.write import write_table
from unconfused.persistence import to_onnx

N = 200


def make_frame(seed=0):
    rng = np.random.RandomState(seed)
    kind = rng.randint(3, size=N)
    return pd.DataFrame(
        {
            "row": [f"r{i}" for i in range(N)],
            "customer_id": rng.permutation(N),
            "size": np.where(rng.rand(N) < 0.1, np.nan, kind + rng.rand(N)),
            "count": rng.randint(50, size=N),
            "colour": np.where(
                rng.rand(N) < 0.1, None, np.array(["red", "green", "blue"], dtype=object)[kind]
            ),
            "good": kind == 1,
            "maybe": [True, None, False, True] * (N // 4),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(kind * 30 + rng.rand(N), unit="D"),
            "remark": [f"the {['cat', 'dog', 'bee'][k]} number {i}" for i, k in enumerate(kind)],
            "unit": "cm",
            "empty": np.nan,
            "label": np.array(["ant", "bee", "cat"])[kind],
        }
    )


def fitted(frame, learner=None, **options):
    learner = UnconfusedLogisticRegression(l2=1e-3) if learner is None else learner
    said = ColumnRoles(["label", *options.pop("leave_out", [])], **options)
    model, plan = build_pipeline(frame, learner, said)
    return model.fit(prepare_frame(model, frame), frame["label"]), plan


def test_what_every_column_is():
    model, plan = fitted(make_frame())
    assert plan.numbers == ["size", "count", "good", "maybe"]
    assert plan.categories == ["colour"]
    assert plan.dates == ["seen"]
    assert plan.text == ["remark"]
    assert plan.left_out.keys() == {"row", "customer_id", "unit", "empty"}
    said = "\n".join(plan.in_words())
    assert "'unit' is left out: it is always 'cm'." in said
    assert "'empty' is left out: all its cells are empty." in said
    assert "'row' is left out: a different value in every row" in said
    assert isinstance(model[0], ColumnTransformer)
    assert model.score(prepare_frame(model, make_frame(1)), make_frame(1)["label"]) > 0.9


def test_texts_and_what_rises_with_every_row_are_recognised():
    n = 60
    frame = pd.DataFrame(
        {
            "text": [f"a sentence of many words, number {i}" for i in range(n)],
            "name": [f"Ann{i} Smith" for i in range(n)],
            "advice": ["do not do this at home", "ask your doctor before use"] * (n // 2),
            "number": np.arange(n) * 3 + 7,
            "stamp": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="h"),
            "born": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) % 7, unit="D"),
            "size": np.arange(n) % 7,
            "label": ["ant", "bee"] * (n // 2),
        }
    )
    _, plan = fitted(frame)
    assert plan.text == ["text"] and plan.categories == ["advice"]
    assert plan.left_out.keys() == {"name", "number", "stamp"}
    assert plan.numbers == ["size"] and plan.dates == ["born"]
    _, plan = fitted(frame, numbers=["number", "stamp"], categories=["text"])
    assert "number" in plan.numbers and "stamp" in plan.dates and "text" in plan.categories
    with pytest.raises(ColumnError, match="named as numbers, but holds 'Ann0 Smith'"):
        fitted(frame, numbers=["name"])


def test_what_the_user_says_comes_first():
    frame = make_frame()
    _, plan = fitted(frame, text=["remark"], categories=["count"], leave_out=["good", "seen"])
    assert plan.text == ["remark"] and "count" in plan.categories
    assert "good" not in plan.used and "seen" not in plan.used
    only_text = frame[["remark", "label"]]
    model, _ = fitted(only_text, text=["remark"])
    assert model.score(prepare_frame(model, only_text), frame["label"]) == 1.0


def test_text_that_is_not_named_as_such_is_worth_a_note():
    frame = make_frame()
    frame.loc[:40, "remark"] = "nothing to say"  # so that not every cell is different
    _, plan = fitted(frame)
    assert "remark" in plan.categories
    (said,) = plan.notes
    assert "with 160 different values in 200 rows" in said and "name it as text" in said


def test_a_stray_word_among_measurements_is_refused_by_its_row():
    frame = make_frame()
    frame["age"] = [str(i % 60) for i in range(N - 1)] + ["old"]
    with pytest.raises(ColumnError, match="1 of 200 cells, such as 'old' in row 199"):
        fitted(frame)
    _, plan = fitted(frame, categories=["age"])
    assert "age" in plan.categories
    _, plan = fitted(frame.assign(age=pd.to_numeric(frame["age"], errors="coerce")))
    assert "age" in plan.numbers


def test_codes_that_are_mostly_numbers_are_worth_a_note():
    frame = make_frame()
    frame["code"] = [str(i % 4) for i in range(N - 1)] + ["X"]
    _, plan = fitted(frame)
    assert "code" in plan.categories
    assert (
        "'code' is taken for categories: 199 of 200 cells are numbers, but not 'X' in row 199."
        in (plan.notes)
    )


def test_dates_in_other_notations_are_worth_a_note():
    frame = make_frame()
    frame["day"] = [f"{1 + i % 28}.{1 + i // 28}.2024" for i in range(N)]
    frame.loc[0, "day"] = "2.1.2024"  # so that not every cell is different
    _, plan = fitted(frame)
    assert any("'day' is taken for categories, with 199" in said for said in plan.notes)
    frame["day"] = [f"May {1 + i % 9}, 2024" for i in range(N)]  # few, but dates all the same
    _, plan = fitted(frame)
    assert any("with 9 different" in said and "2024-05-31" in said for said in plan.notes)


def test_numbers_with_commas_are_not_taken_for_categories():
    frame = make_frame()
    frame["price"] = [f"{i},5" for i in range(N - 1)] + ["7"]
    with pytest.raises(ColumnError, match="'price' holds numbers with a comma, such as '0,5'"):
        fitted(frame)
    _, plan = fitted(frame, categories=["price"])
    assert "price" in plan.categories


@pytest.mark.parametrize("write", ["${:,}", "{:,}.50", "{}.5 €", "-£ {}.25", "{}%", "{}.5 %"])
def test_amounts_are_not_taken_for_categories(write):
    frame = make_frame()
    frame["price"] = [write.format(1000 * i) for i in range(N - 1)] + ["7"]
    with pytest.raises(ColumnError, match="'price' holds numbers with a c"):
        fitted(frame)


def test_words_beside_amounts_are_categories():
    frame = make_frame()
    frame["price"] = ["cheap", "12 %"] * (N // 2)
    _, plan = fitted(frame)
    assert "price" in plan.categories


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"leave_out": ["lable"]}, "no column 'lable'. Did you mean 'label'"),
        (
            {"leave_out": ["label"], "text": ["nothing"]},
            "no column 'nothing'. The columns are 'row'",
        ),
        (
            {"leave_out": ["label"], "text": ["label"]},
            "'label': a column can be used for one thing",
        ),
        (
            {"leave_out": ["label"], "text": ["remark"], "categories": ["remark"]},
            "'remark': a column can be used for one thing",
        ),
    ],
)
def test_columns_that_cannot_be_used_so(options, match):
    with pytest.raises(ColumnError, match=match):
        build_pipeline(make_frame(), UMAClassifier(), ColumnRoles(**options))


def test_nothing_to_learn_from():
    with pytest.raises(ColumnError, match=r"No column is left to learn from\. 'unit' is left out"):
        build_pipeline(make_frame()[["unit", "label"]], UMAClassifier(), ColumnRoles(["label"]))


def test_missing_and_other_columns_are_named():
    frame = make_frame()
    model, _ = fitted(frame)
    assert check_columns(model, frame) == [
        "row",
        "customer_id",
        "unit",
        "empty",
        "label",
    ]
    with pytest.raises(ColumnError, match=r"no columns 'size', 'colour'\. Did you mean 'Size'"):
        prepare_frame(model, frame.drop(columns=["colour"]).rename(columns={"size": "Size"}))
    plain = UMAClassifier().fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ColumnError, match=r"takes 3 columns.*there are 12"):
        check_columns(plain, frame)
    assert check_columns(plain, frame[["size", "count", "good"]]) == []


@pytest.mark.parametrize(
    ("name", "cell", "match"),
    [
        ("size", "big", r"'size' holds 'big' \(row 7\), which is not a number"),
        ("size", np.inf, "'size' holds 'inf'.*not finite"),
        ("good", "perhaps", "'good' holds 'perhaps'.*not a number"),
        ("seen", "soon", "'seen' holds 'soon'.*not a date"),
    ],
)
def test_cells_that_do_not_fit_are_named(name, cell, match):
    model, _ = fitted(make_frame())
    frame = make_frame().astype({name: object})
    frame.loc[7, name] = cell
    with pytest.raises(ColumnError, match=match):
        prepare_frame(model, frame)


def test_types_that_do_not_fit_are_named():
    model, _ = fitted(make_frame())
    frame = make_frame()
    with pytest.raises(ColumnError, match="'size' holds dates"):
        prepare_frame(model, frame.assign(size=frame["seen"]))
    with pytest.raises(ColumnError, match="'seen' holds numbers"):
        prepare_frame(model, frame.assign(seen=frame["size"]))


def test_the_same_cells_in_other_clothes():
    frame = make_frame()
    model, _ = fitted(frame, categories=["count"])
    expected = model.decision_function(prepare_frame(model, frame))
    other = frame.assign(
        count=frame["count"].astype(float),
        good=frame["good"].map({True: "true", False: "FALSE"}),
        seen=frame["seen"].dt.tz_localize("UTC"),
        size=frame["size"].astype(str).replace("nan", None),
        colour=frame["colour"].astype("category"),
    ).sample(frac=1, axis=1, random_state=0)
    found = model.decision_function(prepare_frame(model, other))
    np.testing.assert_allclose(found, expected)


def test_cells_never_seen():
    model, _ = fitted(make_frame(), text=["remark"])
    frame = make_frame().head(4)
    frame["colour"] = ["violet", None, "red", "red"]
    frame[["size", "seen", "remark", "maybe"]] = None
    assert np.isfinite(model.predict_proba(prepare_frame(model, frame))).all()


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_from_file_to_saved_model_and_back(ending, tmp_path):
    path = write_table(make_frame(), tmp_path / f"train.{ending}")
    frame = read_table(path)
    model, _ = fitted(frame, text=["remark"])
    loaded = unconfused.load(unconfused.save(model, tmp_path / "model.skops"))
    expected = model.predict_proba(prepare_frame(model, frame))
    np.testing.assert_array_equal(loaded.predict_proba(prepare_frame(loaded, frame)), expected)
    parts = iter_tables(path, rows=30, as_text=columns_as_text(loaded))
    found = np.vstack([loaded.predict_proba(prepare_frame(loaded, part)) for part in parts])
    np.testing.assert_allclose(found, expected)


def test_parts_that_look_like_numbers_stay_categories(tmp_path):
    frame = make_frame()[["label"]].assign(code=["01", "1", "true", "x"] * (N // 4))
    model, plan = fitted(frame)
    assert plan.categories == ["code"] == columns_as_text(model)
    path = write_table(frame, tmp_path / "t.csv")
    parts = iter_tables(path, rows=1, as_text=columns_as_text(model))
    found = pd.concat([prepare_frame(model, part) for part in parts])
    assert found["code"].tolist() == frame["code"].tolist()


@pytest.mark.slow
def test_many_levels_are_taken_together():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {"code": [f"c{i}" for i in rng.randint(3000, size=9000)], "label": [0, 1] * 4500}
    )
    model, _ = fitted(frame, UMAClassifier(max_iter=2))
    assert model[0].transform(prepare_frame(model, frame)).shape[1] == 1000


def test_a_model_of_columns_can_be_exported():
    frame = make_frame()[["size", "count", "colour", "label"]]
    assert frame["colour"].isna().any()
    model, _ = fitted(frame)
    prepared = prepare_frame(model, frame)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(to_onnx(model, example=prepared).SerializeToString())
    kinds = {"size": np.float32, "count": np.float32, "colour": object}
    # ONNX knows no missing text: there it is the word "nan".
    cells = prepared.fillna({"colour": "nan"})
    inputs = {name: cells[[name]].to_numpy(dtype=kind) for name, kind in kinds.items()}
    _, probabilities = session.run(None, inputs)
    np.testing.assert_allclose(probabilities, model.predict_proba(prepared), atol=1e-5)


def test_dates_go_round():
    dates = pd.DataFrame({"day": pd.to_datetime(["2023-12-31", "2024-01-01", "2024-07-01"])})
    parts = DateParts().fit(dates)
    found = parts.transform(dates)
    names = parts.get_feature_names_out(["day"]).tolist()
    assert found.shape == (3, 7) and len(names) == 7
    year = found[:, [names.index("day_year_sin"), names.index("day_year_cos")]]
    assert np.linalg.norm(year[0] - year[1]) < 0.02 < 1.9 < np.linalg.norm(year[1] - year[2])
    week = found[:, [names.index("day_week_sin"), names.index("day_week_cos")]]
    np.testing.assert_allclose(week[1], week[2])  # both are Mondays
    assert found[1, 0] - found[0, 0] == 1.0


@pytest.mark.parametrize("time", ["00:00", "08:00", "23:59:59.999999"])
def test_one_time_of_day_is_one_place_in_the_day(time):
    # Even rounding errors would be scaled to a feature as large as any other.
    days = np.datetime64(f"1960-01-01T{time}", "us") + np.arange(0, 40_000, 7).astype("m8[D]")
    parts = DateParts().fit_transform(days[:, None])
    names = DateParts().fit(days[:, None]).get_feature_names_out(["x"]).tolist()
    fixed = [name for name, spread in zip(names, np.ptp(parts, axis=0), strict=True) if spread == 0]
    assert fixed == ["x_week_sin", "x_week_cos", "x_day_sin", "x_day_cos"]


def test_dates_are_exported_as_days():
    ort = pytest.importorskip("onnxruntime")
    frame = make_frame()[["size", "seen", "colour", "label"]]
    rng = np.random.RandomState(0)
    frame["born"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.randint(0, 9000, N), unit="h")
    model, plan = fitted(frame)
    assert plan.dates == ["seen", "born"]
    ready = prepare_frame(model, frame)
    graph = to_onnx(model, example=ready).SerializeToString()
    session = ort.InferenceSession(graph, providers=["CPUExecutionProvider"])
    days = {
        name: ((ready[[name]] - pd.Timestamp(0)) / pd.Timedelta("1D")).to_numpy(dtype=np.float64)
        for name in plan.dates
    }
    others = {
        "size": ready[["size"]].to_numpy(dtype=np.float32),
        "colour": ready[["colour"]].fillna("nan").to_numpy(dtype=str),
    }
    shares = session.run(["probabilities"], days | others)[0]
    np.testing.assert_allclose(shares, model.predict_proba(ready), atol=1e-3)


@pytest.mark.parametrize(
    ("cell", "hint"),
    [
        ("{}/05/2024", "Dates are read only where"),
        ("{} May 2024", "Dates are read only where"),
        ("1 0{}.50 EUR", "Numbers are read only"),
        ("{},5 kg", "Numbers are read only"),
    ],
)
def test_values_written_in_another_way_come_with_a_hint(cell, hint):
    frame = pd.DataFrame(
        {"size": [1.5, 2.5] * 12, "other": [cell.format(n) for n in range(10, 34)]}
    )
    _, plan = build_pipeline(frame, UMAClassifier())
    assert hint in plan.left_out["other"]


@pytest.mark.parametrize("bad", ["2024-02-30", "unknown", "31/05/2024"])
def test_a_column_of_dates_names_the_row_that_is_none(bad):
    days = pd.Series(pd.date_range("2024-01-01", periods=30).strftime("%Y-%m-%d"), dtype=object)
    days[17] = bad
    frame = pd.DataFrame({"size": [1.5, 2.5] * 15, "seen": days})
    said = f"except for 1 of 30 cells, such as '{bad}' in row 17. Write these as 2024-05-31"
    with pytest.raises(ColumnError, match=re.escape(said)):
        build_pipeline(frame, UMAClassifier())
    _, plan = build_pipeline(frame, UMAClassifier(), ColumnRoles(categories=["seen"]))
    assert plan.categories == ["seen"]


def test_dates_stored_as_text_are_refused():
    days = pd.Series(pd.date_range("2024-01-01", periods=30).strftime("%Y-%m-%d"), dtype=object)
    frame = pd.DataFrame({"size": [1.5, 2.5] * 15, "seen": days})
    with pytest.raises(ColumnError, match="'seen' holds dates as text"):
        build_pipeline(frame, UMAClassifier())


def test_words_with_a_few_dates_among_them_are_categories():
    words = ["early", "late", "2024-05-31"] * 10
    frame = pd.DataFrame({"size": np.arange(30.0) % 7, "seen": words})
    assert build_pipeline(frame, UMAClassifier())[1].categories == ["seen"]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_dates_with_a_time_zone_are_dates(zone):
    days = pd.Series(pd.date_range("2024-01-01", periods=30, tz=zone)).sample(30, random_state=0)
    frame = pd.DataFrame({"size": [1.5, 2.5] * 15, "seen": days.reset_index(drop=True)})
    model, plan = build_pipeline(frame, UMAClassifier())
    assert plan.dates == ["seen"]
    assert np.isfinite(model[:-1].fit_transform(prepare_frame(model, frame))).all()
