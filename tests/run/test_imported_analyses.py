"""The analysis that a table gets of its own: what the data cannot identify is left out and said."""

import itertools

import pandas as pd
import pytest

from polbayes.config.compose import compose
from polbayes.run.plan import dry_run, explain

ITEMS = [f"wvs-{n:02d}" for n in range(1, 13)]
ONE_PREFIX = (
    "acquiescence is without (1 | gr(model:prefix, by = model))",
    "steer is without (1 | gr(model:prefix, by = model))",
)
ONE_WORDING = ("wording is without (1 | item:variant)",)
EVERY = {"points": 3, "models": 4, "variants": ("original", "opposite"), "prefixes": ("p", "q")}


def table(points, models, variants, prefixes, runs=1):
    """Return answers that go through all points."""
    cells = itertools.product(range(models), ITEMS, variants, prefixes, range(1, runs + 1))
    rows = [
        {"model": f"m{m}", "item": i, "variant": v, "prefix": p, "run": r}
        for m, i, v, p, r in cells
    ]
    return pd.DataFrame(rows).assign(rating=[n * n % 7 % points + 1 for n in range(len(rows))])


def overrides(frame, points, folder):
    frame.to_csv(folder / "a.csv", index=False)
    return [
        *("name=mine", "instruments=[wvs]", "respondents=none", f"run_dir={folder}/out"),
        f"+imported.path={folder}/a.csv",
        "+imported.columns={" + ",".join(f"{c}:{c}" for c in frame.columns) + "}",
        "+imported.points=[" + ",".join("abcdefg"[:points]) + "]",
    ]


@pytest.mark.parametrize(
    ("design", "head", "left_out"),
    [
        ({}, "P(stance ≤ k)", ()),
        ({"prefixes": ("p",)}, "P(stance ≤ k)", ONE_PREFIX),
        ({"variants": ("original",)}, "P(stance ≤ k)", ONE_WORDING),
        (
            {"variants": ("original",), "prefixes": ("p",)},
            "P(stance ≤ k)",
            ONE_PREFIX + ONE_WORDING,
        ),
        ({"points": 2}, "P(agree)", ()),
        ({"points": 4}, "P(rating ≤ k)", ()),
        ({"points": 5, "runs": 3}, "P(rating ≤ k)", ()),
        ({"points": 7, "prefixes": ("p",)}, "P(rating ≤ k)", ONE_PREFIX),
        (
            {"points": 5, "models": 1, "runs": 2},
            "P(rating ≤ k)",
            ("theta is without (0 + dimension",),
        ),
    ],
)
def test_each_case_has_an_analysis_of_its_own(tmp_path, design, head, left_out):
    frame = table(**EVERY | design)
    config, _ = compose(overrides(frame, (EVERY | design)["points"], tmp_path))
    said = explain(config)
    assert said.startswith(head)
    for term in left_out:
        assert f"analysis.parts.{term}" in said
    if design.get("models") != 1:
        assert said.count("is without") - said.count("gr(model:item:variant") <= len(left_out)
    assert f"the response '{config.analysis.response}'" in dry_run(config)


def test_counts_have_an_analysis_of_their_own(tmp_path):
    frame = table(points=2, models=4, variants=("original",), prefixes=("p",), runs=6)
    counted = frame.groupby(["model", "item", "rating"]).size().rename("count").reset_index()
    said = explain(compose(overrides(counted, 2, tmp_path))[0])
    assert said.startswith("P(agree)")
    for term in ONE_PREFIX + ONE_WORDING:
        assert f"analysis.parts.{term}" in said
