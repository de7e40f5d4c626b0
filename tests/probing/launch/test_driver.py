"""What the driver does with shards, on an engine that asks them in this process."""

import os
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace

import pytest
from launched import MODEL, QUESTIONS, journaled, same_answers, shards
from loopback import Said

from polbayes.probing.journal import Journal, read
from polbayes.probing.launch import engine as engines
from polbayes.probing.launch.merge import launch_path
from polbayes.probing.launch.shard import Ended, ask_shard


class Here:
    """An engine that asks a shard when it is looked at, and does with it what a test says."""

    def __init__(self, world):
        self.world = world
        self.stopped = []

    def submit(self, shard):
        self.world.submitted.append(shard)
        return [shard]

    def ended(self, task):
        here = os.getcwd()
        try:
            return self.world.does(task[0])
        finally:
            os.chdir(here)

    def stop(self, tasks):
        self.world.stopped += list(tasks)

    def close(self):
        self.world.closed += 1


class World:
    def __init__(self):
        self.submitted, self.stopped = [], []
        self.closed = 0
        self.does = ask_shard


@pytest.fixture
def here(monkeypatch):
    """Return what stands behind ``launcher=ray`` in place of Ray."""
    world = World()
    monkeypatch.setitem(engines._ENGINES, "ray", ("json", "ray", lambda *_: Here(world)))
    return world


RAY = ("launcher=ray", "launcher.shards=3")


def part(shard, most):
    """Return a shard with only the first of its questions."""
    return replace(shard, places=list(shard.places)[:most])


def test_the_answers_are_those_of_this_process_and_nothing_is_asked_twice(
    here, loopback, asked, tmp_path
):
    world = loopback()
    assert asked(world, tmp_path / "local")[0] == 0
    world.given.clear()
    code, said = asked(world, tmp_path / "ray", *RAY)
    assert code == 0, said
    same_answers(tmp_path / "local", tmp_path / "ray")
    of_questions = {k: n for k, n in world.given.items() if "two more than one" not in k[0]}
    assert len(of_questions) == QUESTIONS
    assert set(of_questions.values()) == {1}
    assert len(here.submitted) == 3
    assert here.closed == 1
    places = [n for shard in here.submitted for n in shard.places]
    assert places == list(range(QUESTIONS))
    # Nothing is left of the shards but what they answered.
    assert not (tmp_path / "ray" / "journal" / "shards").exists()
    assert f"{QUESTIONS} of {QUESTIONS} (100 %)" in said


def test_the_number_of_shards_changes_no_answer(here, asked, tmp_path):
    planted = ("respondents=simulated", "models=[left]", "items=[wvs-01]")
    for n in (1, 5, 500):
        how = (*planted, "launcher=ray", f"launcher.shards={n}")
        assert asked(None, tmp_path / str(n), *how)[0] == 0
    same_answers(tmp_path / "1", tmp_path / "5")
    same_answers(tmp_path / "1", tmp_path / "500")
    assert len(here.submitted) == 1 + 5 + QUESTIONS // 4


def test_at_most_so_many_workers_are_there_at_once(here, asked, tmp_path):
    seen, done, most = set(), set(), []

    def count(shard):
        most.append(len(here.submitted) - len(done))
        if shard.path not in seen:
            # Ends when it is looked at a second time.
            seen.add(shard.path)
            return None
        done.add(shard.path)
        return ask_shard(shard)

    here.does = count
    planted = ("respondents=simulated", "models=[left,right]")
    how = (*planted, "launcher=ray", "launcher.shards=5", "launcher.workers=2")
    assert asked(None, tmp_path / "r", *how)[0] == 0
    assert len(done) == 10
    assert max(most) == 2


def test_a_worker_that_dies_is_begun_again_where_it_was(here, loopback, asked, tmp_path):
    world = loopback()
    tries = Counter()

    def die(shard):
        tries[shard.path] += 1
        if tries[shard.path] <= 4:
            # Four times in a row, each time after three more answers.
            assert ask_shard(part(shard, 3 * tries[shard.path])) == Ended()
            return Ended("killed", "lost")
        return ask_shard(shard)

    here.does = die
    code, said = asked(world, tmp_path / "r", "launcher=ray", "launcher.shards=2")
    assert code == 0, said
    of_questions = {k: n for k, n in world.given.items() if "two more than one" not in k[0]}
    assert set(of_questions.values()) == {1}
    assert len(of_questions) == QUESTIONS


