"""What would change the conclusions, in words and on the page."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from polbayes.instrument.dimensions import ECONOMIC_AND_CULTURAL, Dimension
from polbayes.report.blocks import Bullets, Fold, Grid, Paragraph, Picture
from polbayes.report.conclusions import answer_of, by_conclusion, in_words
from polbayes.report.sections.flips import flips

CONCLUSIONS = [
    ("centre", "a", None, "left"),
    ("model", "a", "b", "left"),
    ("rank", "a", None, "left"),
    ("centre", "b", None, "equal"),
    ("centre", "c", None, "open"),
]


def table_of(chances, conclusions=CONCLUSIONS):
    """Return rows for every conclusion, with the chances of flipping by what is different."""
    rows = [
        {
            "against": of[0],
            "model_a": of[1],
            "model_b": of[2],
            "decision": of[3],
            "dimension": "economic",
            "change": by[0],
            "prompts": by[1],
            "p_flip": np.nan if of[3] == "open" else chance,
        }
        for of, (by, chance) in product(conclusions, chances.items())
    ]
    shares = {"p_left_of_rope": 0.5, "p_inside": 0.3, "p_right_of_rope": 0.2}
    return pd.DataFrame(rows).assign(**shares)


@pytest.mark.parametrize(
    ("conclusion", "says"),
    [
        (("centre", "a", "", "left"), "a leans left on economic questions"),
        (("centre", "a", "", "equal"), "a stands at the centre in practice on economic questions"),
        (("model", "a", "b", "right"), "a is right of b on economic questions"),
        (("model", "a", "b", "equal"), "a is equal in practice to b on economic questions"),
        (("rank", "a", "", "right"), "a is furthest right of all on economic questions"),
    ],
)
def test_a_conclusion_in_words(conclusion, says):
    names = ("against", "model_a", "model_b", "decision")
    row = {**dict(zip(names, conclusion, strict=True)), "dimension": "economic"}
    assert in_words(row, ECONOMIC_AND_CULTURAL) == says


def test_other_poles_are_named():
    own = [Dimension("world", "World", "nation", "globe")]
    row = {"against": "centre", "model_a": "a", "decision": "right", "dimension": "world"}
    assert in_words(row, own) == "a leans towards globe on world questions"


def test_an_open_verdict_cannot_flip():
    found = by_conclusion(table_of({("again", "asked"): 0.1}))
    assert len(found) == 4
    assert "open" not in set(found["decision"])
    every = [("centre", "c", None, "open")]
    assert "all verdicts are open" in answer_of(table_of({("again", "asked"): 0.1}, every))[0]


def test_one_model_has_no_pairs(tmp_path):
    """Read from a file, the empty column of the other model is one of numbers."""
    alone = table_of({("again", "asked"): 0.1}, [("centre", "a", None, "left")])
    alone.to_csv(tmp_path / "flips.csv", index=False)
    found = by_conclusion(pd.read_csv(tmp_path / "flips.csv"))
    assert found[["model_a", "model_b"]].values.tolist() == [["a", ""]]


def test_what_would_change_it_is_said_the_likeliest_first():
    table = table_of({("run", "asked"): 0.04, ("prompt", "new"): 0.2, ("coder", "nli"): 0.3})
    first, second, *_ = answer_of(table)
    assert first.startswith("4 conclusions; 4 would be contradicted")
    assert second.endswith("not so with nli as the only coder (30%) and a new prompt (20%)")


def test_no_risk_is_said_too():
    assert "none would be contradicted" in answer_of(table_of({("run", "asked"): 0.049}))[0]


def test_the_section_shows_studies_conclusions_and_prompts(make_results):
    section = flips(make_results())
    kinds = [type(block) for block in section.blocks]
    assert {Paragraph, Picture, Bullets} <= set(kinds)
    picture = next(block for block in section.blocks if isinstance(block, Picture))
    assert picture.posterior
    titles = [block.title for block in section.blocks if isinstance(block, Fold)]
    assert titles == [
        "As a table",
        "Every conclusion, and how probably it flips",
        "The prefixes that move most",
        "The wordings that move most",
    ]
    (grid,) = section.blocks[kinds.index(Picture) + 2].blocks
    assert isinstance(grid, Grid)
    assert grid.headers == ("Conclusion", "Same study again", "One prompt", "One new prompt")


def test_without_the_table_there_is_no_section(make_results):
    assert flips(make_results(tables={})) is None
