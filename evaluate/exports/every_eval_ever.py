"""Results as records of Every Eval Ever."""

import hashlib
import json
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.exports.distances import (
    Distance,
    ExportedResults,
    ExportSource,
    Origin,
    collect_distances,
    file_name,
)
from senseprobe.evaluate.result import Result
from senseprobe.records import Figure
from senseprobe.statistics import CONFIDENCE

SCHEMA_VERSION = "0.3.0"
"""The version of Every Eval Ever's schema that records are written for."""


def export_every_eval_ever(sources: Sequence[ExportSource], origin: Origin) -> ExportedResults:
    """Return a record for each result, as ``data/RELEASE/ORG/MODEL/UUID.json``, the layout of their data store.

    The same results and origin give the same names and bytes. Raises ResultError where no figure can be exported.
    """
    collected, left_out = collect_distances(sources)
    files = {}
    for result, distances in collected:
        record = _build_record(result, distances, origin)
        data = json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False).encode() + b"\n"
        # A random number in their store; of ours the same bytes shall have the same name.
        name = uuid.UUID(bytes=hashlib.sha256(data).digest()[:16], version=4)
        release = file_name(str(result.release["name"]).replace("@", "_")) or "release"
        files[f"data/{release}/{origin.model_id(result)}/{name}.json"] = data
    return ExportedResults(files, left_out)


def _build_record(result: Result, distances: Iterable[Distance], origin: Origin) -> dict[str, Any]:
    model, release, retrieved = result.model, result.release, str(origin.retrieved)
    texts = {key: model[key] for key in ("weights", "config", "tokenizer", "dtype", "revision") if model.get(key)}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{release['name']}:{result.stem}/{origin.model_id(result)}/{retrieved}",
        **({"evaluation_timestamp": result.date} if result.date else {}),
        "retrieved_timestamp": retrieved,
        "source_metadata": {
            "source_name": "senseprobe",
            "source_type": "evaluation_run",
            "source_organization_name": origin.organization,
            "evaluator_relationship": origin.relationship,
            "additional_details": {"signature": result.signature},
        },
        "eval_library": {
            "name": "senseprobe",
            "version": result.senseprobe,
            "additional_details": dict(result.libraries),
        },
        "model_info": {
            "name": model["name"],
            "id": origin.model_id(result),
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "open_weights" if model.get("revision") else "unknown",
                **texts,
            },
        },
        "evaluation_results": [_build_entry(result, distance, origin) for distance in distances],
    }


def _build_entry(result: Result, distance: Distance, origin: Origin) -> dict[str, Any]:
    figure, estimand = distance.figure, lookup(distance.figure.estimand)
    uncertainty = {
        "confidence_interval": {
            "lower": distance.low,
            "upper": distance.high,
            "confidence_level": CONFIDENCE,
            "method": f"{figure.method}, of the signed figure; its image under the distance",
        },
        "num_samples": figure.scored,
    }
    return {
        "evaluation_result_id": f"{result.stem}/{figure.config}/{figure.estimand}",
        "evaluation_name": f"{result.release['name']}:{figure.config}",
        "source_data": _describe_data(result, figure, origin),
        "metric_config": {
            "evaluation_description": (
                f"{estimand.says} The exported value is its distance from the neutral value, {figure.neutral:g}. "
                f"{estimand.cannot_say}"
            ),
            "metric_id": f"senseprobe.{figure.estimand}.distance",
            "metric_name": f"{estimand.title}: distance from the neutral value",
            "metric_kind": "distance_from_neutral",
            "metric_unit": estimand.unit,
            "metric_parameters": {
                "scorer": result.scorer,
                "scorer_version": result.scorer_version,
                "definition": figure.definition,
                "neutral": figure.neutral,
                "seed": result.seed,
                **({} if result.limit is None else {"limit": result.limit}),
            },
            "lower_is_better": True,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": distance.most,
        },
        "score_details": {
            "score": distance.value,
            **({} if distance.low is None else {"uncertainty": uncertainty}),
            "details": _describe_figure(figure),
        },
    }


def _describe_data(result: Result, figure: Figure, origin: Origin) -> dict[str, Any]:
    details = {"release": str(result.release["name"]), "content": str(result.release["content"])}
    name = str(result.release["name"])
    if not origin.dataset:
        return {"dataset_name": name, "source_type": "other", "additional_details": details}
    facts = {"hf_repo": origin.dataset, "hf_split": "test", "samples_number": figure.rows}
    revision = {"revision": origin.revision} if origin.revision else {}
    return {"dataset_name": name, "source_type": "hf_dataset", **facts, "additional_details": details | revision}


def _describe_figure(figure: Figure) -> dict[str, str]:
    numbers = {name: getattr(figure, name) for name in ("value", "low", "high", "neutral", "p", "p_holm")}
    facts = {f"signed_{name}" if name in ("value", "low", "high") else name: n for name, n in numbers.items()}
    words = {
        "direction": lookup(figure.estimand).direction,
        "generalises_over": ", ".join(f"{name} ({n})" for name, n in figure.levels.items()),
        "does_not_generalise_over": ", ".join(figure.fixed),
        "note": figure.note,
    }
    counts = {name: str(getattr(figure, name)) for name in ("rows", "scored", "ties")}
    filled = {name: text for name, text in words.items() if text}
    return {name: f"{n:.9g}" for name, n in facts.items() if n is not None} | counts | filled
