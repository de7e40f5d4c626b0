"""Differences between specs, by hand."""

import numpy as np
import pandas as pd
import pytest

from polbayes.errors import UserError
from polbayes.fit.posterior.compare_specs import compare_specs, comparison_text
from polbayes.fit.posterior.loo import Loo


def loo_of(elpd, *, k=0.1, observed="0 1", **more):
    cells = pd.DataFrame({"item": [f"i{n}" for n in range(len(elpd))], "elpd": elpd})
    cells = cells.assign(model="m", variant="original", prefix="baseline", observed=observed)
    return Loo("answers", cells.assign(p_loo=0.1, pareto_k=k, n=1, integrated=False, **more))


def test_differences_are_paired_by_cell():
    a = loo_of(np.array([-1.0, -2.0, -3.0, -2.0]))
    b = loo_of(np.array([-1.5, -2.5, -9.0, -3.0]))
    table = compare_specs({"b": b, "a": a})
    assert table["spec"].tolist() == ["a", "b"]
    best, other = table.to_dict("records")
    assert (best["difference"], best["se_difference"]) == (0, 0)
    assert best["reading"] == "predicts best"
    assert other["elpd_loo"] == -16
    assert other["difference"] == -8
    differences = [-0.5, -0.5, -6, -1]  # mean -2, squares 2.25, 2.25, 16, 1 off it
    assert other["se_difference"] == pytest.approx(np.sqrt(4 * 21.5 / 3))
    assert np.std(differences, ddof=1) * 2 == pytest.approx(other["se_difference"])
    assert other["se"] == pytest.approx(2 * np.std([-1.5, -2.5, -9, -3], ddof=1))


def test_cells_are_matched_by_their_labels_and_not_by_their_order():
    a = loo_of(np.array([-1.0, -2.0, -3.0]))
    b = Loo("answers", loo_of(np.array([-1.1, -2.1, -3.1])).cells.iloc[[2, 0, 1]])
    (_, other) = compare_specs({"a": a, "b": b}).to_dict("records")
    assert other["difference"] == pytest.approx(-0.3)
    assert other["se_difference"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("shift", "noise", "says"),
    [
        (-0.01, 0.01, "predicts about as well as the best"),
        (-0.2, 0.1, "predicts worse than the best"),
        (-0.2, 2.0, "may predict worse than the best, which the answers do not settle"),
    ],
)
def test_a_difference_in_words(shift, noise, says):
    elpd = np.full(100, -1.0)
    wave = noise * np.tile([1, -1], 50)
    table = compare_specs({"one": loo_of(elpd), "two": loo_of(elpd + shift + wave)})
    assert table["reading"].tolist() == ["predicts best", says]


def test_what_is_not_reliable_is_said():
    elpd = np.full(100, -1.0)
    some = loo_of(elpd - 0.2, k=np.where(np.arange(100) < 6, 0.9, 0.1))
    table = compare_specs({"good": loo_of(elpd), "shaky": some})
    assert table["unreliable"].tolist() == [0, 6]
    assert "not reliable" in table["reading"][1]
    assert "not reliable" not in table["reading"][0]


def test_other_answers_are_refused():
    three = loo_of(np.zeros(3))
    for other in (loo_of(np.zeros(2)), loo_of(np.zeros(3), observed="1 0")):
        with pytest.raises(UserError, match="three and two are not fitted to the same answers"):
            compare_specs({"two": other, "three": three})


def test_several_cells_of_one_wording():
    """Answer probabilities have a cell for each run; the same number can occur twice."""
    cells = loo_of(np.array([-1.0, -1.0, -2.0]), observed=["0.5", "0.5", "0.25"]).cells
    twice = Loo("answers", cells.assign(item="i0"))
    table = compare_specs({"a": twice, "b": Loo("answers", twice.cells.iloc[::-1])})
    assert table["difference"].tolist() == [0, 0]


def test_the_table_as_text():
    table = compare_specs({"one": loo_of(np.full(9, -1.0)), "two": loo_of(np.full(9, -2.0))})
    lines = comparison_text(table).splitlines()
    assert lines[1].split() == ["one", "-9.0", "0.0", "0.0", "0.0", "0.9", "0"]
    assert lines[2].split() == ["two", "-18.0", "0.0", "-9.0", "0.0", "0.9", "0"]
    assert lines[3] == "one predicts best."
    assert lines[4] == "two predicts worse than the best."
