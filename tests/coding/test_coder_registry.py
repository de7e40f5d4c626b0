import re

import numpy as np
import pytest

from polbayes.coding import CODERS, get_coder
from polbayes.coding.registry import check_coders, nominal_probabilities, passed_on, resolve
from polbayes.config.schema import CoderConfig, CodingConfig
from polbayes.errors import UserError


@pytest.mark.parametrize("name", CODERS)
def test_every_coder_abstains_from_nothing(name):
    rows = get_coder(name)(["A statement."], [""])
    assert rows.dtype == np.float32
    assert rows.shape == (1, 5)
    assert np.isnan(rows).all()


@pytest.mark.parametrize("name", CODERS)
def test_every_coder_takes_no_rows(name):
    assert get_coder(name)([], []).shape == (0, 5)


def test_unknown_coder():
    with pytest.raises(UserError, match="unknown coder 'lexicl'; did you mean 'lexical'"):
        get_coder("lexicl")


def test_nominal_probabilities():
    rows = nominal_probabilities(["agree", None])
    assert rows[0] == pytest.approx([0.005, 0.005, 0.98, 0.005, 0.005])
    assert np.isnan(rows[1]).all()


@pytest.mark.parametrize(
    ("name", "declared", "says"),
    [
        (
            "nly",
            {},
            "unknown coder 'nly'; did you mean 'nli'? known: classifier, ensemble, judge, lexical",
        ),
        ("mine", {"checkpoint": "x"}, "kind: is missing; choose one of nli, sentiment, classifier"),
        ("mine", {"kind": "nly"}, "unknown kind 'nly'; did you mean 'nli'?"),
        ("classifier", {}, "coding.models.classifier: checkpoint: is missing"),
        ("lexical", {"kind": "nli"}, "coding.models.lexical: the name is taken"),
        ("none", {"kind": "nli"}, "coding.models.none: the name is taken"),
        (
            "declined_by_server",
            {"kind": "nli"},
            "coding.models.declined_by_server: the name is taken",
        ),
        ("my own", {"kind": "nli"}, "coding.models.my own: the name is taken or invalid"),
        ("nli", {"weights": {"lexical": 1.0}}, "weights: does not apply to kind nli, which takes"),
        (
            "ensemble",
            {"checkpoint": "x"},
            "checkpoint: does not apply to kind ensemble, which takes",
        ),
        ("nli", {"dtype": "int4"}, "coding.models.nli: unknown dtype 'int4'"),
        ("nli", {"device": "tpu"}, "coding.models.nli: unknown device 'tpu'"),
        ("nli", {"checkpoint": "./nowhere"}, "checkpoint: there is no folder './nowhere'"),
    ],
)
def test_a_declaration_that_cannot_be_used(name, declared, says):
    models = {name: CoderConfig(**declared)} if declared else {}
    with pytest.raises(UserError, match=re.escape(says)) as caught:
        get_coder(name, models)
    assert "\n" not in str(caught.value)


def test_what_is_declared_is_checked_even_where_it_is_not_used():
    coding = CodingConfig(coders=["lexical"], models={"mine": CoderConfig()})
    with pytest.raises(UserError, match=r"coding\.models\.mine: kind: is missing"):
        check_coders(coding, used=False)
    # A checkpoint is looked for only where it is used.
    coding.models["mine"] = CoderConfig(kind="nli", checkpoint="./nowhere")
    check_coders(coding, used=True)
    coding.coders.append("mine")
    check_coders(coding, used=False)
    with pytest.raises(UserError, match="there is no folder"):
        check_coders(coding, used=True)


def test_the_kinds_have_their_own_checkpoints():
    assert resolve("nli", {}).checkpoint == "facebook/bart-large-mnli"
    assert "sst-2" in resolve("sentiment", {}).checkpoint
    named = {"strict": CoderConfig(kind="nli", threshold=0.9)}
    assert resolve("strict", named).checkpoint == "facebook/bart-large-mnli"
    assert not resolve("strict", named).trust_remote_code


def test_passed_on():
    probs = np.array([[0.9, 0.1], [0.5, 0.5], [np.nan, np.nan]])
    found = passed_on(probs, 0.6)
    assert found[0] == pytest.approx([0.9, 0.1])
    assert np.isnan(found[1:]).all()
    assert passed_on(np.empty((0, 5)), 0.5).shape == (0, 5)
