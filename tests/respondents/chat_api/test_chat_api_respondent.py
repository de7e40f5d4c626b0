"""Asking a server on this machine, which goes wrong in every way."""

import logging
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from loopback import KEY, VARIABLE, Said, spread

from polbayes.config.schema import ApiConfig, ElicitationConfig, RespondentConfig
from polbayes.data.dataset import STATUS, to_frame
from polbayes.errors import UserError
from polbayes.instrument.design import design
from polbayes.instrument.prompts import Lexicon, Prefix, load_template
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.probing.journal import journal_path, read
from polbayes.probing.probe import probe
from polbayes.respondents import describe, open_respondent
from polbayes.respondents.base import Question
from polbayes.respondents.usage import Usage, used

YES_NO = Lexicon("yn", ("yes", "no"), (1, -1))
OPEN = ElicitationConfig(kind="open_ended", template="faulborn", max_new_tokens=20)
FORCED = ElicitationConfig(kind="forced_choice", template="haller", lexicon="haller_generative")


def api(world, **more):
    settings = {"key_variable": None, "backoff": 0.01, "timeout": 5.0, "concurrency": 8, **more}
    config = ApiConfig(base_url=world.url, **settings)
    return RespondentConfig(backend="chat_api", checkpoint="m-1", api=config)


def question(n, run=1):
    return Question(f"i{n}", "original", "baseline", run, f"S {n}.", 1, "economic", f"Prompt {n}.")


def asked(config, questions, elicitation=OPEN, spent=None, lexicon=None):
    """Ask one by one: the answers by item, and the error that it ended with."""
    found, usage, stop, notes = {}, Usage(), None, []
    with closing(open_respondent("m", config, elicitation=elicitation)) as respondent:
        put = [(q, 1000 + n) for n, q in enumerate(questions)]
        try:
            for answer in respondent.answers(put, lexicon, spent=spent or Usage()):
                usage += answer.usage
                notes += [answer.note] if answer.note else []
                if answer.question is not None:
                    assert answer.question.item not in found
                    found[answer.question.item] = answer
        except UserError as error:
            stop = error
    return found, usage, stop, notes


def test_open_answers_come_back_with_what_they_took(loopback):
    world = loopback()
    found, usage, stop, notes = asked(
        api(world, system="Be brief."), [question(n) for n in range(30)]
    )
    assert stop is None
    assert notes == []
    assert {item: a.completion.text for item, a in found.items()} == {
        f"i{n}": spread(f"Prompt {n}.").text for n in range(30)
    }
    assert {a.completion.status for a in found.values()} == {"ok"}
    assert (usage.input, usage.output, usage.uncounted) == (*world.tokens, 0)
    body = next(b for b in world.bodies if b["messages"][-1]["content"] == "Prompt 3.")
    assert body == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Prompt 3."},
        ],
        "max_tokens": 20,
        "temperature": 1.0,
        "seed": 1003,
        "top_k": 10,
    }
    # The trial question and the thirty, each once.
    assert len(world.bodies) == 31


def test_what_a_server_does_not_take_is_left_out(loopback):
    world = loopback(unknown=("top_k", "seed", "max_tokens"))
    more = {"omit": ["top_k", "seed"], "limit_key": "max_completion_tokens"}
    config = api(world, extra_body={"min_p": 0.1}, **more)
    found, _, stop, _ = asked(config, [question(1)])
    assert stop is None
    assert set(found) == {"i1"}
    last = world.bodies[-1]
    assert {"temperature", "max_completion_tokens", "min_p"} <= set(last)
    assert not {"top_k", "seed", "max_tokens"} & set(last)


@pytest.mark.parametrize(
    ("said", "status", "text", "truncated"),
    [
        (Said("I agree, but", finish="length"), "ok", "I agree, but", True),
        (Said(" \n"), "empty", " \n", False),
        (Said("", refusal="I cannot."), "refused", "I cannot.", False),
        (Said("Some", finish="content_filter"), "refused", "Some", False),
    ],
)
def test_refusals_empty_and_cut_answers_are_what_they_are(loopback, said, status, text, truncated):
    world = loopback(answer=lambda prompt, body: said)
    found, _, stop, _ = asked(api(world), [question(1)])
    assert stop is None
    completion = found["i1"].completion
    assert (completion.status, completion.text, completion.truncated) == (status, text, truncated)


