"""Command lines are completed."""

import shutil
import subprocess

import pytest

from polbayes.cli import _main
from polbayes.config.completion import SCRIPTS, candidates
from polbayes.config.compose import experiments


@pytest.mark.parametrize(
    ("word", "becomes"),
    [
        ("task=comp", ["task=compare", "task=compare_specs"]),
        ("sampler.dr", ["sampler.draws="]),
        ("sampler=ad", ["sampler=advi"]),
        ("--ver", ["--verbose", "--version"]),
        ("+exp", ["+experiment="]),
        ("seed=", []),
        ("nothing_like_it", []),
    ],
)
def test_a_word_may_become(word, becomes):
    assert candidates(word) == becomes


def test_experiments_are_offered():
    assert candidates("+experiment=") == [f"+experiment={name}" for name in sorted(experiments())]


def test_an_unknown_shell_is_refused(capsys):
    assert _main(["--completion", "tcsh"]) == 2
    assert "unknown shell 'tcsh'" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_behind_an_equals_sign(tmp_path):
    """Bash itself has replaced only what comes after the last = sign."""
    offer = "polbayes() { printf 'task=compare\\ntask=compare_specs\\n'; }\n"
    line = "COMP_LINE='polbayes task=com'; COMP_POINT=17; _polbayes; echo ${COMPREPLY[*]}"
    done = subprocess.run(
        ["bash", "-c", f"{offer}{SCRIPTS['bash']}\n{line}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["compare", "compare_specs"]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_scripts_are_valid(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=SCRIPTS[shell], text=True, check=True)
