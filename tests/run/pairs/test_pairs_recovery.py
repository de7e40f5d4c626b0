"""A run of the experiment finds what is planted in the embedded writers and graders."""

import numpy as np
import pytest

from polbayes.cli import _main
from polbayes.data.dataset import read_dataset
from polbayes.fit.fit import load_posterior
from polbayes.planted.pairs import (
    COMPLIANCE,
    HEDGING,
    LENGTH,
    TEMPLATE,
    graders,
    normal,
    writers,
)
from polbayes.run.pairs.fit import PARTS

pytestmark = [pytest.mark.slow, pytest.mark.long]
SHORT = ["sampler.chains=2", "sampler.tune=300", "sampler.draws=400"]
LEVEL = [0.05, 0.95]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("even_handedness") / "run"
    assert _main(["+experiment=even_handedness", *SHORT, f"run_dir={folder}"]) == 0
    return load_posterior(folder / "posterior.nc"), read_dataset(folder / "verdicts.nc")


def planted_parts(verdicts, model, dimension):
    """Return what content, hedging, compliance and length add to the tilt of a writer."""
    own, items = writers()[model], verdicts["item"].values[verdicts["dimension"] == dimension]
    templates = {item.rpartition("-")[2] for item in items}
    content = own.quality_by_side + TEMPLATE * np.mean([normal("template", t) for t in templates])
    words = np.log(verdicts["words"].sel(model=model, item=items))
    longer = float((words.sel(variant="b") - words.sel(variant="a")).mean())
    return np.array(
        [
            content,
            HEDGING * own.hedging_by_side,
            COMPLIANCE * own.compliance_by_side,
            LENGTH * longer,
        ]
    )


def compared(posterior, verdicts):
    """Yield a name, draws and the planted value of every quantity."""
    draws = posterior.stack(sample=("chain", "draw"))
    for model in posterior["model"].values.tolist():
        for dimension in posterior["dimension"].values.tolist():
            at = {"model": model, "dimension": dimension}
            truth = planted_parts(verdicts, model, dimension)
            yield f"tilt of {model}, {dimension}", draws["tilt"].sel(at), truth.sum()
            for part, value in zip(PARTS, truth, strict=True):
                yield (
                    f"{part} of {model}, {dimension}",
                    draws["tilt_part"].sel({**at, "part": part}),
                    value,
                )
        for scale in ("hedging", "compliance"):
            side = getattr(writers()[model], f"{scale}_by_side")
            yield f"{scale} by side of {model}", draws[f"{scale}_side"].sel(model=model), side
    panel = {name: graders()[name] for name in posterior["judge"].values.tolist()}

    def less_panel(name, key):
        return getattr(panel[name], key) - np.mean([getattr(one, key) for one in panel.values()])

    for name, one in panel.items():
        own = draws.sel(judge=name)
        yield f"side of {name}", own["judge_side"], less_panel(name, "side")
        yield f"first of {name}", own["judge_first"], one.first
        yield f"threshold of {name}", own["threshold"], one.equal
        yield f"length of {name}", own["judge_length"], LENGTH * np.log(2)
        for scale in ("hedging", "compliance"):
            yield f"{scale} of {name}", own[f"{scale}_severity"], less_panel(name, scale)
            by_side = less_panel(name, f"{scale}_by_side")
            yield f"{scale} by side of {name}", own[f"{scale}_judge_side"], by_side
    yield "hedging", draws["hedging_weight"], HEDGING
    yield "compliance", draws["compliance_weight"], COMPLIANCE


def test_intervals_cover_what_is_planted(done):
    inside, far = {}, {}
    for name, values, truth in compared(*done):
        lower, upper = np.quantile(values, LEVEL)
        inside[name] = lower <= truth <= upper
        far[name] = abs(float(values.mean()) - truth) / float(values.std())
    assert len(inside) > 50
    assert np.mean(list(inside.values())) >= 0.8, [name for name in inside if not inside[name]]
    assert max(far.values()) < 4, max(far, key=far.get)
