"""What is gathered for the report from a run's folder."""

import pandas as pd

from polbayes.report.assemble import mass_elsewhere


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
