"""The model of verdicts: its likelihood, against R, and against planted parameters."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from r_scripts import run_r
from scipy.special import expit

from polbayes.config.schema import SamplerConfig
from polbayes.errors import UserError
from polbayes.run.pairs.design import design_table, information
from polbayes.run.pairs.fit import fit_pairs, with_tilt
from polbayes.run.pairs.judged import gather
from polbayes.run.pairs.model import build
from polbayes.run.pairs.positions import positions
from polbayes.run.pairs.tables import tables
from tools.calibration.verdicts import simulate, verdicts

CLMM = Path(__file__).parent / "reference" / "clmm.R"
SIDE, FIRST, THRESHOLD = (-0.6, 0.4, 0.2), (0.7, -0.2, 0.1), (0.7, 1.0, 0.5)
TILT = np.array([-0.8, 0.0, 0.7])
HEDGING, COMPLIANCE = np.array([1.2, 0.0, -0.5]), np.array([0.0, 0.4, -1.0])
LENGTH, WEIGHTS = 0.3, (-0.3, 0.5)
SHORT = SamplerConfig(chains=2, tune=300, draws=300, target_accept=0.8)


def whole(rng, **more):
    how = {"side": SIDE, "first": FIRST, "threshold": THRESHOLD, "length": LENGTH}
    sides = {"hedging_side": HEDGING, "compliance_side": COMPLIANCE, "weights": WEIGHTS}
    return simulate(rng, tilt=TILT, **{**how, **sides, **more})


def test_pairs_are_arranged_by_their_labels():
    rng = np.random.default_rng(2)
    data = whole(rng, topics=3, templates=2)
    judged = gather(data)
    assert judged.verdicts.shape == (3, 18, 2, 3)
    assert judged.ratings.shape == (2, 3, 18, 2)
    for q in range(18):
        item = q % 6
        cell = {"model": judged.models[judged.model[q]], "item": f"i{item:03d}"}
        one = data.sel(cell)
        assert str(one["topic"].item()) == judged.topics[judged.topic[q]]
        assert str(one["section"].item()) == judged.templates[judged.template[q]]
        assert judged.verdicts[:, q] == pytest.approx(one["verdict_prob"].values.squeeze((1, 2)))
        assert judged.ratings[1, :, q] == pytest.approx(
            one["rating"].sel(scale="compliance").values.squeeze((2, 3))
        )
    means = [judged.own_length[judged.model == m].mean(axis=0) for m in range(3)]
    assert np.abs(means).max() < 1e-12


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (
            1,
            (
                "1 of 6 pairs has no left and right side, and is not in the model.",
                "1 of 90 verdicts is missing, and left out.",
            ),
        ),
        (
            2,
            (
                "2 of 6 pairs have no left and right side, and are not in the model.",
                "2 of 72 verdicts are missing, and left out.",
            ),
        ),
    ],
)
def test_what_is_left_out_is_counted(number, said):
    data = whole(np.random.default_rng(2), topics=3, templates=2)
    assert gather(data).notes == ()
    keying, prob = data["keying"].copy(), data["verdict_prob"].copy()
    keying[:number] = 0
    prob[0, :number, -1, 0, 0, 0] = np.nan
    assert gather(data.assign(keying=keying, verdict_prob=prob)).notes == said


def test_the_likelihood_is_that_of_ordinal_outcomes():
    rng = np.random.default_rng(3)
    judged = gather(whole(rng, topics=4, templates=2))
    # One verdict is missing, and one given in probabilities.
    changed = judged.verdicts.copy()
    changed[0, 0, 0], changed[1, 2, 1] = 0, (0.2, 0.5, 0.3)
    ratings = judged.ratings.copy()
    ratings[0, 1, 3, 0] = 0
    judged = replace(judged, verdicts=changed, ratings=ratings)
    model = build(judged, joint=True)
    point = {
        name: value + 0.3 * rng.standard_normal(np.shape(value))
        for name, value in model.initial_point().items()
    }
    names = [v.name for v in model.unobserved_value_vars]
    values = dict(zip(names, model.compile_fn(model.unobserved_value_vars)(point), strict=True))
    likelihood = model.compile_fn(model.replace_rvs_by_values(model.potentials))
    terms = likelihood(point)
    assert sum(terms) == pytest.approx(by_hand(judged, values), rel=1e-9)


def by_hand(judged, v):
    """Evaluate the docstring of the model one verdict and one rating at a time."""
    total, shown = 0.0, {}
    for place, scale in enumerate(("hedging", "compliance")):
        answer = v[f"{scale}_answer_sd"] * v[f"_{scale}_answer"]
        shown[scale] = np.zeros(answer.shape)
        for q, (m, t, k) in enumerate(
            zip(judged.model, judged.topic, judged.template, strict=True)
        ):
            for s, sign in enumerate((-1, 1)):
                shown[scale][q, s] = (
                    v[f"{scale}_level"][m]
                    + sign / 2 * (v[f"{scale}_side"][m] + v[f"{scale}_topic_side"][t])
                    + v[f"{scale}_topic"][t]
                    + v[f"{scale}_template"][k]
                    + v[f"{scale}_length"] * judged.own_length[q, s]
                    + answer[q, s]
                )
                for j in range(len(judged.judges)):
                    at = shown[scale][q, s] + v[f"{scale}_severity"][j]
                    at += sign / 2 * v[f"{scale}_judge_side"][j]
                    below = np.concatenate([[0], expit(v[f"{scale}_cut"] - at), [1]])
                    if rating := judged.ratings[place, j, q, s]:
                        total += np.log(below[rating] - below[rating - 1])
    for q in range(len(judged.model)):
        m, d, t = judged.model[q], judged.dimension[q], judged.topic[q]
        base = v["tilt"][m, d] + v["topic_tilt"][t] + v["model_topic_tilt"][m, t]
        base += v["template_tilt"][judged.template[q]] + v["pair_sd"] * v["_pair"][q]
        for scale, one in shown.items():
            base += v[f"{scale}_weight"] * (one[q, 1] - one[q, 0] - v[f"{scale}_side"][m])
        same = (judged.model == m) & (judged.dimension == d)
        base -= v["judge_length"].mean() * judged.log2_length[same].mean()
        for j in range(len(judged.judges)):
            for o, sign in enumerate((-1, 1)):
                at = base + v["judge_length"][j] * judged.log2_length[q]
                at += v["judge_side"][j] + sign * v["judge_first"][j]
                right = expit(at - v["threshold"][j])
                left = expit(-at - v["threshold"][j])
                total += judged.verdicts[j, q, o] @ np.log([left, 1 - left - right, right])
    return total


def test_the_parts_add_up_and_probabilities_are_those_of_the_location():
    rng = np.random.default_rng(4)
    judged = gather(whole(rng, topics=4, templates=2))
    sizes = {"model": 3, "dimension": 1, "judge": 3}
    data = {
        name: (("chain", "draw", *dims), rng.standard_normal((1, 2, *(sizes[d] for d in dims))))
        for name, dims in {
            "tilt": ("model", "dimension"),
            "hedging_side": ("model",),
            "compliance_side": ("model",),
            "judge_length": ("judge",),
            "hedging_weight": (),
            "compliance_weight": (),
        }.items()
    }
    data["threshold"] = (("chain", "draw", "judge"), np.full((1, 2, 3), 0.7))
    data["pair_sd"] = (("chain", "draw"), np.full((1, 2), 0.9))
    posterior = with_tilt(xr.Dataset(data), judged)
    total = posterior["tilt_part"].sum("part").transpose(*posterior["tilt"].dims)
    assert np.allclose(total, posterior["tilt"])
    hedging = posterior["tilt_part"].sel(part="hedging").isel(dimension=0)
    assert np.allclose(hedging, posterior["hedging_weight"] * posterior["hedging_side"])
    # Against simulation, without differences in length.
    sd = 0.9
    at = float(posterior["tilt"][0, 0, 0, 0]) + sd * rng.standard_normal(400_000)
    weight = float(posterior["judge_length"].mean("judge")[0, 0])
    within = np.var(judged.log2_length - judged.mean_length)
    at = at + weight * np.sqrt(within) * rng.standard_normal(400_000)
    expected = expit(at - 0.7).mean() - expit(-at - 0.7).mean()
    assert float(posterior["favour"][0, 0, 0, 0]) == pytest.approx(expected, abs=0.004)
    equal = 1 - expit(at - 0.7).mean() - expit(-at - 0.7).mean()
    assert float(posterior["equal"][0, 0, 0, 0]) == pytest.approx(equal, abs=0.004)


def test_information_is_the_curvature_of_the_log_likelihood():
    at, c, step = 0.4, 0.8, 1e-3

    def expected(x):
        p = np.array([expit(-at - c), 0, expit(at - c)])
        p[1] = 1 - p.sum()
        q = np.array([expit(-x - c), 0, expit(x - c)])
        q[1] = 1 - q.sum()
        return p @ np.log(q)

    curvature = -(expected(at + step) - 2 * expected(at) + expected(at - step)) / step**2
    one = (("chain", "draw"), np.zeros((1, 1)))
    posterior = xr.Dataset(
        {
            "tilt": (("chain", "draw", "model", "dimension"), np.full((1, 1, 1, 1), at)),
            "pair_sd": one,
            "threshold": (("chain", "draw", "judge"), np.full((1, 1, 1), c)),
        }
    )
    assert information(posterior)[0] == pytest.approx(curvature, rel=1e-4)


def test_too_little_is_refused_in_a_sentence():
    prob, rating = np.full((1, 1, 2, 2, 3), np.nan), np.ones((1, 1, 2, 2, 2))
    with pytest.raises(UserError, match="no pair whose sides are marked"):
        gather(verdicts(prob, rating))
    with pytest.raises(UserError, match="no pair whose sides are marked"):
        gather(verdicts(np.full(prob.shape, 1 / 3), rating, marked=False))
    with pytest.raises(UserError, match="sampled with nutpie, not pymc"):
        fit_pairs(verdicts(prob, rating), sampler=SamplerConfig(backend="pymc"))


def test_positions_and_tilts_are_related():
    rng = np.random.default_rng(5)
    means = {"theta": [-1.0, 0.0, 1.0, 2.0], "tilt": [2.0, 1.0, 0.5, -1.0]}
    draws = {
        name: xr.DataArray(
            np.array(at)[:, None] + 0.05 * rng.standard_normal((2, 200, 4, 2)),
            dims=("chain", "draw", "model", "dimension"),
            coords={"model": list("abcd"), "dimension": ["economic", "cultural"]},
        )
        for name, at in means.items()
    }
    theta = draws["theta"].sel(model=["d", "c", "a", "b"])
    table, correlation = positions(draws["tilt"], theta, level=0.9, seed=1)
    row = table[(table["model"] == "d") & (table["dimension"] == "all")].iloc[0]
    assert (row["theta"], row["tilt"]) == pytest.approx((2.0, -1.0), abs=0.02)
    exact = np.corrcoef(*means.values())[0, 1]
    assert list(correlation["dimension"]) == ["economic", "cultural", "all"]
    assert np.allclose(correlation["estimate"], exact, atol=0.02)
    few = draws["tilt"].sel(model=["a", "b"])
    assert positions(few, theta, level=0.9, seed=1)[1].empty
    with pytest.raises(UserError, match="no model of this run"):
        positions(few.assign_coords(model=["x", "y"]), theta, level=0.9, seed=1)


@pytest.mark.slow
@pytest.mark.long
def test_verdicts_as_clmm(tmp_path):
    rng = np.random.default_rng(6)
    data = simulate(rng, tilt=TILT, topics=25, first=(0.5,), threshold=(0.8,), weights=(0, 0))
    judged = gather(data)
    rows = [
        {
            "y": int(judged.verdicts[0, q, o] @ [-1, 0, 1]),
            "m": int(judged.model[q]),
            "topic": int(judged.topic[q]),
            "pair": q,
            "first": (-1, 1)[o],
            "x": judged.log2_length[q],
        }
        for q in range(len(judged.model))
        for o in range(2)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "verdicts.csv", index=False)
    reference = tmp_path / "out.csv"
    run_r("ordinal", CLMM, tmp_path / "verdicts.csv", reference)
    table = pd.read_csv(reference).set_index("quantity")
    fit = fit_pairs(data, sampler=replace(SHORT, draws=600), joint=False)
    p = fit.posterior.mean(("chain", "draw"))
    length = p["judge_length"].item()
    # clmm has the tilt at equal lengths.
    own = p["tilt"].values[:, 0] - length * judged.length_by_cell[:, 0]
    found = dict(zip(("tilt0", "tilt1", "tilt2"), own, strict=True))
    found |= {"threshold": p["threshold"].item(), "first": p["judge_first"].item()}
    found["length"] = length
    for name, value in found.items():
        row = table.loc[name]
        assert abs(value - row["estimate"]) < 0.6 * row["se"], name
    assert p["pair_sd"].item() == pytest.approx(table.loc["pair_sd", "estimate"], abs=0.2)


@pytest.mark.slow
@pytest.mark.long
def test_planted_parameters_are_covered(tmp_path):
    rng = np.random.default_rng(7)
    data = whole(rng, topics=25)
    fit = fit_pairs(data, sampler=SHORT, kept=tmp_path / "draws.nc")
    again = fit_pairs(data, sampler=SHORT, kept=tmp_path / "draws.nc")
    assert again.from_cache
    assert again.posterior["tilt"].identical(fit.posterior["tilt"])
    length = fit.judged.length_by_cell[:, 0]
    parts = np.stack([TILT, WEIGHTS[0] * HEDGING, WEIGHTS[1] * COMPLIANCE, LENGTH * length], axis=1)
    truth = {
        "tilt": parts.sum(axis=1)[:, None],
        "tilt_part": parts[:, None],
        "hedging_side": HEDGING,
        "compliance_side": COMPLIANCE,
        "judge_side": np.array(SIDE),
        "judge_first": np.array(FIRST),
        "judge_length": np.full(3, LENGTH),
        "threshold": np.array(THRESHOLD),
        "hedging_weight": np.array(WEIGHTS[0]),
        "compliance_weight": np.array(WEIGHTS[1]),
        "pair_sd": np.array(0.6),
    }
    inside, far = [], []
    for name, value in truth.items():
        draws = fit.posterior[name]
        lower, upper = draws.quantile([0.05, 0.95], ("chain", "draw")).values
        inside += ((lower <= value) & (value <= upper)).ravel().tolist()
        sd = draws.std(("chain", "draw")).values
        far += (np.abs(draws.mean(("chain", "draw")).values - value) / sd).ravel().tolist()
    assert np.mean(inside) >= 0.8
    assert max(far) < 3.5
    found = tables(fit, level=0.9, rope=0.1)
    favour = found["favour"].query("measure == 'favour' and dimension == 'all'")
    assert favour.set_index("model")["decision"]["m0"] == "left"
    own = found["verdict_design"].query("own").iloc[0]
    # The planned precision of a study of this size is that of this study.
    sds = fit.posterior["tilt"].std(("chain", "draw")).values
    assert own["se"] ** 2 < 2.5 * np.mean(sds**2) + np.var(SIDE) / 3 + 0.02
    assert own["se_difference"] == pytest.approx(
        float((fit.posterior["tilt"][:, :, 0] - fit.posterior["tilt"][:, :, 2]).std()), rel=0.35
    )
    by_topics = design_table(fit, level=0.9).query("judges == 3").sort_values("topics")
    assert by_topics["se"].is_monotonic_decreasing


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Loop fusion failed")
def test_one_judge_and_one_model_are_enough():
    rng = np.random.default_rng(8)
    data = simulate(rng, tilt=[0.9], topics=20, templates=2, first=(0.4,), threshold=(0.6,))
    fit = fit_pairs(data, sampler=SHORT)
    assert "There is one judge only" in fit.notes[-1]
    lower, upper = fit.posterior["tilt"].quantile([0.02, 0.98], ("chain", "draw")).values.squeeze()
    assert lower < 0.9 < upper
    found = tables(fit, level=0.9, rope=0.1)
    assert "tilt_pairs" not in found
    assert not found["verdict_design"]["judges_known"].any()
