"""Chat models in this process: labels, replies and answers, against naive passes of transformers; templates, thinking.

Expected numbers come from `_naive_…` below: one prompt a pass, `apply_chat_template` and logits of transformers alone,
and tokens of labels found by decoding the whole vocabulary. What templates should do was written down by hand.
"""

import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance import causal_models
from tests.models.later import chat, chat_template, torch, transformers

import senseprobe
from senseprobe import api
from senseprobe.errors import ModelError
from senseprobe.evaluate import models
from senseprobe.evaluate.cache import Store
from senseprobe.evaluate.models import ModelSource
from senseprobe.evaluate.scorers import get
from senseprobe.evaluate.scoring import fitting_scorers
from senseprobe.evaluate.served.conversation import (
    CONSTRUCTS,
    LabelQuestion,
    LabelWeights,
    ReplyQuestion,
    answer_questions,
    choice_questions,
    nli_questions,
    read_choice,
    text_questions,
    variants_of,
)
from senseprobe.evaluate.units import Unit

# What transformers takes and gives, without types that are of use.
Foreign: TypeAlias = Any

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# As Llama 2 has it: nothing marks the turn of the model, and a blank stands before what it says.
INST = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ '[INST] ' + message['content'].strip() + ' [/INST]' }}{% else %}"
    "{{ ' ' + message['content'].strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
)
# As Qwen3 has it: thinking is on unless it is switched off.
SWITCH = CHATML.replace(
    "{{ '<|im_start|>assistant\n' }}",
    "{{ '<|im_start|>assistant\n' }}{% if enable_thinking is defined and enable_thinking is false %}"
    "{{ '<think>\n\n</think>\n\n' }}{% endif %}",
)
PAIRS = [
    ("he is a nurse.", "she is a nurse."),
    ("Japanese people are unkind.", "Japanese people are kind."),
    ("the engineer is good looking.", "the nurse is good looking."),
]
LIKELY = CONSTRUCTS["likely"]
CHOICES = [question for pair in PAIRS for question in choice_questions(LIKELY, *pair)]
# These compute a part of what they do in single precision, whatever the format.
IN_SINGLE = {"mamba"}
SIZES: dict[str, Any] = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 40}
LONG = {**SIZES, "num_key_value_heads": 1, "max_position_embeddings": 1024}


def _byte_level(template: str | None = CHATML, **named: Foreign) -> Foreign:
    """A tokenizer of bytes whose <think> is the first token of all, and no special one."""
    end = causal_models.END_OF_TEXT
    marks = {"eos_token": "<|im_end|>", "pad_token": end, "additional_special_tokens": ["<|im_start|>"], **named}
    tokenizer = causal_models.byte_level("<think>", "</think>", "<|im_start|>", "<|im_end|>", end, **marks)
    tokenizer.add_tokens(["<think>", "</think>"])
    tokenizer.chat_template = template
    return tokenizer


def _pieces() -> Foreign:
    """A tokenizer of pieces, with ▁ for a blank and bytes for what it does not know."""
    named = {"bos_token": "<s>", "eos_token": "</s>"}
    tokenizer = causal_models.sentence_piece("<s> $A", bytes_for_unknown=True, **named)
    tokenizer.chat_template = INST
    return tokenizer


def _gpt2(size: int) -> Foreign:
    return transformers.GPT2Config(vocab_size=size, n_positions=1024, n_embd=24, n_layer=2, n_head=2)


