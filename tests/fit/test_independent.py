"""Agreement with implementations by others, in R, of what both can express.

The scripts are in `reference/`. A test skips where R or its package is not installed.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from r_scripts import run_r as run_script
from scipy import stats

from polbayes.config.compose import compose
from polbayes.config.schema import SamplerConfig
from polbayes.data.dataset import MISSING, to_frame
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells

pytestmark = [
    pytest.mark.slow,
    # Numba says of some compiled functions that it does not keep them for the next process.
    pytest.mark.filterwarnings("ignore:Cannot cache compiled function"),
]

DRAW = ("chain", "draw")
REFERENCE = Path(__file__).parent / "reference"
MODELS = ("m1", "m2", "m3", "m4", "m5")
ITEMS = tuple(
    (
        f"{d[0]}{k}",
        d,
        "right" if k % 2 else "left",
        ("original", "opposite" if k % 3 else "paraphrase"),
    )
    for d in ("economic", "cultural")
    for k in range(5)
)


def run_r(package: str, script: str, *paths: Path) -> None:
    run_script(package, REFERENCE / script, *paths)


@pytest.fixture(scope="module")
def data(coded):
    """Answers of five models that differ in leaning and in acquiescence."""
    rng = np.random.default_rng(7)
    empty = coded(1, items=ITEMS, models=MODELS, prefixes=("baseline",), runs=3)
    economic = (empty["dimension"] == "economic").to_numpy()[None, :, None, None, None]
    theta = np.linspace(-1.2, 0.9, 5)[:, None, None, None, None]
    theta = np.where(economic, theta, theta[::-1] * 0.5)
    difficulty = rng.normal(0, 0.6, len(ITEMS))[None, :, None, None, None]
    yes = np.array([0.6, -0.3, 0.1, 0.9, 0.2])[:, None, None, None, None]
    keying = empty["keying"].to_numpy()[None, :, :, None, None]
    latent = yes + keying * (theta - difficulty) + rng.logistic(size=empty["stance"].shape)
    stance = np.where(latent > 0.6, 1, np.where(latent < -0.6, -1, 0))
    return coded(stance, items=ITEMS, models=MODELS, prefixes=("baseline",), runs=3)


@pytest.fixture(scope="module")
def answers(data, tmp_path_factory):
    """The distinct answers and how often each was given, as R reads them."""
    frame = to_frame(data, ["stance"])
    frame = frame[frame["stance"] != MISSING].rename(columns={"stance": "y"})
    keys = ["model", "item", "dimension", "keying", "y"]
    path = tmp_path_factory.mktemp("r") / "answers.csv"
    frame.groupby(keys, observed=True).size().rename("n").reset_index().to_csv(path, index=False)
    return path


def posterior_of(spec, data, **sampler):
    config = SamplerConfig(**{"chains": 4, "tune": 500, "draws": 1000, **sampler})
    return fit(spec, gather_cells(data, spec), config, seed=2).posterior


@pytest.mark.long
def test_brms_has_the_same_posterior(data, answers, spec_of, tmp_path):
    """The same likelihood, constraints and priors: what differs is Monte Carlo error.

    With at least 1000 effective draws on both sides the standard error of a difference of means
    is 4.5 % of a posterior standard deviation, and that of a ratio of standard deviations 3 %.
    """
    run_r("brms", "brms.R", answers, tmp_path / "draws.csv")
    theirs = pd.read_csv(tmp_path / "draws.csv")
    assert theirs["rhat"][0] < 1.02
    parts = {
        "theta": "~ 0 + dimension + (0 + dimension | model)",
        "difficulty": "~ (1 | item)",
        "acquiescence": "~ 1 + (1 | model)",
    }
    ours = posterior_of(spec_of(parts), data)
    scale = ours["scale"]
    named = {
        "gap": ours["gap"].isel(middle_point=0),
        "sd_economic": scale.sel(scale_name="theta: model [dimension[economic]]"),
        "sd_cultural": scale.sel(scale_name="theta: model [dimension[cultural]]"),
        "sd_acquiescence": scale.sel(scale_name="acquiescence: model"),
        "sd_difficulty": scale.sel(scale_name="difficulty: item"),
        "cor": ours["cor_theta_model"],
    }
    for m in MODELS:
        named[f"acquiescence_{m}"] = ours["acquiescence"].sel(model=m)
        for d in ("economic", "cultural"):
            named[f"theta_{m}_{d}"] = ours["theta"].sel(model=m, dimension=d)
    named |= {f"difficulty_{i}": ours["difficulty"].sel(item=i) for i, *_ in ITEMS}
    agree(named, theirs)


@pytest.mark.long
@pytest.mark.parametrize("response", ["stance", "agree"])
def test_brms_has_the_same_decisiveness(response, sharp, spec_of, tmp_path):
    """Its ``disc ~ 0 + model`` is the decisiveness: ordinal answers, and binary ones.

    Binary answers are to one wording each, so that quirks are integrated out; ordinal ones to two.
    """
    data = sharp[response]
    frame = to_frame(data, ["stance"]).rename(columns={"stance": "y"})
    frame = frame[frame["y"] != MISSING]
    keys = ["model", "item", "dimension", "keying", "y"]
    counted = frame.groupby(keys, observed=True).size().rename("n").reset_index()
    counted.to_csv(tmp_path / "answers.csv", index=False)
    run_r("brms", "brms_disc.R", tmp_path / "answers.csv", tmp_path / "draws.csv")
    theirs = pd.read_csv(tmp_path / "draws.csv")
    assert theirs["rhat"][0] < 1.02
    parts = {
        "theta": "~ 0 + model:dimension",
        "decisiveness": "~ 0 + model",
        "difficulty": "~ (1 | item)",
        "acquiescence": "~ 1 + (1 | model)",
        "quirk": "~ (1 | model:item)",
    }
    family = "cumulative" if response == "stance" else "bernoulli"
    ours = posterior_of(spec_of(parts, response=response, family=family), data, draws=2000)
    scale = ours["scale"]
    named = {
        "sd_acquiescence": scale.sel(scale_name="acquiescence: model"),
        "sd_difficulty": scale.sel(scale_name="difficulty: item"),
    }
    if response == "stance":
        named["gap"] = ours["gap"].isel(middle_point=0)
    for m in MODELS:
        named[f"acquiescence_{m}"] = ours["acquiescence"].sel(model=m)
        named[f"log_decisiveness_{m}"] = np.log(ours["decisiveness"].sel(model=m))
        for d in ("economic", "cultural"):
            named[f"theta_{m}_{d}"] = ours["theta"].sel(model=m, dimension=d)
    named |= {f"difficulty_{i}": ours["difficulty"].sel(item=i) for i, *_ in ITEMS}
    agree(named, theirs)


@pytest.fixture(scope="module")
def sharp(coded):
    """Answers of models that repeat themselves more or less often, on three points and on two."""
    out = {}
    for response in ("stance", "agree"):
        rng = np.random.default_rng(11)
        one_each = tuple(
            (i, d, side, w if response == "stance" else w[:1]) for i, d, side, w in ITEMS
        )
        settings = {"items": one_each, "models": MODELS, "prefixes": ("baseline",), "runs": 6}
        empty = coded(1, **settings)
        shape = empty["stance"].shape
        economic = (empty["dimension"] == "economic").to_numpy()[None, :, None, None, None]
        theta = np.linspace(-1.2, 0.9, 5)[:, None, None, None, None]
        theta = np.where(economic, theta, theta[::-1] * 0.5)
        believed = theta + rng.normal(0, 1, shape[:2])[..., None, None, None]
        believed = believed - rng.normal(0, 0.6, len(ITEMS))[None, :, None, None, None]
        yes = np.array([0.6, -0.3, 0.1, 0.9, 0.2])[:, None, None, None, None]
        kappa = np.array([0.7, 1.5, 3.0, 6.0, 2.0])[:, None, None, None, None]
        keying = empty["keying"].to_numpy()[None, :, :, None, None]
        latent = yes + keying * believed + rng.logistic(size=shape) / kappa
        width = 0.4 if response == "stance" else 0.0
        out[response] = coded(
            np.where(latent > width, 1, np.where(latent < -width, -1, 0)), **settings
        )
    return out


def agree(named, theirs):
    """Compare means and standard deviations of draws, in standard deviations of theirs."""
    rows = []
    for name, values in named.items():
        sd = theirs[name].std()
        shift = (float(values.mean()) - theirs[name].mean()) / sd
        rows.append((name, shift, float(values.std(ddof=1)) / sd))
    table = pd.DataFrame(rows, columns=["quantity", "shift", "ratio"])
    print(table.describe())
    assert table["shift"].abs().max() < 0.15, table
    assert table["shift"].abs().mean() < 0.05
    assert (table["ratio"] - 1).abs().max() < 0.12, table
    assert table["ratio"].mean() == pytest.approx(1, abs=0.03)


def test_maximum_likelihood_of_proportional_odds(data, answers, spec_of, tmp_path):
    """Without varying effects and with priors that say next to nothing, as `MASS::polr`."""
    run_r("MASS", "polr.R", answers, tmp_path / "coefficients.csv")
    theirs = pd.read_csv(tmp_path / "coefficients.csv").set_index("quantity")
    spec = spec_of(
        {"theta": "~ 0 + dimension", "acquiescence": "~ 1"},
        priors={"common": "Normal(0, 100)", "cutpoints": "LogNormal(0, 10)"},
    )
    ours = posterior_of(spec, data)
    theta = ours["theta"].isel(model=0)
    named = {
        "theta_economic": theta.sel(dimension="economic"),
        "theta_cultural": theta.sel(dimension="cultural"),
        "acquiescence": ours["acquiescence"].isel(model=0),
        "gap": ours["gap"].isel(middle_point=0),
    }
    for name, values in named.items():
        estimate, se = theirs.loc[name, ["estimate", "se"]]
        assert float(values.mean()) == pytest.approx(estimate, abs=0.15 * se), name
        assert float(values.std()) == pytest.approx(se, rel=0.08), name


def as_in_ideal(coded, spec_of, yea, anchor, **sampler):
    """Fit ``[legislator, vote]`` 1, 0 or NaN with the priors of `pscl::ideal`.

    They are given on the logit scale, which is 1.7 times as wide as the probit scale.
    """
    stance = (2 * yea - 1).fillna(MISSING).to_numpy(dtype=int)
    data = coded(
        stance[:, :, None, None, None],
        items=tuple((vote, "economic", "right", ("original",)) for vote in yea.columns),
        models=tuple(yea.index),
        prefixes=("baseline",),
    )
    settings = yaml.safe_load((REFERENCE / "ideal.yaml").read_text(encoding="utf-8"))
    spec = spec_of(**settings, anchor={"economic": anchor})
    return posterior_of(spec, data, **sampler)


@pytest.mark.long
def test_ideal_points_of_senators(coded, spec_of, tmp_path):
    """120 contested votes of the 109th Congress, in comparison with `pscl::ideal`.

    A legislator is a model and a vote an item. No vote is keyed beforehand: discriminations have
    either sign, and one Republican as anchor says which way is right. `ideal` has a probit link and
    a wide prior for discriminations, so that units differ; in every draw both have been given
    legislators with mean 0 and standard deviation 1.
    """
    paths = [tmp_path / f"{name}.csv" for name in ("votes", "positions", "items")]
    run_r("pscl", "senate.R", paths[0])
    run_r("pscl", "ideal.R", *paths)
    votes, theirs, bills = (pd.read_csv(path) for path in paths)
    yea = votes.pivot(index="legislator", columns="vote", values="yea")
    party = votes.drop_duplicates("legislator").set_index("legislator")["party"]
    theirs = theirs.set_index("legislator").reindex(yea.index)
    anchor = theirs.index[(party.reindex(yea.index) == "R").to_numpy()][0]
    sign = np.sign(theirs.loc[anchor, "mean"])  # ideal() leaves it open
    posterior = as_in_ideal(coded, spec_of, yea, anchor, chains=2, draws=500)
    theta = posterior["theta"].isel(dimension=0, drop=True)
    unit = theta.std("model")
    theta = theta / unit  # the mean is 0 in every draw
    ours, place = theta.mean(DRAW).to_series().reindex(yea.index), theirs["mean"] * sign
    rank, alike = stats.spearmanr(ours, place).statistic, np.corrcoef(ours, place)[0, 1]
    ratio = theta.std(DRAW).to_series().reindex(yea.index) / theirs["sd"]
    print(f"positions: rank {rank:.4f}, correlation {alike:.4f}, spread {ratio.median():.3f}")
    assert rank > 0.98
    assert alike > 0.99
    assert ratio.median() == pytest.approx(1, abs=0.2)
    slope = posterior["discrimination"] * unit
    bills = bills.set_index("vote").reindex(slope["item"].to_series().to_list())
    low, high = (slope.quantile(q, DRAW).to_numpy() for q in (0.05, 0.95))
    clear = (low > 0) | (high < 0)
    assert clear.mean() > 0.8
    assert {-1, 1} == set(np.sign(low[clear]))
    assert (np.sign(low) == np.sign(sign * bills["discrimination"]))[clear].all()
    rank = stats.spearmanr(slope.mean(DRAW), sign * bills["discrimination"]).statistic
    print(f"discriminations: rank {rank:.4f}, {(low < 0).sum()} of {len(low)} may be negative")
    assert rank > 0.95
    republican = (party.reindex(ours.index) == "R").to_numpy()
    assert ours[republican].mean() > 0 > ours[~republican].mean()


@pytest.mark.parametrize(
    "election",
    ["2013-deutschland", "2021-deutschland", pytest.param("", marks=pytest.mark.long)],
)
def test_ideal_points_of_parties(coded, spec_of, shared_data, tmp_path, election):
    """Parties that agree or disagree with statements, in one election or all of them.

    Neutral positions are missing. All parties of a name are one in all elections, and the same
    statements in two elections are two.
    """
    table = pd.read_parquet(shared_data / "parties" / "positions.parquet")
    table = table[(table["answer"] != "neutral") & table["election"].str.contains(election)]
    names = compose(["+experiment=parties"])[0].imported.rename["party"]
    party = table["party"].replace(names)
    votes = pd.DataFrame({"legislator": "p" + party.rank(method="dense").astype(int).astype(str)})
    anchor = votes.loc[party == "AfD", "legislator"].iloc[0]
    votes["vote"] = "s" + table["election"] + "-" + table["statement"].astype(str).str.zfill(2)
    votes["yea"] = (table["answer"] == "agree").astype(int)
    votes = votes[votes.groupby("vote")["yea"].transform("nunique") == 2]  # ideal() drops others
    paths = [tmp_path / f"{name}.csv" for name in ("votes", "positions", "items")]
    votes.to_csv(paths[0], index=False)
    run_r("pscl", "ideal.R", *paths)
    yea = votes.pivot(index="legislator", columns="vote", values="yea")
    theirs = pd.read_csv(paths[1]).set_index("legislator").reindex(yea.index)
    posterior = as_in_ideal(coded, spec_of, yea, anchor, chains=2, draws=500)
    theta = posterior["theta"].isel(dimension=0, drop=True)
    theta = theta / theta.std("model")
    ours = theta.mean(DRAW).to_series().reindex(yea.index)
    alike = np.corrcoef(ours, theirs["mean"])[0, 1]
    ratio = (theta.std(DRAW).to_series().reindex(yea.index) / theirs["sd"]).median()
    print(f"{election or 'all'}: {len(yea)} parties, correlation {alike:.4f}, spread {ratio:.3f}")
    assert abs(alike) > 0.98
    assert ratio == pytest.approx(1, abs=0.2)
