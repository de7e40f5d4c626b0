"""Positions over time in the report: changes in words, and a panel for each."""

import pandas as pd
import pytest

from polbayes.data.dataset import NOT_ASKED
from polbayes.fit.posterior.verdicts import decide
from polbayes.report.blocks import Bullets, Fold, Paragraph, Picture
from polbayes.report.sections.over_time import over_time

TIMES = ("2009", "2013", "2017")


def place(who, time, estimate):
    about = {"who": who, "time": time, "model": f"{who} / {time}", "dimension": "economic"}
    return about | {"estimate": estimate, "lower": estimate - 0.2, "upper": estimate + 0.2}


def change(who, before, after, estimate, span="next", half=0.1):
    decision = decide(estimate - half, estimate + half, 0.1)
    chances = {"p_left_of_rope": 0.99, "p_inside": 0.0, "p_right_of_rope": 0.97, "p_left": 0.4}
    about = {"who": who, "dimension": "economic", "span": span, "before": before, "after": after}
    numbers = {"estimate": estimate, "lower": estimate - half, "upper": estimate + half}
    return about | numbers | chances | {"rope": 0.1, "decision": decision}


@pytest.fixture
def section_of(make_results):
    def made(places, changes, **other):
        plain = make_results(**other)
        tables = {"over_time": pd.DataFrame(places), "changes": pd.DataFrame(changes)}
        return over_time(make_results(tables={**plain.tables, **tables}, **other))

    return made


PLACES = [place(who, time, k / 2) for who in ("<i>red", "blue") for k, time in enumerate(TIMES)]
CHANGES = [
    change("<i>red", "2009", "2013", -0.5),
    change("<i>red", "2013", "2017", 0.15),
    change("<i>red", "2009", "2017", -0.35, "first to last"),
    change("blue", "2009", "2013", 0.0, half=0.05),
    change("blue", "2013", "2017", 0.25),
    change("blue", "2009", "2017", 0.3, "first to last"),
]


def of(kind, section):
    return [block for block in section.blocks if isinstance(block, kind)]


def test_the_largest_change_of_each_is_said(section_of):
    section = section_of(PLACES, CHANGES)
    (bullets,) = of(Bullets, section)
    who, told = zip(*bullets.entries, strict=True)
    assert who == ("<i>red ", "blue ")
    assert "moved left" in told[0]
    assert "from 2009 to 2013" in told[0]
    assert "over the whole time" in told[1]
    assert "from 2009 to 2017" in told[1]
    (text,) = of(Paragraph, section)
    assert text.text == (
        "Of 4 changes from one time to the next, 2 count, 1 is none in practice, and of 1 these "
        "data do not tell."
    )


def test_of_times_with_other_statements_nobody_is_said_to_have_moved(section_of, make_results):
    """Blue was asked another statement at the last time, red the same at all."""
    models = [f"{who} / {time}" for who in ("red", "blue") for time in TIMES]
    data = make_results(models).responses
    data["status"].loc[{"model": "blue / 2017", "item": data["item"].values[0]}] = NOT_ASKED
    places = [place(who, time, 0.1) for who in ("red", "blue") for time in TIMES]
    changes = [change("red", "2009", "2013", -0.5), change("blue", "2013", "2017", 0.5)]
    section = section_of(places, changes, models=models, responses=data)
    (bullets,) = of(Bullets, section)
    told = dict(bullets.entries)
    assert told["red "].startswith("moved left")
    assert told["blue "].startswith("answered further right")
    (text,) = of(Paragraph, section)
    assert text.text.endswith(
        " In 1 change the statements asked at the two times were not the same: part of it may come "
        "from the statements, and the sentences say how the answers differ, not that somebody "
        "moved."
    )


def test_there_is_a_panel_for_each_of_several_times(section_of):
    (picture,) = of(Picture, section_of([*PLACES, place("once", "2009", 1.0)], CHANGES))
    red, blue = picture.figure.axes
    assert [axes.get_title(loc="left") for axes in (red, blue)] == ["<i>red", "blue"]
    assert [label.get_text() for label in red.get_xticklabels()] == list(TIMES)
    line = next(
        line for line in blue.lines if line.get_linestyle() == "-" and len(line.get_xdata()) == 3
    )
    assert list(line.get_ydata()) == [0.0, 0.5, 1.0]


def test_of_many_those_with_most_times_are_drawn(section_of):
    many = [place(f"p{k:02}", time, 0.1) for k in range(20) for time in TIMES[: 2 + k // 15]]
    changes = [change(f"p{k:02}", "2009", "2013", 0.5) for k in range(20)]
    section = section_of(many, changes)
    (picture,) = of(Picture, section)
    assert len(picture.figure.axes) == 12
    assert picture.figure.axes[0].get_title(loc="left") == "p15"
    assert "for the 12 of 20 with most times" in picture.caption
    (bullets,) = of(Bullets, section)
    assert bullets.entries[-1] == ("12 more ", "changed; they are in the table.")


def test_nothing_is_said_of_a_bad_posterior(section_of):
    section = section_of(PLACES, CHANGES, verdict="bad")
    assert not of(Bullets, section)
    assert not of(Paragraph, section)
    assert len(of(Fold, section)) == 2


def test_there_is_none_without_changes(make_results):
    assert over_time(make_results()) is None
