from dataclasses import asdict

import pytest
import yaml

from polbayes.config.compose import compose
from polbayes.config.extensions import departures, with_defaults
from polbayes.config.schema import AnalysisConfig, RespondentConfig, RunConfig


def test_a_config_of_nothing_but_defaults_departs_in_nothing():
    assert departures({**asdict(RunConfig()), "run_dir": "outputs/unnamed"}) == {}
    assert departures({}) == {}
    assert departures({"seed": 1, "elicitation": {}}) == {}


def test_what_departs_stays_and_nothing_else():
    more = {"elicitation": {"runs": 3, "top_k": 10}, "items": ["a"], "variants": None}
    left = {"name": "mine", "elicitation": {"runs": 3}, "items": ["a"]}
    assert departures({"name": "mine", "seed": 1, **more}) == left
    assert departures(with_defaults(left)) == left


def test_names_of_the_users_own_stay_even_where_all_is_default():
    respondents = {"a": {"backend": "causal", "checkpoint": "x"}, "b": asdict(RespondentConfig())}
    assert departures({"respondents": respondents}) == {
        "respondents": {"a": {"checkpoint": "x"}, "b": {}}
    }


def test_a_group_that_somebody_asked_for_is_not_one_that_is_absent():
    assert departures({"level": 0.9}, AnalysisConfig) == {}
    assert departures({"misclassification": {}}, AnalysisConfig) == {"misclassification": {}}
    assert departures({"misclassification": {"prior": 1.0}}, AnalysisConfig) == {
        "misclassification": {"prior": 1.0}
    }


def test_a_default_that_names_another_key_is_that_of_the_config():
    config = {"run_dir": "here", "analysis": {"misclassification": {}}}
    filled = with_defaults(config)["analysis"]["misclassification"]
    assert filled["confusion"] == "here/validation/confusion.nc"
    assert departures({**config, "analysis": {"misclassification": filled}}) == {
        "run_dir": "here",
        "analysis": {"misclassification": {}},
    }


def test_keys_that_are_no_more_are_left_alone():
    assert departures({"of_old": {"a": 1}}) == {"of_old": {"a": 1}}
    assert with_defaults({"of_old": 1})["of_old"] == 1


@pytest.mark.parametrize("experiment", ["wvs_prefixes", "pct_paraphrases"])
def test_what_was_left_out_comes_back(experiment):
    config = yaml.safe_load(compose([f"+experiment={experiment}"])[1])
    assert with_defaults(config) == config
    assert with_defaults(departures(config)) == config
