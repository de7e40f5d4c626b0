import pytest

from polbayes.measures.resampling import Bootstrap
from polbayes.report.keying_errors import KEYING, coder_warnings
from polbayes.tasks.validation.errors_by import keying_table

FEW = Bootstrap(200, 0.95, 1)


@pytest.fixture
def folder(reading, tmp_path):
    """Return a run's folder whose validation found one coder that errs on the right side."""
    import pandas as pd

    labels = ["agree", "disagree"] * 40
    keying = [1] * 40 + [-1] * 40
    wrong = ["disagree"] * 40 + labels[40:]
    one_sided = reading(labels, wrong, keying=keying)
    even = reading(labels, labels, keying=keying)
    parts = [
        keying_table(coded, FEW).assign(coder=name)
        for name, coded in (("lexical", one_sided), ("nli", even), ("cascade", one_sided))
    ]
    (tmp_path / KEYING).parent.mkdir(parents=True)
    pd.concat(parts).to_csv(tmp_path / KEYING, index=False)
    return tmp_path


def test_a_coder_that_errs_on_one_side_is_warned_of(folder):
    (said,) = coder_warnings(folder, ["likert", "lexical"], modelled=False)
    assert said.startswith("Coder lexical: Warning: what it codes wrongly or not at all moves the")
    assert "answers to right-keyed statements are coded wrongly more often" in said
    assert said.endswith("analysis.misclassification takes such errors in.")
    (said,) = coder_warnings(folder, ["lexical"], modelled=True)
    assert said.endswith("takes these errors in, the classical measures do not.")


def test_all_in_order_are_warned_of_where_they_are_the_runs(folder):
    said = coder_warnings(folder, ["lexical", "nli"], modelled=False)
    assert [text.split(":")[0] for text in said] == ["Coder lexical", "Coder cascade"]


def test_nothing_to_be_warned_of(folder, tmp_path):
    assert coder_warnings(folder, ["nli"], modelled=False) == []
    assert coder_warnings(tmp_path / "elsewhere", ["lexical"], modelled=False) == []
