import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.tasks.compare.align import align
from polbayes.tasks.compare.tables import comparison_table, drift_table, run_table


@pytest.fixture
def made(answers, loaded):
    runs = [
        loaded("jan", answers({"a": 1.0, "b": -1.0})),
        loaded("feb", answers({"a": 1.0}, seed=2)),
    ]
    return runs, align(runs)


def joint(before, after):
    """Return draws of the two snapshots, the same on every dimension."""
    models = np.array(["a @ jan", "b", "a @ feb"], dtype=object)
    draws = np.stack([before, np.zeros(len(before)), after], axis=-1)[None]
    total = xr.DataArray(draws, dims=("chain", "draw", "model"), coords={"model": models})
    both = total.expand_dims(dimension=["economic", "cultural"], axis=-1)
    return xr.Dataset(
        {"lean": both, "theta": both, "bias": both, "bias_total": total, "acquiescence": -total}
    )


def test_drift_is_the_later_minus_the_earlier_position(made):
    before, after = np.array([0.0, 1.0, 2.0, 3.0]), np.array([-1.0, -1.0, 1.0, 4.0])
    table = drift_table(made[1], joint(before, after), level=0.5, rope=1.0)
    rows = table.set_index(["quantity", "dimension"])
    assert set(table["before"]) == {"a @ jan"}
    assert set(table["after"]) == {"a @ feb"}
    # The differences are -1, -2, -1 and 1.
    theta = rows.loc[("theta", "economic")]
    assert theta["estimate"] == -0.75
    assert (theta["lower"], theta["upper"]) == (-1.25, -0.5)
    assert (theta["p_left"], theta["p_right"]) == (0.75, 0.25)
    assert rows.loc[("bias", "total"), "estimate"] == -0.75
    assert rows.loc[("acquiescence", ""), "estimate"] == 0.75
    assert len(table) == 2 + 2 + 3 + 1
    lean = rows.loc[("lean", "economic")]
    # Beyond a margin of 1 lies -2 alone; the interval reaches from -1.25 to -0.5.
    assert (lean["p_left_of_rope"], lean["p_inside"], lean["decision"]) == (0.25, 0.75, "open")
    assert pd.isna(theta["decision"])


def test_without_snapshots_there_is_no_drift(answers, loaded):
    runs = [loaded("jan", answers({"a": 1.0})), loaded("feb", answers({"b": 1.0}))]
    posterior = joint(np.zeros(2), np.zeros(2))
    assert drift_table(align(runs), posterior, level=0.9, rope=0.1).empty


def test_each_run_stands_beside_all_together(made):
    runs, aligned = made
    posterior = joint(np.full(4, 0.25), np.full(4, 0.5))
    table = comparison_table(runs, aligned.models, posterior, level=0.9)
    assert len(table) == (2 + 1) * (2 + 1 + 2)
    row = table[(table["respondent"] == "a @ feb") & (table["dimension"] == "economic")]
    assert row["run"].tolist() == ["feb", "feb"]
    assert row["model"].tolist() == ["a", "a"]
    assert row["joint_estimate"].tolist() == [0.5, 0.5]
    theta = row[row["quantity"] == "theta"]["estimate"].item()
    own = runs[1].posterior["theta"].sel(model="a", dimension="economic")
    assert theta == pytest.approx(float(own.mean()))


def test_runs_that_are_not_linked_have_no_joint_estimates(made):
    runs, aligned = made
    table = comparison_table(runs, aligned.models, None, level=0.9)
    assert "joint_estimate" not in table
    assert set(table["quantity"]) == {"bias", "theta"}


def test_the_runs_are_described(made):
    table = run_table(made[0])
    assert table["run"].tolist() == ["jan", "feb"]
    assert table["models"].tolist() == [2, 1]
    assert table["answers"].tolist() == [64, 32]
    assert table["verdict"].tolist() == ["good", "good"]
