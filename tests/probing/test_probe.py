import logging
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from polbayes.config.schema import ElicitationConfig, JournalConfig, RespondentConfig
from polbayes.data.dataset import NOT_ASKED, STATUS, open_responses, to_frame, write_dataset
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Lexicon, Prefix, load_template
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.probing.consolidation import consolidate, filled
from polbayes.probing.dispatch import next_size
from polbayes.probing.journal import Journal, journal_path, read
from polbayes.probing.probe import probe, rendered_prompt
from polbayes.respondents import BACKENDS, Backend, Completion, describe
from polbayes.respondents.base import Question
from polbayes.respondents.questions import PendingQuestions, cell_seed

ITEMS = (
    Item(
        "one",
        "economic",
        -1,
        "s",
        (
            Variant("original", "The state should own railways.", "original", 1),
            Variant("negation", "The state should not own {prefix} railways.", "negation", -1),
        ),
        {},
    ),
    Item("two", "cultural", 1, "s", (Variant("original", "Order first.", "original", 1),), {}),
)
INSTRUMENT = Instrument("tiny", "Tiny", "us", ITEMS)
PREFIXES = (Prefix("baseline", "", "open"), Prefix("name", "Hey {model_name}, respond.", "open"))
YES_NO = Lexicon("yn", ("yes", "no", "perhaps"), (1, -1, 0))
FORCED = ElicitationConfig(kind="forced_choice", template="haller", lexicon="yn", batch_size=2)
OPEN = ElicitationConfig(kind="open_ended", template="faulborn", batch_size=3)


class Stub:
    """A respondent that remembers what it was asked, and fails where it is told to."""

    def __init__(self, name, world):
        self.info = ModelInfo(name, "{prefix}{statement}")
        self.world = world
        world.opened.append(name)

    def warnings(self, lexicon):
        return self.world.warnings

    def _meet(self, questions):
        self.world.calls += 1
        if self.world.calls == self.world.interrupt_at:
            raise KeyboardInterrupt
        if len(questions) > self.world.memory:
            raise MemoryError("too many at once")
        for question in questions:
            if self.world.fails(question):
                raise ValueError(f"cannot take {question.item}\nat all")
        self.world.asked += [(self.info.model, q) for q in questions]

    def option_mass(self, questions, lexicon):
        self._meet(questions)
        mass = [[len(q.prompt) / 200, q.run / 50, np.nan] for q in questions]
        return np.array(mass) if not self.world.broken else np.full((len(questions), 3), np.nan)

    def complete(self, questions, seeds):
        self._meet(questions)
        pairs = zip(questions, seeds, strict=True)
        return [
            Completion(f"{q.prompt}|{seed}", "invalid" if q.run == 2 else "ok", truncated=True)
            for q, seed in pairs
        ]

    def close(self):
        self.world.closed += 1


class World:
    def __init__(self):
        self.opened, self.asked = [], []
        self.closed = self.calls = self.interrupt_at = 0
        self.memory = 1000
        self.fails = lambda question: False
        self.broken = False
        self.warnings = ()


@pytest.fixture
def world(monkeypatch):
    """Return the state behind the backend ``stub``."""
    state = World()
    backend = Backend(
        ("forced_choice", "open_ended"),
        lambda name, config, template: ModelInfo(name, "{prefix}{statement}"),
        lambda name, config, template, elicitation: Stub(name, state),
    )
    monkeypatch.setitem(BACKENDS, "stub", backend)
    return state


def laid_out(models=("m",), runs=3):
    infos = [ModelInfo(name, "{prefix}{statement}") for name in models]
    return design([INSTRUMENT], PREFIXES, infos, runs=runs)


def run(folder, *, models=("m",), data=None, elicitation=FORCED, seed=1, **more):
    config = RespondentConfig(backend="stub", checkpoint="c")
    return probe(
        laid_out(models) if data is None else data,
        dict.fromkeys(models, config),
        elicitation=elicitation,
        lexicon=more.pop("lexicon", YES_NO),
        prefixes=PREFIXES,
        seed=seed,
        journal_dir=folder,
        **more,
    )


