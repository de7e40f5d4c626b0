"""Estimates beside what was planted."""

import pandas as pd
import pytest

from polbayes.planted.truth import load_truths
from polbayes.report.page import sections
from polbayes.report.sections.planted import planted, true_theta

MODELS = ["left", "mine", "again"]


@pytest.fixture
def results(make_results):
    """Results of two planted respondents and another one; the first interval misses."""

    def made(checkpoints, *, decisiveness=True, statement=""):
        plain = make_results(MODELS)
        data = plain.responses.assign_coords(checkpoint=("model", checkpoints))
        if statement:
            data["statement"] = data["statement"].copy()
            data["statement"].values[:] = statement
        theta = [
            {"model": m, "dimension": on, "estimate": 0.0, "lower": -width, "upper": width}
            | {"level": 0.9, "p_left": 0.5}
            for m, width in zip(MODELS, (1.0, 1.0, 2.0), strict=True)
            for on in ("economic", "cultural")
        ]
        tables = plain.tables | {"theta": pd.DataFrame(theta)}
        if decisiveness:
            row = {"model": "left", "measure": "decisiveness", "estimate": 1.0, "lower": 0.5}
            tables["decisiveness"] = pd.DataFrame([row | {"upper": 2.0, "level": 0.9}])
        return make_results(MODELS, responses=data, tables=tables)

    return made


def test_what_was_planted_is_beside_the_estimates(results):
    found = planted(results(["planted:left", "org/mine", "planted:right"]))
    own, other = (load_truths()[name].theta for name in ("left", "right"))
    assert "2 of 4 intervals contain the planted θ" in found.reading[0]
    table = found.tables["planted"]
    assert table["model"].tolist() == ["left", "left", "again", "again"]
    assert table["planted"].tolist() == [own["economic"], own["cultural"], *other.values()]
    assert table["inside"].tolist() == ["no", "no", "yes", "yes"]
    (grid,) = found.blocks
    assert grid.rows[0] == ("left", "economic", "−1.50", "0.00", "[−1.00, 1.00]", "no")


def test_it_is_on_the_page_of_a_run_with_a_known_truth(results):
    there = {
        name: [section.id for section in sections(results([name, "b", "c"]))[0]]
        for name in ("planted:left", "org/left")
    }
    assert "planted" in there["planted:left"]
    assert "planted" not in there["org/left"]


@pytest.mark.parametrize(
    ("checkpoints", "changes"),
    [
        (["org/a", "org/b", "planted:nobody"], {}),
        # In the unit of noise, and of statements that the checkpoints were not trained on.
        (["planted:left", "b", "c"], {"decisiveness": False}),
        (["embedded:left", "b", "c"], {"statement": "Cats are better than dogs."}),
    ],
)
def test_without_a_known_truth_there_is_no_section(results, checkpoints, changes):
    assert planted(results(checkpoints, **changes)) is None


def test_truth_is_by_model_and_dimension(results):
    data = results(["embedded:left", "x", "y"]).responses
    assert set(true_theta(data)) == {("left", "economic"), ("left", "cultural")}
    assert true_theta(data.drop_vars("checkpoint")) == {}
