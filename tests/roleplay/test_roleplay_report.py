"""Sections of the report of a roleplay."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from playing import STUBS, planned

from polbayes.config.compose import compose
from polbayes.data.dataset import write_dataset
from polbayes.instrument.values import VALUES
from polbayes.report.blocks import Bullets, Grid, Paragraph, Picture, pictures
from polbayes.report.figures.judge_effects import TITLES
from polbayes.report.sections.facets import judge_effects
from polbayes.roleplay.dialogues import play
from polbayes.roleplay.plan import plan_roleplay
from polbayes.roleplay.report.alignment import alignment, answer, answer_of_roleplay
from polbayes.roleplay.report.judges import judges
from polbayes.roleplay.report.results import RatingsResults
from polbayes.roleplay.report.robustness import robustness
from polbayes.roleplay.report.symmetry import symmetry
from polbayes.roleplay.report.write import _exclusions
from polbayes.roleplay.texts import Texts
from polbayes.roleplay.transcripts import FILE, STATUS, transcripts

NUMBERS = {"estimate": [40.0, -30.0], "lower": [30.0, -45.0], "upper": [50.0, -15.0]}


def results(*, wordings, **tables):
    dims = ("model", "scenario", "twin", "wording")
    status = xr.DataArray(np.zeros((2, 3, 1, wordings)), dims=dims)
    texts = Texts.__new__(Texts)
    return RatingsResults(
        title="",
        description="",
        name="",
        command="",
        created="",
        tables=tables,
        transcripts=xr.Dataset({"status": status}),
        ratings=xr.Dataset(
            {"rating": (("judge",), np.zeros(1)), "self_judged": (("model", "judge"), [[0]])},
            coords={"model": ["m"], "judge": ["a"]},
        ),
        texts=texts,
    )


def spread():
    row = {"measure": "variance", "model": "m", "stage": "reflection", "twin": "both", "p": 0.5}
    empty = {"estimate": np.nan, "lower": np.nan, "upper": np.nan}
    return pd.DataFrame([{**row, **empty}, {**row, **empty, "measure": "sd"}])


def weights():
    row = {"source": "reflection", "weights": "equal", "measure": "spearman", "note": ""}
    return pd.DataFrame([{**row, "estimate": 1.0, "lower": 0.9, "upper": 1.0}])


def test_one_wording_has_no_spread():
    section = robustness(results(wordings=1, wording_spread=spread(), weight_sensitivity=weights()))
    assert "in one wording, so that the effect of another is unknown" in section.reading[0]
    assert "wording_spread" not in [b.csv for b in section.blocks if isinstance(b, Grid)]


def test_wordings_are_counted():
    section = robustness(results(wordings=2, wording_spread=spread()))
    assert section.reading[0].startswith("Every scenario is played in 2 wordings.")
    assert section.blocks[0].csv == "wording_spread"


def standings():
    """By hand: one on each side, one about 0 without being told from 15, and one within 10 of 0."""
    rows = [("a\x1b[31m", 5.0, -5.0, 15.0, 6.0), ("l", 40.0, 30.0, 50.0, 42.0)]
    rows += [("near", 4.0, 1.0, 7.0, 3.0)]
    rows += [("r", -30.0, -45.0, -15.0, np.nan), ("one", 3.0, np.nan, np.nan, 1.0)]
    made = pd.DataFrame(rows, columns=["model", "estimate", "lower", "upper", "inner"])
    made = made.assign(twin="both", level=0.9)
    stages = made.assign(estimate=made["inner"], source="stages")
    return pd.concat([made.assign(source="reflection"), stages], ignore_index=True)


def test_the_answer_says_where_every_model_stands():
    words, bullets = answer(results(wordings=1, alignment=standings()))
    assert isinstance(words, Paragraph)
    assert "from −100 (conservative, right) to 100 (liberal, left)" in words.text
    assert isinstance(bullets, Bullets)
    assert bullets.entries == (
        ("l:", "40.0 [30.0, 50.0], left; in the story 42.0"),
        ("a\x1b[31m:", "5.0 [−5.0, 15.0], open; in the story 6.0"),
        ("near:", "4.0 [1.0, 7.0], centre in practice; in the story 3.0"),
        ("one:", "3.0 from one scenario, without an interval; in the story 1.0"),
        ("r:", "−30.0 [−45.0, −15.0], right"),
    )
    [none] = answer(results(wordings=1))
    assert "There is no answer" in none.text


def test_the_answer_on_the_terminal(tmp_path):
    (tmp_path / "measures").mkdir()
    standings().to_csv(tmp_path / "measures" / "alignment.csv", index=False)
    said = answer_of_roleplay(tmp_path, tmp_path / "index.html", rope=0.1)
    lines = said.text.splitlines()
    assert lines[1] == "l: 40.0 [30.0, 50.0], left; in the story 42.0"
    assert "\x1b" not in said.text
    assert lines[-1] == f"Report: {tmp_path / 'index.html'}"
    values = {row["model"]: row for row in said.facts["alignment"]}
    assert values["r"]["in_story"] is None
    assert values["one"]["lower"] is None
    assert values["l"] == {
        "model": "l",
        "estimate": 40,
        "lower": 30,
        "upper": 50,
        "level": 0.9,
        "in_story": 42,
        "decision": "left",
    }
    sides = {name: value["decision"] for name, value in values.items()}
    assert sides == {"l": "left", "a\x1b[31m": "open", "near": "equal", "one": None, "r": "right"}
    wide = answer_of_roleplay(tmp_path, tmp_path / "index.html", rope=0.35).facts["alignment"]
    assert {row["model"]: row["decision"] for row in wide}["l"] == "open"
    (tmp_path / "measures" / "alignment.csv").unlink()
    empty = answer_of_roleplay(tmp_path, tmp_path / "index.html", rope=0.1)
    assert empty.facts["alignment"] == []


def test_what_embedded_models_play_means_nothing(world, tmp_path):
    plan = planned(*STUBS, "models=[a]", "respondents.a.checkpoint=embedded:left")
    play(plan, journal_dir=tmp_path / "journal", progress=False)
    data = transcripts(plan, tmp_path / "journal")
    write_dataset(data, tmp_path / FILE)
    said = (
        "Not to be used for a: these are embedded models, trained on the wordings of the shipped "
        "instruments alone. Of the 2 scenarios asked, 2 are none of these, and answers to what "
        "they never saw mean nothing."
    )
    warned, *_ = answer(replace(results(wordings=1, alignment=standings()), transcripts=data))
    assert warned == Paragraph(said)
    (tmp_path / "measures").mkdir()
    standings().to_csv(tmp_path / "measures" / "alignment.csv", index=False)
    assert said in answer_of_roleplay(tmp_path, tmp_path / "index.html", rope=0.1).text.splitlines()


def test_embedded_models_can_be_named_as_actors():
    named = ["+experiment=politicsbench", "respondents=embedded", "models=[left]"]
    plan = plan_roleplay(compose(named)[0])
    assert plan.models["left"].checkpoint == "embedded:left"


@pytest.mark.filterwarnings("error")
def test_left_is_at_the_left():
    table = pd.DataFrame(
        {
            "model": ["liberal", "conservative"] * 2,
            "source": ["reflection"] * 2 + ["stages"] * 2,
            "twin": "both",
            **{name: values * 2 for name, values in NUMBERS.items()},
            "effect_size": 1.0,
            "p": 0.01,
            "n": 3,
            "n_excluded": 0,
        }
    )
    section = alignment(results(wordings=1, alignment=table))
    (picture,) = [b for b in section.blocks if isinstance(b, Picture)]
    for axes in picture.figure.axes:
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert names == ["liberal", "conservative"]
        assert left_is_first(axes)


def left_is_first(axes):
    x = axes.transData.transform([(40.0, 0.0), (-30.0, 0.0)])[:, 0]
    ends = [axes.get_xlabel(), *(text.get_text() for text in axes.texts)]
    said = ends == ["← liberal (left)", "conservative (right) →"]
    assert said == (x[0] < x[1])
    return said


@pytest.mark.filterwarnings("error")
def test_of_twins_only_positions_are_turned():
    rows = [{"model": m, "measure": of} for of in ("position", "sway") for m in ("l", "c")]
    table = pd.DataFrame(rows).assign(stage="stages", positive="", level=0.9)
    table = table.assign(**{name: [*values, 5.0, 90.0] for name, values in NUMBERS.items()})
    (picture,) = pictures(symmetry(results(wordings=1, symmetry=table)).blocks)
    position, sway = picture.figure.axes
    assert left_is_first(position)
    assert not left_is_first(sway)
    # On one scale, although it runs the other way.
    assert position.get_xlim() == sway.get_xlim()[::-1]


@pytest.mark.filterwarnings("error")
def test_of_judges_only_leanings_are_turned():
    """By the measures, and by the model."""
    measures = ("severity", "leaning")
    rows = [{"judge": j, "measure": of, "value": "all"} for of in measures for j in ("a", "b")]
    table = pd.DataFrame(rows).assign(positive="", level=0.9)
    table = table.assign(**{name: values * 2 for name, values in NUMBERS.items()})
    shifts = pd.DataFrame([{"judge": j, "value": v} for j in ("a", "b") for v in VALUES])
    shifts = shifts.assign(measure="shift", positive="", level=0.9, estimate=1.0, lower=0, upper=2)
    given = results(wordings=1, judge_effects=pd.concat([table, shifts], ignore_index=True))
    found = {p.name: p.figure.axes for p in pictures(judges(given).blocks)}
    assert not left_is_first(found["judge_severity"][0])
    assert left_is_first(found["judge_leaning"][0])

    effects = [{"judge": j, "effect": of} for of in TITLES for j in ("a", "b")]
    table = pd.DataFrame(effects).assign(neutral=0.0, p_above=0.5, level=0.9)
    table = table.assign(**{name: values * len(TITLES) for name, values in NUMBERS.items()})
    (picture,) = pictures(judge_effects(results(wordings=1, facet_judges=table)).blocks)
    turned = [left_is_first(axes) for axes in picture.figure.axes]
    assert turned == [effect in ("tilt", "self_tilt") for effect in TITLES]


def test_what_there_is_one_of_is_in_the_singular():
    facts = results(wordings=1).facts
    assert facts["wording"] == facts["judge"] == facts["twin"] == "1"
    assert facts["scenarios"] == "3"


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (
            1,
            [
                "1 turn was answered with nothing, and is not rated.",
                "1 turn could not be answered.",
                "1 turn was not put, because a turn before it had no answer.",
                "1 turn is a refusal; if it has a text, that is rated as it is.",
                "Once a judge left a rating of a text out, or gave one that cannot be used, after "
                "all attempts; its other ratings of that text do not count.",
            ],
        ),
        (
            2,
            [
                "2 turns were answered with nothing, and are not rated.",
                "2 turns could not be answered.",
                "2 turns were not put, because a turn before them had no answer.",
                "2 turns are refusals; those with a text are rated as it is.",
                "2 times a judge left a rating of a text out, or gave one that cannot be used, "
                "after all attempts; its other ratings of that text do not count.",
            ],
        ),
    ],
)
def test_what_the_numbers_exclude_is_counted(number, said):
    kinds = ("invalid", "error", "skipped", "refused")
    status = [STATUS[name] for name in kinds for _ in range(number)]
    rating = np.ones((2, 3, 2))
    rating[0, :number, 0] = np.nan
    ratings = xr.Dataset(
        {
            "attempts": (("judge", "turn"), np.ones((2, 3))),
            "rating": (("judge", "turn", "value"), rating),
        },
        coords={"judge": ["a", "b"], "model": ["m", "n"]},
    )
    assert _exclusions(xr.Dataset({"status": ("turn", status)}), ratings) == said