def cells(world):
    return Counter((m, q.item, q.variant, q.prefix, q.run) for m, q in world.asked)


def test_every_pending_cell_is_asked_once_and_filled(world, tmp_path):
    data = run(tmp_path, models=("m", "n/1"))
    asked = cells(world)
    assert set(asked.values()) == {1}
    # Two models, three wordings, two prefixes, three runs.
    assert len(asked) == 36
    assert world.opened == ["m", "n/1"]
    assert world.closed == 2
    frame = to_frame(data)
    assert len(frame) == 36
    assert set(frame["status"]) == {STATUS["ok"]}
    cell = {"model": "n/1", "item": "two", "variant": "original", "prefix": "name", "run": 2}
    prompt = "Hey n/1, respond.\nOrder first."
    one = data.sel(cell)
    np.testing.assert_allclose(one["option_prob"], [len(prompt) / 200, 0.04, np.nan], rtol=1e-6)
    np.testing.assert_allclose([one["p_agree"], one["p_disagree"]], [len(prompt) / 200, 0.04])
    assert one["completion"].item() == ""
    absent = data.sel(item="two", variant="negation")
    assert (absent["status"] == NOT_ASKED).all()
    assert absent["option_prob"].isnull().all()
    assert absent["p_agree"].isnull().all()
    assert data["option"].values.tolist() == ["yes", "no", "perhaps"]
    assert data["option_stance"].values.tolist() == [1, -1, 0]
    assert data["option_prob"].dtype == data["p_agree"].dtype == np.float32
    assert "message" not in data


def test_open_answers_keep_text_status_and_truncation(world, tmp_path):
    data = run(tmp_path, elicitation=OPEN, lexicon=None)
    one = data.sel(model="m", item="one", variant="original", prefix="baseline")
    question = Question("one", "original", "baseline", 2, "", 0, "", "")
    text = f"The state should own railways.|{cell_seed(1, 'm', question)}"
    assert one["completion"].sel(run=2).item() == text
    assert one["status"].values.tolist() == [STATUS["ok"], STATUS["invalid"], STATUS["ok"]]
    assert one["truncated"].values.tolist() == [1, 1, 1]
    assert "option_prob" not in data
    assert len(set(to_frame(data)["completion"])) == 18


def test_the_seed_of_a_cell_is_fixed_and_its_own():
    question = Question("i", "v", "p", 1, "", 0, "", "")
    others = [
        cell_seed(2, "m", question),
        cell_seed(1, "n", question),
        *(
            cell_seed(1, "m", replace(question, **{key: value}))
            for key, value in {"item": "j", "variant": "w", "prefix": "q", "run": 2}.items()
        ),
    ]
    seeds = [cell_seed(1, "m", question), *others]
    assert len(set(seeds)) == 7
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert cell_seed(1, "m", replace(question, prompt="x", keying=1)) == seeds[0]


@pytest.mark.parametrize("elicitation", [FORCED, OPEN])
@pytest.mark.parametrize("stop", [1, 2, 3, 6])
def test_an_interrupted_run_resumes_and_asks_nothing_twice(world, tmp_path, elicitation, stop):
    whole = run(tmp_path / "whole", models=("a", "b"), elicitation=elicitation)
    expected = cells(world)
    world.asked, world.calls, world.interrupt_at = [], 0, stop
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", models=("a", "b"), elicitation=elicitation)
    assert len(cells(world)) < len(expected)
    world.interrupt_at = 0
    resumed = run(tmp_path / "cut", models=("a", "b"), elicitation=elicitation)
    assert cells(world) == expected
    xr.testing.assert_identical(resumed, whole)
    assert world.opened.count("a") + world.opened.count("b") == world.closed


def test_a_finished_run_opens_no_model(world, tmp_path):
    first = run(tmp_path)
    world.opened.clear()
    xr.testing.assert_identical(run(tmp_path), first)
    assert world.opened == []


