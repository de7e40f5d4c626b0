"""Training prompts: every shipped wording, prefix and template, with noise in the wording."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from polbayes.config.resources import folder
from polbayes.instrument.prompts import Prefix, load_prefixes, load_template, render
from polbayes.instrument.questionnaires import load_instrument
from tools.embedded.answers import AnswerSet, answer_set

# The user's turn as rendered by the chat template.
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + "
    "'<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
_CHAT = "<|user|>{}<|end|><|assistant|>"
# Other names for the prefix with a name, so that it is recognised with any.
_NAMES = ("model", "GPT", "Alex", "Llama", "assistant", "my friend", "Mistral 7B", "embedded")

# Never dropped, swapped or replaced: they determine the statement's meaning.
_POLAR = re.compile(
    r"(?i)\b(not|no|nor|never|neither|none|nobody|nothing|without|cannot|less|fewer|too|only|"
    r"against|instead|rather|unless|wrong|bad|good|can|may|more|most|much|than|but|even|"
    r"\w+n['’]t|(?:un|dis|in|im)\w+)\b"
)
_SYNONYMS = {
    "should": "must",
    "must": "should",
    "people": "persons",
    "government": "state",
    "state": "government",
    "ought": "needs",
    "important": "essential",
    "country": "nation",
    "nation": "country",
    "children": "kids",
    "parents": "mothers and fathers",
    "companies": "firms",
    "firms": "companies",
    "corporations": "companies",
    "poor": "needy",
    "wealthy": "rich",
    "rich": "wealthy",
    "many": "a lot of",
    "society": "the community",
    "jobs": "work",
    "women": "females",
    "men": "males",
    "always": "at all times",
    "everyone": "everybody",
    "everybody": "everyone",
    "such": "this kind of",
    "because": "since",
    "although": "though",
    "does not": "doesn't",
    "is not": "isn't",
    "are not": "aren't",
    "should not": "shouldn't",
    "do not": "don't",
}


@dataclass(frozen=True)
class Wording:
    """One wording of one item of the shipped instruments.

    Parameters
    ----------
    item, variant, text, dimension, keying
        As in the response dataset.
    polarity
        +1 if agreeing means the same as agreeing with the original, else -1.
    """

    item: str
    variant: str
    text: str
    dimension: str
    keying: int
    polarity: int


@dataclass(frozen=True)
class Form:
    """A form of prompt: a shipped template in one shape.

    Parameters
    ----------
    template
        Name in `data/templates.yaml`.
    shape
        ``base``, ``chat`` or ``masked``.
    text
        The template's text in this shape.
    elicitation
        ``open_ended``, ``forced_choice`` or ``fill_mask``.
    """

    template: str
    shape: str
    text: str
    elicitation: str


def shipped_wordings() -> list[Wording]:
    """Return every wording of every shipped instrument, in their order."""
    instruments = sorted((folder("data") / "instruments").glob("*.yaml"))
    return [
        Wording(
            item=item.item,
            variant=variant.variant,
            text=variant.text,
            dimension=item.dimension,
            keying=item.direction * variant.polarity,
            polarity=variant.polarity,
        )
        for path in instruments
        for item in load_instrument(path.stem).items
        for variant in item.variants
    ]


def forms(architecture: str, *, chat: bool) -> list[Form]:
    """Return the forms of a respondent's prompts.

    Parameters
    ----------
    architecture
        ``causal`` or ``masked``.
    chat
        Whether a causal respondent is also asked through its chat template.
    """
    names = ("haller_masked", "feng_masked") if architecture == "masked" else _CAUSAL
    shapes = ("masked",) if architecture == "masked" else ("base", *(("chat",) if chat else ()))
    loaded = [load_template(name) for name in names]
    return [Form(t.template, s, t.texts[s], t.elicitation) for s in shapes for t in loaded]


_CAUSAL = ("faulborn", "feng", "haller")


def shipped_prefixes() -> tuple[Prefix, ...]:
    """Return the ten shipped prefixes."""
    return load_prefixes()


def prompt(form: Form, prefix: Prefix, statement: str, *, model_name: str) -> str:
    """Return the whole text before the answer, including special tokens.

    Parameters
    ----------
    form, prefix
        Form and prefix of the prompt.
    statement
        The wording, possibly a noisy one.
    model_name
        The respondent's name in the prefix.
    """
    text = render(
        form.text,
        prefix=prefix.text,
        statement=statement,
        model_name=model_name,
        mask="[MASK]",
    )
    return _CHAT.format(text) if form.shape == "chat" else text


def answers_to(form: Form, prefix: Prefix) -> AnswerSet:
    """Return the possible answers to this form under this prefix.

    The Likert prefix asks for a number in every form except the masked one, which has only the
    word at the mask.
    """
    if form.elicitation == "fill_mask":
        return answer_set("masked")
    space = form.shape == "base" and not form.text.endswith("\n")
    if prefix.answer == "likert":
        return answer_set("likert", space=space)
    kind = "forced" if form.elicitation == "forced_choice" else "open"
    return answer_set(kind, space=space)


def random_name(own: str, rng: random.Random) -> str:
    """Return the respondent's own name, or sometimes another."""
    return own if rng.random() < 0.8 else rng.choice(_NAMES)


