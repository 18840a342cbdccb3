"""The review server: who is answered, what is written, what may be seen."""

import base64
import http.client
import json
import threading
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reviews import animals_session, serving, write_animals
from scipy import sparse

from unconfused import noise
from unconfused.cli import reviewing
from unconfused.cli.input.label_options import LabelOptions, Settings
from unconfused.cli.input.open_task import open_task
from unconfused.cli.options import ReadOptions
from unconfused.cli.reviewing import open_session
from unconfused.review import append_verdicts, fit_checked, judge_left_out, read_verdicts
from unconfused.review.serve.judged import Judged
from unconfused.review.serve.rows import ReviewRows
from unconfused.review.serve.session import ReviewError

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("review")
    write_animals(place / "animals.csv")
    (place / "a.png").write_bytes(PIXEL)
    return place


@pytest.fixture
def session(folder, request):
    path = folder / "verdicts.csv"
    path.unlink(missing_ok=True)
    return animals_session(folder)


@pytest.fixture
def server(session):
    with serving(session) as one:
        yield one


def request(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    given = {"X_Token": "secret", "Content_Type": "application/json"} | headers
    given = {name.replace("_", "-"): value for name, value in given.items() if value is not None}
    with closing(connection):
        connection.request(method, path, None if body is None else json.dumps(body), given)
        reply = connection.getresponse()
        return reply.status, reply.read(), reply.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"X_Token": None}, 403),
        ({"X_Token": "guess"}, 403),
        ({"X_Token": "sécret"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
    ],
)
def test_who_is_answered(server, headers, status):
    assert request(server, "GET", "/next?tab=a", **headers)[0] == status
    got, _, _ = request(server, "POST", "/undo", {"tab": "a"}, **headers)
    assert got == (409 if status == 200 else status)


def test_own_names_and_the_page(server):
    host = f"localhost:{server.server_port}"
    origin = {"Host": host, "Origin": f"http://{host}"}
    status, page, headers = request(server, "GET", "/?token=secret", X_Token=None, **origin)
    assert status == 200 and b"<script>" in page
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY" and headers["Cache-Control"] == "no-store"
    assert request(server, "GET", "/", X_Token=None)[0] == 403
    assert request(server, "GET", "/other")[0] == 404
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"tab": "a", "row": 1}, {}, 400),
        ({"row": 1, "action": "label", "verdict": "cat"}, {}, 400),
        ([1], {}, 400),
        ({"tab": "a", "row": 10**9, "action": "label", "verdict": "cat"}, {}, 409),
        ({"tab": "a", "row": 1, "action": "shout", "verdict": "cat"}, {}, 409),
        ({"tab": "a"}, {"Content_Type": "text/plain"}, 415),
        ({"tab": "a" * 100_000}, {}, 413),
    ],
)
def test_bad_requests(server, session, body, headers, status):
    assert request(server, "POST", "/answer", body, **headers)[0] == status
    assert not session.path.exists()


def test_a_verdict_is_on_disk_before_the_next_row(server, session):
    page = json.loads(request(server, "GET", "/next?tab=a")[1])
    body = {"tab": "a", "row": page["row"], "action": "label", "verdict": page["label"]}
    after = json.loads(request(server, "POST", "/answer", body)[1])
    line = read_verdicts(session.path).settled[page["key"]]
    assert line.verdict == page["label"] and line.drawn_by == page["drawn_by"]
    assert after["row"] != page["row"] and after["progress"]["checked"] == 1
    assert request(server, "POST", "/answer", body)[0] == 409, "not twice"
    back = json.loads(request(server, "POST", "/undo", {"tab": "a"})[1])
    assert back["row"] == page["row"] and back["progress"]["checked"] == 0
    assert not read_verdicts(session.path).settled


def test_rows_are_asked_about_before_there_are_reasons(folder, monkeypatch):
    fitted = threading.Event()

    def fit_later(*args, **settings):
        fitted.wait(60)
        return fit_checked(*args, **settings)

    monkeypatch.setattr(reviewing, "fit_checked", fit_later)
    session = animals_session(folder, "none.csv", by="suspicion", background=True)
    before = session.ask("a")
    fitted.set()
    deadline = time.monotonic() + 60
    while session.judged.model is None and time.monotonic() < deadline:
        time.sleep(0.01)
    after = session.ask("a")
    assert after["row"] == before["row"] and after["chance"] == before["chance"]
    assert len(after["why"]) == len(before["why"]) + 1 and "size" in after["why"][-1]