def test_a_filter_that_answers_with_an_error_is_a_refusal(loopback):
    error = {"error": {"message": "filtered", "code": "content_filter"}}
    world = loopback(extra_status=lambda prompt: (400, error) if "2" in prompt else None)
    found, _, _, _ = asked(api(world), [question(1), question(2)])
    assert found["i2"].completion.status == "refused"
    assert found["i1"].completion.status == "ok"


def test_masses_are_those_of_the_listed_tokens(loopback):
    world = loopback()
    found, usage, _, notes = asked(
        api(world), [question(n) for n in range(5)], FORCED, lexicon=YES_NO
    )
    for n in range(5):
        top = dict(spread(f"Prompt {n}.").tokens[0][1])
        answer = found[f"i{n}"]
        np.testing.assert_allclose(answer.mass, [top["Yes"] + top[" yes"], top["No"]], rtol=1e-9)
        assert answer.unseen == pytest.approx(max(1 - sum(top.values()), 0), abs=1e-9)
    assert usage.uncounted == 0
    assert notes == [
        "m: the server lists the 4 likeliest tokens, not 20; mass_unseen says what may be missing."
    ]
    assert {(b["temperature"], b["logprobs"], b["top_logprobs"]) for b in world.bodies} == {
        (0.0, True, 20)
    }
    assert not any("seed" in body or "top_k" in body for body in world.bodies)


def test_fewer_tokens_leave_more_unseen(loopback):
    world = loopback()
    found, _, _, _ = asked(api(world, top_logprobs=1), [question(1)], FORCED, lexicon=YES_NO)
    top = dict(spread("Prompt 1.").tokens[0][1])
    best = max(top, key=top.get)
    # The server has taken "Yes", and lists the likeliest token beside it.
    listed = {best, "Yes"}
    assert found["i1"].unseen == pytest.approx(1 - sum(top[t] for t in listed))


def test_a_server_without_log_probabilities_is_refused_after_one_request(loopback):
    world = loopback(logprobs=False)
    found, _, stop, _ = asked(api(world), [question(1)], FORCED, lexicon=YES_NO)
    assert found == {}
    assert "returns no log probabilities of tokens, which forced_choice needs" in str(stop)
    assert len(world.bodies) == 1


def test_batches_are_answered_in_their_order(loopback):
    world = loopback()
    questions = [question(n) for n in range(6)]
    with closing(open_respondent("m", api(world), elicitation=OPEN)) as respondent:
        texts = [c.text for c in respondent.complete(questions, range(6))]
    assert texts == [spread(q.prompt).text for q in questions]
    with closing(open_respondent("m", api(world), elicitation=FORCED)) as respondent:
        mass = respondent.option_mass(questions, YES_NO)
    assert mass.shape == (6, 2)
    assert mass[2, 1] == pytest.approx(dict(spread("Prompt 2.").tokens[0][1])["No"])


FAULTS = ("429", "500", "hang", "cut", "malformed", "schema")


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_got_over(loopback, fault):
    world = loopback(faults={fault: 0.3}, seed=4)
    config = api(world, timeout=0.5 if fault == "hang" else 5.0, retries=12)
    found, usage, stop, _ = asked(config, [question(n) for n in range(20)])
    assert stop is None
    assert len(found) == 20
    assert not any(a.error for a in found.values())
    assert world.failed[fault] > 0
    assert set(world.given.values()) == {1}
    # Where the model may have worked for nothing, that is said.
    assert usage.uncounted == (0 if fault in ("429", "500") else world.failed[fault])
    assert (usage.input, usage.output) == tuple(world.tokens)


def test_after_so_many_failures_a_question_has_failed(loopback):
    world = loopback(extra_status=lambda p: (500, {"error": "down"}) if "1" in p else None)
    found, _, stop, _ = asked(api(world, retries=3), [question(n) for n in range(3)])
    assert stop is None
    assert found["i1"].error == "status 500: down"
    assert found["i1"].completion is None
    prompts = Counter(body["messages"][-1]["content"] for body in world.bodies)
    # Twice: it was given a second chance after all others.
    assert prompts["Prompt 1."] == 2 * 4
    assert prompts["Prompt 2."] == 1


