"""The order from left to right in words, with the certainty of neighbouring pairs."""

import pandas as pd
import pytest

from polbayes.report.blocks import Fold, Paragraph
from polbayes.report.sections.ranking import ranking


def rows(names, chances, among="all"):
    return [
        {"among": among, "dimension": "economic", "place": k + 1, "model": one, "next": other}
        | {"p_left": p, "estimate": 0.5, "lower": 0.1, "upper": 0.9}
        for k, (one, other, p) in enumerate(zip(names, names[1:], chances, strict=False))
    ]


@pytest.fixture
def blocks_of(make_results):
    def made(table, **other):
        plain = make_results(**other)
        tables = {**plain.tables, "neighbours": pd.DataFrame(table)}
        return ranking(make_results(tables=tables, **other)).blocks

    return made


def said(blocks):
    return [b.text for b in blocks if isinstance(b, Paragraph) and b.csv == "neighbours"]


def fold(blocks):
    (found,) = (b for b in blocks if isinstance(b, Fold) and b.title == "Neighbours, as a table")
    return found.blocks[0].rows


def test_the_order_is_said_with_probabilities(blocks_of):
    blocks = blocks_of(rows(["red", "<b>blue", "gold"], [0.995, 0.62]))
    (text,) = said(blocks)
    assert text.endswith("right of the one before: red, <b>blue (>\u00a099%), gold (62%).")
    assert text.startswith("The order from left to right, economic, ")
    assert fold(blocks)[1][:4] == ("economic", "<b>blue", "gold", "62%")


def test_of_a_reference_the_order_is_its_own(blocks_of):
    """Also where there are too many models to list in a sentence."""
    many = rows([f"m{k}" for k in range(20)], [0.5] * 19)
    assert said(blocks_of(many)) == []
    blocks = blocks_of(many + rows(["m3", "m9"], [0.8], "reference"))
    (text,) = said(blocks)
    assert text.startswith("The order of the reference from left to right")
    assert text.endswith("m3, m9 (80%).")
    assert len(fold(blocks)) == 20


def test_nothing_is_said_of_a_bad_posterior(blocks_of):
    blocks = blocks_of(rows(["red", "blue"], [0.9]), verdict="bad")
    assert said(blocks) == []
    assert len(fold(blocks)) == 1
