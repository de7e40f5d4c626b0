"""The designs of the studies, with their own models declared and others in their place."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.config.resources import folder
from polbayes.data.dataset import NOT_ASKED
from polbayes.errors import UserError
from polbayes.features.dependencies import load_parser
from polbayes.respondents import check
from polbayes.run.plan import plan

# What is missing offline, and the size of a run of a minute.
WITHOUT = {
    "faulborn": ("embedded", ["items=[wvs-01,wvs-02,wvs-20,wvs-21]", "elicitation.runs=1"]),
    "haller": ("embedded", ["items=[pc-01,pc-02,pc-03,pc-04]"]),
    "haller_masked": ("embedded_masked", ["items=[pc-01,pc-02,pc-03,pc-04]"]),
    "lunardi": ("embedded", ["items=[pc-01,pc-02,pc-03,pc-04]"]),
}
QUICK = ["models=[left,right]", "sampler.draws=100", "sampler.tune=200", "measures.bootstrap=100"]


def composed(*overrides):
    return compose(list(overrides))[0]


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """Work where nothing was downloaded and nothing can be."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setitem(sys.modules, "spacy", None)
    load_parser.cache_clear()
    monkeypatch.chdir(tmp_path)


def offered(capsys, *overrides):
    """Call what cannot work here, and return the arguments of the command that its error names."""
    assert _main([*overrides]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    command = shlex.split(error.rpartition(": ")[2])
    assert command[0] == "polbayes"
    return command[1:]


@pytest.mark.parametrize("study", [*WITHOUT, "lunardi_masked"])
def test_a_design_goes_on_without_what_cannot_be_had_offline(study, offline, capsys):
    """The documentation names the command that the error names."""
    page = (Path(__file__).parent.parent / "docs" / "reference.md").read_text(encoding="utf-8")
    (documented,) = re.findall(rf"^polbayes (\+experiment={study} respondents=emb.*)$", page, re.M)
    asked = [f"+experiment={study}", f"respondents={WITHOUT.get(study, ['embedded_masked'])[0]}"]
    command = offered(capsys, *asked) if study in WITHOUT else asked
    assert shlex.split(documented) == command
    assert plan(composed(*command)).spec


def test_an_ablation_without_checkpoints_compares_no_coders(offline, capsys):
    command = ["+experiment=lunardi", "task=ablate", "respondents=embedded", "models=[left]"]
    command += ["items=[pc-01,pc-02,pc-03,pc-04]", "+ablation.coders.rules=[lexical]"]
    command = offered(capsys, *command, "~ablation.decodings", "measures.bootstrap=100")
    assert _main(command) == 0
    capsys.readouterr()
    # The same where only a list of coders to compare takes a checkpoint.
    rules = ["coding.coders=[lexical]", "models=[left]", "respondents=embedded"]
    assert offered(capsys, "+experiment=lunardi", "task=ablate", *rules)[-1] == "~ablation.coders"


@pytest.mark.parametrize(
    "more", [["features.names=[left_dependents]"], ["analysis.parts.mu='~ left_dependents'"]]
)
def test_nothing_is_offered_to_who_asks_for_a_parser(more, offline, capsys):
    assert _main(["+experiment=haller", "respondents=embedded", *more]) == 2
    assert capsys.readouterr().err.endswith("or leave them out.\n")


@pytest.mark.slow
@pytest.mark.parametrize("study", WITHOUT)
def test_a_design_runs_offline_to_its_report(study, offline, capsys):
    respondents, small = WITHOUT[study]
    quick = QUICK[respondents == "embedded_masked" :]
    command = offered(
        capsys, f"+experiment={study}", f"respondents={respondents}", *small, *quick, "run_dir=run"
    )
    assert _main(command) == 0
    page = Path("run/report/index.html").read_text(encoding="utf-8")
    if "haller" in study:
        missing = "right dependents, left dependents and dependency distance."
        assert f"Not in the model of this run: {missing}" in page
    else:
        assert "read by likert" in page or "read by lexical" in page


def test_faulborn_asks_what_the_study_asked():
    """89 items in three wordings and 30 runs of each: 8,010 answers a model, 88,110 of eleven."""
    own = composed("+experiment=faulborn")
    assert len(own.respondents) == 11
    assert own.coding.models["stance"].threshold == 0.9
    stand_in = composed(
        "+experiment=faulborn", "respondents=simulated", "coding.coders=[likert,lexical]"
    )
    asked = (plan(stand_in).design["status"] != NOT_ASKED).sum(["item", "variant", "prefix", "run"])
    assert asked.values.tolist() == [8010] * len(stand_in.respondents)
    assert 8010 * len(own.respondents) == 88_110


@pytest.mark.parametrize(
    ("study", "models", "stand_in"),
    [("haller", 11, "embedded"), ("haller_masked", 7, "embedded_masked")],
)
def test_haller_reads_probabilities_of_the_original_and_of_paraphrases(study, models, stand_in):
    assert len(composed(f"+experiment={study}").respondents) == models
    # The study's own spec takes a parser.
    config = composed(
        f"+experiment={study}", f"respondents={stand_in}", "analysis=mixed_r_plus", "sampler=exact"
    )
    design = plan(config).design
    assert design.sizes["item"] == 62
    assert set(design["kind"].values.ravel()) == {"original", "paraphrase"}


@pytest.mark.parametrize(
    ("study", "models", "stand_in"),
    [("lunardi", 4, "embedded"), ("lunardi_masked", 1, "embedded_masked")],
)
def test_lunardi_asks_originals_negations_paraphrases_and_opposites(study, models, stand_in):
    """62 items in eight wordings, as 248 pairs of polar consistency are 62 times four."""
    own = composed(f"+experiment={study}")
    assert len(own.respondents) == models
    rules = ["coding.coders=[lexical]", "~coding.models"] if study == "lunardi" else []
    design = plan(composed(f"+experiment={study}", f"respondents={stand_in}", *rules)).design
    asked = (design["status"] != NOT_ASKED).isel(model=0).sum(["prefix", "run"])
    kinds = design["kind"].where(asked > 0, "").values.ravel().tolist()
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "original": 62,
        "negation": 62,
        "paraphrase": 3 * 62,
        "opposite": 3 * 62,
    }
    assert int(asked.sum()) == 62 * 8


