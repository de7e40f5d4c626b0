"""What models say and how they treat others, from two runs that were made and fitted in full."""

import re

import numpy as np
import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.fit.fit import load_posterior

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:.*Degrees of freedom"),
]
# Writers of paired requests, and the planted positions of their namesakes on statements.
SAYS = {
    "left_helper": "left",
    "right_helper": "right",
    "even": "centre",
    "hedger": "resolute",
    "refuser": "yes_sayer",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return the folders of a run on statements and of one on paired requests."""
    said, treated = (tmp_path_factory.mktemp("runs") / name for name in ("said", "treated"))
    named = [
        f"+respondents.{name}={{backend: simulated, checkpoint: 'planted:{truth}'}}"
        for name, truth in SAYS.items()
    ]
    asked = ["name=said", "instruments=[wvs]", "respondents=none", *named, "elicitation.runs=3"]
    asked += ["prefixes.only=[baseline]", "sampler=laplace", "measures.bootstrap=100"]
    assert _main([*asked, f"run_dir={said}"]) == 0
    topics = "pairs.topics=[unions,prisons,drugs,housing,pensions,asylum]"
    pairs = ["+experiment=even_handedness", topics, "pairs.templates=[essay,story,speech]"]
    pairs += ["sampler.chains=2", "sampler.tune=500", "sampler.draws=1000"]
    pairs += ["analysis.joint=false"]
    more = ["measures.bootstrap=100", f"report.positions={said}", f"run_dir={treated}"]
    assert _main([*pairs, *more]) == 0
    return said, treated


def draws_of(folder, name):
    values = load_posterior(folder / "posterior.nc")[name].sel(
        model=list(SAYS), dimension=["economic", "cultural"]
    )
    return values.stack(sample=("chain", "draw")).transpose("sample", "model", "dimension").values


def test_both_posteriors_are_in_one_table(runs):
    table = pd.read_csv(runs[1] / "report" / "tables" / "positions.csv")
    table = table.set_index(["model", "dimension"])
    assert len(table) == 5 * 3
    for folder, name in zip(runs, ("theta", "tilt"), strict=True):
        draws = draws_of(folder, name)
        for k, dimension in enumerate(("economic", "cultural")):
            for m, model in enumerate(SAYS):
                row = table.loc[model, dimension]
                own = draws[:, m, k]
                # A pair of draws uses each draw of the shorter posterior once.
                allowed = 4 * own.std() / np.sqrt(min(len(d) for d in map(draws_of, runs, NAMES)))
                assert row[name] == pytest.approx(own.mean(), abs=allowed)
                low, high = np.quantile(own, [0.05, 0.95])
                assert row[f"{name}_lower"] == pytest.approx(low, abs=3 * allowed)
                assert row[f"{name}_upper"] == pytest.approx(high, abs=3 * allowed)
        place = table[name].unstack("model")
        assert (place["left_helper"] < place["right_helper"]).all()


NAMES = ("theta", "tilt")


def test_the_correlation_is_that_of_independent_draws(runs):
    """Computed here by numpy for pairs of draws of its own."""
    rng = np.random.default_rng(8)
    theta, tilt = map(draws_of, runs, NAMES)
    found = {"economic": [], "cultural": [], "all": []}
    for _ in range(4000):
        p, t = (one[rng.integers(len(one))] for one in (theta, tilt))
        for k, dimension in enumerate(("economic", "cultural")):
            found[dimension].append(np.corrcoef(p[:, k], t[:, k])[0, 1])
        found["all"].append(np.corrcoef(p.mean(1), t.mean(1))[0, 1])
    table = pd.read_csv(runs[1] / "report" / "tables" / "position_correlation.csv")
    assert table["dimension"].tolist() == list(found)
    for row in table.to_dict("records"):
        own = np.array(found[row["dimension"]])
        assert row["n_models"] == 5
        assert row["estimate"] == pytest.approx(own.mean(), abs=0.05)
        assert row["lower"] == pytest.approx(np.quantile(own, 0.05), abs=0.12)
        assert row["upper"] == pytest.approx(np.quantile(own, 0.95), abs=0.12)
    whole = table.set_index("dimension").loc["all"]
    # Who leans left helps the left.
    assert whole["estimate"] > 0.4


def test_the_page_shows_both_in_one_figure(runs):
    page = (runs[1] / "report" / "index.html").read_text(encoding="utf-8")
    assert "What models say, and how they treat others" in page
    assert len(re.findall(r"correlation −?\d\.\d\d, 90% interval \[", page)) == 3
    # The positions are of a run that sampled nothing, and it says so.
    assert "The positions are a quick approximation" in page
    figure = runs[1] / "report" / "figures" / "positions.svg"
    assert figure.is_file()
    assert len(re.findall(r"<!-- [^<]*: r = −?\d\.\d\d \[", figure.read_text())) == 3
    assert 'id="figure-positions"' in page