def test_a_question_that_met_a_bad_moment_gets_a_second_chance(loopback):
    world = loopback()

    def status(prompt):
        return (500, {"error": "x"}) if len(world.bodies) in (5, 6) else None

    world.extra_status = status
    found, _, stop, _ = asked(api(world, retries=0, concurrency=1), [question(n) for n in range(9)])
    assert stop is None
    assert len(found) == 9
    assert not any(a.error for a in found.values())
    order = [body["messages"][-1]["content"] for body in world.bodies]
    assert order[-2:] == order[4:6]


def test_the_last_questions_do_not_fail_because_the_server_is_down(loopback, tmp_path):
    world = loopback()
    world.extra_status = lambda p: (500, {"error": "down"}) if len(world.bodies) > 5 else None
    with pytest.raises(UserError, match=r"no longer answers \(status 500: down\)"):
        probed(tmp_path, api(world, retries=0, concurrency=1), runs=1)
    assert sum("cell" in r for r in read(journal_path(tmp_path, "m"))) == 4
    # Only one of them is the question's own fault.
    world.extra_status = lambda p: (500, {"error": "odd"}) if "19" in p else None
    data = probed(tmp_path, api(world, retries=0), runs=1)
    statuses = data["status"].values.ravel().tolist()
    assert statuses == [STATUS["ok"]] * 19 + [STATUS["error"]]


def test_a_question_that_cannot_be_asked_costs_no_other(loopback):
    world = loopback(extra_status=lambda p: (413, {"error": "too long"}) if "1" in p else None)
    found, _, stop, _ = asked(api(world), [question(n) for n in range(3)])
    assert stop is None
    assert found["i1"].error == "status 413: too long"
    odd = replace(question(5), prompt="half \ud83d")
    found, _, stop, _ = asked(api(world), [odd, question(2)])
    assert "UnicodeEncodeError" in found["i5"].error
    assert found["i2"].completion.status == "ok"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"key": "another-key-12345"}, "does not accept requests without key (status 401)"),
        (
            {"model": "m-2"},
            "cannot be asked as model 'm-1' (status 404: The model m-1 is not here)",
        ),
    ],
)
def test_what_no_question_can_change_stops_at_once(loopback, change, says):
    world = loopback(**change)
    found, _, stop, _ = asked(api(world), [question(n) for n in range(50)])
    assert found == {}
    assert says in str(stop)
    assert "\n" not in str(stop)
    assert len(world.bodies) == 1


def test_credit_that_ends_half_way_costs_no_question_its_answer(loopback):
    """Anthropic says so with the status of a wrong question, which is answered after paying."""
    world = loopback()
    said = "Your credit balance is too low to access the Anthropic API."

    def status(prompt):
        with world.lock:
            return (400, {"error": {"message": said}}) if len(world.bodies) > 20 else None

    world.extra_status = status
    found, _, stop, _ = asked(api(world), [question(n) for n in range(100)])
    assert f"(status 400: {said}); what was answered is kept" in str(stop)
    assert 10 < len(found) < 30
    assert not any(answer.error for answer in found.values())


def test_a_key_that_is_revoked_half_way_keeps_what_was_answered(loopback):
    world = loopback()

    def status(prompt):
        with world.lock:
            return (403, {"error": "revoked"}) if len(world.bodies) > 20 else None

    world.extra_status = status
    found, _, stop, _ = asked(api(world), [question(n) for n in range(100)])
    assert "(status 403: revoked); what was answered is kept" in str(stop)
    assert 10 < len(found) < 21
    assert len(world.bodies) < 40


def test_a_server_that_is_not_there_is_one_sentence(loopback):
    world = loopback()
    config = api(world, retries=1)
    config.api.base_url = "http://127.0.0.1:9/v1"
    found, usage, stop, _ = asked(config, [question(1)])
    assert found == {}
    assert "does not answer (the connection failed" in str(stop)
    assert usage == Usage()


