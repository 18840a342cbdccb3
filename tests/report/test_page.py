"""The report as a page: nothing the data holds can become more than text."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from reports import HOSTILE, confused_digits, some_truth
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import unconfused
from unconfused import UMAClassifier, UnconfusedLogisticRegression
from unconfused._report import write
from unconfused._report.gather import gather
from unconfused._report.html import page
from unconfused._report.html.page import render
from unconfused._report.tables import listing_of
from unconfused._text.html import element, escape

pytestmark = pytest.mark.slow

X, TRUE, SEEN, C = confused_digits()


class Page(HTMLParser):
    """Collects elements, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.open = [], [], []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "br", "input", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"{tag} ends while {self.open[-3:]} are open"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.scripts.append(data)
        else:
            self.text += data

    def of(self, tag):
        return [attributes for found, attributes in self.elements if found == tag]


@pytest.fixture(scope="module")
def hostile():
    y_true = np.where(some_truth(TRUE) >= 0, HOSTILE[TRUE], None)
    model = UnconfusedLogisticRegression(l2=1e-3, relabel=0, random_state=0)
    model.fit(X, HOSTILE[SEEN], y_true=y_true)
    data = gather(
        model,
        X,
        HOSTILE[SEEN],
        y_true=y_true,
        listing=listing_of(
            X,
            pd.DataFrame(
                {"</i>": "</td></table><script>window.hacked=4</script>"},
                index=[f"<i onclick=hack()>{i}</i>" for i in range(len(X))],
            ),
            "</i>",
            1000,
        ),
        title="</title><script>window.hacked=5</script>\ud800",
        random_state=0,
    )
    return data, render(data)


def test_everything_is_escaped(hostile):
    _, text = hostile
    page = Page(text)
    assert not page.open, "every element is closed"
    assert len(page.of("script")) == 2, "the data and our script"
    assert not page.of("img") and not page.of("i") and not page.of("link")
    assert not any(name.startswith("on") or name == "style" for _, a in page.elements for name in a)
    for label in HOSTILE:
        assert label.replace("\x00", "\ufffd") in page.text
    assert text.encode("utf-8"), "half a surrogate pair was replaced"


def test_a_rank_that_is_no_probability_is_not_called_one(hostile):
    data, text = hostile
    assert "wrong, %" in Page(text).text
    ranked = Page(render(replace(data, are_probabilities=False))).text
    assert "suspicion, %" in ranked and "wrong, %" not in ranked
    assert "Minimum suspicion, %" in ranked


def test_the_policy_names_what_may_run(hostile):
    page = Page(hostile[1])
    policy = next(a for a in page.of("meta") if "http-equiv" in a)["content"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    style, _, script = page.scripts
    for kind, text in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_nothing_is_fetched(hostile):
    assert not re.search(r"(src|href)=\"(?!#)", hostile[1])
    script = files("unconfused._report").joinpath("static", "report.js").read_text()
    for way in ("innerHTML", "fetch(", "XMLHttpRequest", "eval(", "document.write"):
        assert way not in script


def test_the_data_is_in_the_page(hostile):
    data, text = hostile
    embedded = Page(text).scripts[1]
    assert "<" not in embedded and embedded.isascii()
    found = json.loads(embedded)
    assert found["classes"] == data.classes and found["n_rows"] == data.n_rows
    assert found["rows"][0][0] == data.rows[0].row


def test_tables_have_headings(hostile):
    page = Page(hostile[1])
    assert all(a.get("scope") in ("col", "row") for a in page.of("th"))
    assert len(page.of("caption")) == len(page.of("table")) >= 6
    assert all(a.get("aria-label") or a.get("aria-hidden") for a in page.of("svg"))
    assert len(page.of("h1")) == 1 and page.of("html")[0]["lang"] == "en"
    targets = {a["id"] for _, a in page.elements if "id" in a}
    assert {a["href"][1:] for a in page.of("a")} <= targets


def test_escape_and_element():
    assert escape(element("b", "<")) == "<b>&lt;</b>"
    quoted = element("a", title='"><script>', data_x=element("b", '"'))
    assert quoted == ('<a title="&quot;&gt;&lt;script&gt;" data-x="&lt;b&gt;&quot;&lt;/b&gt;"></a>')
    assert element("input", disabled=True, name=None) == "<input disabled>"


def small_model():
    return UMAClassifier(C).fit(X[:300], SEEN[:300])


def test_written_whole_or_not_at_all(tmp_path, monkeypatch):
    model, path = small_model(), tmp_path / "report.html"
    given = {"sensitivity": False, "random_state": 0}
    assert unconfused.write_report(model, X[:300], SEEN[:300], path, **given) == path
    with pytest.raises(OSError, match="force=True"):
        unconfused.write_report(model, X[:300], SEEN[:300], path, **given)
    before = path.read_text(encoding="utf-8")

    def interrupted(data):
        raise KeyboardInterrupt

    monkeypatch.setattr(page, "render", interrupted)
    with pytest.raises(KeyboardInterrupt):
        unconfused.write_report(model, X[:300], SEEN[:300], path, force=True, **given)
    assert path.read_text(encoding="utf-8") == before
    monkeypatch.setattr(page, "render", lambda data: "new")
    unconfused.write_report(model, X[:300], SEEN[:300], path, force=True, **given)
    assert path.read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"], "nothing left behind"


def test_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "gather", None)
    with pytest.raises(OSError, match="no folder"):
        unconfused.write_report(None, X, SEEN, tmp_path / "missing" / "report.html")
    with pytest.raises(OSError, match="is a folder"):
        unconfused.write_report(None, X, SEEN, tmp_path)


