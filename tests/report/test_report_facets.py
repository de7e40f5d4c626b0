import numpy as np
import pandas as pd
import pytest

from polbayes.instrument.values import VALUES, WEIGHTS
from polbayes.report.figures.d_study import plot_judge_d_study
from polbayes.report.figures.judge_effects import TITLES, plot_judge_effects
from polbayes.report.figures.value_profiles import plot_value_profiles
from polbayes.report.sections.facets import freed_profiles, judge_effects, judge_precision


def interval(rows):
    table = pd.DataFrame(rows)
    return table.assign(sd=0.5, lower=table["estimate"] - 1, upper=table["estimate"] + 1, level=0.9)


@pytest.fixture
def tables():
    models, judges = ["<b>red</b>", "blue"], ["left", "right"]
    profiles = [
        {
            "model": model,
            "stage": "reflection",
            "value": value,
            "estimate": k - 5.0,
            "positive": "liberal" if WEIGHTS[value] > 0 else "conservative",
        }
        for model in models
        for k, value in enumerate(VALUES)
    ]
    scores = [
        {
            "model": m,
            "source": "reflection",
            "estimate": e,
            "p_positive": 0.7,
            "positive": "liberal",
        }
        for m, e in zip(models, (12.0, -3.0), strict=True)
    ]
    effects = [
        {"judge": j, "effect": e, "estimate": 0.3, "neutral": 0.0, "p_above": 0.6}
        for e in ("severity", "tilt", "consistency")
        for j in judges
    ]
    designs = pd.DataFrame(
        [
            {
                "source": "reflection",
                "judges": j,
                "scenarios": s,
                "ratings": j * s,
                "own": (j, s) == (3, 20),
                "cheapest": (j, s) == (3, 40),
                **dict.fromkeys(("se", "se_lower", "se_upper"), 10 / np.sqrt(j * s)),
                "generalizability": 0.8,
                "p_pair": 1 - 1 / np.sqrt(j * s),
                "p_least": 0.6,
                "p_all": 0.5,
                "wanted": 0.9,
                "level": 0.9,
            }
            for j in (1, 3)
            for s in (10, 20, 40)
        ]
    )
    return {
        "facet_profiles": interval(profiles),
        "facet_alignment": interval(scores),
        "facet_judges": interval(effects),
        "facet_d_study": designs,
    }


class Found:
    """What sections ask of `polbayes.report.results.Results`."""

    level, verdict = 0.9, "good"

    def __init__(self, tables):
        self.tables = tables

    def table(self, name):
        return self.tables.get(name)


def test_sections_are_left_out_without_tables():
    for section in (freed_profiles, judge_effects, judge_precision):
        assert section(Found({})) is None


def test_sections_say_the_sign_and_the_advice(tables):
    profiles = freed_profiles(Found(tables))
    assert "the reverse of polbayes" in " ".join(profiles.reading)
    assert [b.name for b in profiles.blocks if b.kind == "picture"] == ["facet_profiles"]
    assert judge_effects(Found(tables)).id == "judge-effects"
    text = judge_precision(Found(tables)).blocks[0].text
    assert "3 judges and 40 scenarios: 120 rated units" in text
    one = tables["facet_d_study"].assign(judges=1, scenarios=1, ratings=1)
    text = judge_precision(Found({"facet_d_study": one})).blocks[0].text
    assert "this size (1 judge and 1 scenario)" in text
    assert "1 judge and 1 scenario: 1 rated unit of each" in text
    assert (
        "averages over pairs of 2 models. With so few"
        in judge_precision(Found(tables)).blocks[0].text
    )
    five = pd.concat([tables["facet_alignment"].assign(model=f"m{k}") for k in range(5)])
    text = judge_precision(Found({**tables, "facet_alignment": five})).blocks[0].text
    assert "With so few" not in text
    none = one.assign(cheapest=False)
    text = judge_precision(Found({"facet_d_study": none})).blocks[0].text
    assert "1 judge and 1 scenario come closest" in text
    bad = Found(tables)
    bad.verdict = "bad"
    assert "No advice" in judge_precision(bad).blocks[0].text


def test_figures_show_the_tables(tables):
    effects = plot_judge_effects(tables["facet_judges"])
    assert [axes.get_title(loc="left") for axes in effects.axes] == list(TITLES.values())[:3]
    (axes,) = plot_value_profiles(tables["facet_profiles"]).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[0] == "tradition orientation (conservative)"
    drawn = [line for line in axes.lines if line.get_marker() == "o"]
    assert drawn[0].get_xdata().tolist() == [k - 5.0 for k in range(10)]
    (axes,) = plot_judge_d_study(tables["facet_d_study"]).axes
    assert {"1 judge", "3 judges", "this run"} <= {line.get_label() for line in axes.lines}
