import pandas as pd
import pytest

from polbayes.report.blocks import Fold, Grid, Picture
from polbayes.report.sections.instruments import instruments

NUMBERS = {"estimate": 0.2, "sd": 0.1, "lower": 0.0, "upper": 0.4, "p_left": 0.1, "level": 0.9}


def table(**columns):
    return pd.DataFrame({**columns, "dimension": "economic"}).assign(**NUMBERS)


@pytest.fixture
def compared(make_results):
    def make(**further):
        pair = {"first": "pct", "second": "wvs"}
        tables = {
            "by_instrument": table(
                model=["a", "a"], instrument=["pct", "wvs"], quantity=["theta", "theta"]
            ),
            "instrument_differences": table(
                model=["a", "a", "b"], quantity=["theta", "bias", "theta"]
            ).assign(**pair),
            **{name: made.assign(**pair) for name, made in further.items()},
        }
        return make_results(tables={**make_results().tables, **tables})

    return make


def test_differences_of_theta_are_drawn_and_all_are_listed(compared):
    picture, grid, fold = instruments(compared()).blocks
    assert isinstance(picture, Picture)
    (axes,) = picture.figure.axes
    assert axes.get_title(loc="left") == "Economic: pct − wvs"
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    assert isinstance(grid, Grid)
    assert len(grid.rows) == 3
    assert isinstance(fold, Fold)


def test_correlations_are_shown_where_there_are_models_enough(compared):
    results = compared(instrument_correlations=table(quantity=["theta"]))
    grid = instruments(results).blocks[1]
    assert [row[0] for row in grid.rows] == ["economic"]
    assert grid.posterior


def test_one_instrument_makes_no_section(make_results):
    assert instruments(make_results()) is None
