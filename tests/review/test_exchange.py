"""Label Studio and Hugging Face: what goes out comes back."""

import json

import numpy as np
import pandas as pd
import pytest

from unconfused._columns.row_hash import row_hashes
from unconfused.review import (
    Verdict,
    Verdicts,
    from_hugging_face,
    match_verdicts,
    read_label_studio,
    to_hugging_face,
    write_label_studio,
)


@pytest.fixture
def frame():
    return pd.DataFrame({"text": ["woof", "meow", "moo"], "n": [1, 2, 3], "kind": ["cat"] * 3})


def annotated(path, answers):
    """Answer tasks as Label Studio's export has it."""
    tasks = json.loads(path.read_text(encoding="utf-8"))
    for number, (task, given) in enumerate(zip(tasks, answers, strict=True)):
        task["annotations"] = [
            {
                "id": 10 * number + place,
                "completed_by": {"id": 1, "email": "ann@example.org"},
                "created_at": "2026-01-01T00:00:00Z",
                "was_cancelled": answer is None,
                "result": [] if answer is None else [
                    {"from_name": "label", "to_name": "text", "type": "choices",
                     "value": {"choices": [answer]}}
                ],
            }
            for place, answer in enumerate(given)
        ]  # fmt: skip
    path.write_text(json.dumps(tasks), encoding="utf-8")


def test_tasks_go_to_label_studio_and_verdicts_come_back(tmp_path, frame):
    path = tmp_path / "tasks.json"
    write_label_studio(path, frame, label="kind", suggested=["dog", "cat", "cow"], score=[0.9] * 3)
    task = json.loads(path.read_text())[0]
    assert task["data"]["text"] == "woof" and task["predictions"][0]["score"] == 0.9
    annotated(path, [["dog"], [None], ["cow", "cat"]])
    back, lines = read_label_studio(path, label="kind")
    pd.testing.assert_frame_equal(back, frame)
    verdicts = Verdicts(lines)
    assert verdicts.settled["0"].reviewer == "ann@example.org"
    assert verdicts.skipped == {"1"} and set(verdicts.conflicts) == {"2"}
    checked = match_verdicts(verdicts, frame, frame["kind"], leave_out=["kind"])
    assert checked.y_true.tolist() == ["dog", None, None]
    assert not checked.representative.any(), "nobody knows how they were chosen"
    again, _ = read_label_studio(path, label="kind")
    assert Verdicts([*lines, *read_label_studio(path, label="kind")[1]]).live == verdicts.live
    assert len(again) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not JSON"), ('[{"text": "x"}]', "list of tasks"), ('{"data": 1}', "list of tasks")],
)
def test_other_files_are_refused(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_label_studio(path)


def test_two_choices_are_refused(tmp_path, frame):
    path = tmp_path / "tasks.json"
    write_label_studio(path, frame)
    annotated(path, [["dog"], ["cat"], ["cow"]])
    tasks = json.loads(path.read_text())
    tasks[0]["annotations"][0]["result"][0]["value"]["choices"] = ["dog", "cat"]
    path.write_text(json.dumps(tasks))
    with pytest.raises(ValueError, match="chose 2 classes"):
        read_label_studio(path)


@pytest.fixture
def datasets():
    # Its submodule: the folder of our own tests answers to the bare name.
    pytest.importorskip("datasets.arrow_dataset", reason="needs Hugging Face's datasets")
    import datasets

    return datasets


def test_hugging_face_data_sets(datasets, frame):
    features = datasets.Features(
        {"text": datasets.Value("string"), "kind": datasets.ClassLabel(names=["cat", "dog"])}
    )
    data = datasets.Dataset.from_dict(
        {"text": ["a", "b", "c"], "kind": [0, 1, -1]}, features=features
    )
    rows, labels = from_hugging_face(data, label="kind")
    assert labels.tolist() == ["cat", "dog", None] and rows.columns.tolist() == ["text"]
    posterior = np.full((3, 2), 0.5)
    found = to_hugging_face(
        data, label="kind", verdicts=["dog", "dog", None], suggested=["dog"] * 3,
        posterior=posterior,
    )  # fmt: skip
    assert found["kind"][:] == ["dog", "dog", None]
    assert found["label_source"][:] == ["corrected", "confirmed", "given"]
    assert found["label_posterior"][0] == [0.5, 0.5] and found["suggested_label"][0] == "dog"
    again = to_hugging_face(found, label="kind", suggested=["cat"] * 3)
    assert again["suggested_label"][:] == ["cat"] * 3
    with pytest.raises(ValueError, match="no column 'sort'"):
        from_hugging_face(data, label="sort")
    with pytest.raises(ValueError, match=r"datasets\.Dataset"):
        from_hugging_face(frame, label="kind")


def test_verdicts_are_found_again_in_a_hugging_face_data_set(datasets, frame, tmp_path):
    whole = datasets.Dataset.from_pandas(frame).class_encode_column("kind")
    rows, labels = from_hugging_face(whole, label="kind")
    answers = zip(rows["text"], row_hashes(rows), ["dog", "cat", "cow"], strict=True)
    lines = [Verdict(text, digest, "cat", "label", answer) for text, digest, answer in answers]
    some = whole.shuffle(seed=0).filter(lambda row: row["text"] != "meow")
    rows, labels = from_hugging_face(some, label="kind")
    checked = match_verdicts(Verdicts(lines), rows, labels, keys=rows["text"])
    assert [note for note in checked.notes if "no row" in note] == checked.notes
    told = to_hugging_face(some, label="kind", verdicts=checked.y_true)
    told.to_parquet(tmp_path / "told.parquet")
    back = datasets.Dataset.from_parquet(
        str(tmp_path / "told.parquet"), cache_dir=str(tmp_path / "cache")
    )
    told = dict(zip(back["text"], back["kind"], strict=True))
    assert told == {"woof": "dog", "moo": "cow"}
    assert back["label_source"][:] == ["corrected"] * 2