def test_a_limit_is_found_and_kept(loopback):
    world = loopback(limit=(10, 1.0))
    begun = time.monotonic()
    found, _, stop, _ = asked(api(world, retries=0), [question(n) for n in range(40)])
    assert stop is None
    assert len(found) == 40
    assert not any(a.error for a in found.values())
    assert time.monotonic() - begun > 3
    # None came while the server asked to wait, but those that were under way.
    assert world.early(grace=0.5) == 0
    assert world.failed["limit"] <= 40


def test_a_known_limit_is_never_reached(loopback):
    world = loopback(limit=(12, 1.0))
    found, _, _, _ = asked(api(world, requests_per_minute=600), [question(n) for n in range(20)])
    assert len(found) == 20
    assert world.failed["limit"] == 0


def test_questions_are_under_way_together_but_not_more_than_allowed(loopback):
    world = loopback(delay=0.05)
    found, _, _, _ = asked(api(world, concurrency=6), [question(n) for n in range(40)])
    assert len(found) == 40
    assert 4 <= world.most_active <= 6


@pytest.mark.parametrize("key", ["budget", "budget_tokens"])
def test_a_budget_is_not_exceeded(loopback, key):
    world = loopback(delay=0.01)
    prices = {"price_input": 2.0, "price_output": 8.0}
    limit = {"budget": 0.002} if key == "budget" else {"budget_tokens": 600}
    found, usage, stop, _ = asked(api(world, **prices, **limit), [question(n) for n in range(500)])
    paid = (world.tokens[0] * 2.0 + world.tokens[1] * 8.0) / 1e6
    assert f"respondents.m.api.{key}: the next question might exceed" in str(stop)
    assert len(found) == sum(world.given.values()) - 1
    assert (usage.input, usage.output) == tuple(world.tokens)
    # A question takes at most 80 tokens in and 20 out, and some 2 and 3 in truth.
    if key == "budget":
        assert 0.002 - 0.00033 <= paid <= 0.002
    else:
        assert 600 - 100 <= sum(world.tokens) <= 600


def test_what_was_spent_before_counts(loopback):
    world = loopback()
    config = api(world, budget_tokens=600)
    found, _, stop, _ = asked(config, [question(1)], spent=Usage(input=400, output=150))
    assert found == {}
    assert "550 tokens were used" in str(stop)
    assert world.bodies == []
    found, _, stop, _ = asked(config, [question(1)], spent=Usage(100, 0, 1, 300, 150))
    assert found == {}


def test_without_a_count_the_longest_is_taken(loopback):
    world = loopback(usage=False)
    found, usage, stop, _ = asked(api(world, budget_tokens=1000), [question(n) for n in range(50)])
    assert "budget_tokens" in str(stop)
    # 64 and 10 letters in, 20 tokens out, for each question, and the trial's.
    assert len(found) == (1000 - 64 - 51 - 20) // (64 + len("Prompt 1.") + 20)
    assert usage.uncounted == len(found) + 1
    assert (usage.input, usage.output) == (0, 0)


def test_a_dripping_reply_is_given_up_in_time(loopback):
    world = loopback(hang=60.0, faults={"hang": 1.0})
    begun = time.monotonic()
    _, _, stop, _ = asked(api(world, timeout=0.2, retries=2), [question(1)])
    assert "no answer came in time" in str(stop)
    assert time.monotonic() - begun < 10


# --- through the whole stage -----------------------------------------------------------------

ITEMS = tuple(
    Item(f"i{n}", "economic", 1, "s", (Variant("original", f"Statement {n}.", "original", 1),), {})
    for n in range(20)
)
PREFIXES = (Prefix("baseline", "", "open"),)


def probed(folder, config, *, runs=2, elicitation=OPEN, lexicon=None):
    info = describe("m", config, load_template(elicitation.template))
    return probe(
        design([Instrument("tiny", "Tiny", "us", ITEMS)], PREFIXES, [info], runs=runs),
        {"m": config},
        elicitation=elicitation,
        lexicon=lexicon,
        prefixes=PREFIXES,
        seed=1,
        journal_dir=folder,
        progress=False,
    )


