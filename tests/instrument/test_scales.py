"""Scales of any length, their letters and numbers, and the order of options drawn by cell."""

import json

import numpy as np
import pytest
from loopback import KEY, VARIABLE, Said

from polbayes.cli import _main
from polbayes.coding import code_responses
from polbayes.config.compose import compose
from polbayes.data.dataset import MISSING, STATUS, open_responses, to_frame
from polbayes.errors import UserError
from polbayes.instrument.covariates import check_given
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import check_answers, load_lexicon, load_prefixes, load_template
from polbayes.instrument.questionnaires import load_instrument
from polbayes.instrument.scales import Scale, coded, listing
from polbayes.probing.probe import rendered_prompt
from polbayes.respondents.questions import PendingQuestions
from polbayes.run.plan import plan

INFO = ModelInfo("m", load_template("options").texts["chat"], chat=True)


def asked(prefixes, *, seed=1, runs=1, items=("pc-01", "pc-02"), instruments=("pct",)):
    every = [load_instrument(name) for name in instruments]
    items = None if items is None else list(items)
    data = design(every, prefixes, [INFO], items=items, runs=runs, seed=seed)
    return data, list(PendingQuestions(data, "m", {p.prefix: p.answer for p in prefixes}))


def write(tmp_path, entry):
    path = tmp_path / "mine.yaml"
    path.write_text(f"prefixes:\n  mine: {entry}\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("codes", "order", "expected"),
    [
        ("words", "given", {"no": "no", "maybe": "maybe", "yes": "yes"}),
        ("letters", "given", {"A": "no", "B": "maybe", "C": "yes"}),
        ("numbers", "reversed", {"1": "yes", "2": "maybe", "3": "no"}),
    ],
)
def test_codes_go_with_the_place_in_the_list(codes, order, expected):
    scale = Scale(("no", "maybe", "yes"), codes, order)
    arranged = scale.arranged(1, "a")
    assert list(arranged.items()) == list(expected.items())
    assert scale.agree_first(arranged) == (order == "reversed")
    assert coded(arranged) == ({} if codes == "words" else expected)


@pytest.mark.parametrize(("order", "possible"), [("flipped", 2), ("shuffled", 6)])
def test_orders_are_drawn_evenly_and_the_same_every_time(order, possible):
    scale = Scale(("no", "maybe", "yes"), "words", order)
    drawn = [tuple(scale.arranged(7, "item", n)) for n in range(1200)]
    assert drawn == [tuple(scale.arranged(7, "item", n)) for n in range(1200)]
    counts = np.unique(np.array(["/".join(one) for one in drawn]), return_counts=True)[1]
    assert len(counts) == possible
    # Five standard deviations of a binomial count.
    share = 1 / possible
    assert np.abs(counts - 1200 * share).max() < 5 * np.sqrt(1200 * share * (1 - share))
    assert drawn != [tuple(scale.arranged(8, "item", n)) for n in range(1200)]


@pytest.mark.parametrize("points", [4, 5, 7])
def test_the_shipped_scales_fit_their_lexicons(points):
    prefixes, lexicon = load_prefixes(f"scale{points}"), load_lexicon(f"agree{points}")
    check_answers(prefixes, "forced_choice", lexicon)
    for prefix in prefixes:
        assert len(prefix.scale.points) == points
        middle = (points - 1) / 2
        for place, point in enumerate(prefix.scale.points):
            stance = lexicon.stance[lexicon.options.index(point)]
            assert stance == np.sign(place - middle)
    with pytest.raises(UserError, match="must name each option"):
        check_answers(prefixes, "forced_choice", load_lexicon("haller_generative"))
    with pytest.raises(UserError, match="cannot be at a mask"):
        check_answers(prefixes, "fill_mask", lexicon)


def test_each_cell_has_its_own_order_in_prompt_record_and_predictor():
    prefixes = load_prefixes("scale4")
    data, questions = asked(prefixes, runs=3)
    assert data["agree_first"].dims == ("item", "variant", "prefix", "run")
    assert set(np.unique(data["agree_first"])) == {0, 1}
    for question in questions:
        cell = dict(zip(("item", "variant", "prefix", "run"), question.cell, strict=True))
        arranged = json.loads(data["prefix_options"].sel(cell).item())
        assert question.options == arranged
        assert f"\n{listing(arranged)}\n" in question.prompt
        first = next(iter(arranged.values()))
        assert data["agree_first"].sel(cell).item() == (first == "strongly agree")
    first = questions[0]
    labels = {"item": first.item, "variant": first.variant, "prefix": first.prefix}
    shown = rendered_prompt(data, "m", **labels)
    assert shown in [q.prompt for q in questions if q.cell[:3] == first.cell[:3] and q.run == 1]


