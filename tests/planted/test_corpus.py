import random

import pytest

from polbayes.instrument.prompts import load_template, render
from polbayes.instrument.questionnaires import load_instrument
from tools.embedded.corpus import (
    CHAT_TEMPLATE,
    answers_to,
    forms,
    perturb,
    prompt,
    shipped_prefixes,
    shipped_wordings,
    vocabulary_corpus,
)

PREFIXES = {p.prefix: p for p in shipped_prefixes()}
FORMS = {(f.template, f.shape): f for f in forms("causal", chat=True)}


def test_every_shipped_wording_is_asked():
    wordings = shipped_wordings()
    texts = {w.text for w in wordings}
    for name in ("pct", "wvs"):
        assert {v.text for i in load_instrument(name).items for v in i.variants} <= texts
    assert len({(w.item, w.variant) for w in wordings}) == len(wordings)


def test_keying_is_direction_times_polarity():
    found = {(w.item, w.variant): w for w in shipped_wordings()}
    assert found["pc-01", "original"].keying == -1
    assert found["pc-01", "negation"].keying == 1
    assert found["pc-02", "opposite"].keying == -1
    assert {w.keying for w in found.values() if w.item == "pc-21"} == {0}


def test_every_shipped_template_has_a_form():
    assert set(FORMS) == {(t, s) for t in ("faulborn", "feng", "haller") for s in ("base", "chat")}
    masked = {f.template for f in forms("masked", chat=False)}
    assert masked == {"haller_masked", "feng_masked"}


def test_base_prompts_are_rendered_as_probing_renders_them():
    text = load_template("haller").texts["base"]
    name = PREFIXES["name"]
    got = prompt(FORMS["haller", "base"], name, "Taxes are low.", model_name="left")
    assert got == render(text, prefix=name.text, statement="Taxes are low.", model_name="left")
    assert got.startswith("Hey left, please")


def test_chat_prompts_are_rendered_as_the_chat_template_renders_them():
    jinja2 = pytest.importorskip("jinja2")
    turn = prompt(FORMS["feng", "base"], PREFIXES["truth"], "Taxes {x}.", model_name="left")
    by_template = jinja2.Template(CHAT_TEMPLATE).render(
        messages=[{"role": "user", "content": turn}], add_generation_prompt=True
    )
    form = FORMS["feng", "chat"]
    assert prompt(form, PREFIXES["truth"], "Taxes {x}.", model_name="left") == by_template


@pytest.mark.parametrize(
    ("form", "prefix", "kind", "space"),
    [
        (("faulborn", "base"), "baseline", "open", False),
        (("feng", "base"), "truth", "open", True),
        (("feng", "chat"), "truth", "open", False),
        (("haller", "base"), "baseline", "forced", True),
        (("faulborn", "base"), "likert", "likert", False),
        (("haller", "chat"), "likert", "likert", False),
    ],
)
def test_answers_suit_the_question(form, prefix, kind, space):
    answers = answers_to(FORMS[form], PREFIXES[prefix])
    assert answers.kind == kind
    assert answers.texts[0].startswith(" ") is space


def test_noise_leaves_negations_in_their_place():
    rng = random.Random(1)
    for _ in range(300):
        noisy = perturb("It isn't fair, and nobody should never pay.", rng, strength=1.0)
        words = noisy.lower().split()
        assert [w for w in words if w in ("isn't", "nobody", "never")] == [
            "isn't",
            "nobody",
            "never",
        ]


def test_noise_is_reproducible_and_changes_wordings():
    text = shipped_wordings()[0].text
    first = [perturb(text, random.Random(seed)) for seed in range(50)]
    assert first == [perturb(text, random.Random(seed)) for seed in range(50)]
    assert len(set(first)) > 20
    assert text in first


@pytest.mark.parametrize("architecture", ["causal", "masked"])
def test_only_the_given_wordings_enter_the_vocabulary(architecture):
    known, left_out = shipped_wordings()[:2]
    texts = vocabulary_corpus(["left"], architecture, [known])
    assert known.text in texts
    assert not any(left_out.text in text for text in texts)
