"""Dialogues go on turn by turn, are written down turn by turn, and are resumed in their middle."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from playing import SAID, STUBS, planned

from polbayes.errors import UserError
from polbayes.instrument.scenarios import STAGES, UNITS
from polbayes.probing.journal import journal_path
from polbayes.respondents import Completion
from polbayes.roleplay.dialogues import NO_ANSWER, play
from polbayes.roleplay.transcripts import STATUS, transcripts

ONE = ["models=[a]", "roleplay.scenarios=[union]", "roleplay.twins=[original]"]


def played(plan, folder):
    play(plan, journal_dir=folder, progress=False)
    return transcripts(plan, folder)


def numbered(question):
    return f"### THOUGHTS\nt\n\n### ANSWER\n{question.prefix} of {question.variant}"


def test_every_turn_is_put_after_those_before_it(world, tmp_path):
    world.says = numbered
    plan = planned(*STUBS, *ONE)
    data = played(plan, tmp_path).squeeze()
    by_unit = {question.prefix: question for question in world.of("a")}
    assert list(by_unit) == list(UNITS)
    assert by_unit["baseline"].before == by_unit[STAGES[0]].before == ()
    scenario = plan.scenarios[0]
    for k, stage in enumerate(STAGES):
        before = by_unit[stage].before
        assert len(before) == k
        for earlier, (put, said) in zip(STAGES, before, strict=False):
            assert scenario.text(earlier) in put
            assert said == numbered(by_unit[earlier])
    assert len(by_unit["reflection"].before) == 4
    assert data["answer"].values.tolist() == [f"{unit} of original/original" for unit in UNITS]
    assert data["prompt"].values.tolist() == [scenario.text(unit) for unit in UNITS]
    assert set(data["status"].values.tolist()) == {STATUS["ok"]}


def test_the_person_who_asks_changes_sides_in_the_twin(world, tmp_path):
    played(planned(*STUBS, "models=[a]"), tmp_path)
    sides = {(q.item, q.variant): q.keying for q in world.of("a")}
    assert sides["union", "original/original"] == -sides["union", "mirrored/original"] != 0


def test_each_unit_has_its_own_temperature(world, tmp_path):
    plan = planned(*STUBS, *ONE, "roleplay.temperature.external_pressure=1.2")
    played(plan, tmp_path)
    found = {q.prefix: q.temperature for q in world.of("a")}
    assert (found["reflection"], found["external_pressure"], found["baseline"]) == (0.5, 1.2, None)


def test_an_interrupted_run_goes_on_in_the_middle_and_ends_the_same(world, tmp_path):
    world.says = numbered
    plan = planned(*STUBS)
    whole = played(plan, tmp_path / "whole")
    put = {
        (who, q.item, q.variant, q.prefix): (q, s)
        for (who, q), s in zip(world.asked, world.seeds, strict=True)
    }
    world.asked.clear(), world.seeds.clear()
    for more in (7, 9, 20):
        world.stop_after = len(world.asked) + more
        with pytest.raises(KeyboardInterrupt):
            played(plan, tmp_path / "parts")
    world.stop_after = 10**9
    parts = played(plan, tmp_path / "parts")
    assert parts.identical(whole)
    # Nothing twice, and everything as without the interruptions: words, turns before, seeds.
    assert len(world.asked) == len(put) == whole["status"].size
    for (who, q), seed in zip(world.asked, world.seeds, strict=True):
        assert put[who, q.item, q.variant, q.prefix] == (q, seed)
    opened = len(world.opened)
    assert played(plan, tmp_path / "parts").identical(whole)
    assert len(world.opened) == opened


def test_an_actor_that_says_nothing_is_asked_no_further(world, tmp_path):
    world.says = ""
    plan = planned(*STUBS, "give_up_after=10")
    with pytest.raises(UserError) as stopped:
        played(plan, tmp_path)
    said = str(stopped.value)
    assert "respondents.a: none of the first 11 answers can be used, such as ''" in said
    assert "to scenario 'union', original/original, baseline; choose another" in said
    # Nor again by the same command, which asks nothing; one that says so goes on.
    asked = len(world.asked)
    # Ten different prompts.
    assert asked == 11
    with pytest.raises(UserError, match="none of the first 11"):
        played(plan, tmp_path)
    assert len(world.asked) == asked
    whole = played(planned(*STUBS, "give_up_after=null"), tmp_path)
    assert len(world.asked) == whole["status"].size


def test_one_turn_with_a_text_is_enough(world, tmp_path):
    world.says = lambda question: "Yes." if question.prefix == "baseline" else ""
    plan = planned(*STUBS, "give_up_after=10")
    assert played(plan, tmp_path)["status"].size == len(world.asked)


def test_a_half_written_line_is_asked_again(world, tmp_path):
    world.says = numbered
    plan = planned(*STUBS, *ONE)
    whole = played(plan, tmp_path)
    path = journal_path(tmp_path, "a")
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    world.asked.clear()
    assert played(plan, tmp_path).identical(whole)
    assert [q.prefix for q in world.of("a")] == ["reflection"]


@pytest.mark.slow
def test_killed_and_started_again(tmp_path):
    """A real process is killed while dialogues are under way."""
    command = [
        *(sys.executable, "-m", "polbayes", "+experiment=politicsbench", "run_dir=run"),
        *("stages=[probe]", "models=[liberal]", "elicitation.batch_size=1"),
        "roleplay.wordings=null",
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    path = tmp_path / "run" / "journal" / "liberal.jsonl"
    for _ in range(2000):
        if path.is_file() and path.stat().st_size > 30_000:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = path.read_bytes()
    assert not (tmp_path / "run" / "transcripts.nc").exists()
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    after = path.read_bytes()
    assert after.startswith(before[: before.rindex(b"\n") + 1])
    # A header, and 20 scenarios x 2 twins x 3 wordings x 6 units.
    assert after.count(b"\n") == 1 + 720


def test_a_dialogue_that_outgrows_the_context_ends_with_a_status(world, tmp_path):
    plan = planned(*STUBS, *ONE)
    played(plan, tmp_path / "whole")
    third = next(q for q in world.of("a") if q.prefix == STAGES[2])
    world.limit = len("".join(sum(third.before, ()))) + len(third.prompt) - 1
    world.asked.clear()
    data = played(plan, tmp_path / "short").squeeze()
    wanted = ["ok", "ok", "ok", "too_long", "skipped", "skipped"]
    assert data["status"].values.tolist() == [STATUS[name] for name in wanted]
    assert "too long for me" in str(data["message"].values[3])
    assert data["completion"].values[3:].tolist() == [""] * 3
    assert len(world.asked) == 3
    played(plan, tmp_path / "short")
    assert len(world.asked) == 3


def test_a_hundred_dialogues_that_are_too_long_do_not_end_the_run(world, tmp_path):
    world.limit = 2000
    data = played(planned(*STUBS, "models=[a]", "roleplay.scenarios=null"), tmp_path)
    too_long = data["status"] == STATUS["too_long"]
    assert int(too_long.sum()) == data.sizes["scenario"] * data.sizes["twin"]


def test_a_turn_that_fails_costs_its_dialogue_only(world, tmp_path):
    def says(question):
        bad = question.prefix == STAGES[1] and question.variant == "mirrored/original"
        return ValueError("broken") if bad else SAID

    world.says = says
    data = played(planned(*STUBS, "models=[a]", "roleplay.scenarios=[union]"), tmp_path).squeeze()
    mirrored = data["status"].sel(twin="mirrored").values.tolist()
    wanted = ["ok", "ok", "error", "skipped", "skipped", "skipped"]
    assert mirrored == [STATUS[name] for name in wanted]
    assert set(data["status"].sel(twin="original").values.tolist()) == {STATUS["ok"]}


def test_a_respondent_that_only_fails_is_an_error(world, tmp_path):
    world.says = ValueError("broken")
    with pytest.raises(UserError, match=r"respondents\.a: could not answer any .*broken"):
        played(planned(*STUBS), tmp_path)


def test_refusals_empty_answers_and_missing_parts_are_told_apart(world, tmp_path):
    says = {
        "baseline": "No heading at all.",
        STAGES[0]: Completion("", "refused"),
        STAGES[1]: "### ANSWER\nI decline to answer this question.",
        STAGES[2]: Completion("  ", "invalid"),
        STAGES[3]: Completion("### THOUGHTS\nstill think", truncated=True),
        "reflection": SAID,
    }
    world.says = lambda question: says[question.prefix]
    data = played(planned(*STUBS, *ONE), tmp_path).squeeze()
    wanted = ["ok", "refused", "declined", "invalid", "ok", "ok"]
    assert data["status"].values.tolist() == [STATUS[name] for name in wanted]
    names = np.array(data["parts"].attrs["flag_meanings"].split())
    found = names[data["parts"].values].tolist()
    assert [found[k] for k in (0, 2, 4, 5)] == ["neither", "no_thoughts", "no_answer", "both"]
    assert data["truncated"].values.tolist() == [0, 0, 0, 0, 1, 0]
    # What was not said leaves no empty turn in a chat.
    before = next(q for q in world.of("a") if q.prefix == "reflection").before
    assert [said for _, said in before][::2] == [NO_ANSWER, NO_ANSWER]


def test_a_scenario_that_has_changed_is_not_mixed_with_what_was_said(world, tmp_path, monkeypatch):
    plan = planned(*STUBS, *ONE)
    played(plan, tmp_path)
    key = ("external_pressure", "original", "original")
    monkeypatch.setitem(plan.scenarios[0].texts, key, "Something else. What now?")
    with pytest.raises(UserError, match=r"union.*external_pressure.* in other words"):
        played(plan, tmp_path)


def test_answers_of_another_run_are_taken_over(world, tmp_path):
    plan = planned(*STUBS, *ONE)
    played(plan, tmp_path / "first")
    world.asked.clear()
    more = planned(*STUBS, "models=[a]", "roleplay.twins=[original]")
    play(more, journal_dir=tmp_path / "second", answers_from=tmp_path / "first", progress=False)
    assert {question.item for question in world.of("a")} == {"guns"}
