"""The order of options: the shipped analyses find its effect, and without it there is a bias."""

import numpy as np
import pytest

from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.config.schema import SamplerConfig
from polbayes.data.dataset import CELL_DIMS, NOT_ASKED, STATUS
from polbayes.errors import UserError
from polbayes.fit.fit import fit
from polbayes.fit.spec.cells import gather_cells
from polbayes.fit.spec.reduction import check_scatter, reduced
from polbayes.fit.spec.spec import parse_spec
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import load_prefixes
from polbayes.instrument.questionnaires import Instrument, Item, Variant

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

MODELS = ("left", "inner_left", "centre", "inner_right", "right")
THETA = np.array([-0.8, -0.4, 0.0, 0.4, 0.8])
# In the unit of the spread of views on single statements: how much more models agree where
# agreement is listed first, all of them together and each.
ORDER = 1.2
OWN = np.array([0.4, -0.4, 0.0, -0.4, 0.4])
ITEMS, SHARP, CUT = 16, 2.0, 0.4
KEYING = np.tile([1, -1], ITEMS // 2)
TERM = "I(agree_first - 0.5)"


def asked(prefixes, runs=1):
    items = tuple(
        Item(f"e{k:02}", "economic", d, "s", (Variant("original", f"S{k}", "original", 1),), {})
        for k, d in enumerate(KEYING.tolist())
    )
    infos = [ModelInfo(model, "{statement}") for model in MODELS]
    return design([Instrument("tiny", "Tiny", "s", items)], prefixes, infos, runs=runs)


def believed(data, rng):
    """Return ``[model, item, variant, prefix, run]`` agreement, and positions on the statements."""
    first = data["agree_first"].broadcast_like(data["status"]).transpose(*CELL_DIMS).values
    quirk = rng.normal(size=(len(MODELS), ITEMS))
    belief = THETA[:, None] + quirk
    order = (ORDER + OWN)[:, None, None, None, None] * (first - 0.5)
    # Statements of both sides have the same weight, whatever their number of answers.
    positions = np.mean([belief[:, side == KEYING].mean(axis=1) for side in (-1, 1)], axis=0)
    return (KEYING * belief)[:, :, None, None, None] + order, positions


def answered(share, seed=4):
    """Draw answers on a shipped scale with numpy alone.

    `share` is the probability that an answer is there, by whether agreement is listed first and
    whether the statement is of the right.
    """
    data = asked(load_prefixes("scale5", ["numbers"]), runs=12)
    rng = np.random.default_rng(seed)
    eta, positions = believed(data, rng)
    latent = SHARP * eta + rng.logistic(size=eta.shape)
    stance = (latent > SHARP * CUT).astype(np.int8) - (latent < -SHARP * CUT).astype(np.int8)
    first = data["agree_first"].broadcast_like(data["status"]).transpose(*CELL_DIMS).values
    right = (KEYING > 0)[:, None, None, None]
    there = rng.random(eta.shape) < share(first, right)
    status = np.where(there, STATUS["ok"], NOT_ASKED).astype(np.int8)
    return data.assign(stance=(CELL_DIMS, stance), status=(CELL_DIMS, status)), positions


def fitted(data, analysis):
    spec = parse_spec(compose(["+experiment=wvs_prefixes", f"analysis={analysis}"])[0].analysis)
    cells = gather_cells(data, spec)
    sampler = SamplerConfig(chains=2, tune=300, draws=300)
    return fit(reduced(spec, cells)[0], cells, sampler, seed=1).posterior


def coefficient(posterior, name, part="acquiescence"):
    """Return the mean and the standard deviation of a coefficient."""
    draws = posterior["coefficient"].sel(term=f"{part}: {name}")
    return draws.mean().item(), draws.std().item()


def off(posterior, positions):
    """Return by how much positions on the statements asked are off, on average."""
    found = posterior["theta_asked"].isel(dimension=0).sel(model=list(MODELS))
    return (found.mean(("chain", "draw")).values - positions).mean()


@pytest.mark.slow
def test_the_order_that_a_scale_draws_comes_back():
    data, positions = answered(lambda first, right: 1.0)
    assert 0.4 < data["agree_first"].mean() < 0.6
    posterior = fitted(data, "option_order")
    found, sd = coefficient(posterior, TERM)
    assert abs(found - ORDER) < 3 * sd < 0.8
    assert abs(coefficient(posterior, "Intercept")[0]) < 0.45
    assert abs(off(posterior, positions)) < 0.25


@pytest.mark.slow
def test_an_order_that_most_questions_have_counts_as_agreeing_without_its_effect():
    data, _ = answered(lambda first, right: np.where(first == 1, 1.0, 0.15))
    there = (data["status"] == STATUS["ok"]).values
    first = data["agree_first"].broadcast_like(data["status"]).transpose(*CELL_DIMS).values
    found = {name: fitted(data, name) for name in ("option_order", "ideology")}
    (with_it, _), (without, _) = (coefficient(one, "Intercept") for one in found.values())
    order, sd = coefficient(found["option_order"], TERM)
    assert abs(order - ORDER) < 3 * sd < 0.9
    assert abs(with_it) < 0.45
    bias = ORDER * (first[there].mean() - 0.5)
    assert bias > 0.4
    assert without - with_it == pytest.approx(bias, abs=0.15)


@pytest.mark.slow
def test_an_order_that_goes_with_the_side_of_statements_counts_as_leaning_without_its_effect():
    data, positions = answered(lambda first, right: np.where((first == 1) == right, 1.0, 0.15))
    found = {name: fitted(data, name) for name in ("option_order", "ideology")}
    order, sd = coefficient(found["option_order"], TERM)
    assert abs(order - ORDER) < 3 * sd < 0.9
    assert abs(off(found["option_order"], positions)) < 0.25
    assert off(found["ideology"], positions) > 0.4


def test_probabilities_have_the_order_in_its_effect_and_not_in_the_residuals():
    data = asked(load_prefixes("option_orders"))
    rng = np.random.default_rng(5)
    eta, _ = believed(data, rng)
    residual = 0.3
    p = 1 / (1 + np.exp(-SHARP * (eta + rng.normal(0, residual, eta.shape))))
    data = data.assign(
        r_plus=(CELL_DIMS, p),
        status=(CELL_DIMS, np.full(eta.shape, STATUS["ok"], dtype=np.int8)),
    )
    found = fitted(data, "option_order_probabilities")
    order, sd = coefficient(found, TERM)
    assert abs(order - ORDER) < 3 * sd < 1.2
    with_it, _ = coefficient(found, "Intercept", "sigma")
    without, _ = coefficient(fitted(data, "ideology_probabilities"), "Intercept", "sigma")
    # What the order adds to one answer, on average of both.
    assert abs(with_it - np.log(residual)) < 0.4
    assert without - with_it == pytest.approx(
        np.log(np.hypot(ORDER / 2, residual) / residual), abs=0.3
    )


def test_models_that_never_differ_have_no_residual():
    """As simulated respondents, whose probabilities do not depend on the prefix."""
    data = asked(load_prefixes("option_orders"))
    rng = np.random.default_rng(6)
    shape = data["status"].shape
    belief = rng.uniform(0.1, 0.9, shape[:2])[:, :, None, None, None]
    scatter = rng.uniform(-0.05, 0.05, shape)

    def fit_with(*still):
        own = np.isin(MODELS, still)[:, None, None, None, None]
        p = np.broadcast_to(belief, shape) + np.where(own, 0, scatter)
        answers = data.assign(
            r_plus=(CELL_DIMS, p.astype(np.float32)),
            status=(CELL_DIMS, np.full(shape, STATUS["ok"], dtype=np.int8)),
        )
        given = compose(["+experiment=pct_paraphrases", "analysis=option_order_probabilities"])
        spec = parse_spec(given[0].analysis)
        cells = gather_cells(answers, spec)
        check_scatter(reduced(spec, cells)[0], cells)

    fit_with()
    with pytest.raises(
        UserError, match=r"^fit: centre, left answered every question of the same model:item"
    ) as caught:
        fit_with("left", "centre")
    assert "analysis.select.prefix=[NAME]" in str(caught.value)


OPTIONS = ("task=explain", "elicitation.template=options", "respondents=simulated")
ORDERS = ("+experiment=pct_paraphrases", *OPTIONS, "prefixes.file=option_orders")
DRAWN = ("+experiment=wvs_prefixes", "elicitation=sampled_choice", *OPTIONS)
DRAWN = (*DRAWN, "prefixes.file=scale5", "elicitation.runs=2")
BETA, OF_MODEL, OF_PREFIX = f"β[1 + {TERM}]", f"u[model; 1 + {TERM}]", "u[model, prefix]"


@pytest.mark.parametrize(
    ("arguments", "terms"),
    [
        (
            [*ORDERS, "prefixes.only=null", "analysis=option_order_probabilities"],
            (BETA, OF_MODEL, OF_PREFIX),
        ),
        ([*DRAWN, "analysis=option_order"], (BETA, OF_MODEL, OF_PREFIX)),
        ([*DRAWN, "analysis=option_order_ratings"], (BETA, OF_MODEL, OF_PREFIX)),
        # Of one prefix in each order, an effect of its own is that of the order.
        (
            [
                *ORDERS,
                "prefixes.only=[letters_yes_first,letters_no_first]",
                "analysis=option_order_probabilities",
            ],
            (BETA, OF_MODEL),
        ),
        ([*DRAWN, "models=[left]", "analysis=option_order"], (BETA, OF_PREFIX)),
    ],
)
def test_the_shipped_analyses_have_the_order(arguments, terms, capsys):
    assert _main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"acquiescence = {' + '.join(terms)}" in lines


def test_one_order_alone_says_nothing_of_the_order(capsys):
    """Neither of all models nor of single ones."""
    one = "prefixes.only=[letters_yes_first,numbers_yes_first]"
    assert _main([*ORDERS, one, "analysis=option_order_probabilities"]) == 0
    said = capsys.readouterr().out
    note = "analysis.parts.acquiescence is without I(agree_first - 0.5): it is 0.5 for every answer"
    assert note in said
    assert "agree_first" not in said.replace(note, "")


def test_every_prefix_needs_an_order(capsys):
    assert _main([*DRAWN[:-2], "prefixes.file=null", "analysis=option_order"]) == 2
    assert "agree_first" in capsys.readouterr().err
