"""A respondent of whose first answers none can be used is asked no further."""

import pickle
from functools import partial

import pytest
from loopback import Said

from polbayes.coding.readable import readable
from polbayes.config.schema import (
    ApiConfig,
    ElicitationConfig,
    RespondentConfig,
)
from polbayes.data.dataset import ANSWERED, STATUS
from polbayes.errors import UserError
from polbayes.instrument.design import design
from polbayes.instrument.prompts import Prefix, load_lexicon, load_template
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.probing.first_answers import FirstAnswers, Screening
from polbayes.probing.journal import journal_path, read
from polbayes.probing.probe import probe
from polbayes.respondents import describe
from polbayes.respondents.questions import PendingQuestions, prompt_digest

OPEN = ElicitationConfig(kind="open_ended", template="faulborn", max_new_tokens=20)
FORCED = ElicitationConfig(kind="forced_choice", template="haller", lexicon="haller_generative")
RULES = partial(readable, coders=("likert", "lexical"))
THINKS = Said("<think>\nOkay, so the user says \x1b[2J\u202e" + "and so on " * 100, finish="length")


def designed(elicitation=OPEN, *, items=40, runs=1, url="http://127.0.0.1:1/v1"):
    api = ApiConfig(base_url=url, key_variable=None, backoff=0.02, timeout=10.0)
    config = RespondentConfig(backend="chat_api", checkpoint="m-1", api=api)
    info = describe("m", config, load_template(elicitation.template))
    every = tuple(
        Item(f"i{n}", "economic", 1, "s", (Variant("original", f"Say {n}.", "original", 1),), {})
        for n in range(items)
    )
    instrument = Instrument("tiny", "Tiny", "us", every)
    prefixes = (Prefix("baseline", "", "open"),)
    return design([instrument], prefixes, [info], runs=runs), {"m": config}, prefixes


def asked(folder, world, screening, elicitation=OPEN, **more):
    asks, respondents, prefixes = designed(elicitation, url=world.url, **more)
    return probe(
        asks,
        respondents,
        elicitation=elicitation,
        lexicon=load_lexicon(elicitation.lexicon) if elicitation.lexicon else None,
        prefixes=prefixes,
        seed=1,
        journal_dir=folder,
        screening=screening,
        progress=False,
    )


def answers_in(folder):
    return sum("cell" in record for record in read(journal_path(folder, "m")))


def answered(data):
    return int(data["status"].isin(ANSWERED).sum())


def ok(data):
    return int((data["status"] == STATUS["ok"]).sum())


def test_a_model_that_thinks_is_stopped_and_goes_on_where_that_is_wanted(loopback, tmp_path):
    world = loopback(answer=lambda prompt, body: THINKS)
    with pytest.raises(UserError) as stopped:
        asked(tmp_path, world, Screening(20, RULES))
    said = str(stopped.value)
    assert said.startswith("respondents.m: none of the first 2")
    assert "without an answer ('Okay, so the user says \\x1b[2J\\u202eand so on" in said
    assert "to item 'i" in said
    for key in ("respondents.m.thinking_tokens", "m.reasoning_effort", "give_up_after=null"):
        assert key in said
    assert said.isprintable()
    assert len(said) < 700
    kept = answers_in(tmp_path)
    assert 20 <= kept < 30
    # The same command stops at once, and one that says so goes on where it was.
    before = len(world.bodies)
    with pytest.raises(UserError, match=f"none of the first {kept} answers"):
        asked(tmp_path, world, Screening(20, RULES))
    assert len(world.bodies) == before
    assert answered(asked(tmp_path, world, None)) == 40
    given = [n for key, n in world.given.items() if key[0].startswith("Say")]
    # What was under way when it stopped is asked again.
    assert len(given) == 40
    assert sum(given) <= 40 + 8