def test_more_runs_and_models_ask_only_what_is_new(world, tmp_path):
    run(tmp_path)
    world.asked.clear()
    data = run(tmp_path, models=("m", "n"), data=laid_out(("m", "n"), runs=4))
    assert Counter(model for model, _ in world.asked) == {"m": 6, "n": 24}
    assert {q.run for model, q in world.asked if model == "m"} == {4}
    assert (to_frame(data)["status"] == STATUS["ok"]).all()


def test_a_batch_that_does_not_fit_is_halved(world, tmp_path):
    world.memory = 2
    data = run(tmp_path, elicitation=replace(FORCED, batch_size=16))
    assert set(cells(world).values()) == {1}
    assert (to_frame(data)["status"] == STATUS["ok"]).all()


def test_a_cell_that_fails_costs_no_other(world, tmp_path, caplog):
    world.fails = lambda q: q.item == "one" and q.run == 2 and q.prefix == "name"
    data = run(tmp_path, elicitation=replace(FORCED, batch_size=5))
    frame = to_frame(data).set_index(["item", "variant", "prefix", "run"])
    failed = frame.index[frame["status"] == STATUS["error"]].tolist()
    assert failed == [("one", v, "name", 2) for v in ("original", "negation")]
    assert set(frame.loc[failed, "message"]) == {"ValueError: cannot take one"}
    assert (frame.drop(failed)["status"] == STATUS["ok"]).all()
    assert frame.loc[failed, "p_agree"].isna().all()
    assert "could not answer item 'one'" in caplog.text
    world.asked.clear()
    run(tmp_path)
    assert world.asked == []


def test_a_respondent_that_only_fails_is_an_error_and_leaves_nothing(world, tmp_path):
    world.fails = lambda q: True
    with pytest.raises(UserError, match=r"respondents.m: could not answer any of the last 18 "):
        run(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UserError, match="any of the last 100 questions"):
        run(tmp_path, data=laid_out(runs=40))


def test_probabilities_that_are_no_numbers_are_an_error(world, tmp_path):
    world.broken = True
    with pytest.raises(UserError, match="probabilities that are not numbers"):
        run(tmp_path)


def test_other_settings_or_texts_are_refused(world, tmp_path):
    run(tmp_path)
    with pytest.raises(UserError, match="seed was 1 and is 2"):
        run(tmp_path, seed=2)
    with pytest.raises(UserError, match="options was"):
        run(tmp_path, lexicon=Lexicon("l", ("yes", "no"), (1, -1)))
    data = laid_out()
    data["statement"].values[0, 0] = "The state should own banks."
    with pytest.raises(UserError, match="item 'one', wording 'original', prefix 'baseline' was"):
        run(tmp_path, data=data)


def test_a_damaged_line_is_reported_and_asked_again(world, tmp_path, caplog):
    first = run(tmp_path)
    path = journal_path(tmp_path, "m")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b"0", b"1")
    path.write_bytes(b"".join(lines))
    world.asked.clear()
    data = run(tmp_path)
    assert len(world.asked) == 1
    assert "1 damaged line of m.jsonl was skipped; what it answered is asked" in caplog.text
    assert "1 damaged line of m.jsonl" in data.attrs["notes"]
    xr.testing.assert_equal(data, first)


def test_what_a_reader_must_know_is_kept(world, tmp_path, caplog):
    world.warnings = ("m: one option was left out.",)
    assert run(tmp_path).attrs["notes"] == "m: one option was left out."
    assert run(tmp_path).attrs["notes"] == "m: one option was left out."
    assert caplog.record_tuples == [("polbayes", logging.WARNING, "m: one option was left out.")]


def test_unusable_requests_are_refused(world, tmp_path):
    with pytest.raises(UserError, match="unknown respondent 'm'"):
        probe(
            laid_out(),
            {},
            elicitation=FORCED,
            lexicon=YES_NO,
            prefixes=PREFIXES,
            seed=1,
            journal_dir=tmp_path,
        )
    with pytest.raises(UserError, match="forced_choice needs one"):
        run(tmp_path, lexicon=None)
    with pytest.raises(UserError, match="stub cannot be asked by fill_mask"):
        run(tmp_path, elicitation=replace(FORCED, kind="fill_mask"))
    assert world.opened == []


