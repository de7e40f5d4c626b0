"""Answers read by a coder that errs: the model, and where its numbers come from."""

import numpy as np
import pytest
from scipy import stats
from test_ideology_model import COEFFICIENTS, CompiledPoint, Named, Point, log_prior
from test_kernel import slopes

from polbayes.config.schema import MisclassificationConfig
from polbayes.data.dataset import MISSING, STANCE, STANCE_CLASSES, to_frame, write_dataset
from polbayes.errors import UserError
from polbayes.fit.analysis import check_analysis, explain_analysis, fit_analysis, parse_analysis
from polbayes.fit.coder_errors.misclassification import load_coder, odds_of_none, readings
from polbayes.fit.density.density import Density
from polbayes.fit.density.model import build
from polbayes.fit.posterior.pointwise import draws_of
from polbayes.fit.posterior.predictive import replicates
from polbayes.tasks.validation.task import confusion_dataset

POINTS = ("disagree", "neutral", "agree")
# What an imaginary validation found: labels by codes, the last column not coded.
COUNTS = {
    "disagree": [30, 2, 3, 1, 0, 4],
    "neutral": [1, 20, 1, 2, 0, 1],
    "agree": [2, 1, 40, 0, 0, 2],
    "unrelated": [1, 2, 1, 12, 0, 4],
    "refused": [0, 0, 0, 1, 5, 0],
}


@pytest.fixture
def validated(tmp_path, reading):
    """Write a confusion.nc with COUNTS; right readings are surer than wrong ones."""
    labels, codes, sure, models = [], [], [], []
    for label, row in COUNTS.items():
        for code, count in zip((*STANCE_CLASSES, None), row, strict=True):
            for k in range(count):
                labels.append(label)
                codes.append(code)
                sure.append((0.95 if k % 3 else 0.8) if label == code else (0.6 if k % 2 else 0.8))
                models.append("m1" if k % 4 else "other")
    coded = reading(labels, codes, confidence=sure, groups={"model": models})
    path = tmp_path / "confusion.nc"
    write_dataset(confusion_dataset([coded], [0.7, 0.9]), path)
    return MisclassificationConfig(confusion=str(path))


def read_dataset_of(coded, seed=0, runs=3):
    """Answers that a coder read, some of them by a rule, with how sure it was."""
    rng = np.random.default_rng(seed)
    names = [*POINTS, "unrelated"]
    stance = np.array([STANCE[n] for n in names])[rng.choice(4, (2, 4, 4, 2, runs))]
    data = coded(stance, runs=runs)
    given = data["stance"].values
    probs = np.zeros((*given.shape, len(STANCE_CLASSES)), np.float32)
    sure = rng.choice([0.5, 0.75, 0.95], given.shape)
    for k, code in enumerate(STANCE.values()):
        probs[..., k] = np.where(given == code, sure, (1 - sure) / 4)
    dims = data["stance"].dims
    coder = np.where(given == MISSING, MISSING, rng.choice([2, 3], given.shape)).astype(np.int8)
    about = {
        "flag_values": np.array([MISSING, 0, 1, 2, 3], dtype=np.int8),
        "flag_meanings": "none declared_option option_probability likert lexical",
    }
    return data.assign(stance_prob=((*dims, "stance_class"), probs), coder=(dims, coder, about))


@pytest.fixture
def case(coded, bound, full_parts, validated):
    data = read_dataset_of(coded)
    return data, bound(
        full_parts,
        data,
        priors={"theta.dimension": "Normal(0.2, 2)"},
        misclassification=validated,
    )


def bin_of(sure):
    return int(np.searchsorted([0.7, 0.9], sure))


def likelihood(named, answers, cells):
    """Go through the answers one by one."""
    from scipy import special

    coder = cells.read.coder
    assert coder.sizes == (1, 3, 3)
    numbers = named.values["reading"]
    p = numbers[:16].reshape(4, 4)
    p = p / p.sum(axis=1, keepdims=True)
    q = numbers[16:].reshape(4, 3, 3)
    q = q / q.sum(axis=2, keepdims=True)
    odds = dict(zip(cells.frame["model"], cells.read.odds, strict=True))
    odds = {
        m: cells.read.odds[(cells.frame["model"] == m) & (cells.read.table == 0)][0] for m in odds
    }
    total = 0.0
    for row in answers.itertuples():
        if row.stance not in (-1, 0, 1):
            continue
        eta, half = named.eta(row), named.values["gap"][0] / 2
        half *= np.exp(named.of("threshold", row))
        latent = np.diff([0.0, special.expit(-half - eta), special.expit(half - eta), 1.0])
        c = row.stance + 1
        if row.coder == 2:  # the Likert rule
            total += np.log(latent[c])
            continue
        b = bin_of(row.sure)
        joint = np.append(latent, odds[row.model])
        read = sum(joint[k] * p[k, c] * q[k, c, b] for k in range(4))
        total += np.log(read / (joint @ p[:, :3].sum(axis=1)))
    return total


