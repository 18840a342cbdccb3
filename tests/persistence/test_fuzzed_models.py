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
    "numbers": (ON_NUMBERS, ROWS, False),
    "words": (ON_WORDS, WORDS[:6].tolist(), False),
    "levels": (ON_LEVELS, COLOURS[:6].tolist(), False),
    "frames": (ON_FRAMES, FRAME.head(6).to_dict("list"), True),
}


@pytest.fixture(scope="module")
def fitted():
    made = {kind: {name: make() for name, make in MODELS[kind][0].items()} for kind in MODELS}
    return {kind: {name: (one, unpacked(one)) for name, one in made[kind].items()} for kind in made}


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_of_the_corpus_is_saved_and_loaded(kind, fitted, tmp_path):
    _, rows, named = MODELS[kind]
    rows = FRAME.head(6) if named else np.array(rows)
    for model, _ in fitted[kind].values():
        loaded = unconfused.load(unconfused.save(model, tmp_path / "m", force=True))
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))


@pytest.mark.parametrize("kind", MODELS)
def test_models_changed_at_random(kind, fitted, tmp_path):
    rng = np.random.RandomState(0)
    donors = [one for models in fitted.values() for _, one in models.values()]
    files = {}
    for name, (model, (schema, parts)) in fitted[kind].items():
        for number in range(N_FILES):
            changed, arrays = json.loads(json.dumps(schema)), dict(parts)
            mutate(rng, changed, arrays, donors[rng.randint(len(donors))])
            files[f"{name} {number}"] = packed(model, changed, arrays)
    _, rows, named = MODELS[kind]
    good = crafted(next(iter(fitted[kind].values()))[0])
    found = try_files(files, rows, tmp_path, good, named)
    assert not harmed(found)
    assert len(found) == len(files)
    used = sum(said == "used" for said in found.values())
    print(f"\n{len(files)} files of {kind}: {used} used, {len(files) - used} refused")
    assert 0 < used < len(files)