def test_images_come_from_the_folder_only(folder, session):
    rows = session.rows
    outside = folder.parent / "outside.png"
    outside.write_bytes(PIXEL)
    (folder / "link.png").symlink_to(outside)
    (folder / "notes.txt").write_text("private")
    assert rows.image_path("a.png") == (folder / "a.png").resolve()
    for bad in (
        "../outside.png",
        str(outside),
        "link.png",
        "notes.txt",
        "no.png",
        "a.png\0.png",
        "",
    ):
        assert rows.image_path(bad) is None, bad


def test_an_image_is_served(server):
    status, content, headers = request(server, "GET", "/image?row=0&column=photo")
    assert status == 200 and content == PIXEL and headers["Content-Type"] == "image/png"
    for query in ("row=0&column=size", "row=0&column=kind", "row=99999&column=photo", "row=x"):
        assert request(server, "GET", f"/image?{query}")[0] == 404


def answer(session, tab, how=lambda page: page["label"]):
    page = session.ask(tab)
    return page, session.answer(tab, page["row"], "label", how(page))


def test_two_tabs_are_asked_about_different_rows(session):
    seen = set()
    for _ in range(8):
        one, other = session.ask("one")["row"], session.ask("other")["row"]
        assert one != other and not {one, other} & seen
        seen |= {one, other}
        answer(session, "one")
        answer(session, "other")
    assert len(session.verdicts.settled) == 16 and not session.verdicts.conflicts
    assert session.ask("one")["row"] == session.ask("one")["row"], "a reload asks again"


def test_rows_drawn_at_random_hide_the_suggestion(folder, session):
    session.path.unlink(missing_ok=True)
    session = animals_session(folder, by="random")
    page = session.ask("a")
    assert page["hidden"] and not {"suggested", "chance", "why", "near"} & set(page)
    after = session.answer("a", page["row"], "label", page["label"])
    assert "The model would have said" in after["before"]
    line = session.verdicts.settled[page["key"]]
    assert not line.shown and 0 < line.probability <= 1


def test_a_second_session_goes_on_and_settles_conflicts(folder, session):
    page, _ = answer(session, "a")
    copy = session.verdicts.settled[page["key"]]
    other = replace(copy, verdict="dog" if copy.verdict != "dog" else "cat", id="x", reviewer="bob")
    append_verdicts(session.path, [other])
    again = animals_session(folder)
    asked = again.ask("a")
    assert asked["key"] == page["key"] and asked["drawn_by"] == "conflict"
    assert {one["verdict"] for one in asked["conflict"]} == {copy.verdict, other.verdict}
    again.answer("a", asked["row"], "label", "dog")
    assert again.verdicts.settled[page["key"]].verdict == "dog" and not again.verdicts.conflicts
    again.undo("a")
    assert again.verdicts.conflicts, "taken back, the answers contradict each other as before"


def test_verdicts_correct_how_many_wrong_labels_are_expected(session):
    """A model that has learnt the mistakes expects none, until verdicts say otherwise."""
    judged = session.judged
    posterior = np.full_like(judged.posterior, 0.001)
    posterior[np.arange(150), judged.observed] = 0.998
    judged = replace(judged, posterior=posterior)
    nothing, first = np.zeros(150, dtype=bool), np.arange(150) < 40
    assert judged.wrong_given(nothing, nothing).max() < 0.01
    half = judged.wrong_given(first, np.arange(150) % 2 == 0)
    assert half == pytest.approx(0.5)
    none = judged.wrong_given(first, nothing)
    assert np.all(none < 0.02) and np.isfinite(none).all()
    assert np.isfinite(judged.wrong_given(first, first)).all()


def test_one_label_that_was_right_does_not_clear_all_others(session):
    judged, rows = session.judged, np.arange(150)
    posterior = np.full_like(judged.posterior, 0.45)
    posterior[rows, judged.observed] = np.where(rows < 10, 0.001, 0.9)
    judged = replace(judged, posterior=posterior)
    found = judged.wrong_given(rows < 10, rows < 9)
    assert found[10:] == pytest.approx(0.09, abs=0.001)


@pytest.mark.slow
def test_random_draws_reach_rows_already_checked(folder, session):
    """Ask about all by suspicion, then draw at random: the sample is of all rows."""
    session.path.unlink(missing_ok=True)
    first = animals_session(folder, by="suspicion")
    for _ in range(60):
        answer(first, "a")
    assert not first.checked.representative.any()
    second = animals_session(folder, by="random")
    for _ in range(30):
        answer(second, "a")
    sample = second.checked.representative
    assert sample.sum() > 30, "rows that were known already are part of it"
    assert second.progress()["random"] == sample.sum()


