"""The report of a study's run, with simulated or embedded models in place of the study's own."""

import numpy as np
import pandas as pd
import pytest

from polbayes.config.compose import compose
from polbayes.data.dataset import open_responses, to_frame
from polbayes.report import Results
from polbayes.report.assemble import study_inputs
from polbayes.report.page import front_of, pictures
from polbayes.report.results import columns_of
from polbayes.report.studies import study
from polbayes.report.write import write_page
from polbayes.run.run import run

QUICK = ("stages=[probe,code,measure]", "measures.bootstrap=200")
FEATURES = (
    'analysis.parts.mu="~ lexical_frequency + word_length + sentence_length '
    '+ positive_sentiment + negative_sentiment + (1 | item)"'
)


def measured(folder, *overrides, more=None):
    """Answer, code and measure, and return what the report would be made from, but for a fit."""
    config, text = compose([*overrides, *QUICK, f"run_dir={folder}"])
    run(config, text, command=["polbayes"])
    tables = {path.stem: pd.read_csv(path) for path in (folder / "measures").glob("*.csv")}
    return Results(
        title=config.title,
        description="",
        name=config.name,
        command="",
        created="2025-01-01T00:00:00+00:00",
        responses=open_responses(folder),
        tables={**tables, **(more or {})},
        verdict="good",
        verdict_sentences=[],
        study=config.report.study or "",
    )


def shown(results, folder):
    """Return the section of the study, all of whose figures and tables are there as files."""
    section = study(results)
    write_page(front_of(results, []), [section], results.tables, folder)
    for picture in pictures(section.blocks):
        for suffix in ("png", "svg"):
            assert (folder / "figures" / f"{picture.name}.{suffix}").stat().st_size > 1000
        for name in picture.csv:
            assert (folder / "tables" / f"{name}.csv").is_file()
    for name, table in section.tables.items():
        assert len(pd.read_csv(folder / "tables" / f"{name}.csv")) == len(table)
    return section


def in_order(section):
    return [picture.name for picture in pictures(section.blocks)]


def bias_by_hand(rows):
    """Eq. 3 of coded answers, written without the package."""
    valid = rows[rows["stance"].isin([-1, 0, 1])].copy()
    valid["oriented"] = valid["stance"] * valid["keying"] * valid["direction"]
    left, right = (valid.loc[valid["direction"] == d, "oriented"].mean() for d in (-1, 1))
    return (right - left) / 2


@pytest.fixture(scope="module")
def faulborn(tmp_path_factory):
    """Two simulated respondents under names of the study, on items of both instruments."""
    folder = tmp_path_factory.mktemp("faulborn") / "run"
    items = [*(f"pc-{n:02d}" for n in (1, 2, 4, 7, 8, 9, 11, 12))]
    items += [f"wvs-{n:02d}" for n in (1, 2, 3, 4, 20, 21, 22, 23)]
    results = measured(
        folder,
        "+experiment=faulborn",
        "respondents=none",
        "+respondents.gpt-4={backend: simulated, checkpoint: 'planted:left', instruct: true}",
        "+respondents.mine={backend: simulated, checkpoint: 'planted:right', instruct: false}",
        "coding.coders=[likert,lexical]",
        "~coding.models",
        f"items=[{','.join(items)}]",
        "+measures.reformulation_sets={first: [reformulation], second: [reformulation]}",
    )
    return results, folder, shown(results, folder / "report")


def test_faulborn_has_its_figures_in_order(faulborn):
    section = faulborn[2]
    names = ("1", "2a", "2b", "4", "5", "6")
    assert in_order(section) == [f"faulborn_figure_{n}" for n in names]
    assert section.title == "As in Faulborn et al. (2025)"
    tables = {"faulborn_kendall", "faulborn_kappa", "faulborn_table_5", "faulborn_table_6"}
    assert tables < set(section.tables)


def test_a_model_of_the_study_stands_beside_what_was_published_of_it(faulborn):
    section = faulborn[2]
    table = section.tables["faulborn_figure_4"].set_index("model")
    assert table.index.tolist()[:2] == ["gpt-4", "mine"]
    assert len(table) == 12
    frame = to_frame(open_responses(faulborn[1]), ["stance"])
    for model in ("gpt-4", "mine"):
        of_model = frame[frame["model"] == model]
        wvs, pct = (bias_by_hand(of_model[of_model["instrument"] == i]) for i in ("wvs", "pct"))
        assert table.loc[model, "estimate"] == pytest.approx(wvs - pct)
        row = table.loc[model]
        assert row["lower"] < row["estimate"] < row["upper"]
    assert table.loc["gpt-4", "published"] == pytest.approx(-0.011)
    assert table.loc["gpt-4", "published_upper"] == pytest.approx(0.02)
    assert np.isnan(table.loc["mine", "published"])
    plane = section.tables["faulborn_figure_1"].query("model == 'gpt-4'")
    assert len(plane) == 2 * 3
    assert plane[["estimate", "published"]].notna().all(axis=None)