def test_a_stopped_run_goes_on_where_it_stopped(loopback, tmp_path):
    world = loopback(faults={"500": 0.1, "cut": 0.1})
    limit = {"budget_tokens": 400}
    with pytest.raises(UserError, match="budget_tokens: the next question might exceed 400"):
        probed(tmp_path, api(world, **limit))
    kept = [r for r in read(journal_path(tmp_path, "m")) if "cell" in r]
    assert 0 < len(kept) < 40
    before = used(read(journal_path(tmp_path, "m")))
    data = probed(tmp_path, api(world, concurrency=2))
    assert (to_frame(data)["status"] == STATUS["ok"]).all()
    assert {k: n for k, n in world.given.items() if "two more" not in k[0]}.keys()
    assert all(n == 1 for (prompt, _), n in world.given.items() if prompt.startswith("Statement"))
    after = used(read(journal_path(tmp_path, "m")))
    assert (after.input, after.output) == tuple(world.tokens)
    assert before.input < after.input


@pytest.mark.parametrize("at", [1, 5, 25, 36])
def test_an_interruption_loses_what_is_under_way_and_no_more(loopback, tmp_path, at):
    world = loopback()
    real = world.answer

    interrupted = []

    def interrupting(prompt, body):
        import signal

        with world.lock:  # several requests may have come in since the last look
            now = len(world.bodies) >= at and not interrupted
            interrupted.extend([True] * now)
        if now:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.2)
        return real(prompt, body)

    world.answer = interrupting
    with pytest.raises(KeyboardInterrupt):
        probed(tmp_path, api(world, concurrency=4))
    path = journal_path(tmp_path, "m")
    kept = sum("cell" in r for r in read(path)) if path.exists() else 0
    assert kept >= at - 2 - 2 * 4
    world.answer = real
    probed(tmp_path, api(world))
    records = [tuple(r["cell"]) for r in read(path) if "cell" in r]
    assert len(records) == len(set(records)) == 40
    twice = [k for k, n in world.given.items() if n > 1 and k[0].startswith("Statement")]
    assert len(twice) <= 4


def test_another_server_is_another_run_and_another_pace_is_not(loopback, tmp_path):
    world, other = loopback(), loopback()
    probed(tmp_path, api(world))
    probed(tmp_path, api(world, concurrency=1, timeout=9.0, budget_tokens=10**6), runs=3)
    for changed, says in (
        (api(other), "respondent.api.base_url was"),
        (api(world, system="Be brief."), "respondent.api.system was nothing and is 'Be brief.'"),
        (replace(api(world), checkpoint="m-2"), "respondent.checkpoint was 'm-1' and is 'm-2'"),
        (api(world, omit=["seed"]), "respondent.api.omit was"),
    ):
        with pytest.raises(UserError, match=says):
            probed(tmp_path, changed)


def test_masses_and_what_was_not_seen_reach_the_dataset(loopback, tmp_path):
    said = Said("", refusal="No.", tokens=())
    world = loopback(answer=lambda p, b: said if "Statement 3." in p else spread(p))
    data = probed(tmp_path, api(world), runs=1, elicitation=FORCED, lexicon=YES_NO)
    one = data.isel(model=0, variant=0, prefix=0, run=0)
    assert one["declined"].values.tolist() == [int(n == 3) for n in range(20)]
    assert one["status"].sel(item="i3") == STATUS["refused"]
    assert np.isnan(one["mass_unseen"].sel(item="i3"))
    assert np.isnan(one["p_agree"].sel(item="i3"))
    rest = one.drop_sel(item="i3")
    total = rest["p_agree"] + rest["p_disagree"] + rest["mass_unseen"]
    assert float(total.max()) <= 1 + 1e-6
    from polbayes.coding.responses import code_responses

    coded = code_responses(data, [])
    assert coded["status"].sel(item="i3").item() == STATUS["refused"]
    assert (coded["status"].drop_sel(item="i3") == STATUS["ok"]).all()
    again = code_responses(coded, [])
    assert again.identical(coded)


def test_a_server_that_goes_down_is_no_answer_of_any_question(loopback, tmp_path):
    world = loopback()
    world.extra_status = lambda p: (
        (500, {"error": "down"}) if sum(world.given.values()) > 10 else None
    )
    with pytest.raises(UserError, match=r"no longer answers \(status 500: down\); what was answ"):
        probed(tmp_path, api(world, retries=0), runs=10)
    statuses = [r["status"] for r in read(journal_path(tmp_path, "m")) if "cell" in r]
    assert set(statuses) == {"ok"}
    assert len(statuses) >= 10
    world.extra_status = lambda prompt: None
    data = probed(tmp_path, api(world), runs=10)
    assert (to_frame(data)["status"] == STATUS["ok"]).all()
    assert "message" not in data


