"""Write releases as tasks of lm-evaluation-harness and Inspect, and results for Every Eval Ever and the Hub."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from senseprobe.api.hub import why_unpublishable
from senseprobe.api.releases import verified
from senseprobe.api.results import list_sources
from senseprobe.errors import ResultError, SenseprobeError
from senseprobe.options import RELEASE, Argument, Option
from senseprobe.progress import with_progress

if TYPE_CHECKING:
    from senseprobe.api.releases import ReleaseSpec
    from senseprobe.api.results import ResultSource
    from senseprobe.evaluate.exports.distances import ExportedResults, ExportSource
    from senseprobe.evaluate.exports.lm_eval_tasks import Exported


NEW_FOLDER = Option("--out -o", metavar="DIR", help="Write to this new folder.")
RESULTS = Argument(metavar="RESULT.json", type=list[Path], help="Results that `score` wrote.")
MODEL_OF_HUB = Option(metavar="ORG/NAME", help="The model on the Hub, if the result does not name it.")
DATASET_OF_HUB = Option(metavar="USER/NAME", help="The dataset on the Hub: USER/NAME or USER/NAME@REVISION.")


@with_progress("exporting {release}")
def export(release: Annotated[ReleaseSpec, RELEASE], out: Annotated[str | Path, NEW_FOLDER]) -> Exported:
    """Write a release as lm-evaluation-harness tasks that give the same figures.

    Raises DamagedRelease, and SenseprobeError where no config has labelled pairs, or `out` exists.
    """
    from senseprobe.evaluate.exports import lm_eval_tasks

    return lm_eval_tasks.export(*verified(release), Path(out))


@with_progress("exporting {release}")
def export_inspect(
    release: Annotated[ReleaseSpec, RELEASE],
    out: Annotated[str | Path, NEW_FOLDER],
    scorer: Annotated[
        str,
        Option(
            "--scorer -s", also="--metric -m", metavar="SCORER", help="Ask the question of this scorer, a choice-… one."
        ),
    ] = "choice-likely",
    *,
    send: Annotated[bool, Option("--send", help="Also export a release that may not be distributed.")] = False,
) -> Exported:
    """Write a release as Inspect tasks that give the same figures for a chat model.

    Inspect would send the sentences of a release to any server. Raises
    DamagedRelease, and SenseprobeError where the scorer is another, no config has labelled pairs, or `out` exists.
    """
    try:
        from senseprobe.evaluate.exports import inspect_tasks
    except ModuleNotFoundError as error:
        raise SenseprobeError(
            f"Inspect tasks ask as chat scorers do, which are not installed: no {error.name}"
        ) from None

    opened, config = verified(release)
    licence = opened.manifest.data["card"].get("license")
    if not send and (reason := why_unpublishable(licence if isinstance(licence, str) else None)):
        raise SenseprobeError(
            f"{opened.manifest.name} is not for distribution ({reason}), and Inspect would send its sentences to any"
            " server: nothing was written; add --send to write them anyway"
        )
    return inspect_tasks.export(opened, config, Path(out), scorer)


def export_every_eval_ever(
    results: Annotated[ResultSource | Sequence[ResultSource], RESULTS],
    out: Annotated[
        str | Path,
        Option("--out -o", metavar="DIR|FILE.json", help="Write to this new folder, or to one file for one result."),
    ],
    *,
    dataset: Annotated[str, DATASET_OF_HUB] = "",
    model: Annotated[str, MODEL_OF_HUB] = "",
    organization: Annotated[str, Option(metavar="NAME", help="The organisation that evaluated the model.")] = "unknown",
    relationship: Annotated[
        str,
        Option(
            metavar="R", help="Relationship to the model's maker: first_party, third_party, collaborative or other."
        ),
    ] = "other",
    retrieved: Annotated[
        str, Option(metavar="TIME", help="Time of the export: seconds since 1970, or a date. Default: now.")
    ] = "",
) -> ExportedResults:
    """Write results as Every Eval Ever records: distances from the neutral value, if it is known.

    A date of `retrieved` is ISO 8601, and SOURCE_DATE_EPOCH stands for now. Raises ResultError where no figure has a
    known neutral value, and SenseprobeError where `out` exists or cannot be written.
    """
    from senseprobe.evaluate.exports import distances, every_eval_ever

    options = {"model": model, "organization": organization, "relationship": relationship}
    moment = retrieved or os.environ.get("SOURCE_DATE_EPOCH")
    seconds = distances.parse_time(moment) if moment else int(time.time())
    origin = distances.Origin(seconds, *_split_revision(dataset), **options)
    exported = every_eval_ever.export_every_eval_ever(_gather_exports(results, model), origin)
    return _write_exported(exported, Path(out))


def export_hub_results(
    results: Annotated[ResultSource | Sequence[ResultSource], RESULTS],
    out: Annotated[str | Path, NEW_FOLDER],
    *,
    dataset: Annotated[str, DATASET_OF_HUB],
    model: Annotated[str, MODEL_OF_HUB] = "",
) -> ExportedResults:
    """Write results for the Hub: .eval_results for models, eval.yaml for the dataset.

    ``dataset/eval.yaml`` is for the dataset's repository, ``models/ORG/NAME/.eval_results/`` for that of a model.
    Raises ResultError where no config's main figure has a known neutral value and for results on several releases, and
    SenseprobeError where `out` exists or cannot be written.
    """
    from senseprobe.evaluate.exports import distances, hub_results

    origin = distances.Origin(0, *_split_revision(dataset), model=model)
    exported = hub_results.export_hub_results(_gather_exports(results, model), origin)
    return _write_exported(exported, Path(out))


def _gather_exports(results: ResultSource | Sequence[ResultSource], model: str) -> list[ExportSource]:
    from senseprobe.evaluate.exports.distances import gather_sources

    sources = gather_sources(list_sources(results))
    if model and len({source.result.model["weights"] for source in sources}) > 1:
        raise ResultError(f"{model} names one model, but these are results of several: export them one by one")
    return sources


def _split_revision(dataset: str) -> tuple[str, str]:
    name, _, revision = dataset.partition("@")
    return name, revision


def _write_exported(exported: ExportedResults, out: Path) -> ExportedResults:
    from senseprobe.atomic_files import write_new_folder, write_whole

    if out.suffix != ".json":
        write_new_folder(out, exported.files)
    elif len(exported.files) > 1:
        raise ResultError(
            f"{len(exported.files)} files need a folder, but {out} names one file: name a folder with --out"
        )
    else:
        try:
            write_whole(out, *exported.files.values())
        except OSError as error:
            raise ResultError(f"cannot write {out}: {error.strerror}; name a file with --out") from error
    return exported
