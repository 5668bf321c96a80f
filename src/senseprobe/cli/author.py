"""Commands of those who write templates and word lists."""

from pathlib import Path
from typing import Annotated

import typer

from senseprobe.cli.console import print_findings, print_json, print_line, print_table

__all__ = ["AsJson", "count", "lint", "wordnet"]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON with stable keys.")]


def lint(
    strict: Annotated[bool, typer.Option(help="Count what could not be checked as a finding.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check every word list and template: what is wrong, where, and what to do."""
    from senseprobe.generator.checks import Report
    from senseprobe.generator.checks import lint as run
    from senseprobe.project import layers

    report: Report = run(layers()[0])
    if as_json:
        told = {key: getattr(report, key) for key in ("lists", "configs", "keys_checked", "keys_not_checked")}
        print_json({"findings": [finding.as_dict() for finding in report.findings], **told})
    else:
        print_findings(report.findings)
        print_line(
            f"{len(report.findings)} findings in {report.lists} word lists and {report.configs} configs; "
            f"{report.keys_checked} sense keys checked"
            + (f", {report.keys_not_checked} not checked (run `senseprobe wordnet`)" if report.keys_not_checked else "")
            + (": a finding under --strict" if strict and report.keys_not_checked else "")
        )
    raise typer.Exit(1 if report.findings or (strict and report.keys_not_checked) else 0)


def count(
    name: Annotated[str, typer.Argument(metavar="DATASET[/CONFIG]")],
    as_json: AsJson = False,
) -> None:
    """Say how many rows a dataset makes, without making them."""
    from senseprobe.api import open_catalogue

    rows = []
    for config in open_catalogue(name).configs:
        first = config.blocks[0]
        expect = first.block.front.expect
        told = {"config": config.name, "rows": config.size, "published": expect.published, "cite": expect.cite}
        told["frames"] = sum(len(block.frames) for block in config.blocks)
        told["reason"] = expect.reason
        rows.append(told)
    total = sum(config["rows"] for config in rows)  # type: ignore[misc]
    if as_json:
        print_json({"dataset": name.partition("/")[0], "configs": rows, "rows": total})
        return
    columns = {"config": "left", "rows": "right", "published": "right", "frames": "right", "reason": "left"}
    print_table(columns, [[row[column] for column in columns] for row in rows])
    print_line(f"{total} rows")


def wordnet(
    folder: Annotated[
        Path | None, typer.Option(help="The NLTK data folder to make.", show_default="senseprobe's own")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prepare WordNet 3.0 for checking sense keys, from whatever copy of it there is."""
    from senseprobe.lexicon import prepare

    made = prepare(folder)
    if as_json:
        print_json({"folder": str(made.folder), "source": made.source, "version": made.version})
    else:
        print_line(f"WordNet {made.version} in {made.folder} ({made.source})")