def test_bars_name_the_model_and_are_lines_without_a_terminal(world, tmp_path, capsys):
    run(tmp_path / "quiet", progress=False)
    assert capsys.readouterr() == ("", "")
    run(tmp_path / "lines")
    # Prompts have 30, 43 and 12 characters, and 16 more with the prefix, of which 200 are a yes for
    # sure: 1.09, three times; a no has 1/50, 2/50 and 3/50, six times. That is 3.99 of 18.
    assert (
        capsys.readouterr().err
        == "probe: m: 18 of 18 (100 %); 22.2 % of the mass agrees or disagrees\n"
    )
    run(tmp_path / "lines")
    assert capsys.readouterr() == ("", "")
    run(tmp_path / "shown", progress="always")
    out, err = capsys.readouterr()
    assert out == ""
    assert "m: 100%" in err
    assert "18/18" in err


def test_questions_that_begin_alike_are_neighbours(world):
    questions = list(PendingQuestions(laid_out(), "m", {"name": "likert"}))
    assert [q.prefix for q in questions] == ["baseline"] * 9 + ["name"] * 9
    for of_prefix in (questions[:9], questions[9:]):
        prompts = [q.prompt for q in of_prefix]
        assert prompts == sorted(prompts)
        assert len(set(prompts)) == 3
        assert [q.run for q in of_prefix] == [1, 2, 3] * 3
    first = questions[12]
    assert (first.item, first.variant, first.prefix, first.answer) == (
        "one",
        "negation",
        "name",
        "likert",
    )
    assert (first.keying, first.dimension) == (1, "economic")
    assert first.statement == "The state should not own {prefix} railways."
    assert first.prompt == f"Hey m, respond.\n{first.statement}"


def test_where_the_statement_comes_first_it_is_what_prompts_share():
    infos = [ModelInfo("m", "{statement} {prefix}")]
    data = design([INSTRUMENT], PREFIXES, infos, runs=1)
    prompts = [q.prompt for q in PendingQuestions(data, "m", {})]
    assert [prompt.split(".")[0] for prompt in prompts] == [
        "Order first",
        "Order first",
        "The state should not own {prefix} railways",
        "The state should not own {prefix} railways",
        "The state should own railways",
        "The state should own railways",
    ]


def test_more_is_handed_out_while_answers_come_quickly():
    assert next_size(64, 1.0) == 128
    assert next_size(1024, 1.0) == 1024
    assert next_size(3000, 1.0) == 3000  # a batch of a user's own
    assert next_size(64, 20.0) == 64
    assert next_size(64, 100.0) == 32
    assert next_size(1, 100.0) == 1


def test_the_file_alone_gives_the_prompts(world, tmp_path):
    write_dataset(run(tmp_path / "journal"), tmp_path / "responses.nc")
    data = open_responses(tmp_path)
    for _, question in world.asked:
        labels = (question.item, question.variant, question.prefix)
        assert rendered_prompt(data, "m", *labels) == question.prompt
    with pytest.raises(UserError, match="unknown prefix 'nmae'; did you mean 'name'"):
        rendered_prompt(data, "m", "one", "original", "nmae")
    with pytest.raises(UserError, match="item 'two' has no wording 'negation'"):
        rendered_prompt(data, "m", "two", "negation", "name")


def test_simulated_respondents_through_the_whole_stage(tmp_path):
    config = RespondentConfig(backend="simulated", checkpoint="planted:left")
    lexicon = Lexicon("yn", ("yes", "no"), (1, -1))
    info = describe("sim", config, load_template("haller"))
    data = probe(
        design([INSTRUMENT], PREFIXES, [info]),
        {"sim": config},
        elicitation=FORCED,
        lexicon=lexicon,
        prefixes=PREFIXES,
        seed=1,
        journal_dir=tmp_path,
    )
    frame = to_frame(data)
    validity = (frame["p_agree"] + frame["p_disagree"]).to_numpy()
    np.testing.assert_allclose(validity, 0.97, rtol=1e-6)
    assert len(list(read(journal_path(tmp_path, "sim")))) == 6


