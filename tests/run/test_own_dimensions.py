"""Instruments with dimensions of their own, from the YAML file to the report."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml

from polbayes.cli import _main

EIGHT = {
    "econ": {"label": "Economic", "negative": "equality", "positive": "markets"},
    "dipl": {"label": "Diplomatic", "negative": "nation", "positive": "globe"},
    "govt": {"label": "Civil", "negative": "authority", "positive": "liberty"},
    "scty": {"label": "Societal", "negative": "tradition", "positive": "progress"},
}
MODELS = ["a", "b", "c", "d", "e"]


def instrument(folder, dimensions, items, rng):
    """Write an instrument whose items have weights on one or two dimensions; return these."""
    names, weights = list(dimensions), {}
    for n in range(items):
        own, other = names[n % len(names)], names[(n + 1) % len(names)]
        weights[f"q{n:02d}"] = {own: int(rng.choice([-10, 10]))}
        if other != own and n % 3 == 0:
            weights[f"q{n:02d}"][other] = int(rng.choice([-5, 5]))
    entries = [
        {"item": i, "text": f"Sentence {i}.", "weights": w, "source": "made up", "variants": None}
        for i, w in weights.items()
    ]
    content = {"id": "own", "title": "Own", "citation": "Nobody (2020)", "items": entries}
    content["dimensions"] = {k: {**v, "scale": [0, 100]} for k, v in dimensions.items()}
    (folder / "own.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return weights


def run(folder, dimensions, items, *more):
    """Run everything on answers on five points; return answers and weights."""
    rng = np.random.default_rng(5)
    weights = instrument(folder, dimensions, items, rng)
    theta = rng.normal(size=(len(MODELS), len(dimensions)))
    rows = []
    for m, model in enumerate(MODELS):
        for item, own in weights.items():
            eta = sum(w / 10 * theta[m, list(dimensions).index(d)] for d, w in own.items())
            point = int(np.clip(np.round(2 + eta + rng.normal()), 0, 4))
            rows.append({"model": model, "item": item, "rating": point + 1})
    table = pd.DataFrame(rows)
    table.to_csv(folder / "answers.csv", index=False)
    status = _main(
        [
            *("name=own", f"instruments=[{folder}/own.yaml]", "respondents=none"),
            *(f"run_dir={folder}/out", f"+imported.path={folder}/answers.csv"),
            "+imported.columns={model:model,item:item,rating:rating}",
            "+imported.points=[no,rather no,neither,rather yes,yes]",
            *("sampler.chains=2", "sampler.tune=100", "sampler.draws=50", "measures.bootstrap=100"),
            *more,
        ]
    )
    assert status == 0
    return table, weights


def check_scores(folder, table, weights, dimensions):
    """Compare with 100 (max + sum) / (2 max), as the formula is published."""
    found = pd.read_csv(folder / "out" / "measures" / "scores.csv")
    found = found.set_index(["model", "dimension"])["estimate"]
    assert len(found) == len(MODELS) * len(dimensions)
    for model, rows in table.groupby("model"):
        multiplier = {r["item"]: (r["rating"] - 3) / 2 for r in rows.to_dict("records")}
        for d in dimensions:
            most = sum(abs(w.get(d, 0)) for w in weights.values())
            total = sum(w.get(d, 0) * multiplier[i] for i, w in weights.items())
            assert found[model, d] == pytest.approx(100 * (most + total) / (2 * most))


def check_words(page):
    """Find no left and right in a page's text but in titles of cited studies and of folds."""
    text = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", page)
    text = re.sub(r"Only a\s+Little to the Left|left out", "", text, flags=re.I)
    assert re.findall(r"(?i).{0,40}\b(?:left|right)\b.{0,40}", text) == []


def test_scores_of_four_dimensions_with_weights(tmp_path):
    table, weights = run(tmp_path, EIGHT, 16, "stages=[probe,code,measure]")
    check_scores(tmp_path, table, weights, EIGHT)


@pytest.mark.slow
@pytest.mark.long
def test_four_dimensions_with_weights(tmp_path):
    maps = "report.maps=[[econ,scty],[dipl,govt]]"
    table, weights = run(tmp_path, EIGHT, 16, maps)
    check_scores(tmp_path, table, weights, EIGHT)
    theta = pd.read_csv(tmp_path / "out" / "estimates" / "theta.csv")
    assert set(theta["dimension"]) == set(EIGHT)
    assert len(theta) == len(MODELS) * len(EIGHT)
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    for own in EIGHT.values():
        assert f"{own['negative']} and {own['positive']} on {own['label'].lower()} quest" in page
    assert "across the page from equality to markets, upwards from tradition to progress" in page
    assert "across the page from nation to globe, upwards from authority to liberty" in page
    check_words(page)
    assert "Published scores" in page
    assert "markets-leaning" in page
    assert "on diplomatic questions" in page.lower()
    figures = {p.name for p in (tmp_path / "out" / "report" / "figures").iterdir()}
    assert {"leaning_map.svg", "leaning_map_2.svg"} <= figures
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "P(rating ≤ k)" in manifest["stages"]["fit"]["equation"]


def test_one_dimension(tmp_path):
    care = {"care": {"label": "Care", "negative": "indifference", "positive": "care"}}
    table, weights = run(tmp_path, care, 10)
    check_scores(tmp_path, table, weights, care)
    theta = pd.read_csv(tmp_path / "out" / "estimates" / "theta.csv")
    assert theta["dimension"].tolist() == ["care"] * len(MODELS)
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    assert "Negative is towards indifference, positive is towards care" in page
    check_words(page)
    assert 'id="figure-leaning_map"' not in page
    assert "on economic questions" not in page


def test_maps_are_of_dimensions_that_there_are(tmp_path, capsys):
    with pytest.raises(AssertionError):
        run(tmp_path, EIGHT, 8, "report.maps=[[econ,society]]", "task=dry_run")
    assert "report.maps: unknown dimension 'society'" in capsys.readouterr().err
    with pytest.raises(AssertionError):
        run(tmp_path, EIGHT, 8, "report.maps=[[econ,econ]]", "task=dry_run")
    assert "is not a pair of two dimensions" in capsys.readouterr().err