@pytest.mark.slow
def test_reviewing_everything(folder, session):
    truth = dict(zip(pd.read_csv(folder / "animals.csv")["name"], range(150), strict=True))
    assert len(truth) == 150
    session.path.unlink(missing_ok=True)
    session = animals_session(folder, by="random")
    real = write_animals(folder / "again.csv")
    for _ in range(150):
        answer(session, "a", lambda page: real[page["key"]])
    end = session.ask("a")
    assert end["row"] is None and end["progress"]["checked"] == 150
    assert end["progress"]["left"] == 0.0 and end["progress"]["mended"] > 15
    assert np.isfinite(end["progress"]["gain"])
    with pytest.raises(ReviewError, match="not the one"):
        session.answer("a", 3, "label", "cat")


def test_a_column_of_truths_is_pointed_out(folder, tmp_path, capsys):
    table = pd.read_csv(folder / "animals.csv")
    table.assign(truth=table["kind"].where(table.index < 50)).to_csv(tmp_path / "animals.csv")
    animals_session(tmp_path)
    assert "'truth' holds class names" in capsys.readouterr().err
    animals_session(folder)
    assert capsys.readouterr().err == ""


def test_votes_are_shown_and_verdicts_settle_them(tmp_path):
    write_animals(tmp_path / "animals.csv", 60)
    frame = pd.read_csv(tmp_path / "animals.csv")
    kinds = frame["kind"].unique()
    rng = np.random.RandomState(0)
    for who in ("Ann", "Bob", "<i>Cy</i>"):
        frame[who] = np.where(rng.rand(60) < 0.3, rng.choice(kinds, 60), frame["kind"])
    frame.drop(columns="kind").to_csv(tmp_path / "animals.csv", index=False)
    known = LabelOptions(annotators=["Ann", "Bob", "<i>Cy</i>"], identity="name")
    settings = Settings(ignore=["remark", "photo"], l2=1e-3)
    task = open_task(tmp_path / "animals.csv", known, ReadOptions(), [])
    verdicts = tmp_path / "verdicts.csv"
    session = open_session(task, known, settings, verdicts, None, [], by="suspicion")
    page = session.ask("one")
    assert [one["who"] for one in page["votes"]] == ["Ann", "Bob", "<i>Cy</i>"]
    said = [one["vote"] for one in page["votes"]]
    assert page["label"] in said and max(map(said.count, said)) == said.count(page["label"])
    assert not {"Ann", "Bob"} & {one["name"] for one in page["cells"]}, "shown once, as votes"
    session.answer("one", page["row"], "label", "cat")
    known = LabelOptions(
        annotators=["Ann", "Bob", "<i>Cy</i>"], identity="name", truth=str(verdicts)
    )
    again = open_task(tmp_path / "animals.csv", known, ReadOptions(), [])
    assert again.trusted.sum() == 1 and again.y_true[page["row"]] == "cat" and not again.notes


def test_cells_are_written_as_people_do():
    frame = pd.DataFrame({
        "age": [33.0, np.nan], "share": [0.1 + 0.2, 1.5], "code": [20240531.0, 1.0],
        "seen": pd.to_datetime(["2020-09-18", "2020-09-19"]), "text": ["ten", "two"],
    })  # fmt: skip
    rows = ReviewRows(["0", "1"], ["a", "b"], lambda wanted: frame.iloc[wanted])
    shown = {cell["name"]: cell["text"] for cell in rows.cells(0)}
    expected = {"age": "33", "share": "0.3", "code": "20240531", "seen": "2020-09-18"}
    assert shown == expected | {"text": "ten"}
    assert [cell["name"] for cell in rows.cells(1)] == ["share", "code", "seen", "text"]


def test_reasons_lead_to_the_suggestion():
    """The features alone, and C, give the probability beside which they are shown."""
    truth = np.random.RandomState(0).randint(3, size=600)
    X = np.eye(3)[truth] * 2 + np.random.RandomState(1).randn(600, 3)
    y = noise.corrupt_labels(truth, noise.pairwise(3, 0.3), random_state=2)
    judged = judge_left_out(X, y)
    product = judged.alone * judged.matrix[:, y].T
    product /= product.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(judged.posterior, product, atol=1e-9)


def test_a_text_is_not_most_like_one_without_words():
    words = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 2], [0, 0, 1.0]]))
    posterior, labels = np.tile([0.1, 0.9], (5, 1)), np.array([0, 1, 1, 1, 1])
    judged = Judged(None, np.arange(2), words, labels, posterior, posterior, posterior)
    assert judged.nearest(0, 1, 4)[:2] == [2, 3]