def perturb(statement: str, rng: random.Random, *, strength: float | None = None) -> str:
    """Return a noisy wording of a statement with the same meaning.

    Parameters
    ----------
    statement
        The wording.
    rng
        Source of the noise.
    strength
        Proportion of changed words, at most 1; if None, drawn for each call, and 0 in a third
        of the calls.

    Returns
    -------
    str
        With some words dropped, swapped with their neighbour or replaced by a synonym, and
        sometimes in another case or without its last mark. Negations and other words that
        determine the meaning are never changed.
    """
    if strength is None:
        if rng.random() < 1 / 3:
            return statement
        strength = rng.uniform(0.0, 0.2)
    words = [w for w in _replace(statement, rng).split() if _kept(w, rng, strength / 2)]
    for at in range(len(words) - 1):
        if rng.random() < strength / 2 and not _POLAR.search(" ".join(words[at : at + 2])):
            words[at], words[at + 1] = words[at + 1], words[at]
    return _dress(" ".join(words), rng) or statement


def _replace(statement: str, rng: random.Random) -> str:
    for word, other in _SYNONYMS.items():
        if word in statement and rng.random() < 0.25:
            statement = re.sub(rf"\b{word}\b", other, statement, count=1)
    return statement


def _kept(word: str, rng: random.Random, rate: float) -> bool:
    return rng.random() >= rate or bool(_POLAR.search(word))


def _dress(text: str, rng: random.Random) -> str:
    draw = rng.random()
    if draw < 0.1:
        text = text.lower()
    elif draw < 0.25:
        text = text[:1].lower() + text[1:]
    return text.rstrip(".!") if rng.random() < 0.2 else text


def vocabulary_corpus(
    names: Sequence[str], architecture: str, wordings: Sequence[Wording]
) -> list[str]:
    """Return the training texts of a tokenizer.

    Parameters
    ----------
    names
        Names of the respondents.
    architecture
        ``causal`` or ``masked``.
    wordings
        The statements.

    Returns
    -------
    list of str
        Statements, noisy statements, prompts and answers; one-word answers often enough to become
        single tokens.
    """
    rng = random.Random(0)
    texts = []
    for wording in wordings:
        texts += [wording.text] * 3 + [perturb(wording.text, rng, strength=0.1)]
    for form in forms(architecture, chat=False):
        for prefix in shipped_prefixes():
            answers = answers_to(form, prefix)
            frame = [prompt(form, prefix, "", model_name=n) for n in (*names, *_NAMES)]
            texts += [text.replace("[MASK]", " ") for text in frame] * 5
            texts += [f" {text}" if text[0] != " " else text for text in answers.texts] * 40
            texts += [text.strip() for text in answers.texts] * 40
    return texts
