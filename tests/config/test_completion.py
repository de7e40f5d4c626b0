"""Command lines are completed."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time

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
        ("+exper", ["+experiment="]),
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


@pytest.fixture
def polbayes(tmp_path, monkeypatch):
    """Put the command, and a file to be completed, where a shell finds them."""
    command = tmp_path / "bin" / "polbayes"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m polbayes "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "answers of mine.csv").touch()
    return tmp_path


WORDS = [
    ("sampler.dr", "sampler.draws="),
    ("task=val", "task=validate_coder"),
    ("+experiment=wvs_pre", "+experiment=wvs_prefixes"),
    ("--vers", "--version"),
]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(polbayes):
    (polbayes / "p.fish").write_text(SCRIPTS["fish"], encoding="utf-8")

    def completed(word):
        asked = f'source p.fish; complete -C "polbayes seed=1 {word}"'
        done = subprocess.run(
            ["fish", "--no-config", "-c", asked],
            cwd=polbayes,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    assert completed("task=comp") == ["task=compare", "task=compare_specs"]
    for word, becomes in WORDS:
        assert completed(word) == [becomes]
    assert completed("imported.path=answ") == ["imported.path=answers of mine.csv"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes(polbayes):
    """What is typed on a terminal, and a tab, becomes the argument of the command."""
    shell = Zsh(polbayes)
    try:
        shell.say(f"{SCRIPTS['zsh']}\nprint -r -- loa''ded", until="loaded")
        for word, becomes in [*WORDS, ("imported.path=answ", "imported.path=answers of mine.csv")]:
            assert f"<seed=1|{becomes}>" in shell.completed(f"polbayes seed=1 {word}"), word
    finally:
        shell.close()


class Zsh:
    """An interactive zsh on a terminal of its own."""

    def __init__(self, folder):
        self._pid, self._file = pty.fork()
        if not self._pid:
            os.chdir(folder)
            os.environ["TERM"] = "dumb"
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.say("PS1=''; unsetopt beep; autoload -U compinit; compinit -D -u", until="\n")
        # Shows the arguments, and completes.
        self.say(
            'polbayes() { [[ $1 == --complete ]] && command polbayes "$@" || '
            'print -r -- "<${(j:|:)@}>"; }',
            until="\n",
        )

    def say(self, text, *, until):
        os.write(self._file, f"{text}\n".encode())
        return self._read(until)

    def completed(self, text):
        os.write(self._file, f"{text}\t\n".encode())
        return self._read(">")

    def _read(self, until, seconds=60):
        found, end = "", time.monotonic() + seconds
        while until not in found and time.monotonic() < end:
            if select.select([self._file], [], [], 0.2)[0]:
                found += os.read(self._file, 65_536).decode(errors="replace")
        assert until in found, found
        return found

    def close(self):
        os.close(self._file)
        os.waitpid(self._pid, 0)


@pytest.mark.parametrize("shell", SCRIPTS)
def test_scripts_are_valid(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=SCRIPTS[shell], text=True, check=True)