def test_encoders_are_read_as_the_study_read_them():
    config = composed("+experiment=lunardi_masked")
    assert config.elicitation.top_tokens == 10
    assert config.measures.strong == 0.3
    bart = composed("+experiment=lunardi").coding.models["bart"]
    assert set(bart.hypotheses) == {"agree", "disagree"}


@pytest.mark.parametrize(
    "study", ["faulborn", "haller", "haller_masked", "lunardi", "lunardi_masked"]
)
def test_a_study_shows_its_own_tables_and_figures(study):
    assert composed(f"+experiment={study}").report.study == study.removesuffix("_masked")


@pytest.mark.parametrize(
    "study", ["faulborn", "haller", "haller_masked", "lunardi", "lunardi_masked"]
)
def test_models_can_be_asked_in_the_way_of_the_study(study):
    config = composed(f"+experiment={study}")
    for name, respondent in config.respondents.items():
        assert "." not in name  # which would part a key on the command line
        assert respondent.checkpoint
        check(name, respondent, config.elicitation)


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        ("{a: [opposite]}", "measures.reformulation_sets: two sets are compared; give two, not 1"),
        ("{a: [opposite], b: [none_*]}", "measures.reformulation_sets: 'b' matches none"),
    ],
)
def test_two_sets_of_reformulations_that_are_none_are_refused_first(sets, says):
    config = composed(
        *("+experiment=wvs_prefixes", "respondents=simulated", "items=[wvs-01,wvs-20]"),
        *("stages=[probe,code,measure]", f"measures.reformulation_sets={sets}"),
    )
    with pytest.raises(UserError, match=says):
        plan(config)


@pytest.mark.parametrize(
    "path", sorted(folder("conf").glob("experiment/*.yaml")), ids=lambda p: p.stem
)
def test_no_title_or_lead_counts_what_an_override_may_change(path):
    """How many items, wordings, prefixes, runs and models there were, the report counts."""
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    text = f"{config['title']} {config.get('description', '')}"
    text = re.sub(r"\(\d{4}\)|\b\d{4}\)|than 0\.3", "", text)
    numbers = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|sixty"
    counted = (
        rf"\b({numbers}|\d+)( \w+)? "
        r"(items|statements|wordings|prefixes|contexts|times|models|judges)\b"
    )
    assert not re.search(counted, text, re.IGNORECASE), text


@pytest.mark.parametrize(
    "path", sorted(folder("conf").glob("experiment/*.yaml")), ids=lambda p: p.stem
)
def test_no_lead_says_what_is_so_by_default(path):
    """What an override may change, such as the coders, is in the config; a study's is a fact."""
    lead = yaml.safe_load(path.read_text(encoding="utf-8")).get("description", "")
    assert not re.search(r"\b(by default|here)\b", lead), lead


@pytest.mark.parametrize("overrides", [[], ["analysis.level=0.5"], ["analysis=mixed_stance"]])
@pytest.mark.parametrize("name", sorted(p.stem for p in folder("conf").glob("experiment/*.yaml")))
def test_the_intervals_of_one_figure_have_one_level(name, overrides):
    config = composed(f"+experiment={name}", *overrides)
    assert config.measures.level == config.analysis.level
