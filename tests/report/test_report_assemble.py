"""What is gathered for the report from a run's folder."""

import pandas as pd
import pytest

from polbayes.report.assemble import mass_elsewhere, with_own_heading


def test_models_whose_probability_is_mostly_elsewhere_are_named() -> None:
    validity = pd.DataFrame(
        [
            ("little", "mass", 0.008),
            ("little", "usable", 1.0),
            ("much", "mass", 0.51),
            ("failed", "mass", float("nan")),
        ],
        columns=["model", "measure", "estimate"],
    )
    (said,) = mass_elsewhere({"validity": validity})
    assert said.startswith("little: 99.2 % of the probability was not on options that agree or")
    assert mass_elsewhere({}) == []
    assert mass_elsewhere({"validity": validity[:0]}) == []


@pytest.mark.parametrize(
    ("command", "title", "description"),
    [
        ("polbayes +experiment=x models=[a] seed=2", "Own", "Lead."),
        ("polbayes +experiment=x 'prefixes.only=[baseline]'", "Political leaning: Rents", ""),
        (
            "polbayes +experiment=x 'instruments=[./my housing.yaml]'",
            "Political leaning: Rents",
            "",
        ),
        ("polbayes +experiment=x elicitation=forced_choice title=Own", "Own", "Lead."),
    ],
)
def test_titles_say_nothing_of_what_was_not_asked(make_results, command, title, description):
    results = make_results(["a"], title="Own", description="Lead.", command=command, tables={})
    found = with_own_heading(results, ["Rents"])
    assert (found.title, found.description) == (title, description)
    assert with_own_heading(results, []).title in (title, "toy_run")