def test_hidden_thinking_that_takes_all_tokens_is_said(loopback, tmp_path):
    """As of models whose thoughts are counted and not shown."""
    said = Said("", finish="length", thought_tokens=60)
    with pytest.raises(UserError) as stopped:
        asked(tmp_path, loopback(answer=lambda prompt, body: said), Screening(20, RULES))
    assert "such as 60 tokens of thinking without an answer to item" in str(stopped.value)
    assert "allow more with respondents.m.thinking_tokens" in str(stopped.value)


def test_an_answer_that_was_cut_off_before_its_first_word_is_taken_for_thinking(loopback, tmp_path):
    """As of models whose thoughts are neither shown nor counted."""
    world = loopback(answer=lambda prompt, body: Said("", finish="length"))
    with pytest.raises(UserError) as stopped:
        asked(tmp_path, world, Screening(20, RULES))
    assert "such as an answer that was cut off before its first word to item" in str(stopped.value)
    assert "allow more with respondents.m.thinking_tokens" in str(stopped.value)


@pytest.mark.parametrize(
    "said",
    [
        Said("I disagree."),
        Said("", refusal="No."),
        Said("As an AI language model, I have no personal opinion on this and cannot answer."),
    ],
)
def test_answers_and_refusals_are_results(loopback, tmp_path, said):
    world = loopback(answer=lambda prompt, body: said)
    data = asked(tmp_path, world, Screening(20, RULES))
    assert not (data["status"] == STATUS["pending"]).any()


def test_one_answer_that_can_be_used_is_enough(loopback, tmp_path):
    def answer(prompt, body):
        return Said("I agree.") if "Say 10." in prompt else Said("Lorem ipsum dolor.")

    assert ok(asked(tmp_path, loopback(answer=answer), Screening(20, RULES))) == 40


def test_what_only_other_coders_read_is_left_to_them_unless_it_is_empty(loopback, tmp_path):
    world = loopback(answer=lambda prompt, body: Said("Ich stimme zu."))
    assert ok(asked(tmp_path / "one", world, Screening(20))) == 40
    world = loopback(answer=lambda prompt, body: Said(" \n"))
    with pytest.raises(UserError, match=r"such as ' \\n' to item"):
        asked(tmp_path / "two", world, Screening(20))


class Coders:
    """Coders that say which answers they can read, and remember what they were given."""

    def __init__(self, usable):
        self.usable = usable
        self.read = []

    def __call__(self, answers):
        self.read.append([text for _, text in answers])
        if isinstance(self.usable, Exception):
            raise self.usable
        return [self.usable in text for _, text in answers]


def test_the_coders_read_once_before_asking_stops(loopback, tmp_path):
    """Where rules read nothing, and one answer of many is what only they can read."""

    def answer(prompt, body):
        return Said("Ich stimme zu." if "Say 10." in prompt else "Lorem ipsum.")

    coders = Coders("stimme")
    data = asked(tmp_path, loopback(answer=answer), Screening(20, RULES, coders))
    assert ok(data) == 40
    (read,) = coders.read
    assert len(read) == 20
    assert read.count("Ich stimme zu.") == 1


def test_what_the_coders_cannot_read_either_stops(loopback, tmp_path):
    coders = Coders("stimme")
    world = loopback(answer=lambda prompt, body: Said("Lorem ipsum."))
    with pytest.raises(
        UserError, match=r"such as 'Lorem ipsum\.' to item .* or other coding\.coders"
    ):
        asked(tmp_path, world, Screening(20, RULES, coders))
    assert [len(read) for read in coders.read] == [20]


def test_coders_are_not_needed_where_rules_read_an_answer(loopback, tmp_path):
    coders = Coders("stimme")
    world = loopback(answer=lambda prompt, body: Said("I agree."))
    assert ok(asked(tmp_path, world, Screening(20, RULES, coders))) == 40
    assert not coders.read


def test_coders_that_fail_stop_nothing(loopback, tmp_path, caplog):
    coders = Coders(RuntimeError("out of memory\nat 0x1"))
    world = loopback(answer=lambda prompt, body: Said("Lorem ipsum."))
    assert ok(asked(tmp_path, world, Screening(20, RULES, coders))) == 40
    assert "m: the coders could not read its first answers (out of memory" in caplog.text
    assert len(coders.read) == 1


