"""Sections of the report of a roleplay."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.report.blocks import Grid, Picture
from polbayes.roleplay.report.alignment import alignment
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
