"""Models of all kinds, changed at random with the checksum put right: loaded, then used.

What may come of it is `ModelFileError`, or a model that predicts something or raises an exception
of Python. What may not: a crash, a file written, a process started, all memory, no end.
"""

import json
import os

import numpy as np
import pytest
from crafted_models import crafted, harmed, packed, try_files, unpacked
from model_corpus import COLOURS, FRAME, ON_FRAMES, ON_LEVELS, ON_NUMBERS, ON_WORDS, ROWS, WORDS
from mutated_models import mutate

import unconfused

pytestmark = pytest.mark.slow

N_FILES = max(5, int(os.environ.get("UNCONFUSED_FUZZ", "300")) // 25)
"""Changed files of each model."""

MODELS = {
    "numbers": (ON_NUMBERS, ROWS),
    "words": (ON_WORDS, WORDS[:6].tolist()),
    "levels": (ON_LEVELS, COLOURS[:6].tolist()),
    "frames": (ON_FRAMES, FRAME.head(6).to_dict("list")),
}


@pytest.fixture(scope="module")
def fitted():
    made = {kind: {name: make() for name, make in MODELS[kind][0].items()} for kind in MODELS}
    return {kind: {name: (one, unpacked(one)) for name, one in made[kind].items()} for kind in made}


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_of_the_corpus_is_saved_and_loaded(kind, fitted, tmp_path):
    rows = FRAME.head(6) if kind == "frames" else np.array(MODELS[kind][1])
    for model, _ in fitted[kind].values():
        loaded = unconfused.load(unconfused.save(model, tmp_path / "m", force=True))
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))


def test_models_changed_at_random(fitted, tmp_path):
    rng = np.random.RandomState(0)
    donors = [one for models in fitted.values() for _, one in models.values()]
    files = {}
    for kind, (_, rows) in MODELS.items():
        for name, (model, (schema, parts)) in fitted[kind].items():
            for number in range(N_FILES):
                changed, arrays = json.loads(json.dumps(schema)), dict(parts)
                mutate(rng, changed, arrays, donors[rng.randint(len(donors))])
                files[kind, name, number] = packed(model, changed, arrays), rows
    good = crafted(fitted["numbers"]["uma"][0]), ROWS
    found = try_files(files, tmp_path, good)
    assert not harmed(found)
    assert len(found) == len(files)
    for kind in MODELS:
        used = [said == "used" for (of, _, _), said in found.items() if of == kind]
        print(f"\n{len(used)} files of {kind}: {sum(used)} used, the others refused")
        assert 0 < sum(used) < len(used)