def test_figure_5_is_the_bias_of_single_prefixes_on_single_instruments(faulborn):
    table = faulborn[2].tables["faulborn_figure_5"]
    frame = to_frame(open_responses(faulborn[1]), ["stance"])
    assert len(table) == 2 * 2 * 10
    for row in table.sample(6, random_state=1).to_dict("records"):
        keys = ("model", "instrument", "prefix")
        chosen = np.logical_and.reduce([frame[key] == row[key] for key in keys])
        assert row["estimate"] == pytest.approx(bias_by_hand(frame[chosen]))


def test_table_6_of_one_set_twice_is_nothing_but_noise(faulborn):
    table = faulborn[2].tables["faulborn_table_6"]
    own = table[table["estimate"].notna()]
    assert set(own["kind"]) == {"paraphrase"}
    assert (own["estimate"] == 0).all()
    assert (own["lower"] < 0).all()
    assert (own["upper"] > 0).all()
    published = table.set_index(["model", "kind"]).loc[("gpt-4", "paraphrase"), "published"]
    assert published == pytest.approx(0.005)


def test_a_validated_coder_is_in_the_report(faulborn, tmp_path):
    results = faulborn[0]
    thresholds = pd.DataFrame(
        {"coder": "nli", "threshold": [0.0, 0.9], "measure": "macro_f1", "estimate": [0.5, 0.9]}
    ).assign(lower=0.4, upper=0.95, level=0.95)
    scores = pd.DataFrame(
        {"coder": "nli", "label": ["agree"], "measure": "f1", "answers": "all", "estimate": 0.8}
    ).assign(lower=0.7, upper=0.9, level=0.95)
    for name, table in (("thresholds", thresholds), ("scores", scores)):
        path = tmp_path / "validation" / "tables" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False)
    config = compose(["+experiment=faulborn"])[0]
    found = study_inputs(tmp_path, config)
    assert set(found) == {"coder_thresholds", "coder_scores"}
    config.report.study = None
    assert study_inputs(tmp_path, config) == {}
    tables = {name: pd.read_csv(path) for name, path in found.items()}
    with_coder = Results(**{**vars(results), "tables": {**results.tables, **tables}})
    section = study(with_coder)
    assert "faulborn_figure_3" in in_order(section)
    row = section.tables["faulborn_table_5"].iloc[0]
    assert (row["estimate"], row["published"]) == (0.8, 0.92)


def test_haller_has_its_tables_in_order(tmp_path):
    """Probabilities by a simulated respondent under a name of the study, and one of one's own."""
    results = measured(
        tmp_path / "run",
        "+experiment=haller",
        "respondents=none",
        "+respondents.gpt-4={backend: simulated, checkpoint: 'planted:left'}",
        "+respondents.mine={backend: simulated, checkpoint: 'planted:yes_sayer'}",
        "items=[pc-01,pc-02,pc-03,pc-04,pc-05]",
        FEATURES,
        "+measures.paraphrase_sets={GPT-3.5: [paraphrase_1,paraphrase_2], "
        "two: [original,reformulation]}",
        more={"classical": _classical(), "coefficients": _classical()},
    )
    section = study(results)
    assert in_order(section) == [
        f"haller_{name}" for name in ("table_1", "figure_2", "figure_3", "figure_6")
    ]
    r_plus = results.responses["r_plus"].squeeze()
    table = section.tables["haller_table_1"].set_index(["model", "measure"])
    for model in ("gpt-4", "mine"):
        of_model = r_plus.sel(model=model)
        spread = of_model.max("variant") - of_model.min("variant")
        assert table.loc[(model, "range"), "estimate"] == pytest.approx(float(spread.mean()))
    assert table.loc[("gpt-4", "range"), "published"] == 0.88
    assert table.loc[("gpt-4", "range"), "published_spread"] == 0.31
    assert len(table) == 2 * 8 + 10 * 8
    pairs = section.tables["haller_table_2"]
    assert sorted(pairs["model"]) == ["gpt-4", "mine"]
    effects = section.tables["haller_table_3"].set_index(["model", "term"])
    row = effects.loc[("gpt-4", "word_length")]
    # Percentage points.
    assert row["estimate"] == pytest.approx(2.0)
    assert row["bayes"] == pytest.approx(2.0)
    assert row["published"] == 3.13
    assert row["significant"] == "yes"
    sets = section.tables["haller_table_7"].set_index(["model", "set", "measure"])
    assert set(sets.xs("mine").index.get_level_values("set")) == {"GPT-3.5", "two", "GPT-3.5 - two"}


