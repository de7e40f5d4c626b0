import numpy as np
import pytest

from polbayes.coding import CODERS, get_coder
from polbayes.coding.registry import nominal_probabilities
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
