"""Statements that mean something else to a group: the part dif, its tables, and a recovery."""

import numpy as np
import pytest
import xarray as xr

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.fit.analysis import fit_analysis
from polbayes.fit.density.layout import entries
from polbayes.fit.density.model import build
from polbayes.fit.posterior.dif import dif_positions, dif_table
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.dif import baseline
from polbayes.fit.spec.equation import equation
from polbayes.fit.spec.reduction import reduced
from polbayes.fit.spec.terms import bind

PLAIN = {
    "theta": "~ 1 + (1 | model)",
    "difficulty": "~ (1 | item)",
    "acquiescence": "~ 1 + (1 | model)",
}
SPARSE = {**PLAIN, "dif": "~ (1 | gr(item:who, dist = student))"}
ITEMS = tuple((f"i{k:02}", "economic", ("left", "right")[k % 2], ("original",)) for k in range(20))
EACH = 25
MODELS = [f"{who}{k}" for who in ("bot", "red") for k in range(EACH)]


@pytest.fixture(scope="module")
def made(coded):
    """Answers on three points; the bots' to i00 to i03 are shifted by 3 to the right."""
    rng = np.random.default_rng(5)
    keying = np.array([1 if k % 2 else -1 for k in range(20)])
    bots, shifted = np.arange(2 * EACH) < EACH, np.arange(20) < 4
    belief = rng.normal(0, 1, 2 * EACH)[:, None] + rng.normal(0, 0.7, 20)
    latent = keying * (belief + 3.0 * bots[:, None] * shifted) + rng.logistic(size=(2 * EACH, 20))
    stance = np.sign(latent) * (np.abs(latent) > 0.4)
    data = coded(
        stance.astype(int)[:, :, None, None, None],
        items=ITEMS,
        models=MODELS,
        prefixes=("baseline",),
    )
    return data.assign_coords(who=("model", ["bot" if b else "red" for b in bots]))


def test_effects_are_of_the_groups_outside_of_the_baseline(made, bound):
    spec, cells, parts = bound(SPARSE, made, reference={"who": "red"})
    group = parts["dif"].groups[0]
    assert group.levels["who"].unique().tolist() == ["bot"]
    ((index, weight),) = entries(group)
    bots = (cells.frame["who"] == "bot").to_numpy()
    assert weight.tolist() == bots.astype(float).tolist()
    of_cell = group.levels["item"].to_numpy()[index]
    assert (of_cell[bots] == cells.frame["item"][bots]).all()
    assert group.answers.tolist() == [EACH] * 20
    assert "u[item, who] ~ t(1, 0, σ²), 20 levels, 0 in the baseline" in equation(spec, parts)


def test_without_a_reference_the_baseline_has_most_answers(made, spec_of):
    spec = spec_of(SPARSE)
    term = spec.parts["dif"].groups[0]
    assert baseline(term, spec, gather_cells(made, spec)) == ["bot"]
    fewer = made.isel(model=slice(1, None))
    assert baseline(term, spec, gather_cells(fewer, spec)) == ["red"]


def test_one_respondent_is_no_group(made, spec_of):
    few = made.isel(model=[0, *range(EACH, 2 * EACH)])
    spec = spec_of(SPARSE, reference={"who": "red"}, unidentified="leave_out")
    less, notes = reduced(spec, gather_cells(few, spec))
    assert "dif" not in less.parts
    assert "bot is one respondent" in notes[0]
    spec = spec_of(SPARSE)
    with pytest.raises(UserError, match="there is only one group, red"):
        bind(spec, gather_cells(made.isel(model=slice(EACH, None)), spec))


@pytest.mark.parametrize("term", ["(1 | item)", "(1 | who)", "(0 + dimension | item:who)"])
def test_other_terms_are_refused(made, spec_of, term):
    spec = spec_of({**PLAIN, "dif": f"~ {term}"})
    cells = gather_cells(made, spec_of(SPARSE))
    with pytest.raises(UserError, match="is no effect of statements on groups of respondents"):
        bind(spec, cells)


def test_the_compiled_density_is_that_of_the_model(made, bound):
    """PyMC's model of the same spec has the same differences of the log-posterior."""
    from polbayes.fit.density.density import Density

    spec, cells, parts = bound(SPARSE, made, reference={"who": "red"})
    built = build(spec, cells, parts)
    density = Density(built)
    x = density.start(3)
    step = np.zeros_like(x)
    step[-1] = 1e-5  # an effect of a statement on a group
    slope = (density(x + step)[0] - density(x - step)[0]) / 2e-5
    assert density(x)[1][-1] == pytest.approx(slope, rel=1e-5, abs=1e-6)
    found = density.values(x)
    assert found["nu"].tolist() == [1.0]


def test_tables_by_hand():
    about = {"item": ["e1", "e2"], "by": ["who"] * 2, "group": ["bot"] * 2, "against": ["red"] * 2}
    coords = {f"dif_{name}": ("dif_level", values) for name, values in about.items()}
    draws = np.array([[[0.1, -1.0], [0.3, -0.6], [0.2, 0.4], [0.7, -0.9]]])
    dims = ("chain", "draw", "dif_level")
    table = dif_table(xr.Dataset({"dif": (dims, draws)}, coords), size=0.5, level=0.9)
    assert table["item"].tolist() == ["e2", "e1"]
    assert table["p_differs"].tolist() == [0.75, 0.25]
    assert table["direction"].tolist() == ["left", "right"]
    assert table["estimate"].tolist() == pytest.approx([-0.525, 0.325])
    dims = ("chain", "draw", "model", "dimension")
    coords = {"model": ["m"], "dimension": ["economic"]}
    one, other = (
        xr.Dataset({"theta": (dims, np.array([[[[v]], [[v + 2]]]]))}, coords) for v in (0.0, 1.0)
    )
    row = dif_positions(one, other, level=0.9).iloc[0]
    assert (row["estimate"], row["without"], row["shift"]) == (1.0, 2.0, 1.0)


@pytest.mark.slow
@pytest.mark.long
def test_planted_effects_are_found_and_positions_repaired(made, spec_of):
    """By hand: the four effects of 3 move the bots to the right by up to 3 · 4 / 20."""
    spec = spec_of(SPARSE, reference={"who": "red"})
    sampler = SamplerConfig(chains=2, tune=400, draws=400)
    fitted = fit_analysis(spec, made, sampler, level=0.9, seed=3, dif=0.5)
    table = fitted.tables["dif"].set_index("item")
    found = table.index[table["p_differs"] > 0.5]
    assert sorted(found) == ["i00", "i01", "i02", "i03"]
    planted = table.loc[["i00", "i01", "i02", "i03"]]
    assert (abs(planted["estimate"] - 3) < 2.6 * planted["sd"]).all()
    assert set(planted["direction"]) == {"right"}
    places = fitted.tables["dif_positions"]
    bots = places[places["model"].str.startswith("bot")]["shift"].mean()
    others = places[places["model"].str.startswith("red")]["shift"].mean()
    assert 0.3 < bots - others < 0.8
    for name in ("variance_shares", "d_study", "reliability"):
        assert np.isfinite(fitted.tables[name].select_dtypes("number")).all(axis=None), name
    assert not fitted.tables["lean"]["estimate"].isna().any()
