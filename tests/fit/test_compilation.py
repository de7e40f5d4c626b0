"""What is compiled and kept is compiled again when what it calls has changed."""

import subprocess
import sys

CALLED = """
from polbayes.fit.compilation import compiled

@compiled
def number():
    return {}
"""
CALLING = """
import called
from polbayes.fit.compilation import compiled_with

@compiled_with(called)
def twice():
    return 2 * called.number()

print(twice())
"""


def test_a_function_follows_the_modules_that_it_calls(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    (tmp_path / "calling.py").write_text(CALLING)
    for number in (21, 345):
        (tmp_path / "called.py").write_text(CALLED.format(number))
        command = [sys.executable, "-c", "import calling"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(2 * number)]
    # Each is there, to be used by the next process.
    assert len(list((tmp_path / "kept").rglob("calling.twice_*.nbi"))) == 2
