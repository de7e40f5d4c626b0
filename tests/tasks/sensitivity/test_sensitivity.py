"""What would change the conclusions of a finished run, from the command line."""

import numpy as np
import pytest
import xarray as xr

from polbayes.cli import _main
from polbayes.coding import lexical
from polbayes.coding.registry import CODERS
from polbayes.config.schema import CoderConfig, CodingConfig
from polbayes.data.dataset import MISSING, STANCE_CLASSES, STATUS
from polbayes.fit.posterior.flips import Conclusion
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.run.manifest import Manifest
from polbayes.tasks.sensitivity.coders import flips_by_coder, readers, scores_of

pytestmark = pytest.mark.filterwarnings("ignore:Cannot cache compiled function")

OPPOSITE = {"agree": "disagree", "disagree": "agree"}


def answered(completions):
    """Lay out answers to one statement of the left and two of the right, of one model."""
    directions = (-1, 1, 1)
    items = tuple(
        Item(f"i{k}", "economic", s, "made up", (Variant("original", f"s{k}", "original", 1),), {})
        for k, s in enumerate(directions)
    )
    instrument = Instrument("tiny", "tiny", "tiny", items)
    data = design([instrument], [Prefix("b", "b", "open")], [ModelInfo("m", "{statement}")], runs=1)
    shape = data["status"].shape
    data["status"][:] = STATUS["ok"]
    data["stance"] = data["status"].copy(data=np.full(shape, MISSING, dtype=np.int8))
    texts = np.array(completions, dtype=object).reshape(shape)
    data["completion"] = (data["status"].dims, texts)
    return data


def test_a_score_is_the_mean_of_both_sides_by_hand():
    """Left: disagrees, +1. Right: agrees and is neutral, 1/2 on average. Together 3/4."""
    data = answered(["", "", ""])
    data["stance"][:] = np.array([-1, 1, 0]).reshape(data["stance"].shape)
    found = scores_of(data, seed=1)
    assert (found.models, found.dimensions) == (("m",), ("economic",))
    # Resampling two statements: both neutral, one of each, both agreed with.
    values, counts = np.unique(found.values, return_counts=True)
    assert values == pytest.approx([0.5, 0.75, 1.0])
    assert counts / counts.sum() == pytest.approx([0.25, 0.5, 0.25], abs=0.05)


def test_each_coder_concludes_on_its_own(tmp_path, monkeypatch):
    """A second reader that always says the contrary flips what is concluded."""
    data = answered(["I disagree.", "I agree.", "I agree."])
    others = [STANCE_CLASSES.index(OPPOSITE.get(name, name)) for name in STANCE_CLASSES]
    monkeypatch.setitem(CODERS, "contrary", lambda *texts: lexical.code(*texts)[:, others])
    one = Conclusion("centre", "economic", "m", "", "right", 0.8, 0.1)
    config = CodingConfig(coders=["likert", "lexical", "contrary"])
    found = flips_by_coder(data, config, [one], folder=Manifest(tmp_path), seed=1)
    assert found.set_index("prompts")["p_flip"].to_dict() == {"lexical": 0.0, "contrary": 1.0}
    assert set(found["change"]) == {"coder"}


def test_judges_are_not_asked_again():
    judge = CoderConfig(kind="judge", checkpoint="somewhere")
    config = CodingConfig(coders=["likert", "lexical", "gpt"], models={"gpt": judge})
    assert readers(config) == ["lexical"]


def test_a_single_reader_has_no_other(tmp_path):
    data = answered(["I disagree.", "I agree.", "I agree."])
    config = CodingConfig(coders=["likert", "lexical"])
    assert flips_by_coder(data, config, [], folder=Manifest(tmp_path), seed=1).empty


SMALL = [
    *("+experiment=wvs_prefixes", "respondents=simulated", "models=[left,right,yes_sayer]"),
    *("items=[wvs-01,wvs-02,wvs-14,wvs-15]", "prefixes.only=[baseline,likert]"),
    *("sampler.chains=2", "sampler.tune=300", "sampler.draws=500", "seed=3"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "small"
    assert _main([*SMALL, f"run_dir={folder}"]) == 0
    return folder


def test_a_finished_run_says_what_would_change_it(run, capsys):
    assert _main(["task=sensitivity", f"run_dir={run}"]) == 0
    out = capsys.readouterr().out
    assert f"tables: {run / 'estimates'}" in out
    assert "conclusion" in out
    assert 'id="flips"' in (run / "report" / "index.html").read_text(encoding="utf-8")


def test_a_run_from_before_gets_its_tables_from_the_draws_it_kept(run, capsys):
    before = {n: (run / "estimates" / f"{n}.csv").read_text() for n in ("flips", "theta")}
    posterior = xr.open_dataset(run / "posterior.nc", group="posterior").load()
    (run / "estimates" / "flips.csv").unlink()
    record = Manifest(run)
    fit = record.stages["fit"]
    kept = [name for name in fit["outputs"] if "flips" not in name]
    about = {k: v for k, v in fit.items() if k not in ("key", "outputs", "finished")}
    record.finish("fit", fit["key"], kept, **about)
    assert _main(["task=sensitivity", f"run_dir={run}"]) == 0
    said = capsys.readouterr().err
    assert "the draws of an earlier fit are reused" in said
    assert {n: (run / "estimates" / f"{n}.csv").read_text() for n in before} == before
    again = xr.open_dataset(run / "posterior.nc", group="posterior").load()
    assert again["theta"].equals(posterior["theta"])


def test_a_folder_without_a_posterior_is_refused(tmp_path, capsys):
    assert _main(["task=sensitivity", f"run_dir={tmp_path}"]) == 2
    assert "holds no run with a posterior" in capsys.readouterr().err
