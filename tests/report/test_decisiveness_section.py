"""How decided the models are."""

import pandas as pd
import pytest

from polbayes.report.blocks import Beside, Paragraph
from polbayes.report.sections.decisiveness import decisiveness

MODELS = ["left", "mine", "again"]


@pytest.mark.parametrize(
    ("estimates", "one"),
    [((4.5, 4.5, 4.5), True), ((4.5, 4.5, 2.0), False), ((float("nan"),) * 3, False)],
)
def test_one_decisiveness_of_all_models_is_told_once(make_results, estimates, one):
    rows = [
        {"model": name, "measure": measure, "estimate": value, "lower": 0.9 * value}
        | {"upper": 1.1 * value, "level": 0.9}
        for name, each in zip(MODELS, estimates, strict=True)
        for measure, value in (("decisiveness", each), ("repetition", 0.5 + each / 100))
    ]
    found = decisiveness(make_results(MODELS, tables={"decisiveness": pd.DataFrame(rows)}))
    said = [block.text for block in found.blocks if isinstance(block, Paragraph)]
    pictures = [p.name for block in found.blocks if isinstance(block, Beside) for p in block.blocks]
    wanted = "This analysis gives all models one decisiveness: 4.50 [4.05, 4.95] (90% interval)."
    assert (wanted in said) == one
    assert ("decisiveness" in pictures) == (not one and estimates[0] == 4.5)
    assert ("repetition" in pictures) == (estimates[0] == 4.5)
