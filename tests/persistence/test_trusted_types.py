"""Steps of one's own in a saved model: refused, unless they are named."""

import numpy as np
import pytest
from own_steps import Shorten, from_the_highest
from problems import make_problem
from sklearn._loss.loss import HalfBinomialLoss
from sklearn.pipeline import make_pipeline

import unconfused
from unconfused import UMAClassifier
from unconfused.persistence import ModelFileError, read_header
from unconfused.persistence.nodes import name_of, unknown_types

PROBLEM = make_problem(n=120)
NAME, RULE = "own_steps.Shorten", "own_steps.from_the_highest"


@pytest.fixture
def model():
    return make_pipeline(Shorten(2.0), UMAClassifier(PROBLEM.C)).fit(PROBLEM.X, PROBLEM.y)


def test_refused_by_default_and_in_words(model, tmp_path):
    path = tmp_path / "m.skops"
    with pytest.raises(ModelFileError, match=rf"holds {NAME}.*allow=\['{NAME}'\]"):
        unconfused.save(model, path)
    assert not path.exists()
    unconfused.save(model, path, allow=[NAME])
    with pytest.raises(ModelFileError, match=rf"holds {NAME}.*allow=\['{NAME}'\]") as caught:
        unconfused.load(path)
    assert "\n" not in str(caught.value)
    assert "Shorten" in read_header(path).estimator


def test_a_trusted_step_comes_back(model, tmp_path):
    path = unconfused.save(model, tmp_path / "m.skops", allow={NAME})
    loaded = unconfused.load(path, allow=(NAME,))
    assert isinstance(loaded[0], Shorten) and loaded[0].limit == 2.0
    np.testing.assert_array_equal(loaded.predict(PROBLEM.X), model.predict(PROBLEM.X))


def test_trust_in_one_type_is_not_trust_in_another(tmp_path):
    learner = UMAClassifier(PROBLEM.C, step=from_the_highest)
    model = make_pipeline(Shorten(), learner).fit(PROBLEM.X, PROBLEM.y)
    with pytest.raises(ModelFileError, match=f"holds {RULE},"):
        unconfused.save(model, tmp_path / "m.skops", allow=[NAME])
    path = unconfused.save(model, tmp_path / "m.skops", allow=[NAME, RULE])
    with pytest.raises(ModelFileError, match=f"holds {RULE},"):
        unconfused.load(path, allow=[NAME])
    assert unconfused.load(path, allow=[NAME, RULE])[-1].step is from_the_highest


@pytest.mark.parametrize("allow", [NAME, True, None, [Shorten], ["Shorten"], 3])
def test_trust_needs_full_names(allow, model, tmp_path):
    path = unconfused.save(model, tmp_path / "m.skops", allow=[NAME])
    with pytest.raises(ModelFileError, match="allow"):
        unconfused.load(path, allow=allow)


def test_a_type_that_is_gone(model, tmp_path, monkeypatch):
    path = unconfused.save(model, tmp_path / "m.skops", allow=[NAME])
    monkeypatch.delattr("own_steps.Shorten")
    with pytest.raises(ModelFileError, match="Shorten"):
        unconfused.load(path, allow=[NAME])


def test_parts_of_an_allowed_type_are_looked_at():
    inner = {"__loader__": "FunctionNode", "__module__": "os", "__class__": "system"}
    loss = {"__module__": HalfBinomialLoss.__module__, "__class__": "HalfBinomialLoss"}
    node = {"__loader__": "ObjectNode", **loss, "content": inner}
    assert unknown_types(node, frozenset()) == []  # nothing in it is read
    assert unknown_types(node, frozenset([name_of(node)])) == ["os.system"]