def test_a_worker_that_dies_without_getting_on_ends_the_run_and_loses_nothing(
    here, loopback, asked, tmp_path
):
    died = []

    def die(shard):
        if shard.path.stem.endswith("-2"):
            died.append(shard)
            return Ended("out of memory", "lost")
        return ask_shard(shard) if shard.path.stem.endswith("-1") else None

    here.does = die
    code, said = asked(loopback(), tmp_path / "r", *RAY, "launcher.retries=2")
    assert code == 2
    assert "respondents.served: a worker died 3 times without answering anything" in said
    assert "out of memory" in said
    assert len(died) == 3
    assert len(here.stopped) == 1  # the third shard
    assert len(journaled(tmp_path / "r")) == QUESTIONS // 3
    here.does = ask_shard
    assert asked(loopback(), tmp_path / "r", *RAY)[0] == 2  # another server is another run


def test_an_interruption_stops_the_workers_and_keeps_what_they_answered(
    here, loopback, asked, tmp_path
):
    world = loopback()

    def interrupt(shard):
        ask_shard(part(shard, 5))
        if shard.path.stem.endswith("-3"):
            assert launch_path(tmp_path / "r" / "journal").is_file()
            raise KeyboardInterrupt

    here.does = interrupt
    with pytest.raises(KeyboardInterrupt):
        _asked(world, tmp_path / "r")
    assert len(here.stopped) == 3
    assert len(journaled(tmp_path / "r")) == 15
    assert not shards(tmp_path / "r")
    here.does = ask_shard
    before = Counter(world.given)
    assert asked(world, tmp_path / "r")[0] == 0  # goes on in this process
    new = {k: n for k, n in (world.given - before).items() if "two more than one" not in k[0]}
    assert len(new) == QUESTIONS - 15
    assert set(new.values()) == {1}


def _asked(world, folder):
    from launched import arguments

    from polbayes.config.compose import compose
    from polbayes.run import run

    config, text = compose(arguments(world, folder, *RAY))
    run.run(config, text, command=["polbayes"])


def test_shards_of_a_launch_that_was_killed_are_merged_first(here, loopback, asked, tmp_path):
    world = loopback()

    class KilledError(BaseException):
        """Stands for the end of the process, after which nothing of it runs."""

    def kill(shard):
        ask_shard(part(shard, 7))
        raise KilledError

    here.does = kill
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polbayes.probing.launch.driver._stopping", lambda *_: nullcontext())
        patch.setattr("polbayes.probing.launch.driver._leave", lambda *_: None)
        with pytest.raises(KilledError):
            _asked(world, tmp_path / "r")
    assert len(shards(tmp_path / "r")) == 1
    assert launch_path(tmp_path / "r" / "journal").is_file()
    here.does = ask_shard
    here.submitted.clear()
    assert asked(world, tmp_path / "r", *RAY)[0] == 0
    assert sum(len(shard.places) for shard in here.submitted) == QUESTIONS - 7
    of_questions = {k: n for k, n in world.given.items() if "two more than one" not in k[0]}
    assert set(of_questions.values()) == {1}


def test_a_worker_of_an_earlier_launch_stops_at_its_next_question(
    here, loopback, asked, tmp_path, monkeypatch
):
    monkeypatch.setattr("polbayes.probing.launch.shard._LOOK", 0.0)
    taken = []

    def outlived(shard):
        if not taken:
            # The next launch begins, and then this worker goes on.
            launch = launch_path(tmp_path / "r" / "journal")
            launch.write_text("another", encoding="ascii")
            assert ask_shard(shard) == Ended()
            launch.write_text(shard.token, encoding="ascii")
            taken.append(not shard.path.exists())
        return ask_shard(shard)

    here.does = outlived
    assert asked(loopback(), tmp_path / "r", *RAY)[0] == 0
    assert taken == [True]


