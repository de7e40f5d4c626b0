import numpy as np
import pytest

from polbayes.coding import get_coder
from polbayes.coding.ensemble import Ensemble
from polbayes.config.schema import CoderConfig
from polbayes.errors import UserError

NAN = [np.nan] * 5


def says(*rows):
    return lambda statements, responses: np.array(rows, dtype=np.float32)


def test_a_weighted_mean_of_those_that_read_the_answer():
    first = says([0.8, 0.2, 0, 0, 0], NAN, NAN)
    second = says([0.2, 0, 0.8, 0, 0], [0, 0, 1, 0, 0], NAN)
    found = Ensemble([first, second], [1, 3])(["s"] * 3, ["a"] * 3)
    # (0.8 + 3 x 0.2) / 4, 0.2 / 4, (3 x 0.8) / 4
    assert found[0] == pytest.approx([0.35, 0.05, 0.6, 0, 0])
    assert found[1] == pytest.approx([0, 0, 1, 0, 0])
    assert np.isnan(found[2]).all()
    assert found.dtype == np.float32


def test_only_the_ratio_of_the_weights_counts():
    members = [says([0.5, 0.5, 0, 0, 0]), says([0, 1, 0, 0, 0])]
    one = Ensemble(members, [1, 2])(["s"], ["a"])
    assert one == pytest.approx(Ensemble(members, [10, 20])(["s"], ["a"]))


def test_the_mean_has_a_threshold_of_its_own():
    members = [says([0.9, 0.1, 0, 0, 0], [1, 0, 0, 0, 0]), says([0, 1, 0, 0, 0], NAN)]
    found = Ensemble(members, [1, 1], threshold=0.6)(["s"] * 2, ["a"] * 2)
    assert np.isnan(found[0]).all()  # 0.55
    assert found[1, 0] == 1


def test_declared_with_a_rule_and_a_checkpoint(classifier_checkpoint):
    path = str(classifier_checkpoint("bert", ("agree", "disagree")))
    models = {
        "trained": CoderConfig(kind="classifier", checkpoint=path, device="cpu"),
        "both": CoderConfig(kind="ensemble", weights={"lexical": 1.0, "trained": 1.0}),
    }
    statements, answers = ["Museums are dear."] * 3, ["I agree.", "Bananas.", ""]
    found = get_coder("both", models)(statements, answers)
    trained = get_coder("trained", models)(statements, answers)
    lexical = get_coder("lexical")(statements, answers)
    assert found[0] == pytest.approx((lexical[0] + trained[0]) / 2)
    assert found[1] == pytest.approx(trained[1])
    assert np.isnan(found[2]).all()


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ({}, "both: weights: name at least two coders"),
        ({"lexical": 1.0}, "both: weights: name at least two coders"),
        ({"lexical": 1.0, "other": 0.0}, "weights.other: must be a positive number, not 0.0"),
        ({"lexical": 1.0, "likert": 1.0}, "likert reads answers to prefixes that ask for a number"),
        ({"lexical": 1.0, "other": 1.0}, "'other' is an ensemble; ensembles cannot be nested"),
        ({"lexical": 1.0, "othr": 1.0}, "unknown coder 'othr'; did you mean 'other'?"),
    ],
)
def test_what_is_no_ensemble(weights, says):
    models = {
        "both": CoderConfig(kind="ensemble", weights=weights),
        "other": CoderConfig(kind="ensemble", weights={"lexical": 1.0, "likert": 1.0}),
    }
    with pytest.raises(UserError, match=says):
        get_coder("both", models)