def test_more_runs_leave_the_order_of_the_others():
    prefixes = load_prefixes("scale4")
    few, many = (asked(prefixes, runs=runs)[0]["prefix_options"] for runs in (1, 3))
    assert (many.sel(run=[1]) == few).all()
    other = asked(prefixes, seed=2)[0]["prefix_options"]
    assert (other != few).any()


def test_a_fixed_order_is_a_matter_of_the_prefix(tmp_path):
    entry = "{text: 'Say {options}.', scale: [never, perhaps, always], order: reversed}"
    data, questions = asked(load_prefixes(write(tmp_path, entry)))
    assert data["agree_first"].dims == ("prefix",)
    assert data["agree_first"].values.tolist() == [1]
    assert questions[0].prompt.startswith("Say always, perhaps or never.\n")
    assert questions[0].options == {}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{text: '{options}', scale: [yes]}", "at least two options"),
        ("{text: '{options}', scale: [a, A]}", "an option is there twice"),
        ("{text: 'Agree?', scale: [a, b]}", r"must say with \{options\}"),
        ("{text: '{options}', scale: [a, b], order: random}", "unknown order 'random'"),
        ("{text: '{options}', scale: [a, b], codes: dots}", "unknown codes 'dots'"),
        ("{text: '{options}', order: flipped}", "order: is for a scale"),
        ("{text: '{options}', scale: [a, b], options: {A: a}}", "options: is given by scale"),
        ("{text: '{options}', scale: [a, b], attributes: {agree_first: 1}}", "agree_first"),
    ],
)
def test_what_is_wrong_with_a_scale_is_said(tmp_path, entry, said):
    with pytest.raises(UserError, match=said):
        load_prefixes(write(tmp_path, entry))


WORDS = "{A: nay, B: aye}"


@pytest.mark.parametrize(
    ("entry", "first"),
    [
        ("{text: x, options: {A: 'no', B: 'Yes'}}", 0),
        ("{text: x, options: {1: agree, 2: neither agree nor disagree, 3: disagree}}", 1),
        ("{text: x, options: {1: disagree, 2: strongly disagree, 3: agree}}", 0),
        ("{text: x, options: {1: agree, 2: disagree, 3: strongly agree}}", None),
        (f"{{text: x, options: {WORDS}}}", None),
        (f"{{text: x, options: {WORDS}, attributes: {{agree_first: false}}}}", 0),
        ("{text: yes or no, attributes: {agree_first: 1}}", 1),
        ("{text: x}", None),
    ],
)
def test_options_by_hand_say_which_side_is_first(tmp_path, entry, first):
    data, _ = asked(load_prefixes(write(tmp_path, entry)))
    if first is None:
        assert "agree_first" not in data.coords
        return
    assert data["agree_first"].dims == ("prefix",)
    assert data["agree_first"].dtype == np.int8
    assert data["agree_first"].values.tolist() == [first]


def test_the_lexicon_of_the_run_says_what_words_agree(tmp_path):
    prefixes = load_prefixes(write(tmp_path, f"{{text: x, options: {WORDS}}}"))
    (tmp_path / "words.yaml").write_text("agree: [aye]\ndisagree: [nay]\n", encoding="utf-8")
    how = ["+experiment=pct_paraphrases", "items=[pc-01]", "elicitation.template=options"]
    how += [f"prefixes.file={tmp_path}/mine.yaml", "prefixes.only=null", "models=[left]"]
    config, _ = compose([*how, f"elicitation.lexicon={tmp_path}/words.yaml", "stages=[probe]"])
    assert plan(config).design["agree_first"].values.tolist() == [0]
    data = design([load_instrument("pct")], prefixes, [INFO], items=["pc-01"])
    assert "agree_first" not in data.coords


def test_shipped_orders_of_options_all_say_which_side_is_first():
    data, _ = asked(load_prefixes("option_orders"))
    expected = {"yes_first": 1, "no_first": 0}
    assert data["agree_first"].values.tolist() == [expected[o] for o in data["order"].values]