@pytest.fixture
def cached(tmp_path):
    """Return the settings of journals that share a cache."""
    return JournalConfig(cache=str(tmp_path / "answers.sqlite"))


@pytest.mark.parametrize("elicitation", [FORCED, OPEN])
def test_what_another_run_answered_is_not_asked_again(world, tmp_path, cached, elicitation):
    first = run(tmp_path / "first", elicitation=elicitation, journal=cached)
    world.asked.clear()
    world.opened.clear()
    second = run(tmp_path / "second", elicitation=elicitation, journal=cached)
    assert world.asked == world.opened == []
    xr.testing.assert_identical(second, first)
    more = run(tmp_path / "third", data=laid_out(runs=4), elicitation=elicitation, journal=cached)
    assert {q.run for _, q in world.asked} == {4}
    assert len(world.asked) == 6
    assert (to_frame(more)["status"] != STATUS["pending"]).all()


def test_other_settings_ask_again(world, tmp_path, cached):
    run(tmp_path / "first", journal=cached)
    world.asked.clear()
    run(tmp_path / "second", lexicon=Lexicon("l", ("a", "b", "c"), (1, -1, 0)), journal=cached)
    assert len(world.asked) == 18
    run(tmp_path / "third", journal=cached, seed=2, elicitation=OPEN)
    assert len(world.asked) == 36
    run(tmp_path / "fourth", journal=cached, seed=3, elicitation=OPEN)
    assert len(world.asked) == 54


def test_an_interrupted_run_has_shared_what_was_answered(world, tmp_path, cached):
    world.interrupt_at = 4
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "first", journal=cached)
    world.interrupt_at = 0
    before = cells(world)
    assert before
    run(tmp_path / "second", journal=cached)
    assert set(cells(world).values()) == {1}
    assert len(cells(world)) == 18


def test_a_failure_of_one_run_is_asked_by_the_next(world, tmp_path, cached):
    world.fails = lambda q: q.item == "two" and q.run == 1
    run(tmp_path / "first", journal=cached)
    world.fails = lambda q: False
    world.asked.clear()
    data = run(tmp_path / "second", journal=cached)
    assert {(q.item, q.run) for _, q in world.asked} == {("two", 1)}
    assert (to_frame(data)["status"] == STATUS["ok"]).all()


@pytest.mark.parametrize("elicitation", [FORCED, OPEN])
def test_one_model_at_a_time_gives_the_same_file(world, tmp_path, elicitation):
    world.fails = lambda q: q.item == "two" and q.run == 1
    models = ("m", "n", "o")
    lexicon = YES_NO if elicitation is FORCED else None
    whole = run(tmp_path / "j", models=models, data=laid_out(models), elicitation=elicitation)
    journals = {name: journal_path(tmp_path / "j", name) for name in models}
    consolidate(laid_out(models), journals, lexicon, tmp_path / "responses.nc")
    xr.testing.assert_identical(open_responses(tmp_path), whole)
    for name in models:
        one = open_responses(tmp_path, models=[name])
        xr.testing.assert_identical(one, whole.sel(model=[name]))
    with xr.open_dataset(tmp_path / "responses.nc") as plain:
        xr.testing.assert_identical(plain.load(), whole)


def test_an_empty_answer_in_a_journal_of_an_earlier_version_is_empty(world, tmp_path):
    path = journal_path(tmp_path, "m")
    with Journal(path, {}) as journal:
        for number, text in enumerate(["", " \n", "?"], start=1):
            cell = ["two", "original", "name", number]
            answer = {"status": "invalid", "text": text, "truncated": False}
            journal.extend([{"cell": cell, "prompt": "", **answer}])
    data = filled(laid_out(), {"m": path}, None)
    found = data["status"].sel(item="two", variant="original", prefix="name").values.ravel()
    assert found.tolist() == [STATUS[name] for name in ("empty", "empty", "invalid")]
