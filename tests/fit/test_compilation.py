"""What is compiled and kept is compiled again when what it calls has changed."""

import os
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


SUMMED = """
from polbayes.fit.compilation import compiled

@compiled
def total(values):
    found = 0.0
    for k in range(len(values)):
        found += values[k] * 10.0**k
    return found
"""
# Two processes read the index before either has written to it; the first to write it is the last
# to write its code.
AT_ONCE = """
import sys
from pathlib import Path
from time import sleep
import numpy as np
from numba.core.caching import IndexDataCacheFile
from summed import total

def wait_for(name):
    while not Path(name).exists():
        sleep(0.01)

role, index, code = sys.argv[1], IndexDataCacheFile._save_index, IndexDataCacheFile._save_data

def save_index(file, overloads):
    Path(role + " has read").touch()
    wait_for("second has read" if role == "first" else "first has an index")
    index(file, overloads)
    Path(role + " has an index").touch()

def save_code(file, name, data):
    if role == "first":
        wait_for("second has code")
    code(file, name, data)
    Path(role + " has code").touch()

IndexDataCacheFile._save_index, IndexDataCacheFile._save_data = save_index, save_code
print(total(np.arange(1.0, 7.0)[:: 1 if role == "first" else 2]))
"""
LATER = """
import numpy as np
from summed import total
values = np.arange(1.0, 7.0)
print(total(values[::2]), total(values[:3]))
"""


def test_two_processes_that_compile_at_once_do_not_take_each_others_code(tmp_path):
    (tmp_path / "summed.py").write_text(SUMMED)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def started(code, *arguments):
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
        )

    both = [started(AT_ONCE, role) for role in ("first", "second")]
    assert [process.communicate(timeout=100)[0].split() for process in both] == [
        ["654321.0"],
        ["531.0"],
    ]
    assert started(LATER).communicate(timeout=100)[0].split() == ["531.0", "321.0"]