def budget(key, most):
    """Return a limit in tokens, or in money where a token costs a unit of it."""
    prices = [f"+respondents.served.api.price_{way}=1e6" for way in ("input", "output")]
    limits = [f"+respondents.served.api.{key}={most}", "elicitation.max_new_tokens=20"]
    return (*limits, *(prices if key == "budget" else ()))


@pytest.mark.parametrize("key", ["budget_tokens", "budget"])
def test_a_budget_is_kept_by_all_shards_together_and_used_to_its_end(
    here, loopback, asked, tmp_path, key
):
    """The prompts cost what they cost; how many of them the budget allows is asked for."""
    limited = budget(key, 1200)
    one, many = loopback(), loopback()
    alone, said_alone = asked(one, tmp_path / "local", *limited)
    code, said = asked(many, tmp_path / "ray", *RAY, *limited)
    assert alone == code == 2
    for world in (one, many):
        assert sum(world.tokens) <= 1200
    assert f"api.{key}: the next question might exceed 1200" in said
    assert f"api.{key}: the next question might exceed 1200" in said_alone
    # Three trial questions and not one are the only difference.
    assert sum(many.tokens) > sum(one.tokens) - 300
    assert len({shard.path for shard in here.submitted}) > 3
    # With more of it the run goes on, and asks nothing again.
    assert asked(many, tmp_path / "ray", *RAY, *budget(key, 1_000_000))[0] == 0
    of_questions = {k: n for k, n in many.given.items() if "two more than one" not in k[0]}
    assert set(of_questions.values()) == {1}


def test_failures_in_one_shard_are_the_questions_if_another_shard_has_answers(
    here, loopback, asked, tmp_path
):
    def bad(prompt):
        return (400, {"error": {"message": "no"}}) if "pay" in prompt else None

    world, few = loopback(extra_status=bad), "items=[wvs-01,wvs-14]"
    assert asked(world, tmp_path / "local", few)[0] == 0
    code, said = asked(world, tmp_path / "ray", few, "launcher=ray", "launcher.shards=12")
    assert code == 0, said
    same_answers(tmp_path / "local", tmp_path / "ray")
    statuses = Counter(
        r["status"] for r in read(tmp_path / "ray" / "journal" / f"{MODEL}.jsonl") if "cell" in r
    )
    assert statuses["error"] > 0


def test_a_respondent_that_only_fails_is_an_error(here, loopback, asked, tmp_path):
    def bad(prompt):
        return None if "two more than one" in prompt else (400, {"error": {"message": "no"}})

    code, said = asked(loopback(extra_status=bad), tmp_path / "r", *RAY)
    assert code == 2
    assert "could not answer any of the last" in said
    assert journaled(tmp_path / "r") == []
    assert not (tmp_path / "r" / "responses.nc").exists()


def test_shards_whose_first_answers_are_useless_stop_the_launch(here, loopback, asked, tmp_path):
    """Each looks at its own part, of eighteen prompts twice and more."""
    world, early = loopback(answer=lambda prompt, body: Said(" ")), "give_up_after=20"
    two = ("launcher=ray", "launcher.shards=2")
    code, said = asked(world, tmp_path / "r", *two, early)
    assert code == 2
    assert "respondents.served: none of the first " in said
    kept = journaled(tmp_path / "r")
    assert 20 <= len(kept) < QUESTIONS
    # What they left is looked at before anybody asks again.
    before, submitted = len(world.bodies), len(here.submitted)
    code, said = asked(world, tmp_path / "r", *two, early)
    assert code == 2
    assert f"none of the first {len(kept)} answers" in said
    assert (len(world.bodies), len(here.submitted)) == (before, submitted)
    # With an answer that can be used, or if nobody minds, it goes on.
    code, said = asked(world, tmp_path / "r", *two, "give_up_after=null")
    assert code == 0, said
    assert len(journaled(tmp_path / "r")) == QUESTIONS


def test_a_shard_may_have_nothing_but_useless_answers_where_others_were_usable(
    here, loopback, asked, tmp_path
):
    def answer(prompt, body):
        return Said("I agree." if "trade" in prompt or "state" in prompt else " ")

    world, early = loopback(answer=answer), "give_up_after=20"
    assert asked(world, tmp_path / "r", "items=[wvs-01]", *RAY, early)[0] == 0
    shards_before = len(here.submitted)
    assert here.submitted[-1].asking.screening is not None
    assert asked(world, tmp_path / "r", *RAY, early)[0] == 0
    assert {s.asking.screening for s in here.submitted[shards_before:]} == {None}