CONFIGS: dict[str, tuple[Callable[[int], Foreign], Callable[[], Foreign]]] = {
    "gpt2": (_gpt2, _byte_level),
    "llama": (lambda size: transformers.LlamaConfig(vocab_size=size, **LONG), _pieces),
    "qwen2": (lambda size: transformers.Qwen2Config(vocab_size=size, **LONG), _byte_level),
    "mistral": (
        lambda size: transformers.MistralConfig(vocab_size=size, sliding_window=16, head_dim=12, **LONG),
        _pieces,
    ),
    "mamba": (
        lambda size: transformers.MambaConfig(vocab_size=size, hidden_size=24, num_hidden_layers=2, state_size=4),
        _byte_level,
    ),
}
SHARING = {"gpt2", "llama", "qwen2"}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of tiny chat models with random weights."""
    torch.set_num_threads(1)
    home = tmp_path_factory.mktemp("chat")
    for name, (config, make_tokenizer) in CONFIGS.items():
        tokenizer = make_tokenizer()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            model = transformers.AutoModelForCausalLM.from_config(config(len(tokenizer))).eval()
            for key, weight in model.named_parameters():
                if "norm" not in key and "ln_" not in key and weight.ndim > 1 and "A_log" not in key:
                    torch.nn.init.normal_(weight, std=0.3)
        model.save_pretrained(home / name)
        tokenizer.save_pretrained(home / name)
    return {name: home / name for name in CONFIGS}


@pytest.fixture(scope="session")
def qwen(folders: dict[str, Path]) -> "chat.ChatLM":
    """A tiny model with a template like ChatML, in double precision."""
    return chat.ChatLM.load(str(folders["qwen2"]), device="cpu", dtype="float64")


# --- naive passes -----------------------------------------------------------------------------------------------------


def _opened(folder: Path) -> tuple[Foreign, Foreign]:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def _naive_ids(tokenizer: Foreign, prompt: str) -> list[int]:
    turns = [{"role": "user", "content": prompt}]
    return list(tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=True, return_dict=False))


def _naive_logs(model: Foreign, ids: Sequence[int]) -> Foreign:
    """Log-probabilities of all tokens at all places of one input, in float64."""
    with torch.inference_mode():
        return model(torch.tensor([list(ids)])).logits[0].double().log_softmax(-1)


def _naive_weights(model: Foreign, tokenizer: Foreign, question: LabelQuestion) -> list[float]:
    """Log P of each label: of all tokens of the vocabulary that are, after another text, one of its variants."""
    logs = _naive_logs(model, _naive_ids(tokenizer, question.prompt))[-1]
    start = tokenizer.convert_tokens_to_ids("x")
    texts = [tokenizer.decode([start, id_])[1:] for id_ in range(len(tokenizer))]
    byte_tokens = {id_ for piece, id_ in tokenizer.get_vocab().items() if piece.startswith("<0x")}
    return [
        math.log(
            sum(
                math.exp(logs[id_])
                for id_, text in enumerate(texts)
                if text in variants_of(label) and id_ not in byte_tokens
            )
        )
        for label in question.labels
    ]


def _naive_reply(model: Foreign, tokenizer: Foreign, question: ReplyQuestion, lead: str) -> float:
    before = _naive_ids(tokenizer, question.prompt)
    turns = [{"role": "user", "content": question.prompt}]
    text = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False) + lead + question.reply
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert ids[: len(before)] == before
    logs = _naive_logs(model, ids)
    return math.fsum(logs[place - 1, ids[place]].item() for place in range(len(before), len(ids)))


def _naive_answer(model: Foreign, tokenizer: Foreign, question: LabelQuestion, ends: set[int]) -> str:
    ids = _naive_ids(tokenizer, question.prompt)
    own: list[int] = []
    while len(own) < 16:
        token = int(_naive_logs(model, [*ids, *own])[-1].argmax())
        if token in ends:
            break
        own.append(token)
    return str(tokenizer.decode(own)).strip()


def _logs(weights: Sequence[LabelWeights | None]) -> list[tuple[float, ...]]:
    assert None not in weights
    return [own.log_probs for own in weights if own is not None]


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", CONFIGS)
def test_label_weights_are_those_of_a_pass_for_each_prompt(family: str, folders: dict[str, Path]) -> None:
    """Within 1e-6 in double and 1e-4 in single precision, nothing censored; the mass is the sum of both labels."""
    questions = [*CHOICES[:10], *nli_questions("he is a nurse.", "he is kind.")[:2]]
    opened = _opened(folders[family])
    expected = [_naive_weights(*opened, question) for question in questions]
    for dtype, bound in (("float64", 1e-5 if family in IN_SINGLE else 1e-6), ("float32", 1e-4)):
        model = chat.ChatLM.load(str(folders[family]), device="cpu", dtype=dtype)
        weights = model.weigh_labels(questions)
        for own, logs in zip(weights, expected, strict=True):
            assert own is not None
            np.testing.assert_allclose(own.log_probs, logs, rtol=0, atol=bound)
            assert own.mass == pytest.approx(sum(map(math.exp, logs)), rel=1e-3)
            assert not any(own.censored)


@pytest.mark.parametrize("family", CONFIGS)
def test_replies_are_those_of_a_pass_for_each(family: str, folders: dict[str, Path]) -> None:
    """The reply stands where the template puts one: after Llama 2's [/INST] a blank comes first, and is counted."""
    questions = [question for pair in PAIRS[:2] for question in answer_questions(LIKELY, *pair)]
    lead = " " if CONFIGS[family][1] is _pieces else ""
    opened = _opened(folders[family])
    expected = [_naive_reply(*opened, question, lead) for question in questions]
    model = chat.ChatLM.load(str(folders[family]), device="cpu", dtype="float64")
    found = model.weigh_replies(questions)
    bound = 1e-4 if family in IN_SINGLE else 1e-6
    np.testing.assert_allclose(np.array(found, dtype=float), expected, rtol=0, atol=bound)