def test_many_rows_stay_small(tmp_path):
    n_rows, n_classes = 20_000, 104
    rng = np.random.RandomState(0)
    true = rng.randint(n_classes, size=n_rows)
    rows = rng.randn(n_rows, 4).astype(np.float32)
    names = np.array([f"a class with a name <{k}> of some length" for k in range(n_classes)])
    matrix = unconfused.noise.symmetric(n_classes, 0.2)
    settings = {"l2": 1e-4, "relabel": 0, "max_iter": 20, "tol": 1e-2}
    model = UnconfusedLogisticRegression(matrix, **settings).fit(rows, names[true])
    text = "<&\"'>" * 100
    columns = pd.DataFrame({"text": text}, index=[f"{text}{row}" for row in range(n_rows)])
    path = unconfused.write_report(
        model, rows, names[true], tmp_path / "r.html", row_columns=columns, row_text="text",
        sensitivity=False, random_state=0,
    )  # fmt: skip
    assert path.stat().st_size < 2_000_000, path.stat().st_size


def test_rows_show_their_columns_and_votes(tmp_path):
    from sklearn.datasets import load_iris

    X, truth = load_iris(return_X_y=True, as_frame=True)
    rng = np.random.RandomState(0)
    votes = pd.DataFrame(
        {who: np.where(rng.rand(150) < 0.2, rng.randint(3, size=150), truth) for who in "abc"}
    ).astype(object)
    model = UnconfusedLogisticRegression(relabel=0, l2=1e-3).fit(X, votes)
    path = unconfused.write_report(
        model, X, votes, tmp_path / "r.html", sensitivity=False, random_state=0
    )
    text = path.read_text(encoding="utf-8")
    assert "<i>sepal length (cm)</i>" in text
    assert text.count('class="cell vote"') == 3 * 150
    other = pd.DataFrame({"flower": [f"no. {i}" for i in range(150)]})
    path = unconfused.write_report(
        model, X, votes, tmp_path / "o.html", row_columns=other, sensitivity=False, random_state=0
    )
    assert "<bdi>no. 7</bdi>" in path.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="row_columns has 3 rows"):
        unconfused.write_report(model, X, votes, tmp_path / "x.html", row_columns=other[:3])


@pytest.mark.parametrize("kind", [list, np.array])
def test_report_on_texts(tmp_path, kind):
    texts = [f"{'red hot' if k % 3 else 'blue cold'} number {k}" for k in range(60)]
    labels = ["warm" if k % 3 else "cool" for k in range(60)]
    labels[0] = "warm"
    learner = UnconfusedLogisticRegression([[0.9, 0.1], [0.1, 0.9]], l2=1e-3, relabel=0)
    model = make_pipeline(TfidfVectorizer(), learner).fit(texts, labels)
    page = unconfused.write_report(
        model, kind(texts), labels, tmp_path / "report.html", sensitivity=False
    )
    assert "blue cold number 0" in page.read_text(encoding="utf-8")
