import pandas as pd
import pytest

from polbayes.report.blocks import Bullets
from polbayes.report.sections.priors import priors


def told(make_results, rows):
    columns = ["measure", "model", "dimension", "prior", "likelihood", "diagnosis"]
    table = pd.DataFrame(rows, columns=columns)
    section = priors(make_results(tables={"prior_sensitivity": table}))
    (bullets,) = [block for block in section.blocks if isinstance(block, Bullets)]
    return [" ".join(entry) for entry in bullets.entries]


def test_a_conclusion_that_hangs_on_the_prior_is_named(make_results):
    (sentence,) = told(
        make_results,
        [
            ("theta", "one", "economic", 0.2, 0.01, "prior"),
            ("theta", "two", "economic", 0.01, 0.2, ""),
            ("lean", "one", "economic", 0.01, 0.2, ""),
        ],
    )
    assert sentence.startswith("The position on statements like these of one depends on the prior.")
    assert "the prior decides" in sentence
    assert "two" not in sentence


@pytest.mark.parametrize(
    ("diagnoses", "says"),
    [
        (("conflict", "conflict"), "of every model depends on the prior.  The answers count"),
        (("conflict", "prior"), "For some the answers say little"),
    ],
)
def test_prior_and_answers_may_pull_in_different_directions(make_results, diagnoses, says):
    rows = [
        ("lean", model, "economic", 0.2, 0.2, diagnosis)
        for model, diagnosis in zip(("one", "two"), diagnoses, strict=True)
    ]
    assert says in told(make_results, rows)[0]


def test_no_sensitivity_is_said_too(make_results):
    rows = [("theta", "one", "economic", 0.01, 0.3, "")]
    assert told(make_results, rows)[0].startswith("No estimate depends on the priors.")


def test_without_the_table_there_is_no_section(make_results):
    assert priors(make_results(tables={})) is None
