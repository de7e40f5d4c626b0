"""One engine asks every judge: by task, once, and with the labels that journals always had."""

import pytest

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo
from polbayes.judging.engine import Judge, Task, judged_before
from polbayes.probing.dispatch import Asking
from polbayes.probing.journal import cell_of, read
from polbayes.respondents import BACKENDS, Backend, Completion
from polbayes.respondents.questions import prompt_digest

INFO = ModelInfo("j", "Judge: {statement}", chat=True)


class Echo:
    """Says what it was asked, shouting; remembers it, and fails where it is told to."""

    def __init__(self, asked, fails):
        self.info, self.asked, self.fails = INFO, asked, fails

    def warnings(self, lexicon):
        return ()

    def complete(self, questions, seeds):
        for question in questions:
            if self.fails(question):
                raise ValueError("no")
            self.asked.append(question)
        return [Completion(question.prompt.upper()) for question in questions]

    def close(self):
        self.asked.append("closed")


@pytest.fixture
def world(monkeypatch):
    """Return the questions asked, and a mapping whose ``fails`` says which of them fail."""
    asked, how = [], {"fails": lambda question: False}
    made = Backend(
        ("open_ended",),
        lambda name, config, template: INFO,
        lambda name, config, template, elicitation: Echo(asked, how["fails"]),
    )
    monkeypatch.setitem(BACKENDS, "echo", made)
    return asked, how


def judge(use):
    asking = Asking(ElicitationConfig(template="faulborn", batch_size=1), None, 1)
    return Judge(use, RespondentConfig(backend="echo"), INFO, asking, {})


def texts(verdicts):
    return {key: [record.get("text") for record in said] for key, said in verdicts.items()}


def once(key, said, attempt):
    return [Task(key, f"what about {key}?")]


def test_replies_come_by_key_and_nothing_is_asked_twice(world, tmp_path):
    asked, _ = world
    path = tmp_path / "j.jsonl"
    found = judge("stances").verdicts("ba", once, lambda t, r: r, journal=path)
    assert texts(found) == {"b": ["JUDGE: WHAT ABOUT B?"], "a": ["JUDGE: WHAT ABOUT A?"]}
    assert [q.prompt for q in asked[:2]] == ["Judge: what about a?", "Judge: what about b?"]
    assert asked.pop() == "closed"
    more = judge("stances").verdicts("abc", once, lambda t, r: r, journal=path)
    assert texts(more)["a"] == ["JUDGE: WHAT ABOUT A?"]
    assert [q.prompt for q in asked[2:-1]] == ["Judge: what about c?"]
    # Where there is nothing to ask, the judge is not opened.
    judge("stances").verdicts("abc", once, lambda t, r: r, journal=path)
    assert len(asked) == 4
    assert judged_before(path) == {"a", "b", "c"}


def test_the_labels_of_journals_are_those_of_earlier_versions(world, tmp_path):
    task = Task("k", "Hm?", way="order", attempt=2, vote=3)
    wanted = {
        "stances": ("k", "attempt_2", "baseline", 3),
        "paraphrases": ("k", "original", "baseline", 1),
        "ratings": (prompt_digest("Judge: Hm?"), "order", "", 2),
    }
    for use, cell in wanted.items():
        path = tmp_path / f"{use}.jsonl"
        judge(use).verdicts("k", lambda *_: [task], lambda t, r: r, journal=path)
        assert [cell_of(r) for r in read(path) if "cell" in r] == [cell]
        who = "judge" if use == "ratings" else "model"
        assert f'"{who}":"j"' in path.read_text("utf-8").splitlines()[0]


def test_what_is_asked_again_is_up_to_the_verdicts(world, tmp_path):
    asked, _ = world

    def tasks(key, said, attempt):
        enough = key == "a" and said
        text = f"{key}, {len(said)} replies"
        return [] if enough else [Task(key, text, attempt=attempt, vote=n) for n in (1, 2)]

    found = judge("stances").verdicts("ab", tasks, lambda t, r: t, journal=None, attempts=3)
    assert {key: [(t.attempt, t.vote) for t in said] for key, said in found.items()} == {
        "a": [(1, 1), (1, 2)],
        "b": [(n, vote) for n in (1, 2, 3) for vote in (1, 2)],
    }
    assert [q.prompt for q in asked[-3:-1]] == ["Judge: b, 4 replies"] * 2
    assert not list(tmp_path.iterdir())


def test_requests_that_are_the_same_to_the_letter_are_one(world, tmp_path):
    asked, _ = world
    found = judge("ratings").verdicts(
        "ab", lambda key, *_: [Task(key, "The same.")], lambda t, r: r["text"], journal=None
    )
    assert found == {"a": ["JUDGE: THE SAME."], "b": ["JUDGE: THE SAME."]}
    assert len(asked) == 2


def test_a_failure_is_a_reply_unless_the_judge_does_nothing_else(world, tmp_path):
    _, how = world
    how["fails"] = lambda question: " b?" in question.prompt
    path = tmp_path / "j.jsonl"
    found = judge("stances").verdicts("ab", once, lambda t, r: r["status"], journal=path)
    assert found == {"a": ["ok"], "b": ["error"]}
    how["fails"] = lambda question: True
    with pytest.raises(UserError, match=r"respondents\.j: could not answer any"):
        judge("stances").verdicts("cd", once, lambda t, r: r, journal=tmp_path / "k.jsonl")
    assert not (tmp_path / "k.jsonl").exists()


def test_text_and_schema_reach_the_respondent(world):
    asked, _ = world
    schema = {"type": "object"}
    judge("ratings").verdicts(
        "a", lambda *_: [Task("a", "x", schema)], lambda t, r: r, journal=None
    )
    assert (asked[0].prompt, asked[0].schema, asked[0].keying) == ("Judge: x", schema, 0)