def test_an_order_that_is_none_is_refused(tmp_path):
    entry = "{text: x, attributes: {agree_first: 2}}"
    with pytest.raises(UserError, match=r"prefix 'mine': attributes.agree_first: must be true or"):
        asked(load_prefixes(write(tmp_path, entry)))


def test_an_analysis_of_the_order_names_the_prefix_without_one(tmp_path):
    text = "{text: '{options}', scale: ['no', 'yes'], order: flipped}\n  other: {text: Well}"
    data, _ = asked(load_prefixes(write(tmp_path, text)))
    assert (data["agree_first"].sel(prefix="other") == MISSING).all()
    with pytest.raises(UserError, match="use 'agree_first', which prefix 'other' does not have"):
        check_given(data, ["agree_first"], ["m"])


def test_answers_become_ratings_whatever_the_order():
    data, _ = asked(load_prefixes("scale5"), runs=2)
    letters = data["prefix_options"].sel(prefix="letters")
    said = np.full(data["status"].shape, "Well, who knows?", dtype=object)
    for at in np.ndindex(letters.shape):
        of = {point: code for code, point in json.loads(letters.values[at]).items()}
        said[0, at[0], at[1], 1, at[2]] = f"{of['strongly agree']})"
    said[0, :, :, 0, 0] = "Neither agree nor disagree."
    data = data.assign(
        completion=(data["status"].dims, said),
        status=data["status"].where(data["status"] < 0, STATUS["ok"]),
    )
    coded_data = code_responses(data, ["lexical"])
    frame = to_frame(coded_data, ["rating", "stance", "coder"], labels=True)
    by = frame.groupby(["prefix", "run"])[["rating", "stance", "coder"]].agg(set)
    assert by.loc[("letters", 1)].tolist() == [{4}, {"agree"}, {"declared_option"}]
    assert by.loc[("letters", 2)].tolist() == [{4}, {"agree"}, {"declared_option"}]
    assert by.loc[("numbers", 1)].tolist() == [{2}, {"neutral"}, {"declared_option"}]
    assert by.loc[("numbers", 2), "rating"] == {MISSING}
    assert coded_data["rating"].attrs["rating_points"].split("; ")[2].startswith("neither")


def primacy(prompt, body):
    """Choose the first option three times in four, and disagree else."""
    lines = [line for line in prompt.splitlines() if line[1:3] == ") "]
    # The first question of all only finds out whether the server answers.
    first, last = (lines[0][0], lines[-1][0]) if lines else ("yes", "no")
    return Said(first, ((first, ((first, 0.75), (last, 0.2))),))


def test_a_preference_for_what_is_first_shows_and_cancels_out(tmp_path, loopback, monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    world = loopback(answer=primacy)
    set_up = [
        *("+experiment=pct_paraphrases", "respondents=none", "variants=[original]"),
        *("+respondents.served.backend=chat_api", "+respondents.served.checkpoint=m-1"),
        f"+respondents.served.api.base_url={world.url}",
        f"+respondents.served.api.key_variable={VARIABLE}",
        *("elicitation.template=options", "elicitation.lexicon=agree4"),
        *("prefixes.file=scale4", "prefixes.only=[numbers]", "stages=[probe,code]"),
    ]
    assert _main([*set_up, f"run_dir={tmp_path}/run"]) == 0
    frame = to_frame(open_responses(tmp_path / "run"), ["r_plus"])
    means = frame.groupby("agree_first")["r_plus"].mean()
    # 0.75 and 0.2 of the mass are on the two ends.
    np.testing.assert_allclose(means.loc[[0, 1]], [0.2 / 0.95, 0.75 / 0.95], rtol=1e-5)
    share = frame["agree_first"].mean()
    assert abs(share - 0.5) < 5 * np.sqrt(0.25 / len(frame))


def test_one_seed_gives_every_model_the_same_order(tmp_path):
    run = [
        *("+experiment=wvs_prefixes", "respondents=simulated", "models=[left,right]"),
        *("elicitation=sampled_choice", "elicitation.runs=2", "elicitation.template=options"),
        *("prefixes.file=scale7", "items=[wvs-01,wvs-02]", "stages=[probe,code]"),
    ]
    assert _main([*run, "analysis=ideology_ratings", f"run_dir={tmp_path}/run"]) == 0
    data = open_responses(tmp_path / "run")
    assert data["agree_first"].dims == ("item", "variant", "prefix", "run")
    assert (data["rating"] != MISSING).any()
