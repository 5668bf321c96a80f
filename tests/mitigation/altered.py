"""Tiny models without he - she, with a record, as `model debias` writes them."""

from pathlib import Path
from typing import Any

import numpy as np
from tests.mitigation.records import make_record

from senseprobe.evaluate.mitigation.erasure import Erasure
from senseprobe.evaluate.mitigation.record import pack_map
from senseprobe.evaluate.models.alteration import MAP, RECORD
from senseprobe.release.hashing import file_sha256


def debias(parent: Path, out: Path, *, head: Any = "untied", layers: str = "input") -> Path:  # noqa: ANN401
    """Write a copy of a model of transformers without he - she, in all forms that both have, and its record."""
    from senseprobe.evaluate.mitigation import embeddings
    from senseprobe.evaluate.mitigation.word_forms import split_words

    opened = embeddings.open_parent(str(parent))
    pairs = split_words(opened.tokens, ["he", "she"]).pairs("he", "she").values()
    erasure = Erasure.onto(np.array([opened.vectors([a])[0] - opened.vectors([b])[0] for a, b in pairs]).T)
    with embeddings.copied_without(opened, erasure, out, head=head) as (folder, change):
        record = make_record(
            form="transformers",
            dimensions=erasure.dimensions,
            rank=erasure.rank,
            number_format=opened.number_format,
            residual=change.residual,
            norms=change.norms,
            head=change.head,
            layers=layers,
        )
        (folder / RECORD).write_bytes(record.to_bytes())
        (folder / MAP).write_bytes(pack_map(erasure, change.removed.astype(np.float64)))
    return out


def debias_words(vectors: dict[str, list[float]], out: Path) -> Path:
    """Write word vectors without he - she as text, and the record of that, into a folder; return the file."""
    out.mkdir()
    table = np.array([*vectors.values()])
    erasure = Erasure.onto(np.array([vectors["he"]]).T - np.array([vectors["she"]]).T)
    rows = zip(vectors, erasure.apply(table), strict=True)
    lines = [" ".join([word, *(f"{number:.6f}" for number in row)]) for word, row in rows]
    (out / "vectors.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    digests = {"vectors.txt": file_sha256(out / "vectors.txt")}
    record = make_record(dimensions=table.shape[1], number_format="decimal", files=digests)
    (out / RECORD).write_bytes(record.to_bytes())
    (out / MAP).write_bytes(pack_map(erasure, erasure.read(table)))
    return out / "vectors.txt"
