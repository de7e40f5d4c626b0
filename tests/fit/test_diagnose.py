import re

import numpy as np
import pytest
import xarray as xr

from polbayes.fit.sampling.diagnose import convergence_table, diagnose


def posterior_of(seed=0, draws=1000, **shift):
    """Independent normal draws of four chains; `shift` moves the chains of a variable apart."""
    rng = np.random.default_rng(seed)
    data = {}
    for name in ("theta", "bias", "acquiescence", "difficulty"):
        values = rng.normal(size=(4, draws, 2))
        values += shift.get(name, 0.0) * np.arange(4)[:, None, None]
        dim = "item" if name == "difficulty" else "model"
        data[name] = (("chain", "draw", dim), values)
    return xr.Dataset(data, coords={"model": ["a", "b"], "item": ["x", "y"]})


def stats_of(posterior, diverging=0):
    shape = (posterior.sizes["chain"], posterior.sizes["draw"])
    flags = np.zeros(shape, dtype=bool)
    flags.flat[:diverging] = True
    return xr.Dataset({"diverging": (("chain", "draw"), flags)})


def test_independent_draws_are_good():
    posterior = posterior_of()
    found = diagnose(posterior, stats_of(posterior))
    assert found.verdict == "good"
    assert "The chains agree" in found.sentences[0]
    assert "enough independent draws" in found.sentences[1]
    assert found.sentences[2] == "No transition diverged."


def test_chains_apart_are_bad_and_the_quantity_is_named():
    posterior = posterior_of(acquiescence=1.0)
    found = diagnose(posterior, stats_of(posterior))
    assert found.verdict == "bad"
    assert "do not agree: R-hat of acquiescence[" in found.sentences[0]
    assert "must not be used" in found.sentences[0]


def test_chains_slightly_apart_call_for_caution():
    """With chain means 0, d, 2d, 3d R-hat is about 1 + 5/6 d^2: d = 0.17 gives 1.02."""
    posterior = posterior_of(theta=0.17, draws=4000)
    found = diagnose(posterior, stats_of(posterior))
    assert found.verdict == "caution"
    assert "nearly agree: R-hat of theta[" in found.sentences[0]


def test_few_draws_call_for_caution():
    posterior = posterior_of(draws=60)  # at most about 240 independent ones
    found = diagnose(posterior, stats_of(posterior))
    assert found.verdict in ("caution", "bad")
    assert "few independent draws" in found.sentences[1]


def test_sticky_chains_are_bad():
    """A random walk has next to no independent draws."""
    posterior = posterior_of()
    posterior["theta"] = posterior["theta"].cumsum("draw")
    found = diagnose(posterior, stats_of(posterior))
    assert found.verdict == "bad"
    assert "few independent draws" in found.sentences[1]


@pytest.mark.parametrize(("diverging", "verdict"), [(1, "caution"), (40, "caution"), (41, "bad")])
def test_divergences(diverging, verdict):
    """More than one in a hundred of 4,000 is bad."""
    posterior = posterior_of()
    found = diagnose(posterior, stats_of(posterior, diverging))
    assert found.verdict == verdict
    assert f"{diverging} of 4000 transitions diverged" in found.sentences[2]


def test_what_is_used_already_is_not_advised():
    posterior = posterior_of(theta=0.17, draws=4000)
    stats = stats_of(posterior, 1)
    advised = [
        any("low_rank" in said for said in diagnose(posterior, one).sentences)
        for one in (stats, stats.assign(num_eigenvalues=stats["diverging"]))
    ]
    assert advised == [True, False]


def test_single_items_a_little_apart_are_said_under_a_good_verdict():
    """With chain means 0, d, 2d, 3d R-hat is about 1 + 5/6 d^2: d = 0.17 gives 1.02."""
    posterior = posterior_of(difficulty=0.17, draws=4000)
    found = diagnose(posterior, stats_of(posterior))
    assert found.verdict == "good"
    assert "Of 2 quantities of single statements or levels, 2 are beyond" in found.sentences[3]
    assert "R-hat up to 1.02" in found.sentences[3]
    one = posterior.isel(item=[0])
    assert "1 is beyond these limits" in diagnose(one, stats_of(one)).sentences[3]
    assert len(diagnose(posterior_of(), stats_of(posterior_of())).sentences) == 3


