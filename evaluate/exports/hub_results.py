"""Results as evaluation results of the Hugging Face Hub, for the repositories of models and of their dataset."""

from collections.abc import Iterable, Iterator, Sequence

from senseprobe.errors import ResultError
from senseprobe.evaluate.estimands import lookup
from senseprobe.evaluate.exports.distances import (
    Distance,
    ExportedResults,
    ExportSource,
    Origin,
    collect_distances,
    file_name,
)
from senseprobe.evaluate.reporting.verdict_table import find_leads, group_by_config
from senseprobe.evaluate.result import Result
from senseprobe.release.markup import Value, dump_yaml


def export_hub_results(sources: Sequence[ExportSource], origin: Origin) -> ExportedResults:
    """Return ``dataset/eval.yaml`` and, for each result, ``models/ORG/NAME/.eval_results/DATASET-SCORER.yaml``.

    The first goes into the dataset's repository, the others into those of the models. A task is a config, and its value
    the distance of the config's main figure. Raises ResultError without a dataset on the Hub, for results on several
    releases, and where no figure can be exported.
    """
    if not origin.dataset:
        raise ResultError("evaluation results name their dataset on the Hub: give it with --dataset USER/NAME")
    if len(names := sorted({str(source.result.release["name"]) for source in sources})) > 1:
        raise ResultError(f"these results are on {', '.join(names)}, but a Hub dataset is one release: omit the others")
    collected, left_out = collect_distances(sources)
    main = [(result, [*_main_distances(result, distances)]) for result, distances in collected]
    configs = dict.fromkeys(distance.figure.config for _, distances in main for distance in distances)
    if not configs:
        raise ResultError("no config's main figure has a known neutral value, so there is nothing to export")
    dataset = names[0].partition("@")[0]
    tasks: dict[str, Value] = {
        "name": dataset,
        "description": "Distance of a figure from the value that means no bias, in points; lower is better.",
        "evaluation_framework": "senseprobe",
        "tasks": [{"id": config, "config": config, "split": "test"} for config in configs],
    }
    files = {"dataset/eval.yaml": dump_yaml(tasks).encode()}
    for result, distances in main:
        entries: list[Value] = [_build_hub_entry(result, distance, origin) for distance in distances]
        path = f"models/{origin.model_id(result)}/.eval_results/{file_name(f'{dataset}-{result.stem}')}.yaml"
        if distances and path in files:
            raise ResultError(
                f"two results would be written to {path}: export those of different models or runs separately"
            )
        files |= {path: dump_yaml(entries).encode()} if distances else {}
    return ExportedResults(files, left_out)


def _main_distances(result: Result, distances: Iterable[Distance]) -> Iterator[Distance]:
    """Yield the distance of each config's main figure; none of a contrast, and where a config has several."""
    of_config = group_by_config(result.figures)
    leads = {
        name: [figure for figure in find_leads(figures) if figure.neutral is not None]
        for name, figures in of_config.items()
    }
    main = {name: figures[0].estimand for name, figures in leads.items() if len(figures) == 1}
    for distance in distances:
        figure = distance.figure
        if main.get(figure.config) == figure.estimand and not lookup(figure.estimand).is_contrast:
            yield distance


def _build_hub_entry(result: Result, distance: Distance, origin: Origin) -> dict[str, Value]:
    dataset: dict[str, Value] = {"id": origin.dataset, "task_id": distance.figure.config}
    if origin.revision:
        dataset["revision"] = origin.revision
    date: dict[str, Value] = {"date": result.date} if result.date else {}
    notes = f"distance from the neutral value, in points; {result.scorer}: {distance.summary}; {result.signature}"
    return {"dataset": dataset, "value": distance.value, **date, "notes": notes}