@pytest.mark.parametrize("compiled", [False, True])
def test_the_log_posterior_is_that_of_the_equation(case, compiled):
    data, (spec, cells, parts) = case
    built = build(spec, cells, parts)
    point = CompiledPoint(built) if compiled else Point(built, "FAST_COMPILE")
    sure = data["stance_prob"].max("stance_class")
    answers = to_frame(data.assign(sure=sure))
    gaps = []
    for seed in (2, 3, 4):
        at = point.random(seed)
        values, _ = point.values(at)
        named = Named(built, values)
        expected = log_prior(named, coefficients=COEFFICIENTS)
        expected += stats.gamma(cells.read.coder.prior).logpdf(values["reading"]).sum()
        expected += likelihood(named, answers, cells)
        gaps.append(float(point.logp(at)) - expected - point.log_jacobian(at))
    np.testing.assert_allclose(gaps, gaps[0], atol=5e-5)


def test_the_compiled_gradient_is_the_slope(case):
    _, (spec, cells, parts) = case
    density = Density(build(spec, cells, parts))
    x = density.start(1) + np.random.default_rng(7).normal(0, 0.3, density.size)
    expected = slopes(lambda at: density(at)[0], x)
    np.testing.assert_allclose(density(x)[1], expected, rtol=1e-4, atol=1e-3)


def test_a_coder_without_errors_changes_nothing(coded, bound, full_parts, tmp_path, reading):
    """With a million answers read right, the likelihood is that of what was read."""
    labels = list(STANCE_CLASSES)
    counts = confusion_dataset([reading(labels, labels)])
    counts["confusion"] = counts["confusion"] * 1_000_000
    write_dataset(counts, tmp_path / "c.nc")
    data = read_dataset_of(coded)
    errors = MisclassificationConfig(confusion=str(tmp_path / "c.nc"), prior=1e-3)
    with_errors = Density(build(*bound(full_parts, data, misclassification=errors)))
    plain = Density(build(*bound(full_parts, data)))
    differences = []
    for seed in range(3):
        x = plain.start(seed)
        gap, readings_ = np.cumsum(with_errors.sizes)[2:4]
        at = with_errors.start(seed)
        prior = with_errors.built.cells.read.coder.prior
        own = slice(gap, readings_)
        at[own] = np.log(prior)
        at[:gap], at[readings_:] = x[:gap], x[gap:]
        differences.append(with_errors(at)[0] - plain(x)[0])
    np.testing.assert_allclose(differences, differences[0], atol=1e-2)


def test_counts_become_priors(validated):
    coder = load_coder(validated, POINTS, ["m1", "m2"])
    classes = coder.prior[:16].reshape(4, 4)
    expected = [[30, 2, 3, 5], [1, 20, 1, 3], [2, 1, 40, 2], [1, 2, 1, 22]]
    np.testing.assert_allclose(classes, np.array(expected) + 0.5)
    sure = coder.prior[16:].reshape(4, 3, 3)
    np.testing.assert_allclose(sure[2, 2], [0.5, 14.5, 26.5])  # 40 read right as agreeing
    # Of 5 answers wrongly read as agreeing (3 disagree, 1 is neutral, 1 has no stance) 1 is at 0.6
    # and 4 at 0.8. Fewer than ten, the others are worth as many as they are.
    np.testing.assert_allclose(sure[[0, 1, 3], 2], [[1.5, 4.5, 0.5]] * 3)
    assert coder.edges == (0.7, 0.9)
    mean = coder.confusion()
    np.testing.assert_allclose(mean[0, 2], np.array([2.5, 1.5, 40.5, 2.5]) / 47)


def test_each_model_has_its_own_confusion(validated):
    """A model's own counts, and ten answers of the other models."""
    by_model = MisclassificationConfig(confusion=validated.confusion, by_model=True)
    coder = load_coder(by_model, POINTS, ["m1", "m2"])
    assert coder.tables == ("m1", "")
    classes = coder.prior[:32].reshape(2, 4, 4)
    np.testing.assert_allclose(classes[1, 2], [2.5, 1.5, 40.5, 2.5])
    # Of 45 agreeing answers, every fourth of each kind is another model's: 1, 1, 10, 1.
    own, others = np.array([1, 0, 30, 1]), np.array([1, 1, 10, 1])
    np.testing.assert_allclose(classes[0, 2], own + 0.5 + 10 * others / 13)
    assert (coder.table_of("m1"), coder.table_of("m2")) == (0, 1)


def test_for_agreement_neutral_answers_are_without_a_point(validated):
    coder = load_coder(validated, ("disagree", "agree"), ["m1"])
    classes = coder.prior[:9].reshape(3, 3) - 0.5
    np.testing.assert_allclose(classes, [[30, 3, 7], [2, 40, 3], [2, 2, 47]])