def test_single_items_with_few_independent_draws_are_said_under_a_good_verdict():
    """Of 25 draws that are the same only one counts: 8000 draws are worth 320."""
    posterior = posterior_of(draws=2000)
    values = posterior["difficulty"].values
    posterior["difficulty"].values[:] = np.repeat(values[:, ::25], 25, axis=1)
    found = diagnose(posterior, stats_of(posterior))
    assert found.verdict == "good"
    assert "2 are beyond these limits" in found.sentences[3]
    (least,) = re.findall(r"effective draws down to (\d+)\)", found.sentences[3])
    assert 200 < int(least) < 400


@pytest.mark.parametrize("name", ["theta_mode", "language_agreement", "repetition", "dif"])
def test_all_that_is_reported_is_judged(name):
    """Of single statements it calls for caution, of models the estimates are of no use."""
    posterior = posterior_of()
    far = posterior_of(theta=1.0)["theta"].rename(model=f"{name}_level")
    posterior[name] = far.drop_vars(f"{name}_level")
    found = diagnose(posterior, stats_of(posterior))
    assert found.verdict == ("caution" if name == "dif" else "bad")
    assert found.table["quantity"].str.startswith(f"{name}[").sum() == 2


def test_a_single_item_far_apart_calls_for_caution_and_is_listed():
    posterior = posterior_of(difficulty=1.0)
    found = diagnose(posterior, stats_of(posterior))
    assert found.verdict == "caution"
    assert found.table.iloc[0]["quantity"].startswith("difficulty[")
    assert found.table.iloc[0]["r_hat"] > 1.05


def test_the_table_names_everything_reported_worst_first():
    table = convergence_table(posterior_of())
    assert set(table["quantity"]) == {
        f"{name}[{at}]" for name in ("theta", "bias", "acquiescence") for at in ("a", "b")
    } | {"difficulty[x]", "difficulty[y]"}
    assert table["ess_bulk"].is_monotonic_increasing
    assert (abs(table["r_hat"] - 1) < 0.01).all()


def test_what_does_not_occur_is_not_judged():
    posterior = posterior_of()
    posterior["difficulty"].values[..., 0] = np.nan
    names = list(convergence_table(posterior)["quantity"])
    assert "difficulty[x]" not in names
    assert "difficulty[y]" in names


def test_what_a_constraint_fixes_is_not_judged():
    posterior = posterior_of()
    posterior["theta"].values[..., 0] = 0.0
    names = list(convergence_table(posterior)["quantity"])
    assert "theta[a]" not in names
    assert "theta[b]" in names
    assert diagnose(posterior, stats_of(posterior)).verdict == "good"


def test_a_chain_that_is_stuck_is_bad():
    posterior = posterior_of()
    posterior["theta"].values[2] = 5.0
    assert diagnose(posterior, stats_of(posterior)).verdict == "bad"


@pytest.mark.filterwarnings("ignore")
def test_draws_that_are_not_numbers_are_never_good():
    posterior = posterior_of()
    posterior["theta"].values[2, :50] = np.nan
    assert diagnose(posterior, stats_of(posterior)).verdict == "bad"


@pytest.mark.parametrize(("pareto_k", "says"), [(0.6, "may be near"), (0.9, "is far from")])
def test_an_approximation_is_a_preview_however_its_draws_look(pareto_k, says):
    posterior = posterior_of()
    found = diagnose(posterior, stats_of(posterior).assign(pareto_k=pareto_k))
    assert found.verdict == "preview"
    assert "This is a preview" in found.sentences[0]
    assert f"{says} the posterior" in found.sentences[1]
    assert f"k = {pareto_k:.2f}" in found.sentences[1]
