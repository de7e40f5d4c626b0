import html
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.cli import _main
from polbayes.config.resources import read_yaml
from polbayes.data.dataset import open_responses
from polbayes.tasks.export.draws import draws_frame
from polbayes.tasks.export.tables import html_table, latex_table


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the folder of a run of probabilities, with two models, without a posterior."""
    folder = tmp_path_factory.mktemp("export") / "run"
    asked = ["respondents=simulated", "items=[pc-01,pc-02]", "variants=[original,negation]"]
    stages = ["stages=[probe,code,measure]", "measures.bootstrap=100"]
    assert _main(["+experiment=pct_paraphrases", *asked, *stages, f"run_dir={folder}"]) == 0
    return folder


def exported(run, *overrides):
    return _main(["task=export", f"run_dir={run}", *overrides])


def test_answers_are_rows_with_their_options_as_columns(run):
    assert exported(run, "export.formats=[csv,parquet]") == 0
    data = open_responses(run)
    table = pd.read_csv(run / "export/answers.csv", keep_default_na=False)
    exact = pd.read_parquet(run / "export/answers.parquet")
    assert len(table) == len(exact) == data["status"].size
    assert table.columns.tolist() == exact.columns.tolist()

    one = exact[(exact["item"] == "pc-02") & (exact["variant"] == "negation")].iloc[0]
    cell = data.sel(item="pc-02", variant="negation", prefix="baseline", run=1)
    cell = cell.sel(model=one["model"])
    yes = cell["option_prob"].sel(option="yes").item()
    assert one["option_prob[yes]"] == pytest.approx(yes)
    assert one["p_agree"] == pytest.approx(yes)
    assert one["statement"] == cell["statement"].item()
    assert one["stance"] == ("agree" if yes > one["option_prob[no]"] else "disagree")
    assert set(exact["status"]) == {"ok"}
    pd.testing.assert_series_equal(table["r_plus"], exact["r_plus"], check_dtype=False)


def posterior():
    """Return four draws in two chains of a number, and of one for each of two models."""
    values = np.arange(8.0).reshape(2, 2, 2)
    return xr.Dataset(
        {
            "scale": (("chain", "draw"), values[..., 0]),
            "theta": (("chain", "draw", "model"), values),
        },
        coords={"model": ["a", "b,c"]},
    )


def test_draws_have_the_columns_of_a_draws_df():
    frame = draws_frame(posterior())
    assert frame.columns.tolist() == [
        *(".chain", ".iteration", ".draw", "scale", "theta[a]", "theta[b,c]")
    ]
    assert frame[".chain"].tolist() == [1, 1, 2, 2]
    assert frame[".iteration"].tolist() == [1, 2, 1, 2]
    assert frame[".draw"].tolist() == [1, 2, 3, 4]
    assert frame["theta[b,c]"].tolist() == [1, 3, 5, 7]


def test_draws_are_those_of_the_package_posterior(tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    rng = np.random.default_rng(1)
    draws = xr.Dataset(
        {"theta": (("chain", "draw", "model"), rng.normal(size=(4, 50, 2)))},
        coords={"model": ["a", "b"]},
    )
    draws.to_netcdf(tmp_path / "posterior.nc", group="posterior", engine="netcdf4")
    assert exported(tmp_path, "export.formats=[draws]", "export.variables=[theta]") == 0
    script = f"""
    suppressMessages(library(posterior))
    d <- as_draws_df(read.csv("{tmp_path}/export/draws.csv", check.names = FALSE))
    s <- summarise_draws(d, mean, sd)
    cat(nchains(d), niterations(d), s$variable, sprintf("%.12g", as.numeric(c(s$mean, s$sd))))
    """
    done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, timeout=120)
    if "no package called" in done.stderr:
        pytest.skip("R's package posterior is not installed")
    said = done.stdout.split()
    assert said[:4] == ["4", "50", "theta[a]", "theta[b]"]
    flat = draws["theta"].values.reshape(200, 2)
    expected = [*flat.mean(0), *flat.std(0, ddof=1)]
    np.testing.assert_allclose([float(x) for x in said[4:]], expected, rtol=1e-9)


def test_tables_are_latex_with_every_sign_escaped():
    table = pd.DataFrame({"50 %": ["a_b & {c}", "\\input{x}"], "value": [1234.5678, np.nan]})
    text = latex_table(table, label="tab:x")
    assert "50 \\% & value \\\\" in text
    assert "a\\_b \\& \\{c\\} & 1.23e+03 \\\\" in text
    assert "\\textbackslash input\\{x\\} &  \\\\" in text
    assert "\\toprule" in text
    assert "\\label{tab:x}" in text


def test_tables_are_html_that_shows_text_as_text():
    table = pd.DataFrame({"<b>": ["<script>x</script> & y", "ü"], "value": [1234.5678, np.nan]})
    text = html_table(table, caption="A <i>caption</i>")
    assert "<script" not in text
    assert "<i>" not in text
    assert text.startswith("<!DOCTYPE html>")
    cells = [re.sub("<[^>]*>", "", one) for one in re.findall(r"<t[hd].*?</t[hd]>", text)]
    first = "<script>x</script> & y"
    assert [html.unescape(c) for c in cells] == ["<b>", "value", first, "1.23e+03", "ü", ""]


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["export.formats=[html]"], "run the stage report first"),
        (["export.formats=[excel]"], "unknown format 'excel'"),
        (["export.formats=[]"], "export.formats: the list is empty"),
        (["export.formats=[draws]"], "run the stage fit first"),
        (["export.formats=[latex]"], "run the stage report first"),
        (["export.formats=[lm_eval]"], r"add +experiment=NAME"),
        (
            ["export.formats=[lm_eval]", "+experiment=pct_masked"],
            "with elicitation=open_ended, sampled_choice or forced_choice",
        ),
        (
            ["export.formats=[lm_eval]", "+experiment=wvs_prefixes"],
            "prefix 'name' names the model",
        ),
        (
            [
                "export.formats=[lm_eval]",
                "+experiment=pct_paraphrases",
                "export.thinking_tokens=100",
            ],
            "lm_eval reads the probabilities of options with no thinking before them",
        ),
    ],
)
def test_what_cannot_be_exported_is_said(run, overrides, said, capsys):
    assert exported(run, *overrides) == 2
    assert said in capsys.readouterr().err


def test_generated_answers_have_room_for_thinking(tmp_path):
    how = ["+experiment=wvs_prefixes", "prefixes.only=[baseline]", "elicitation.max_new_tokens=20"]
    how += ["export.formats=[lm_eval,inspect]", "export.thinking_tokens=300"]
    assert exported(tmp_path, *how) == 0
    task = read_yaml(tmp_path / "export/lm_eval/polbayes_wvs_prefixes.yaml")
    assert task["generation_kwargs"]["max_gen_toks"] == 320
    text = (tmp_path / "export/inspect/polbayes_wvs_prefixes.py").read_text(encoding="utf-8")
    assert "max_tokens=320" in text


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_where_the_turns_of_a_role_play_are_is_said(tmp_path, name, capsys):
    (tmp_path / "transcripts.nc").touch()
    assert exported(tmp_path, f"export.formats=[{name}]") == 2
    assert "report/tables/transcripts.csv, and transcripts.nc" in capsys.readouterr().err
    assert not list((tmp_path / "export").glob("*"))
