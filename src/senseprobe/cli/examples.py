"""When each command is used, and two examples of it, which end its help; tests run each of them.

`example` is the dataset that `senseprobe init` writes; `base` and `tuned` are folders of models, `old.json` and
`new.json` their results on sssb.
"""

from dataclasses import dataclass

_RESULT, _RESULTS = "results/example@1.0.0/base/ll.json", "results/example@1.0.0/*/ll.json"


@dataclass(frozen=True, slots=True)
class Use:
    """When a command is used, and examples as they are typed, without ``senseprobe``."""

    when: str
    examples: tuple[str, str]

    def __str__(self) -> str:
        """Return the end of a command's help: paragraphs, each of which typer prints as a line."""
        return "\n\n".join(["Examples:", *(f"senseprobe {example}" for example in self.examples)])


USES = {
    "": Use("", ("init my-project", "score smollm2 sssb:race")),
    # --- Author ---
    "init": Use("Begin here to make a dataset of your own.", ("init my-project", "init benchmarks/work")),
    "new": Use(
        "Add a config: a set of rows made from one template.",
        ("new work/jobs --kind contrast", "new work/claims --kind inference"),
    ),
    "lint": Use("Check the project while you write, and in CI.", ("lint", "lint example --strict")),
    "preview": Use(
        "Read a sample of the sentences before you build.",
        ("preview example/hobbies -n 5", "preview sssb/race --seed 1"),
    ),
    "count": Use("See the size of a dataset without building it.", ("count", "count sssb --senses")),
    "words": Use("Manage the words that fill the slots of templates.", ("words list", "words show nurse")),
    "words list": Use("Find a list for a slot of a template.", ("words list", "words list hobbyists")),
    "words add": Use(
        "Add your own words; column types are read from the cells.",
        ("words add tools.csv", "words add tools.csv --json"),
    ),
    "words show": Use(
        "Find the key of the sense that a word has in your sentences.",
        ("words show nurse", "words show nurse --senses senses.safetensors -o nurse.html"),
    ),
    # --- Release ---
    "build": Use(
        "Freeze a dataset when it is ready to be used; a release never changes.",
        ("build example 1.2.0", "build example 1.2.0 --join parts"),
    ),
    "verify": Use(
        "Check a release that you received, or restore one that has only its recipe.",
        ("verify sssb@1.1.0", "verify example@1.0.0 --restore"),
    ),
    "diff": Use(
        "Choose the next version number, or write a changelog.", ("diff example", "diff sssb@1.0.3 sssb@1.1.0")
    ),
    "import": Use(
        "Use a published benchmark, or a table of your own, like any other release.",
        (
            "import csv my.csv --name mine --version 1.0.0 --map stereo=a,anti=b",
            "import jsonl m.jsonl --name m --version 1.0.0 --map stereo=a,anti=b",
        ),
    ),
    "publish": Use(
        "Share a release; --dry-run shows the plan first.",
        ("publish example@1.0.0 jane/example --dry-run", "publish example@1.0.0 jane/example --private"),
    ),
    "pull": Use(
        "Get a release that somebody published.", ("pull jane/hobbies", "pull jane/hobbies@1.0.0 --out downloads")
    ),
    # --- Score ---
    "fetch": Use("Try a real model or a published benchmark, without the Hub.", ("fetch smollm2", "fetch glove")),
    "score": Use(
        "Measure the bias of a model, on a release or on your own table of pairs.",
        ("score smollm2 sssb:race", "score base pairs.csv -s ll -s ll-mean"),
    ),
    "report": Use(
        "Read results as a page, or print the verdicts for a pull request.",
        (f"report {_RESULT}", f"report {_RESULTS} --brief"),
    ),
    "compare": Use(
        "Compare two models, such as before and after training.",
        (f"compare {_RESULTS}", f"compare {_RESULTS} -o compare.html"),
    ),
    # --- Annotate ---
    "annotate": Use(
        "Let people check the rows of a release.",
        ("annotate export example@1.0.0 --project pilot --annotators 3", "annotate apply pilot"),
    ),
    "annotate push": Use(
        "Start a round of annotation on Label Studio.",
        (
            "annotate push example@1.0.0 --project pilot -n 200",
            "annotate push example@1.0.0 --project pilot --overlap 5 --groups",
        ),
    ),
    "annotate export": Use(
        "Start a round of annotation with spreadsheets.",
        (
            "annotate export example@1.0.0 --project pilot --annotators 3",
            "annotate export example@1.0.0 --project pilot -n 60 --strata target",
        ),
    ),
    "annotate status": Use(
        "Watch a round on Label Studio.", ("annotate status first-check", "annotate status first-check --json")
    ),
    "annotate pull": Use(
        "Fetch the answers when annotators are done.",
        ("annotate pull first-check", "annotate pull first-check --names"),
    ),
    "annotate import": Use(
        "Read the sheets that annotators sent back, or an export of Label Studio.",
        ("annotate import pilot", "annotate import pilot annotator-1.csv"),
    ),
    "annotate agree": Use(
        "See whether the annotators agree before you use their answers.",
        ("annotate agree pilot", "annotate agree pilot --json"),
    ),
    "annotate apply": Use(
        "Decide which rows stay; --propose lists words and frames that were rejected in all rows.",
        ("annotate apply pilot", "annotate apply pilot --rule dawid-skene --threshold 0.9"),
    ),
    "annotate report": Use(
        "Discuss a round with those who run it.", ("annotate report pilot", "annotate report pilot -o round-1.html")
    ),
    "annotate queue": Use("Settle disagreements.", ("annotate queue pilot", "annotate queue first-check --push")),
    "annotate release": Use(
        "Publish the answers with the release.",
        ("annotate release pilot answers", "annotate release pilot answers --free-text"),
    ),
    # --- Models ---
    "model": Use(
        "Look at a model before you score it.", ("model vectors glove", "model check http://127.0.0.1:8080/v1")
    ),
    "model vectors": Use(
        "See whether a file of vectors has the words of a release.",
        ("model vectors glove", "model vectors senses:senses.safetensors --release sssb@1.1.0"),
    ),
    "model plant": Use(
        "Test whether a scorer finds a bias of known size.",
        ("model plant sssb:race planted", "model plant sssb:race planted --share 0.6 --seed 1"),
    ),
    # --- Studies ---
    "study": Use(
        "Measure bias in something other than a model's choice between two sentences.",
        ("study corpus letters.csv", f"study slice {_RESULT} --by person"),
    ),
    "study slice": Use(
        "Find the words behind a figure.",
        (f"study slice {_RESULT} person=hiker", f"study slice {_RESULT} --by person --by bad"),
    ),
    # --- Single commands ---
    "explain": Use("Learn what a figure means before you cite it.", ("explain", "explain relative")),
    "gate": Use(
        "Stop a training run or a release in CI if the bias grew.",
        ("gate new.json --against old.json", "gate new.json --against old.json --margin 10"),
    ),
    "replay": Use(
        "Check a published result, or the effect of an upgrade.",
        (f"replay {_RESULT}", "replay old.json --model base --release sssb@1.1.0"),
    ),
}
"""By command, as it is typed; groups, too, and without a name the first screen."""