def test_what_all_used_is_added_up(here, loopback, asked, tmp_path):
    import pandas as pd

    world = loopback()
    assert asked(world, tmp_path / "r", *RAY)[0] == 0
    (row,) = pd.read_csv(tmp_path / "r" / "usage.csv").to_dict("records")
    assert (row["input_tokens"], row["output_tokens"]) == tuple(world.tokens)
    assert row["answers"] == QUESTIONS


def test_a_shard_is_merged_once_even_if_the_merging_was_cut_short(tmp_path):
    from polbayes.config.schema import ElicitationConfig
    from polbayes.probing.dispatch import Asking
    from polbayes.probing.launch.merge import absorb, merge, shard_folder
    from polbayes.respondents.usage import used

    path, settings = tmp_path / "m.jsonl", {"a": 1}
    answers = [
        {"cell": ["i", "v", "p", n], "prompt": "x", "status": "ok", "tokens": [10]}
        for n in range(4)
    ]
    part_path = shard_folder(path) / "t-1-1.jsonl"
    part_path.parent.mkdir(parents=True)
    with Journal(part_path, settings) as shard:
        shard.extend([{"tokens": [5, 1]}, *answers, {"note": "so"}, {"tokens": [2]}])
    kept = part_path.read_bytes()
    with Journal(path, settings) as journal:
        journal.extend(answers[:2])  # what a merging that was killed may have written
        merge(part_path, journal, set())
    assert not part_path.exists()
    part_path.write_bytes(kept)  # killed before the file was taken away
    absorb(path, settings, Asking(ElicitationConfig(), None, 1))
    assert not part_path.parent.exists()
    records = list(read(path))
    assert [r["cell"][3] for r in records if "cell" in r] == [0, 1, 2, 3]
    assert [r["note"] for r in records if "note" in r] == ["so"]
    total = used(records)
    assert (total.input, total.output) == (47, 1)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["launcher=ray", "launcher.shards=0"], "launcher.shards: must be at least 1, not 0."),
        (["launcher.kind=moon"], "launcher: unknown kind 'moon'"),
        (["launcher=ray", "launcher.memory=-1"], "launcher.memory: must be above 0 GiB"),
    ],
)
def test_a_launcher_that_cannot_be_meant_is_refused(loopback, asked, tmp_path, more, says):
    code, said = asked(loopback(), tmp_path / "r", *more)
    assert code == 2
    assert says in said
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("kind", "package", "extra"), [("ray", "ray", "ray"), ("slurm", "submitit", "slurm")]
)
def test_a_missing_package_is_named_with_the_extra_that_has_it(
    loopback, asked, tmp_path, monkeypatch, kind, package, extra
):
    import importlib.util

    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else there(name)
    )
    code, said = asked(loopback(), tmp_path / "r", f"launcher={kind}")
    assert code == 2
    assert said.count("\n") == 1
    assert f"needs {package}, which is not installed; install polbayes[{extra}]" in said


def test_a_folder_that_a_worker_cannot_see_is_said(here, loopback, asked, tmp_path):
    here.does = lambda shard: ask_shard(replace(shard, folder=tmp_path / "elsewhere"))
    code, said = asked(loopback(), tmp_path / "r", *RAY)
    assert code == 2
    assert "elsewhere cannot be seen by a worker (No such file or directory)" in said


def test_the_rate_is_divided_among_the_workers(here, loopback, asked, tmp_path):
    world = loopback()
    rate = "+respondents.served.api.requests_per_minute=60000"
    assert asked(world, tmp_path / "r", *RAY, rate)[0] == 0
    assert {shard.config.api.requests_per_minute for shard in here.submitted} == {20000}
    here.submitted.clear()
    assert asked(world, tmp_path / "s", *RAY, "launcher.workers=1", rate)[0] == 0
    assert {shard.config.api.requests_per_minute for shard in here.submitted} == {60000}
