"""The designs of the studies, with their own models declared and others in their place."""

import pytest

from polbayes.compose import compose
from polbayes.dataset import NOT_ASKED
from polbayes.plan import plan
from polbayes.respondents import check


def composed(*overrides):
    return compose(list(overrides))[0]


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


@pytest.mark.parametrize("study", ["faulborn", "haller", "haller_masked"])
def test_models_can_be_asked_in_the_way_of_the_study(study):
    config = composed(f"+experiment={study}")
    for name, respondent in config.respondents.items():
        assert "." not in name  # which would part a key on the command line
        assert respondent.checkpoint
        check(name, respondent, config.elicitation)
