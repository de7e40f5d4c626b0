"""Mixed models from the command line to the report, on simulated respondents."""

import json

import numpy as np
import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.run.notebook import open_run
from polbayes.run.run import load_run

MODELS = ["left", "right"]
FEATURES = [
    *("lexical_frequency", "word_length", "sentence_length"),
    *("positive_sentiment", "negative_sentiment"),
]
ITEMS = [f"pc-{k:02d}" for k in range(1, 13)]
SMALL = [
    "+experiment=pct_paraphrases",
    "respondents=simulated",
    f"models=[{','.join(MODELS)}]",
    f"items=[{','.join(ITEMS)}]",
    "measures.bootstrap=200",
    "sampler=exact",
    "analysis=mixed_r_plus",
    "seed=3",
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed") / "run"
    assert _main([*SMALL, f"run_dir={folder}"]) == 0
    return folder


def test_the_folder_holds_what_a_run_leaves(finished):
    names = {p.stem for p in (finished / "estimates").glob("*.csv")}
    expected = {"coefficients", "classical", "group_sds", "group_effects", "diagnostics"}
    assert names == expected
    record = json.loads((finished / "manifest.json").read_text())["stages"]["fit"]
    assert record["verdict"] in ("good", "caution")
    assert record["equation"].startswith("r_plus ~ Normal(η, σ)\n")
    assert any("Normal(" in line for line in record["priors"])


def test_the_posterior_is_named(finished):
    _, posterior = load_run(finished)
    assert posterior["coefficient"].dims == ("chain", "draw", "model", "term")
    assert posterior["model"].values.tolist() == MODELS
    keying = posterior["coefficient"].sel(term="keying").mean(("chain", "draw"))
    # Agreeing with what is keyed right is what tells the planted sides apart.
    assert float(keying.sel(model="left")) < -0.1 < 0.1 < float(keying.sel(model="right"))


def test_the_table_has_every_model_and_term(finished):
    table = pd.read_csv(finished / "estimates" / "coefficients.csv")
    assert table["model"].unique().tolist() == MODELS
    kinds = [f"kind[{k}]" for k in ("negation", "opposite", "paraphrase")]
    terms = ["Intercept", "keying", *kinds, *FEATURES]
    assert table["term"].tolist() == terms * 2
    assert ((table["lower"] < table["estimate"]) & (table["estimate"] < table["upper"])).all()


def test_the_classical_fit_is_beside_it(finished):
    """Of the same models and terms; wide priors change little."""
    folder = finished / "estimates"
    bayes, classical = (pd.read_csv(folder / f"{n}.csv") for n in ("coefficients", "classical"))
    both = bayes.merge(classical, on=["model", "term"], suffixes=("", "_reml"), validate="1:1")
    assert len(both) == len(bayes) == len(classical)
    apart = (both["estimate"] - both["estimate_reml"]).abs() / both["se"]
    assert apart.max() < 0.3
    tested = classical[classical["term"] != "Intercept"]
    assert set(tested["tests"]) == {9}
    np.testing.assert_allclose(tested["p_bonferroni"], np.minimum(9 * tested["p"], 1))
    page = (finished / "report" / "index.html").read_text()
    assert "Beside it: the classical fit, with p values" in page


def test_the_features_of_the_wordings_are_described(finished):
    table = pd.read_csv(finished / "measures" / "text_features.csv")
    assert table.columns.tolist() == ["item", "variant", "kind", "statement", *FEATURES]
    assert len(table) == 12 * 10
    counted = table["statement"].str.split().str.len()
    assert table["sentence_length"].tolist() == counted.tolist()
    correlations = pd.read_csv(finished / "measures" / "feature_correlations.csv")
    assert len(correlations) == 10
    page = (finished / "report" / "index.html").read_text()
    assert "How features of the wordings go together" in page
    assert (finished / "report" / "figures" / "feature_correlations.svg").is_file()


def test_another_way_to_compute_features_is_another_fit(finished, capsys):
    assert _main([*SMALL, f"run_dir={finished}", "features.language=de"]) == 2
    message = capsys.readouterr().err
    assert "features.language" in message
    assert "stages=[measure,fit,report]" in message


def test_the_report_shows_it_and_leaves_the_ideology_model_out(finished):
    page = (finished / "report" / "index.html").read_text()
    assert "What the answers depend on" in page
    assert "Standard deviations of groups" in page
    assert "Can the estimates be trusted?" in page
    assert "kind[opposite]" in page
    for absent in (
        *("Where the models stand", "Who is left of whom"),
        *("The order of the models", "latent leaning"),
    ):
        assert absent not in page
    assert (finished / "report" / "figures" / "coefficients.svg").is_file()
    table = pd.read_csv(finished / "report" / "tables" / "coefficients.csv")
    assert set(table["verdict"]) <= {"good", "caution", "bad"}


def test_the_answer_has_the_coefficients(finished):
    """In the terminal as on the first screen, with whether they can be used."""
    said = open_run(finished).answer.splitlines()
    assert said[0] == "Coefficients, with 90% intervals"
    assert any(line.startswith("keying (left) ") for line in said)
    (sentence,) = [line for line in said if line.startswith("The 90% intervals")]
    (whether,) = [line for line in said if line.startswith("Can it be used?")]
    page = (finished / "report" / "index.html").read_text(encoding="utf-8")
    assert sentence in page
    assert whether.removeprefix("Can it be used? ") in page


def test_a_finished_run_is_not_sampled_again(finished, capsys):
    before = (finished / "posterior.nc").stat().st_mtime_ns
    assert _main([*SMALL, f"run_dir={finished}"]) == 0
    assert "nothing to do" in capsys.readouterr().err
    assert (finished / "posterior.nc").stat().st_mtime_ns == before
    assert _main([*SMALL, f"run_dir={finished}", "analysis.by=null"]) == 2
    assert "analysis.by" in capsys.readouterr().err


def test_another_level_needs_no_other_draws(finished, tmp_path, capsys):
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    before = pd.read_csv(folder / "estimates" / "coefficients.csv")
    capsys.readouterr()
    again = [*SMALL, f"run_dir={folder}", "analysis.level=0.5", "stages=[measure,fit,report]"]
    assert _main(again) == 0
    assert "the draws of an earlier fit are reused" in capsys.readouterr().err
    after = pd.read_csv(folder / "estimates" / "coefficients.csv")
    np.testing.assert_allclose(after["estimate"], before["estimate"])
    assert (after["upper"] - after["lower"] < before["upper"] - before["lower"]).all()
    # Other answers or another formula are another posterior.
    assert _main([*again, "analysis.parts.mu='~ keying'"]) == 0
    assert "the draws of an earlier fit are reused" not in capsys.readouterr().err


def test_another_analysis_replaces_the_tables_of_the_last(finished, tmp_path):
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    formula = "analysis.parts.mu='~ keying + length'"
    table = tmp_path / "more.csv"
    table.write_text("item,length\n" + "".join(f"{i},{k % 5}\n" for k, i in enumerate(ITEMS)))
    again = [*SMALL, f"run_dir={folder}", formula, f"analysis.table={table}", "analysis.by=null"]
    assert _main([*again, "stages=[fit,report]"]) == 0
    names = {p.stem for p in (folder / "estimates").glob("*.csv")}
    assert names == {"coefficients", "classical", "group_sds", "diagnostics"}
    terms = pd.read_csv(folder / "estimates" / "coefficients.csv")["term"].tolist()
    assert terms == ["Intercept", "keying", "length"]
    first = json.loads((folder / "manifest.json").read_text())["stages"]
    # Other values in the table are other data, for the fit and for nothing before it.
    table.write_text(table.read_text().replace(",4", ",9"))
    assert _main([*again, "stages=[fit,report]"]) == 0
    second = json.loads((folder / "manifest.json").read_text())["stages"]
    assert first["fit"]["key"] != second["fit"]["key"]
    assert first["code"]["key"] == second["code"]["key"]


@pytest.mark.parametrize("analysis", ["mixed_r_plus", "mixed_stance"])
def test_explain_prints_equation_and_priors(analysis, capsys):
    experiment = {"mixed_r_plus": "pct_paraphrases", "mixed_stance": "wvs_prefixes"}[analysis]
    overrides = [f"+experiment={experiment}", "respondents=simulated", f"analysis={analysis}"]
    assert _main([*overrides, "task=explain"]) == 0
    text = capsys.readouterr().out
    assert "u[item: Intercept] ~ Normal(0, σ²)" in text
    assert "mu: coefficient of keying ~ Normal(0, 2.5" in text
    if analysis == "mixed_r_plus":
        assert "fitted separately for each model (6)" in text
        assert "in standard deviations of r_plus" in text
    else:
        assert "c[2] ~ Normal(2, 1), in increasing order" in text


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("analysis.parts.mu='~ keyin'", "did you mean 'keying'"),
        ("analysis.parts.mu='~ (1 + keying | item)'", "would fit as if they were independent"),
        ("+analysis.parts.theta='~ 1'", "has no other part"),
        ("analysis.family=poisson", "unknown family"),
        ("analysis.family=beta", "use sampler=nutpie"),
        ("analysis.table=none.csv", "no such file"),
        ("features.names=[words]", "unknown feature 'words'"),
        ("features.sentiment=./none", "there is no folder './none'"),
        ("features.language=xx", "unknown language 'xx'"),
    ],
)
def test_what_cannot_be_fitted_is_refused_before_anything_is_asked(
    override, says, tmp_path, capsys
):
    assert _main([*SMALL, f"run_dir={tmp_path / 'run'}", override]) == 2
    message = capsys.readouterr().err
    assert says in message
    assert len(message.strip().splitlines()) == 1
    assert not (tmp_path / "run" / "responses.nc").exists()