def test_only_empty_answers_stop_where_nothing_can_be_read_early(loopback, tmp_path):
    world = loopback(answer=lambda prompt, body: Said(""))
    with pytest.raises(UserError) as stopped:
        asked(tmp_path, world, Screening(20))
    assert "coding.coders" not in str(stopped.value)
    assert "elicitation.template or more elicitation.max_new_tokens" in str(stopped.value)


def test_a_server_that_lists_no_option_is_stopped(loopback, tmp_path):
    top = (("Okay", 0.9), ("Hm", 0.05), ("So", 0.04))
    world = loopback(answer=lambda prompt, body: Said("Okay", (("Okay", top),)))
    with pytest.raises(UserError) as stopped:
        asked(tmp_path, world, Screening(20), FORCED)
    said = str(stopped.value)
    assert "the probability 0 of all options ('yes' 0, " in said
    assert "respondents.m.api.top_logprobs" in said
    assert "elicitation=open_ended" in said
    assert answers_in(tmp_path) >= 20


@pytest.mark.parametrize(("mass", "stops"), [(0.0009, True), (0.0011, False)])
def test_a_little_mass_on_the_options_is_enough(loopback, tmp_path, mass, stops):
    top = (("Okay", 0.99), ("Yes", mass / 3), ("No", 2 * mass / 3))
    world = loopback(answer=lambda prompt, body: Said("Okay", (("Okay", top),)))
    if stops:
        with pytest.raises(UserError, match=r"'no' 0\.0006, 'yes' 0\.0003"):
            asked(tmp_path, world, Screening(20), FORCED)
    else:
        assert ok(asked(tmp_path, world, Screening(20), FORCED)) == 40


def test_runs_of_a_few_prompts_say_little(loopback, tmp_path):
    world = loopback(answer=lambda prompt, body: Said("Lorem ipsum."))
    assert ok(asked(tmp_path / "few", world, Screening(20, RULES), items=9, runs=5)) == 45
    with pytest.raises(UserError, match="none of the first"):
        asked(tmp_path / "more", world, Screening(20, RULES), items=11, runs=5)
    # Nine prompts have 45 runs, of which eight may still be under way when the tenth is answered.
    assert 38 <= answers_in(tmp_path / "more") < 55


def test_failures_do_not_count(loopback, tmp_path):
    def extra(prompt):
        return None if "Say 3" in prompt or "two more" in prompt else (400, {"message": "no"})

    world = loopback(answer=lambda prompt, body: Said("Lorem ipsum."), extra_status=extra)
    data = asked(tmp_path, world, Screening(20, RULES))
    # Those of 3 and of the thirties.
    assert ok(data) == 11


def test_what_rules_read_travels_to_other_processes():
    question = PendingQuestions(designed(items=1)[0], "m", {})[0]
    there = pickle.loads(pickle.dumps(Screening(20, RULES)))
    assert there.readable([(question, "I agree."), (question, "Lorem.")]) == [True, False]


def test_a_usable_answer_of_before_settles_it():
    asks, _, _ = designed(items=30)
    questions = PendingQuestions(asks, "m", {})

    def record(question, text):
        return {
            "cell": list(question.cell),
            "prompt": prompt_digest(question.prompt),
            "status": "ok",
            "text": text,
        }

    useless = [record(question, "Lorem ipsum.") for question in questions]
    first = FirstAnswers(Screening(20, RULES), "m", questions.of)
    first.add([*useless[:29], {"note": "so"}, record(questions[29], "I agree.")])
    assert first.settled
    first.add(useless)
    again = FirstAnswers(Screening(20, RULES), "m", questions.of)
    again.add(useless[:19])
    assert not again.settled
    with pytest.raises(UserError, match="none of the first 20 answers"):
        again.add(useless[19:20])
