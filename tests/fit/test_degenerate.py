"""Data at the edge of what can be fitted: nothing crashes, and nothing is claimed to be known.

One set of answers has most of it: models that never vary, an item everybody answers alike, three
of four items keyed one way, and 60 % of the answers missing.
"""

import numpy as np
import pytest

from polbayes.config.compose import compose
from polbayes.config.schema import SamplerConfig
from polbayes.data.dataset import MISSING
from polbayes.fit.fit import fit
from polbayes.fit.posterior.summary import summarise
from polbayes.fit.sampling.diagnose import diagnose
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.spec import parse_spec

pytestmark = [
    pytest.mark.slow,
    # Numba says of some compiled functions that it does not keep them for the next process.
    pytest.mark.filterwarnings("ignore:Cannot cache compiled function"),
]

DRAW = ("chain", "draw")
CONFIG = SamplerConfig(chains=2, tune=500, draws=500)
MODELS = ("leftist", "yes", "mixed", "seldom", "usual")
# Of eight items six are right-keyed in both wordings, and two are asked both ways.
ITEMS = tuple(
    (
        f"{d[0]}{k}",
        d,
        "right" if k else "left",
        ("original", "opposite") if k == 0 else ("original", "paraphrase"),
    )
    for d in ("economic", "cultural")
    for k in range(4)
)
RUNS = 4


def shipped(name):
    return parse_spec(compose(["+experiment=wvs_prefixes", f"analysis={name}"])[0].analysis)


def keying_of(data):
    return data["keying"].to_numpy()[None, :, :, None, None]


@pytest.fixture(scope="module")
def answers(coded):
    data = coded(1, items=ITEMS, models=MODELS, runs=RUNS)
    rng = np.random.default_rng(5)
    stance = np.where(data["stance"] == MISSING, MISSING, rng.integers(-1, 2, data["stance"].shape))
    keyed = np.broadcast_to(keying_of(data), stance.shape)
    there = stance != MISSING
    stance[0] = np.where(there[0], -keyed[0], MISSING)  # always and only what the left says
    stance[1] = np.where(there[1], 1, MISSING)
    stance[:, 1] = np.where(there[:, 1], 1, MISSING)  # everybody agrees with the item e1
    gone = rng.random(stance.shape) < 0.6
    gone[3] = rng.random(stance.shape[1:]) < 0.95
    return coded(np.where(gone, MISSING, stance), items=ITEMS, models=MODELS, runs=RUNS)


@pytest.fixture(scope="module")
def result(answers):
    spec = shipped("ideology")
    return fit(spec, gather_cells(answers, spec), CONFIG, seed=3)


def ends(values, level=0.9):
    low, middle, high = values.quantile([(1 - level) / 2, 0.5, (1 + level) / 2], DRAW).to_numpy()
    return low, middle, high


def test_everything_is_finite_and_can_be_summarised(result):
    theta = result.posterior["theta"]
    assert theta.sizes["model"] == len(MODELS)
    for name in ("theta", "bias_total", "acquiescence", "difficulty", "discrimination", "scale"):
        assert np.isfinite(result.posterior[name]).all(), name
    tables = summarise(result.posterior, level=0.9)
    assert tables["theta"]["estimate"].notna().all()
    assert (tables["theta"]["upper"] > tables["theta"]["lower"] + 0.3).all()
    assert diagnose(result.posterior, result.sample_stats).verdict in ("good", "caution", "bad")


def test_a_model_that_never_varies_is_known_on_one_side_only(result):
    """That it is on the left is clear; how far out is not, as no answer says so.

    With one of the four economic statements it agrees as everybody does.
    """
    theta, asked = result.posterior["theta"], result.posterior["theta_asked"]
    for dimension, most in (("economic", 0.7), ("cultural", -0.3)):
        low, middle, high = ends(theta.sel(model="leftist", dimension=dimension))
        usual = ends(theta.sel(model="usual", dimension=dimension))
        assert ends(asked.sel(model="leftist", dimension=dimension))[2] < most
        assert middle < usual[1]
        assert middle - low > high - middle
        assert high - low > usual[2] - usual[0]
    bias = result.posterior["bias_total"].sel(model="leftist")
    low, _, high = ends(bias)
    assert low > -1
    assert high - low > 0.01
    assert float(bias.min()) > -1


def test_agreeing_with_everything_is_no_leaning(result):
    theta, yes = result.posterior["theta"].sel(model="yes"), result.posterior["acquiescence"]
    for dimension in ("economic", "cultural"):
        low, _, high = ends(theta.sel(dimension=dimension))
        assert low < 0 < high
    low, middle, high = ends(yes.sel(model="yes"))
    assert low > 0
    assert high - middle > middle - low


def test_an_item_that_all_answer_alike_has_a_difficulty_of_no_great_certainty(result):
    """Its difficulty is not better known than that of the items that tell models apart."""
    sd = result.posterior["difficulty"].std(DRAW)
    others = [i for i in sd["item"].values if i != "e1" and i.startswith("e")]
    assert float(sd.sel(item="e1")) > 1.1 * float(sd.sel(item=others).median())


def test_fewer_answers_are_wider_intervals(result):
    """On the statements asked: on statements like them, few statements count for more."""
    sd = result.posterior["theta_asked"].std(DRAW)
    assert (sd.sel(model="seldom") > 1.1 * sd.sel(model="usual")).all()


def test_one_model_that_never_varies_on_one_dimension(coded):
    """Nothing is compared, and the cultural dimension has no items."""
    items = tuple(item for item in ITEMS if item[1] == "economic")
    data = coded(1, items=items, models=("only",), runs=RUNS)
    keyed = np.broadcast_to(keying_of(data), data["stance"].shape)
    data = coded(
        np.where(data["stance"] == MISSING, MISSING, keyed),
        items=items,
        models=("only",),
        runs=RUNS,
    )
    spec = shipped("ideology_one_model")
    result = fit(spec, gather_cells(data, spec), CONFIG, seed=1)
    theta = result.posterior["theta"]
    assert theta["dimension"].values.tolist() == ["economic"]
    low, middle, high = ends(theta)[0][0, 0], ends(theta)[1][0, 0], ends(theta)[2][0, 0]
    assert low > 0
    assert high - middle > 0.9 * (middle - low)
    assert high - low > 0.8  # the prior's own 90 % interval has a width of 3.3
    low, _, high = ends(result.posterior["bias_total"].sel(model="only"))
    assert 0 < low < high < 1