def _classical():
    rows = pd.DataFrame({"model": "gpt-4", "term": ["Intercept", "word_length"]})
    rows = rows.assign(estimate=[0.5, 0.02], lower=[0.4, 0.01], upper=[0.6, 0.03], se=0.005)
    return rows.assign(p=0.01, p_bonferroni=0.08, tests=8, coverage=0.95, sd=0.005, p_positive=1.0)


def test_masked_models_stand_beside_masked_models(tmp_path):
    results = measured(
        tmp_path / "run",
        "+experiment=haller_masked",
        "respondents=none",
        "+respondents.masked_left={backend: simulated, checkpoint: 'planted:left'}",
        "items=[pc-01,pc-02,pc-03]",
        FEATURES,
    )
    section = study(results)
    models = section.tables["haller_table_1"]["model"].unique().tolist()
    assert models[0] == "masked_left"
    assert "bert-base" in models
    assert "gpt-4" not in models


def test_lunardi_has_its_figures_and_its_ablations(tmp_path):
    labels = {"decoding": ["greedy", "beam"], "coder": "lexical", "model": "mistral-7b"}
    ablation = pd.DataFrame({**labels, "kind": "reversed", "measure": "consistent_4"}).assign(
        estimate=[0.4, 0.5], lower=0.3, upper=0.6, n=10, n_excluded=0, level=0.95
    )
    results = measured(
        tmp_path / "run",
        "+experiment=lunardi",
        "respondents=none",
        "+respondents.mistral-7b={backend: simulated, checkpoint: 'planted:left'}",
        "+respondents.mine={backend: simulated, checkpoint: 'planted:yes_sayer'}",
        "elicitation.decoding=sample",
        "coding.coders=[lexical]",
        "~coding.models",
        "items=[pc-01,pc-02,pc-03,pc-04,pc-05]",
        more={"ablation": ablation},
    )
    section = study(results)
    assert in_order(section) == ["lunardi_figure_1", "lunardi_figure_2", "ablation_polar"]
    table = section.tables["lunardi_figure_1"].set_index(["model", "kind", "measure"]).sort_index()
    row = table.loc[("mistral-7b", "reversed", "consistent_4")]
    assert row["published"] == pytest.approx(0.3337)
    assert np.isfinite(row["estimate"])
    assert len(table.loc[("mine", "reversed")]) == 7


@pytest.mark.parametrize("name", ["faulborn", "haller", "lunardi"])
def test_a_run_without_anything_to_show_says_what_is_missing(name, tmp_path):
    """Answers to one wording with one prefix: no figure can be made, and none breaks the report."""
    results = measured(
        tmp_path / "run",
        "+experiment=wvs_prefixes",
        "respondents=simulated",
        "models=[left]",
        "items=[wvs-01,wvs-20]",
        "variants=[original]",
        "prefixes.only=[name]",
        "elicitation.runs=1",
        f"report.study={name}",
    )
    bare = Results(**{**vars(results), "tables": {}})
    for each in (results, bare):
        section = study(each)
        assert section.blocks
        assert any(block.kind == "paragraph" for block in section.blocks)


def test_a_report_names_the_studies_tables_as_any_other():
    assert "first" in columns_of("reformulation_robustness")
    assert "instrument" in columns_of("bias_by_prefix_and_instrument")


@pytest.mark.slow
@pytest.mark.long
def test_a_whole_run_of_a_study(tmp_path):
    """With embedded models: asked, read, measured, fitted by both ways, and shown."""
    overrides = [
        *("+experiment=haller", "respondents=embedded", FEATURES, "sampler.draws=200"),
        *("variants=[original,paraphrase_1,paraphrase_2,paraphrase_3]", f"run_dir={tmp_path}"),
    ]
    config, text = compose(overrides)
    run(config, text, command=["polbayes", *overrides])
    tables = tmp_path / "report" / "tables"
    effects = pd.read_csv(tables / "haller_table_3.csv")
    own = effects[effects["estimate"].notna()]
    assert len(own) == 6 * 5
    assert own[["lower", "upper", "p_bonferroni", "bayes", "bayes_lower"]].notna().all(axis=None)
    # Without much of a prior, and with much data, the two say the same.
    assert (own["estimate"] - own["bayes"]).abs().max() < 0.2 * (own["upper"] - own["lower"]).max()
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    order = ["Table 1:", "Figures 2, 4 and 5:", "Table 2:", "Figure 3:", "Table 3:", "Figure 6:"]
    places = [page.index(name) for name in order]
    assert places == sorted(places)
    assert page.index("As in Haller et al. (2024)") < places[0]
