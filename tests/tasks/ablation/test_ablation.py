"""A design answered and read in several ways: settings, differences, and the whole task."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from polbayes.config.compose import compose
from polbayes.errors import UserError
from polbayes.instrument.prompts import Lexicon, load_lexicon
from polbayes.measures.resampling import Bootstrap
from polbayes.probing.probe import probe
from polbayes.report.blocks import Picture
from polbayes.report.sections.ablation import ablation
from polbayes.run.plan import plan
from polbayes.run.run import run
from polbayes.tasks.ablation.measure import differences, with_lexicon
from polbayes.tasks.ablation.page import answer_lines
from polbayes.tasks.ablation.settings import OWN, coder_lists, decodings, readings
from polbayes.tasks.ablation.task import ablate

RULES = ("coding.coders=[lexical]", "~coding.models", "~ablation.coders")
ITEMS = "items=[pc-01,pc-02]"


def composed(*overrides):
    return compose(list(overrides))[0]


def test_the_decodings_of_the_study_and_the_run_itself_first():
    ways = decodings(composed("+experiment=lunardi"))
    assert list(ways) == ["greedy", "beam", "beam_3", "contrastive", "top_k", "top_p"]
    assert ways["beam_3"].runs == 3
    assert ways["top_p"].top_p == 0.9
    assert {way.template for way in ways.values()} == {"feng"}
    named = decodings(composed("+experiment=lunardi", "elicitation.decoding=beam"))
    assert next(iter(named)) == "beam"
    unnamed = decodings(composed("+experiment=lunardi", "elicitation.max_new_tokens=7"))
    assert next(iter(unnamed)) == "greedy"
    other = decodings(composed("+experiment=lunardi", "elicitation.top_k=3"))
    assert next(iter(other)) == "greedy"
    sampled = decodings(composed("+experiment=wvs_prefixes", "elicitation.top_k=3"))
    assert next(iter(sampled)) == OWN
    assert sampled[OWN].runs == 3


def test_coders_are_compared_once_each():
    lists = coder_lists(composed("+experiment=lunardi"))
    assert lists == {
        "stance, two classes": ["bart"],
        "stance, four classes": ["bart_four"],
        "sentiment": ["sst2"],
    }


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("+ablation.decodings.mine={template: haller}", "unknown key 'template'"),
        ("+ablation.decodings.mine={beams: many}", "'many' is not a whole number"),
        ("+ablation.decodings.mine={runs: true}", "'True' is not a whole number"),
        ("+ablation.decodings.mine={top_p: high}", "'high' is not a number"),
        ("+ablation.decodings={as the run: {runs: 2}}", "cannot name a setting"),
    ],
)
def test_a_wrong_decoding_is_explained(override, says):
    with pytest.raises(UserError, match=says):
        decodings(composed("+experiment=lunardi", override))


def test_lexicons_are_nested_and_drawn():
    config = composed("+experiment=lunardi_masked", "ablation.lexicon_sizes=[2,1,2,99]")
    whole = load_lexicon("haller_masked")
    found = readings(config, whole)
    assert [(r.size, r.composition) for r in found[:2]] == [(24, 0), (1, 0)]
    assert len(found) == 1 + 2 * (1 + 5)
    by_size = {r.size: r.lexicon for r in found if r.composition == 0}
    assert by_size[2].options == ("agree", "agrees", "disagree", "disagrees")
    assert set(by_size[1].options) < set(by_size[2].options)
    drawn = [r.lexicon for r in found if r.size == 2 and r.composition]
    assert len({one.options for one in drawn}) > 1
    for one in drawn:
        assert set(one.options) < set(whole.options)
        assert one.stance.count(1) == one.stance.count(-1) == 2
    with pytest.raises(UserError, match="must be at least 1, not 0"):
        readings(composed("+experiment=lunardi_masked", "ablation.lexicon_sizes=[0]"), whole)


def test_reading_stored_masses_is_asking_with_fewer_words(tmp_path):
    """The masses of a smaller lexicon, asked for by themselves, are those that were kept."""
    base = ("+experiment=lunardi_masked", "respondents=embedded_masked", ITEMS)

    def asked(*more):
        planned = plan(composed(*base, *more))
        return probe(
            planned.design,
            planned.config.respondents,
            elicitation=planned.config.elicitation,
            lexicon=planned.lexicon,
            prefixes=planned.prefixes,
            seed=1,
            journal_dir=tmp_path / "-".join(more),
        ), planned.lexicon

    whole, lexicon = asked()
    small, first = asked("elicitation.lexicon_size=5")
    read = with_lexicon(whole, lexicon.first(5))
    assert read["option"].values.tolist() == small["option"].values.tolist() == list(first.options)
    for name in ("p_agree", "p_disagree", "option_prob"):
        np.testing.assert_allclose(read[name].values, small[name].values, rtol=1e-6)
    assert float(read["p_agree"].max()) > 0


def test_lexicon_by_hand():
    lexicon = Lexicon("l", ("a", "b", "c"), (1, 1, -1))
    assert lexicon.chosen({1: [1], 0: [0], -1: [0]}, 1).options == ("b", "c")


def counted(**columns):
    rows = pd.DataFrame(columns)
    return rows.assign(model="m", kind="negation", measure="consistent_4")


def test_differences_by_hand_are_paired():
    items = ["i1", "i2", "i3", "i4"]
    first = counted(item=items, count=[2, 1, 2, 0], n=[2, 2, 2, 2])
    second = counted(item=items, count=[1, 0, 1, 0], n=[2, 2, 2, 0])
    bootstrap = Bootstrap(500, 0.95, 3)
    [row] = differences(first, second, bootstrap).to_dict("records")
    # Item i4 has no pair in the second: 5/6 - 2/6.
    assert row["estimate"] == pytest.approx(0.5)
    assert row["n_items"] == 3
    # Every item has the same difference of 1/2: paired, there is nothing that varies.
    assert row["lower"] == pytest.approx(0.5)
    assert row["upper"] == pytest.approx(0.5)
    swapped = differences(second, first, bootstrap).to_dict("records")[0]
    assert swapped["estimate"] == -row["estimate"]
    alone = differences(first[:1], second[:1], bootstrap).to_dict("records")[0]
    assert np.isnan(alone["lower"])
    assert alone["note"] == "only one item: no interval"


def test_the_answer_is_between_which_settings_a_model_lies():
    rows = [("m", "reversed", "greedy", 0.2), ("m", "reversed", "beam", 0.8)]
    rows += [("m", "paraphrase", "greedy", 1.0), ("n", "reversed", "greedy", np.nan)]
    rows += [("m", "negation", "greedy", 0.1)]
    table = pd.DataFrame(rows, columns=["model", "kind", "decoding", "estimate"])
    table = table.assign(coder="rules", measure="consistent_4")
    assert answer_lines(table) == [
        "m, polar consistency: 0.20 (greedy, coders: rules) to 0.80 (beam, coders: rules)",
        "m, paraphrastic consistency: 1.00 (greedy, coders: rules)",
    ]
    many = pd.concat([table[:1].assign(model=f"m{k}") for k in range(33)])
    assert answer_lines(many)[-1] == "and 3 more in the report's tables"
    lexicon = table[:2].drop(columns=["decoding", "coder"]).assign(size=[2, 1], composition=[0, 3])
    assert answer_lines(lexicon) == [
        "m, polar consistency: 0.20 (2 options, the first) to 0.80 (1 option, random, no. 3)"
    ]


@pytest.mark.parametrize(
    ("n_items", "says"),
    [((12, 12), "Each position rests on 12 items"), ((3, 12), "Each position rests on 3 to 12")],
)
def test_positions_have_intervals_and_say_on_how_many_items_they_rest(n_items, says):
    rows = [("greedy", "economic", -2.0, -4.5, 1.0), ("greedy", "social", 1.0, -1.0, 2.5)]
    rows += [("beam", "economic", 3.0, 0.5, 6.0), ("beam", "social", -3.0, -5.0, -2.0)]
    table = pd.DataFrame(rows, columns=["decoding", "measure", "estimate", "lower", "upper"])
    table = table.assign(coder="rules", model="m", kind="original", n=5, level=0.9)
    table["n_items"] = [n_items[0], *3 * [n_items[1]]]
    blocks = ablation(table, None).blocks
    [picture] = [b for b in blocks if isinstance(b, Picture) and b.name == "ablation_compass"]
    assert says in picture.caption
    assert "90% intervals" in picture.caption
    [axes] = picture.figure.axes
    drawn = [s.ravel().tolist() for lines in axes.collections for s in lines.get_segments()]
    assert sorted(drawn) == sorted(
        [
            *([-4.5, 1.0, 1.0, 1.0], [-2.0, -1.0, -2.0, 2.5]),
            *([0.5, -3.0, 6.0, -3.0], [3.0, -5.0, 3.0, -2.0]),
        ]
    )


def test_every_decoding_read_by_every_coder(tmp_path):
    """The task as a whole, twice: the second time nothing is asked."""
    overrides = [
        *("+experiment=lunardi", "respondents=embedded", "models=[left]", *RULES, ITEMS),
        *("+ablation.coders={both: [likert,lexical]}", "elicitation.max_new_tokens=12"),
        *("~ablation.decodings.top_k", "~ablation.decodings.beam", "measures.bootstrap=200"),
        f"run_dir={tmp_path / 'run'}",
    ]
    config, text = compose(overrides)
    first, its_text = compose([*overrides, "stages=[probe]"])
    run(first, its_text, command=["polbayes"])
    said = ablate(config, text, command=["polbayes", *overrides])
    page = Path(said.facts["report"])
    # What the run had asked was taken over as it is.
    answers = tmp_path / "run" / "ablation" / "answers"
    [own] = (tmp_path / "run" / "journal").glob("*.jsonl")
    assert (answers / "greedy" / "journal" / own.name).read_bytes() == own.read_bytes()
    tables = page.parent / "tables"
    table = pd.read_csv(tables / "ablation.csv")
    assert re.match(r"left, paraphrastic consistency: [\d.]+ \(\w+, coders: [\w ]+\)", said.text)
    assert said.text.endswith(f"Report: {page}")
    assert len(said.facts["consistency"]) == (table["measure"] == "consistent_4").sum()
    json.dumps(said.facts, allow_nan=False)
    ways = ["greedy", "beam_3", "contrastive", "top_p"]
    assert list(dict.fromkeys(table["decoding"])) == ways
    assert list(dict.fromkeys(table["coder"])) == [OWN, "both"]
    pairs = table[(table["kind"] == "negation") & (table["measure"] == "consistent_4")]
    asked = (pairs["n"] + pairs["n_excluded"]).groupby(pairs["decoding"]).first()
    assert asked.to_dict() == {"greedy": 2, "beam_3": 6, "contrastive": 2, "top_p": 2}
    apart = pd.read_csv(tables / "ablation_differences.csv")
    # The model writes nothing that the likert rule reads: two coders, the same readings.
    same = apart[(apart["decoding"] == "greedy") & (apart["coder"] == "both")]
    assert len(same)
    assert (same["estimate"] == 0).all()
    for name in ("ablation_polar", "ablation_paraphrastic", "ablation_compass"):
        assert (page.parent / "figures" / f"{name}.png").is_file()
        assert (page.parent / "figures" / f"{name}.svg").is_file()
    before = {p: p.stat().st_mtime_ns for p in answers.rglob("*.jsonl")}
    assert len(before) == len(ways)
    ablate(config, text, command=["polbayes", *overrides])
    assert {p: p.stat().st_mtime_ns for p in answers.rglob("*.jsonl")} == before
    pd.testing.assert_frame_equal(pd.read_csv(tables / "ablation.csv"), table)


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (("variants=[original]",), "takes an original wording and another one"),
        (("+ablation.coders={odd: [lexicla]}",), "ablation.coders.odd: .*did you mean 'lexical'"),
        (
            ("respondents=simulated", "elicitation.decoding=sample"),
            "ablation.decodings.greedy: .*it offers sample",
        ),
    ],
)
def test_what_cannot_be_compared_is_said_before_anybody_is_asked(tmp_path, overrides, says):
    base = ["+experiment=lunardi", "respondents=embedded", *RULES, f"run_dir={tmp_path / 'run'}"]
    config, text = compose([*base, *overrides])
    with pytest.raises(UserError, match=says):
        ablate(config, text, command=[])
    assert not list(tmp_path.rglob("*.jsonl"))