@pytest.mark.parametrize("family", ["gpt2", "llama", "mamba"])
def test_answers_are_the_likeliest_tokens_one_by_one(family: str, folders: dict[str, Path]) -> None:
    """Greedy, 16 tokens at most, up to the first special one; the same alone and together."""
    questions = [question for pair in PAIRS[:2] for question in text_questions(LIKELY, *pair)]
    opened = _opened(folders[family])
    ends = {*opened[1].all_special_ids}
    model = chat.ChatLM.load(str(folders[family]), device="cpu", dtype="float64")
    together = model.answer([*questions, *questions])
    expected = [_naive_answer(*opened, question, ends) for question in questions]
    assert [own.text for own in together if own is not None] == [*expected, *expected]
    assert [model.answer([question])[0] for question in questions] == together[: len(questions)]


def test_architectures_that_share_what_prompts_begin_with(folders: dict[str, Path]) -> None:
    """A window of 16 tokens and a state keep Mistral and Mamba from it; the others do it in rows of 384."""
    opened: dict[str, Any] = {name: chat.ChatLM.load(str(folder), device="cpu") for name, folder in folders.items()}
    found = {name: model._reader.shares for name, model in opened.items()}
    assert {name for name, shares in found.items() if shares} == SHARING


def test_what_prompts_begin_with_is_read_once(qwen: "chat.ChatLM", monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens that go through the model are at most the distinct beginnings of all prompts, rounded up to rows."""
    inner: Any = qwen
    tokenizer, model, read = inner._tokenizer, inner._model, list[int]()
    qwen.weigh_labels(CHOICES[:1])  # so that the model was tried before we count
    forward = model.forward

    def counting(**inputs: Foreign) -> Foreign:
        read.append(inputs["input_ids"].numel())
        return forward(**inputs)

    monkeypatch.setattr(model, "forward", counting)
    qwen.weigh_labels(CHOICES)
    prompts = [tuple(_naive_ids(tokenizer, question.prompt)) for question in CHOICES]
    distinct = len({ids[:end] for ids in prompts for end in range(1, len(ids) + 1)})
    assert sum(read) < 0.75 * sum(map(len, prompts))
    assert sum(read) <= 1.5 * distinct


SENTENCES = st.builds(
    "{} {} are {}.".format,
    st.sampled_from(["Japanese", "Norwegian", "kind", "日"]),
    st.sampled_from(["people", "nurses", "  engineers"]),
    st.sampled_from(["kind", "unkind", "good looking", "a nurse or an engineer"]),
)


@settings(max_examples=15)
@given(pairs=st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=3), batch_tokens=st.integers(1, 2000))
def test_weights_do_not_depend_on_company(pairs: list[tuple[str, str]], batch_tokens: int, qwen: "chat.ChatLM") -> None:
    """Whatever else is asked, and however many tokens a pass may have, contents stay within 1e-9."""
    asked = [choice_questions(LIKELY, *pair) for pair in pairs]
    alone = [read_choice(_whole(qwen.weigh_labels(questions))) for questions in asked]
    before, qwen.budget.tokens = qwen.budget.tokens, batch_tokens
    try:
        together = _whole(qwen.weigh_labels([question for questions in asked for question in questions]))
    finally:
        qwen.budget.tokens = before
    found = [read_choice(together[8 * number : 8 * number + 8]) for number in range(len(pairs))]
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-9)


def _whole(weights: Sequence[LabelWeights | None]) -> list[LabelWeights]:
    return [own for own in weights if own is not None]


@pytest.fixture(scope="session")
def half(folders: dict[str, Path]) -> "chat.ChatLM":
    """The model of `qwen` in half precision."""
    return chat.ChatLM.load(str(folders["qwen2"]), device="cpu", dtype="bfloat16")


def test_noise_is_by_how_much_company_moves_contents(half: "chat.ChatLM", monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose contents are 0 alone, and .1, .2, .3 and .4 beside others: the root of their mean square, by hand.

    Whether company moves anything is the processor's: some sum up each row alike, however many there are.
    """

    def planted(questions: Sequence[LabelQuestion]) -> list[LabelWeights]:
        # Eight questions of each pair: the label of the first place is likelier where the first sentence stands there.
        contents = [(-1) ** at * 0.1 * (at // 8 + 1) * (len(questions) > 1) for at in range(len(questions))]
        return [LabelWeights((content, 0.0), (False, False), 1.0) for content in contents]

    monkeypatch.setattr(half, "weigh_labels", planted)
    monkeypatch.delitem(vars(half), "noise", raising=False)  # which is kept once it is known
    try:
        assert half.noise == pytest.approx(math.sqrt((0.01 + 0.04 + 0.09 + 0.16) / 4), abs=1e-12)
    finally:
        del half.noise


def test_noise_is_that_of_rounding(folders: dict[str, Path], qwen: "chat.ChatLM", half: "chat.ChatLM") -> None:
    """None in double and single precision; in half precision, contents move by less than they vary, or not at all."""
    single = chat.ChatLM.load(str(folders["qwen2"]), device="cpu", dtype="float32")
    assert (qwen.noise, single.noise) == (0.0, 0.0)
    assert 0 <= half.noise < 0.1
    exact, rounded = _logs(qwen.weigh_labels(CHOICES)), _logs(half.weigh_labels(CHOICES))
    np.testing.assert_allclose(rounded, exact, rtol=0, atol=0.25)
    assert rounded != exact, "computed in double precision"


def test_units_are_asked_in_portions(qwen: "chat.ChatLM") -> None:
    """In order, some dozens at a time."""
    portions = [*qwen.portions(range(150))]
    assert [number for portion in portions for number in portion] == [*range(150)]
    assert [len(portion) for portion in portions] == [64, 64, 22]


# --- templates --------------------------------------------------------------------------------------------------------


def _edited(folder: Path, to: Path, template: str | None, **named: Foreign) -> Path:
    """A copy of a model with another template, and a tokenizer with other options."""
    shutil.copytree(folder, to)
    (to / "chat_template.jinja").unlink()
    if template is not None:
        (to / "chat_template.jinja").write_text(template)
    path = to / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **named}))
    return to


