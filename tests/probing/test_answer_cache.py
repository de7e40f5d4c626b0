import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest

from polbayes.errors import UserError
from polbayes.probing.answer_cache import open_cache
from polbayes.respondents.base import Question

ASKED = Question("i", "v", "p", 1, "Statement.", 1, "economic", "Prompt.")
SETTINGS = {"model": "m", "seed": 1, "respondent.weights": "abc", "options": ["yes", "no"]}
ABOUT = {"model": "m", "seed": 1, "settings": SETTINGS, "sampled": False, "by_prompt": True}
RECORD = {"cell": ["i", "v", "p", 1], "prompt": "x", "status": "ok", "mass": [0.25, None]}
ANSWER = {"status": "ok", "mass": [0.25, None]}


def finds(path, question=ASKED, **about):
    with open_cache(path, **{**ABOUT, **about}) as cache:
        return cache.find([question]).get(0)


@pytest.fixture
def path(tmp_path):
    """Return a cache with one answer."""
    path = tmp_path / "deep" / "answers.sqlite"
    with open_cache(path, **ABOUT) as cache:
        cache.keep([(ASKED, RECORD)])
    return path


def test_what_was_kept_is_found_without_the_cell_it_was_of(path):
    assert finds(path) == ANSWER
    with open_cache(path, **ABOUT) as cache:
        others = [replace(ASKED, prompt=f"Prompt {n}.") for n in range(1200)]
        assert cache.find([*others, ASKED]) == {1200: ANSWER}


@pytest.mark.parametrize(
    "changed",
    [
        {"settings": {**SETTINGS, "respondent.weights": "abd"}},
        {"settings": {**SETTINGS, "options": ["yes"]}},
        {"question": replace(ASKED, prompt="Prompt!")},
        {"question": replace(ASKED, run=2)},
    ],
)
def test_whatever_determines_an_answer_tells_it_from_others(path, changed):
    assert finds(path, **changed) is None


def test_a_probability_of_the_same_prompt_is_the_same_under_another_name_seed_or_label(path):
    settings = {**SETTINGS, "model": "n", "seed": 2}
    assert finds(path, model="n", seed=2, settings=settings) == ANSWER
    assert finds(path, replace(ASKED, item="j", prefix="q", keying=-1)) == ANSWER


@pytest.mark.parametrize(
    "changed",
    [{"model": "n"}, {"seed": 2}, *({"question": replace(ASKED, item=x)} for x in "jk")],
)
def test_of_answers_that_are_drawn_each_cell_has_its_own(tmp_path, changed):
    path = tmp_path / "drawn"
    with open_cache(path, **{**ABOUT, "sampled": True}) as cache:
        cache.keep([(ASKED, RECORD)])
    assert finds(path, sampled=True) == ANSWER
    assert finds(path, sampled=True, **changed) is None


@pytest.mark.parametrize("change", [{"item": "j"}, {"keying": -1}, {"answer": "likert"}])
def test_where_more_than_the_prompt_counts_it_counts(tmp_path, change):
    path = tmp_path / "labels"
    with open_cache(path, **{**ABOUT, "by_prompt": False}) as cache:
        cache.keep([(ASKED, RECORD)])
    assert finds(path, by_prompt=False) == ANSWER
    assert finds(path, replace(ASKED, **change), by_prompt=False) is None


def test_another_version_of_polbayes_asks_anew(path, monkeypatch):
    monkeypatch.setattr("polbayes.probing.answer_cache.version", lambda name: "999")
    assert finds(path) is None


def test_failures_are_not_kept_and_the_first_answer_stays(path):
    failed = replace(ASKED, prompt="Failed.")
    with open_cache(path, **ABOUT) as cache:
        cache.keep([(failed, {"status": "error", "message": "no"}), (ASKED, {"status": "empty"})])
        assert cache.find([failed, ASKED]) == {1: ANSWER}


def test_a_damaged_answer_is_asked_again_and_replaced(path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE answers SET line = CAST(replace(line, '0.25', '0.35') AS BLOB)")
    connection.close()
    assert finds(path) is None
    with open_cache(path, **ABOUT) as cache:
        cache.keep([(ASKED, RECORD)])
        assert cache.find([ASKED]) == {0: ANSWER}


def test_a_file_that_is_no_cache_is_named_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database" * 100)
    with pytest.raises(UserError, match=r"journal\.cache: .*notes\.txt: cannot be used"):
        finds(path)
    assert path.read_text() == "not a database" * 100
    with pytest.raises(UserError, match=r"journal\.cache: "):
        finds(path / "below")
    with pytest.raises(UserError, match=r"journal\.cache: "):
        finds(tmp_path)


def test_several_processes_write_at_a_time(path):
    code = (
        "import sys; from pathlib import Path; from dataclasses import replace\n"
        "sys.path.insert(0, sys.argv[3]); from test_answer_cache import *\n"
        "for n in range(20):\n"
        "    with open_cache(Path(sys.argv[1]), **ABOUT) as cache:\n"
        "        question = replace(ASKED, prompt=f'{sys.argv[2]} {n}')\n"
        "        cache.keep([(question, RECORD)])"
    )
    folder = __file__.rsplit("/", 1)[0]
    ask = [[sys.executable, "-c", code, str(path), name, folder] for name in "ab"]
    started = [subprocess.Popen(command) for command in ask]
    assert [process.wait() for process in started] == [0, 0]
    with open_cache(path, **ABOUT) as cache:
        asked = [replace(ASKED, prompt=f"{name} {n}") for name in "ab" for n in range(20)]
        assert len(cache.find(asked)) == 40
