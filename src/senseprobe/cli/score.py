"""Commands of those who score models."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.author import AsJson
from senseprobe.cli.console import print_json, print_line, print_table, progress
from senseprobe.errors import ResultError

if TYPE_CHECKING:
    from senseprobe.evaluate.result import Result

__all__ = ["plant", "report", "score"]

Release = Annotated[str, typer.Argument(metavar="RELEASE[:CONFIG]", help="NAME@VERSION, or the path of a release.")]
Out = Annotated[Path, typer.Option(help="Folder of results.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of permutations and of planting.")]


def score(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A name on the Hugging Face Hub, or a folder.")],
    release: Release,
    scorer: Annotated[list[str] | None, typer.Option("--scorer", "-m", help="aul, pll; may be repeated.")] = None,
    out: Out = Path("results"),
    seed: Seed = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, float64, bfloat16 or float16.")] = "float32",
    allow_pickle: Annotated[
        bool, typer.Option(help="Read weights that are not safetensors. Runs code of theirs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score a masked language model on a frozen release, which is verified first."""
    from senseprobe import api

    with progress(f"scoring {model}", None) as step:
        results = api.score(
            model,
            release,
            scorer or ["aul"],
            out=out,
            seed=seed,
            device=device,
            dtype=dtype,
            allow_pickle=allow_pickle,
            progress=step,
        )
    _tell(results, out, as_json)


def plant(
    release: Release,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the model goes.")],
    share: Annotated[float, typer.Option(min=0, max=1, help="Share of stereotypes that the model shall prefer.")] = 0.7,
    out: Out = Path("results"),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a small model with a known preference, to see what a scorer makes of it."""
    from senseprobe import api

    with progress("training", None) as step:
        result = api.plant(release, folder, share=share, out=out, seed=seed, progress=step)
    _tell([result], out, as_json)


def _tell(results: "list[Result]", out: Path, as_json: bool) -> None:
    from senseprobe.evaluate.report import interval

    if as_json:
        print_json([result.as_dict() for result in results])
        return
    for result in results:
        rows = [
            (
                f.config,
                f.estimand,
                interval(f) + ("" if f.p is None else f" p = {f.p:.4f}"),
                "none known" if f.neutral is None else "0, see p" if f.estimand == "spread" else "0",
                f"{f.scored}/{f.rows}",
                f.ties,
                sum(f.left_out.values()) or "",
            )
            for f in result.figures
            if f.group is None
        ]
        columns = {"config": "left", "figure": "left", "points [95 %]": "left", "neutral": "left", "scored": "right"}
        print_table(
            {**columns, "ties": "right", "left out": "right"},
            rows,
            title=f"\n{result.scorer} of {result.model['name']}",
        )
        print_line(result.signature)
        if grouped := sum(figure.group is not None for figure in result.figures):
            print_line(f"{grouped} figures of single groups against the others: in the report, and in --json")
    print_line(f"results in {out}")


def report(
    results: Annotated[list[Path], typer.Argument(metavar="RESULT.json...", help="Results on one release.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
) -> None:
    """Write one self-contained HTML page of results, side by side."""
    from senseprobe.evaluate.report import render
    from senseprobe.evaluate.result import read_result
    from senseprobe.files import write_whole

    if out.suffix == ".json" or out.resolve() in [path.resolve() for path in results]:
        raise ResultError(f"{out} is the name of a result: a page ends in .html")
    page = render([read_result(path) for path in results])
    try:
        write_whole(out, page.encode())
    except OSError as error:
        raise ResultError(f"cannot write {out}: {error.strerror}") from error
    print_line(f"report in {out.resolve()}")