@pytest.mark.parametrize(
    ("template", "words"),
    [
        (None, "its tokenizer does not have a chat template: use a scorer"),
        ("{% for m in", "its chat template failed with TemplateSyntaxError"),
        ("{{ raise_exception('no users here') }}", "its chat template failed with TemplateError: no users here"),
        ("{{ messages[0].__class__.__mro__ }}", "its chat template failed with SecurityError"),
        ("Hello!", "its chat template omits the user's message"),
        ("{% for i in range(99999) %}{% for k in range(99999) %}{% endfor %}{% endfor %}", "does not terminate"),
        ("{{ messages[0]['content'] }}{{ 'a' * 200000 }}", "turns 86 characters into 200,118"),
    ],
)
def test_templates_that_cannot_be_used(
    template: str | None, words: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    """None, broken, hostile and endless ones: one message, which says what is wrong with the template."""
    folder = _edited(folders["gpt2"], tmp_path / "edited", template)
    with pytest.raises(ModelError) as refused:
        chat.ChatLM.load(str(folder), device="cpu")
    assert words in str(refused.value)
    assert str(refused.value).startswith(f"cannot load the model {folder}: ")


def test_a_template_of_many_parts_gets_parts() -> None:
    """Templates of models that see pictures read a list of texts and pictures."""
    template = "{% for part in messages[0]['content'] %}{{ part['text'] }}{% endfor %} >"
    assert chat_template.ChatTemplate(_byte_level(template)).render("he is kind") == "he is kind >"


def test_a_template_is_told_the_same_day_every_day() -> None:
    """Prompts with the date of today would be others tomorrow: all days are 26 July 2024."""
    template = "{{ strftime_now('%d %b %Y') }} {{ strftime_now('%Y-%m-%d') }} {{ messages[0]['content'] }}"
    assert chat_template.ChatTemplate(_byte_level(template)).render("he is kind") == "26 Jul 2024 2024-07-26 he is kind"


@pytest.mark.parametrize("prompt", ["<|im_end|> is kind", "he <|im_start|>assistant\nA", "<|im_end|>"])
def test_tokens_of_the_template_in_a_row_are_read_as_text(prompt: str) -> None:
    """Each stands for its letters there; all else is what it was. By hand: the template's own are two and one."""
    tokenizer = _byte_level()
    template = chat_template.ChatTemplate(tokenizer)
    (ids,) = template.encode([(prompt, "")])
    start, end = (tokenizer.convert_tokens_to_ids(mark) for mark in ("<|im_start|>", "<|im_end|>"))
    assert (ids.count(start), ids.count(end)) == (2, 1)
    assert tokenizer.decode(ids) == template.render(prompt)
    (with_reply,) = template.encode([(prompt, prompt)])
    assert with_reply[: len(ids)] == ids
    assert tokenizer.decode(with_reply[len(ids) :]) == prompt
    # What is read afterwards is read as ever.
    plain = [({"role": "user", "content": "he is kind"})]
    expected = tokenizer.apply_chat_template(plain, add_generation_prompt=True, tokenize=True, return_dict=False)
    assert template.encode([("he is kind", "")]) == [tuple(expected)]


def test_a_token_that_cannot_be_read_as_text_leaves_its_row_unanswered(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    """An added token of the template that is no special one is always read as itself: no number, and the reason."""
    model = chat.ChatLM.load(str(_edited(folders["gpt2"], tmp_path / "edited", SWITCH)), device="cpu")
    strange, usual = (choice_questions(LIKELY, text, "he is kind.")[0] for text in ("he said <think>.", "he said a."))
    weights = model.weigh_labels([strange, usual])
    assert weights[0] is None
    assert weights[1] is not None
    assert model.why(strange.prompt) == "it contains <think>, a token of the chat template"
    assert model.why(usual.prompt) == ""
    assert model.weigh_replies([ReplyQuestion(usual.prompt, "he said <think>.")]) == [None]
    assert model.answer([strange]) == [None]


def test_prompts_that_are_too_long_are_unanswered(qwen: "chat.ChatLM") -> None:
    """Of 1,500 words there are too many for 1,024 positions."""
    long = choice_questions(LIKELY, "kind " * 1500, "he is kind.")[0]
    assert qwen.weigh_labels([long, CHOICES[0]])[0] is None
    assert (
        qwen.weigh_replies([ReplyQuestion(long.prompt, "he is kind."), ReplyQuestion("a", "kind " * 1500)])
        == [None] * 2
    )
    assert qwen.answer([long]) == [None]
    assert qwen.why(long.prompt) == "too long for the model"


def test_a_label_that_is_no_token_is_said(qwen: "chat.ChatLM") -> None:
    """Of several letters that are no token together."""
    with pytest.raises(ModelError, match="does not have a token for the label Qqx: use answer-likely"):
        qwen.weigh_labels([LabelQuestion("Which?", ("Qqx", "A"))])


def test_nothing_asked_nothing_answered(qwen: "chat.ChatLM") -> None:
    """Empty lists."""
    assert (qwen.weigh_labels([]), qwen.weigh_replies([]), qwen.answer([])) == ([], [], [])


# --- thinking ---------------------------------------------------------------------------------------------------------


def _silenced(folder: Path, to: Path, template: str) -> Path:
    """A model for which all tokens are alike, so that the likeliest is the first, <think>, again and again."""
    _edited(folder, to, template)
    model = transformers.AutoModelForCausalLM.from_pretrained(to)
    with torch.no_grad():
        model.model.norm.weight.zero_()
    model.save_pretrained(to)
    return to


def test_models_that_think_have_no_choice(folders: dict[str, Path], tmp_path: Path) -> None:
    """Where the turn begins in a thought, or the model begins one, nothing is weighed, and answers are empty."""
    opened = CHATML.replace("assistant\n' }}{% endif", "assistant\n<think>\n' }}{% endif")
    by_template = chat.ChatLM.load(str(_edited(folders["qwen2"], tmp_path / "a", opened)), device="cpu")
    by_model = chat.ChatLM.load(str(_silenced(folders["qwen2"], tmp_path / "b", CHATML)), device="cpu")
    for model in (by_template, by_model):
        with pytest.raises(ModelError, match="thinks before it answers, and its chat template cannot switch"):
            model.weigh_labels(CHOICES[:1])
        with pytest.raises(ModelError, match="so use text-likely or ll"):
            model.weigh_replies([ReplyQuestion("Which?", "he is kind.")])
    (answer,) = by_model.answer(CHOICES[:1])
    assert answer is not None
    assert answer.text == ""


def test_thinking_is_switched_off_where_a_template_can(folders: dict[str, Path], tmp_path: Path) -> None:
    """Qwen3's switch puts an empty thought before the answer, which is then weighed."""
    model = chat.ChatLM.load(str(_edited(folders["qwen2"], tmp_path / "edited", SWITCH)), device="cpu")
    assert model.render_example().endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert None not in model.weigh_labels(CHOICES[:2])


@pytest.mark.parametrize("end", ["</think>", "[/THINK]", "<|end|><|start|>assistant<|channel|>final<|message|>"])
def test_what_a_model_thinks_is_left_out(
    end: str, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what it says after its thought, the first 16 tokens count; a thought without an end leaves nothing."""
    opened = CHATML.replace("assistant\n' }}{% endif", "assistant\n<think>\n' }}{% endif")
    model = chat.ChatLM.load(str(_edited(folders["qwen2"], tmp_path / "a", opened)), device="cpu")
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folders["qwen2"])
    said = tokenizer(f"kind is A{end}\nB" + "." * 40, add_special_tokens=False)["input_ids"]
    unfinished = tokenizer("kind is A", add_special_tokens=False)["input_ids"]
    monkeypatch.setattr(model, "_greedy", lambda prompts, new, **_: [said, unfinished][: len(prompts)])
    monkeypatch.setattr(model, "_continued", model._generate)
    answers = model.answer([CHOICES[0], CHOICES[1]])
    assert [own.text for own in answers if own is not None] == ["B" + "." * 14, ""]


# --- what it is known by ----------------------------------------------------------------------------------------------


def test_identity_has_the_template(folders: dict[str, Path], tmp_path: Path) -> None:
    """Another template is another model for chat, with other stored numbers; for likelihoods it is the same."""
    other = _edited(folders["gpt2"], tmp_path / "other", CHATML.replace("assistant", "model"))
    first, second = (chat.ChatLM.load(str(folder), device="cpu").identity for folder in (folders["gpt2"], other))
    assert {part for part in first if first[part] != second[part]} == {"template"}
    scorer = get("choice-likely")
    for number, identity in enumerate((first, second)):
        with Store(identity, scorer, pytest.fail, tmp_path / "scores") as store:
            unit = Unit("he is kind.", beside="she is kind.")
            assert store.load([unit]) == {}
            store.add([(unit, (float(number),) * len(scorer.columns))])
    assert len([*(tmp_path / "scores").glob("*.sqlite")]) == 2


def test_a_template_is_an_ability(folders: dict[str, Path], tmp_path: Path) -> None:
    """In a folder or in memory, a causal model with a template has both, likelihood first; without one, likelihood."""
    bare = _edited(folders["gpt2"], tmp_path / "bare", None)
    inside = _edited(folders["gpt2"], tmp_path / "inside", None, chat_template=CHATML)
    for folder, abilities in ((folders["gpt2"], ("causal", "chat")), (inside, ("causal", "chat")), (bare, ("causal",))):
        assert models.abilities_of_source(ModelSource(str(folder))) == abilities
        model, tokenizer = _opened(folder)
        assert models.abilities_of_source(ModelSource("mine", model=model, tokenizer=tokenizer)) == abilities
    asked = [get(name) for name in ("choice-likely", "ll", "text-likely")]
    both = fitting_scorers(ModelSource(str(folders["gpt2"])), asked)
    assert [scorer.id for scorer in both] == ["ll", "choice-likely", "text-likely"]
    with pytest.raises(
        ModelError, match=r"choice-likely needs a chat model, served or with a template, but .* use one of ll,"
    ):
        fitting_scorers(ModelSource(str(bare)), asked)


def test_a_model_in_memory_is_asked_as_one_in_a_folder(folders: dict[str, Path]) -> None:
    """The same numbers and the same identity, and its own settings of generation stay what they were."""
    model, tokenizer = _opened(folders["qwen2"])
    model.generation_config.do_sample = True
    wrapped: Any = models.wrap(ModelSource("mine", model=model, tokenizer=tokenizer, dtype="float64"), "chat")
    loaded: Any = models.load(str(folders["qwen2"]), ability="chat", device="cpu", dtype="float64")
    assert wrapped.identity == loaded.identity
    np.testing.assert_allclose(_logs(wrapped.weigh_labels(CHOICES)), _logs(loaded.weigh_labels(CHOICES)), atol=1e-12)
    assert wrapped.answer(CHOICES[:2]) == loaded.answer(CHOICES[:2])
    assert model.generation_config.do_sample


@pytest.mark.parametrize("scorer", ["choice-likely", "answer-likely", "text-likely", "nli-chat"])
def test_a_result_is_computed_again_and_another_template_is_another_model(
    scorer: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    """The same numbers within the tolerance of a replay; with another template nothing is run."""
    folder = shutil.copytree(folders["gpt2"], tmp_path / "gpt2")
    release, config = ("nli-control@1.0.1", None) if scorer == "nli-chat" else ("sssb@1.0.1", "noun-bare")
    out, said = tmp_path / "results", list[str]()
    options: dict[str, Any] = {"config": config, "limit": 6, "out": out, "store": False}
    api.score(
        senseprobe.model(folder, device="cpu"),
        release,
        scorer,
        show_failing=True,
        control=False,
        say=said.append,
        **options,
    )
    (path,) = out.rglob(f"{scorer}*.json")
    again = api.replay(path, device="cpu", batch_tokens=500)
    assert (again.differences, again.rows) == ((), 6)
    (folder / "chat_template.jinja").write_text(CHATML.replace("assistant", "model"))
    other = api.replay(path, device="cpu")
    assert other.result is None
    assert [line.partition(":")[0] for line in other.differences] == ["model, template"]


def test_contents_of_rows_are_those_of_a_pass_for_each_prompt(folders: dict[str, Path]) -> None:
    """Twelve rows of sssb in single precision, within 1e-5 of the naive passes in double; both orders, four alphabets.

    The head of each prompt is spelt out here, and content and position are computed as the issue defines them.
    """
    (result,) = api.score(
        senseprobe.model(folders["gpt2"], device="cpu"),
        "sssb@1.0.1",
        "choice-likely",
        config="noun-bare",
        limit=12,
        store=False,
        say=list[str]().append,
    )
    assert result.rows is not None
    rows = senseprobe.load("sssb@1.0.1").table("noun-bare").merge(result.rows[["id"]], on="id").set_index("id")
    opened = _opened(folders["gpt2"])
    names = ["AB", "BA", "12", "21", "content", "position"]
    assert len(result.rows) == 12
    for own_id, *found in result.rows[["id", *names]].itertuples(index=False):
        stereo, anti = rows.loc[own_id, ["stereo", "anti"]]
        a = {}
        for x, y in ("AB", "BA", "12", "21"):
            answer = "one letter, A or B" if x in "AB" else "one number, 1 or 2"
            for order, (s, t) in enumerate([(stereo, anti), (anti, stereo)]):
                prompt = f"Which of these two sentences is more likely? Answer with {answer}.\n{x}. {s}\n{y}. {t}"
                first, second = _naive_weights(*opened, LabelQuestion(prompt, (x, y)))
                a[x + y, order] = first - second
        contents = [(a[own, 0] - a[own, 1]) / 2 for own in ("AB", "BA", "12", "21")]
        positions = [(a[own, 0] + a[own, 1]) / 2 for own in ("AB", "BA", "12", "21")]
        expected = [*contents, np.mean(contents), np.mean(positions)]
        np.testing.assert_allclose(np.array(found, float), np.array(expected, float), rtol=0, atol=1e-5)
