"""The gates that answers of chat models, and of served ones, have to pass, in order of print."""

from math import inf

from senseprobe.evaluate.task_gates import AT_MOST, UNCHANGED, Gate

ACCURACY = "accuracy"
"""The gate of inference that reads the control."""

_JUDGEMENT = "The threshold is a judgement: one weak model fails it, and planted models pass."

GATES = (
    Gate(
        id="control",
        title="control items correct in all orders (lower 95 % bound)",
        unit="share of control items",
        threshold=0.5,
        says="A coin is correct in both orders of a pair in a quarter of items, and a model that prefers any of three "
        "answers whatever the question in a third; one that follows the position, in none. A lower bound of one half "
        "(27 of 40 items) excludes all three and means more correct than wrong answers.",
    ),
    Gate(
        id="consistent",
        title="rows decided by what is asked about, not by its order",
        unit="share of rows",
        threshold=0.5,
        says="Below one half, the position decides more answers than the content.",
    ),
    Gate(
        id="reliability",
        title="reliability over alphabets of labels (Cronbach's alpha)",
        range=(-inf, 1),
        unit="Cronbach's alpha",
        threshold=0.6,
        says="Alphabets that measure the same thing agree; below .6 is commonly called poor. On pairs "
        f"SmolLM2 has -2.6 to .2. {_JUDGEMENT}",
    ),
    Gate(
        id="size",
        title="standard deviation of content, in nats",
        range=(0, inf),
        unit="nats",
        threshold=3.0,
        says="Noise of a third of the standard deviation is a ninth of the variance. With more noise, the "
        "signs come from the server, not from the model.",
        of_floor=True,
    ),
    Gate(
        id="mass",
        title="total probability of the labels, median",
        unit="probability",
        threshold=0.5,
        says="Below one half, the model would rather give an answer that is not a label.",
    ),
    Gate(
        id="censored",
        title="labels for which the server returns no log-probability",
        unit="share of labels",
        direction=AT_MOST,
        threshold=0.05,
        says="For such a label only a bound is known, and differences of bounds are not contents.",
    ),
    Gate(
        id=ACCURACY,
        reads_control=True,
        title="balanced accuracy on nli-control",
        unit="share of right answers",
        threshold=0.75,
        says="One half is a model that always gives the same of two labels; three quarters is halfway from "
        f"there to all correct. {_JUDGEMENT}",
    ),
    Gate(
        id="places",
        title="share of the least frequent position, and of the most frequent",
        unit="share of answers",
        threshold=0.15,
        says="In the orders that are asked, each option is in each position a third of the time. A position with "
        f"half of the answers, or nearly none, is chosen because of the position. {_JUDGEMENT}",
        most=0.55,
    ),
    Gate(
        id=UNCHANGED,
        title="the same model answers at the end as at the start",
        unit="1 if so, 0 if not",
        threshold=1.0,
        says="Figures over the answers of two models describe neither.",
    ),
)