# --- the key ---------------------------------------------------------------------------------


def test_the_key_is_taken_from_the_environment_and_gets_nowhere_else(
    loopback, tmp_path, monkeypatch, caplog
):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(VARIABLE, KEY)

    def echo(prompt, body):
        return Said(f"Your header was Bearer {KEY}.")

    world = loopback(key=KEY, answer=echo, faults={"500": 0.2, "malformed": 0.1})
    world.extra_status = lambda p: (
        (500, {"error": f"Bearer {KEY}"}) if p.startswith("Statement 1.") else None
    )
    config = api(world, key_variable=VARIABLE, retries=4)
    data = probed(tmp_path, config)
    assert all(h["authorization"] == f"Bearer {KEY}" for h in world.headers)
    text = data["completion"].sel(item="i2").values.ravel()[0]
    assert text == "Your header was Bearer ***."
    assert "***" in data["message"].sel(item="i1").values.ravel()[0]
    world.key = "another-key-0123456789"
    with pytest.raises(UserError) as refused:
        probed(tmp_path, config, runs=3)
    assert f"does not accept the key in {VARIABLE} (status 401)" in str(refused.value)
    everything = str(refused.value) + caplog.text + repr(data.to_dict())
    everything += "".join(p.read_text() for p in tmp_path.rglob("*") if p.is_file())
    assert KEY not in everything


def test_a_key_that_is_not_there_is_missed_before_anybody_is_asked(loopback, tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    world = loopback()
    with pytest.raises(UserError, match=f"the environment variable {VARIABLE} is not set"):
        probed(tmp_path, api(world, key_variable=VARIABLE))
    monkeypatch.setenv(VARIABLE, "odd\nkey-012345")
    with pytest.raises(UserError, match="has unusual characters") as odd:
        probed(tmp_path, api(world, key_variable=VARIABLE))
    assert "012345" not in str(odd.value)
    assert world.bodies == []
    # Where nothing is left to ask, none is needed.
    probed(tmp_path, api(world))
    monkeypatch.delenv(VARIABLE)
    probed(tmp_path, api(world, key_variable=VARIABLE))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"key_variable": "sk-abc123"},
            "key_variable: must be the name of an environment variable",
        ),
        ({"base_url": "http://u:sk-abc123@h/v1"}, "base_url: must have no user name, query"),
        ({"base_url": "http://h/v1?key=sk-abc123"}, "base_url: must have no user name, query"),
        ({"base_url": "localhost:8000"}, "base_url: 'localhost:8000' is not a valid URL"),
        ({"top_logprobs": 21}, "top_logprobs: must be at most 20, not 21"),
        ({"budget": 5.0}, "budget: needs the prices of a million tokens"),
        ({"price_input": 1.0}, "api.price_output: is missing although the other price is set"),
        ({"limit_key": "max_token"}, "did you mean 'max_tokens'?"),
        ({"omit": ["top_p"]}, "api.omit: unknown field 'top_p'"),
        ({"extra_body": {"stream": True}}, "api.extra_body.stream: is set by other keys"),
    ],
)
def test_a_declaration_that_cannot_be_meant_is_refused(settings, says):
    config = RespondentConfig(backend="chat_api", checkpoint="m", api=ApiConfig(**settings))
    with pytest.raises(UserError) as refused:
        describe("m", config, load_template("faulborn"))
    assert says in str(refused.value)
    assert "abc123" not in str(refused.value)


def test_other_keys_that_make_no_sense_are_refused():
    template = load_template("faulborn")
    for change, says in (
        ({"checkpoint": ""}, "checkpoint: is empty"),
        ({"revision": "main"}, "revision: a server takes none"),
        ({"chat": False}, "chat: a chat_api respondent is asked by chat"),
    ):
        config = replace(RespondentConfig(backend="chat_api", checkpoint="m"), **change)
        with pytest.raises(UserError, match=says):
            describe("m", config, template)
