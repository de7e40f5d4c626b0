"""Sections of the report of a roleplay."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.report.blocks import Bullets, Grid, Paragraph, Picture
from polbayes.roleplay.report.alignment import alignment, answer, answer_of_roleplay
from polbayes.roleplay.report.results import RatingsResults
from polbayes.roleplay.report.robustness import robustness
from polbayes.roleplay.texts import Texts

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
        ratings=xr.Dataset({"rating": (("judge",), np.zeros(1))}),
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
    """Three models by hand: one on each side, and one that the interval leaves at 0."""
    rows = [("a\x1b[31m", 5.0, -5.0, 15.0, 6.0), ("l", 40.0, 30.0, 50.0, 42.0)]
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
        ("a\x1b[31m:", "5.0 [−5.0, 15.0], not told apart from 0; in the story 6.0"),
        ("one:", "3.0 from one scenario, without an interval; in the story 1.0"),
        ("r:", "−30.0 [−45.0, −15.0], right"),
    )
    [none] = answer(results(wordings=1))
    assert "There is no answer" in none.text


def test_the_answer_on_the_terminal(tmp_path):
    (tmp_path / "measures").mkdir()
    standings().to_csv(tmp_path / "measures" / "alignment.csv", index=False)
    said = answer_of_roleplay(tmp_path, tmp_path / "index.html")
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
    }
    (tmp_path / "measures" / "alignment.csv").unlink()
    assert answer_of_roleplay(tmp_path, tmp_path / "index.html").facts["alignment"] == []


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
        assert axes.xaxis.get_inverted()
        x = axes.transData.transform([(40.0, 0.0), (-30.0, 0.0)])[:, 0]
        assert x[0] < x[1]


def test_what_there_is_one_of_is_in_the_singular():
    facts = results(wordings=1).facts
    assert facts["wording"] == facts["judge"] == facts["twin"] == "1"
    assert facts["scenarios"] == "3"
