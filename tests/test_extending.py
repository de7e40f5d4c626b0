"""The package of docs/extending.md, built, installed and used."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from polbayes.data.dataset import open_responses

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
RUN = "run_dir=polly"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return the environment in which the package is installed, and where to work."""
    source, target = tmp_path_factory.mktemp("parrot"), tmp_path_factory.mktemp("site")
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    for name, block in re.findall(r"```\w+\n# (\S+\.(?:toml|py))\n(.*?)```", text, re.DOTALL):
        path = source / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(block, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target]
    done = subprocess.run([*pip, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    paths = [str(target), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}, source


def polbayes(installed, *arguments):
    env, cwd = installed
    command = [sys.executable, "-m", "polbayes", *arguments]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def run(installed):
    """Run an experiment with the backend and the coder, as the page says, but with few prefixes."""
    done = polbayes(
        installed,
        *("+experiment=wvs_prefixes", "analysis=ideology_one_model", "respondents=none"),
        *("+respondents.polly.backend=parrot", "coding.coders=[first_word]", RUN),
        *("prefixes.only=[baseline,respond]", "sampler.tune=200", "sampler.draws=200"),
    )
    assert done.returncode == 0, done.stderr
    return installed[1] / "polly"


def test_a_backend_answers_and_a_coder_reads(run):
    data = open_responses(run)
    assert set(data["completion"].values.ravel()) == {"Yes, quite so.", "No, never."}
    agrees = (data["stance"] == 1).mean().item()
    assert agrees == pytest.approx(0.75, abs=0.08)  # four standard errors of 486 answers


def test_they_are_in_the_report(run):
    page = (run / "report" / "index.html").read_text(encoding="utf-8")
    for text in ("polly", "first_word", "A parrot does not know what it says."):
        assert text in page


def test_a_measure_is_computed_and_shown(run):
    table = pd.read_csv(run / "measures" / "brevity.csv")
    # "Yes, quite so." three times out of four, else "No, never.": 3 and 2 words.
    assert list(table["model"]) == ["polly"]
    assert table["max"].item() == 3
    assert table["mean"].item() == pytest.approx(2.75, abs=0.08)
    page = (run / "report" / "index.html").read_text(encoding="utf-8")
    assert "How many words the answers have." in page
    assert "Longest (words)" in page


def test_a_section_reads_it(run):
    page = (run / "report" / "index.html").read_text(encoding="utf-8")
    mean = pd.read_csv(run / "measures" / "brevity.csv")["mean"].item()
    assert f"polly talks most: {mean:.1f} words an answer." in page


def test_a_family_is_fitted(installed):
    done = polbayes(
        installed,
        *("+experiment=pct_masked", "analysis.family=logit_student", "run_dir=student"),
        "items=[pc-02,pc-05,pc-08,pc-11,pc-14,pc-17,pc-24,pc-27,pc-30,pc-35]",
        *("sampler.tune=200", "sampler.draws=200", "sampler.chains=2"),
    )
    assert done.returncode == 0, done.stderr
    page = (installed[1] / "student" / "report" / "index.html").read_text(encoding="utf-8")
    assert "logit(r_plus) ~ t(4, κ · η, κ · σ)" in page


def test_a_task_is_in_the_help_and_does_what_it_says(installed, run):
    assert "count the words of a run's answers" in polbayes(installed, "--help").stdout
    done = polbayes(installed, "task=count_words", RUN)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ words in 486 answers\.", done.stdout.strip())


def test_without_the_package_there_are_no_such_things(tmp_path):
    done = polbayes(({**os.environ, "PYTHONPATH": str(ROOT)}, tmp_path), "task=count_words", RUN)
    assert done.returncode == 2
    assert done.stderr.startswith("error: task: unknown task 'count_words'; ")