def test_how_answers_were_read(coded, validated):
    data = read_dataset_of(coded)
    found = readings(data, load_coder(validated, POINTS, ["m1", "m2"]))
    frame = to_frame(found.assign(sure=data["stance_prob"].max("stance_class")))
    for row in frame.itertuples():
        if row.stance not in (-1, 0, 1):
            assert row.reading == -1
            continue
        exact = row.coder == 2
        b = 0 if exact else bin_of(row.sure)
        assert row.reading == 3 * (row.stance + 1) + b
        assert row.table == (1 if exact else 0)


def test_the_odds_of_an_answer_without_a_point():
    """Half of what has no point is read as agreeing: of 60 + 30 + 20, 40 have none."""
    table = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]])
    assert odds_of_none(np.array([60, 30, 20]), table) == pytest.approx(40 / 70, rel=1e-3)
    assert odds_of_none(np.array([60, 20, 0]), table) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confusion": "nowhere.nc"}, "analysis.misclassification.confusion: nowhere.nc: no such"),
        ({"coder": "nli"}, "analysis.misclassification.coder: unknown coder 'nli'"),
    ],
)
def test_what_cannot_be_used_is_refused(validated, change, message):
    settings = MisclassificationConfig(**{"confusion": validated.confusion, **change})
    with pytest.raises(UserError, match=message.replace(".", r"\.")):
        load_coder(settings, POINTS, ["m1"])


def test_labels_must_tell_the_points_apart(tmp_path, reading):
    coded = reading(
        ["agree", "other"], ["agree", "neutral"], merge={"other": ["neutral", "unrelated"]}
    )
    write_dataset(confusion_dataset([coded]), tmp_path / "c.nc")
    settings = MisclassificationConfig(confusion=str(tmp_path / "c.nc"))
    with pytest.raises(UserError, match="do not tell 'neutral' from other answers"):
        load_coder(settings, POINTS, ["m1"])
    with pytest.raises(UserError, match="no answer is labelled 'disagree'"):
        load_coder(settings, ("disagree", "agree"), ["m1"])


def test_another_response_is_refused(validated, spec_of):
    with pytest.raises(UserError, match="is for answers that a coder read"):
        spec_of({"theta": "~ 1"}, response="r_plus", family="beta", misclassification=validated)


def test_a_fit_from_end_to_end(coded, full_parts, validated, bound):
    """Explained, sampled, checked, left out cell by cell."""
    from polbayes.config.schema import AnalysisConfig, SamplerConfig

    data = read_dataset_of(coded)
    config = AnalysisConfig(parts=full_parts, misclassification=validated)
    sampler = SamplerConfig(tune=150, draws=100, chains=2)
    spec = parse_analysis(config, sampler)
    check_analysis(spec, data.drop_vars(["stance_prob", "coder"]))
    text = explain_analysis(spec, data, answered=True)
    assert "P(read as c, confidence in bin b | stance = k) = P[k, c] · Q[k, c, b]" in text
    assert "rows of P and Q ~ Dirichlet(counts of" in text
    fitted = fit_analysis(spec, data, sampler, level=0.9, seed=1)
    matrix = fitted.posterior["confusion"]
    assert matrix.dims == ("chain", "draw", "coder_of", "label", "coded_as")
    np.testing.assert_allclose(matrix.sum("coded_as"), 1.0)
    assert float(matrix.sel(label="agree", coded_as="agree").mean()) > 0.7
    assert fitted.tables["predictive"]["estimate"].notna().all()
    assert np.isfinite(fitted.tables["loo"]["elpd_loo"]).all()


def test_replicates_are_as_coded(case):
    """Shares of replicated answers are those of the latent ones put through the confusion."""
    from polbayes.fit.coder_errors.confusion import expand
    from polbayes.fit.density.kernel import forward
    from polbayes.fit.families.ordinal import cutpoints, ordinal_probabilities

    _, (spec, cells, parts) = case
    built = build(spec, cells, parts)
    density = Density(built)
    import xarray as xr

    values = {k: v for k, v in density.values(density.start(3)).items() if np.size(v)}
    drawn = xr.Dataset(
        {
            k: (
                ("chain", "draw", *(f"{k}_{n}" for n in range(np.ndim(v)))),
                np.tile(v, (1, 400) + (1,) * np.ndim(v)),
            )
            for k, v in values.items()
        }
    )
    draws = draws_of(drawn)
    total = sum(
        np.array([a.agree.sum(), a.disagree.sum()]) for a in replicates(built, draws, seed=1)
    )
    eta, own = forward(values["effects"], *built.layout.answers.plain)
    p = ordinal_probabilities(eta, cutpoints(values["gap"], np.exp(own)))
    whole = expand(values["reading"], 1, 3, 3).reshape(2, 4, 3, 3).sum(axis=3)
    coded = np.einsum("ck,ckj->cj", np.column_stack([p, cells.read.odds]), whole[cells.read.table])
    coded /= coded.sum(axis=1, keepdims=True)
    expected = cells.counts.sum(axis=1) @ coded
    np.testing.assert_allclose(total / 400, expected[[2, 0]], rtol=0.02)
