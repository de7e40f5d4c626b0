"""How long a question waits before it is asked again."""

from collections import Counter
from contextlib import closing
from types import SimpleNamespace

import pytest

from polbayes.config.schema import ApiConfig, ElicitationConfig, RespondentConfig
from polbayes.respondents import open_respondent
from polbayes.respondents.base import Question
from polbayes.respondents.chat_api import server
from polbayes.respondents.usage import Usage

OPEN = ElicitationConfig(kind="open_ended", template="faulborn", max_new_tokens=20)
QUESTION = Question("i", "original", "baseline", 1, "S.", 1, "economic", "Prompt.")


@pytest.fixture
def bounds(monkeypatch):
    """Return the bounds below which waits are drawn, which are not waited for."""
    found = []

    class Drawn:
        def uniform(self, low, high):
            assert low == 0.0
            found.append(high)
            return 0.0

    monkeypatch.setattr(server, "random", SimpleNamespace(Random=Drawn))
    return found


def asked(loopback, statuses, **settings):
    """Ask a question that is answered after it has failed with each of these statuses."""
    tries = Counter()

    def status(prompt):
        tries[prompt] += 1
        if prompt != QUESTION.prompt or tries[prompt] > len(statuses):
            return None
        return statuses[tries[prompt] - 1], {"error": {"message": "not now"}}

    api = ApiConfig(base_url=loopback(extra_status=status).url, key_variable=None, **settings)
    config = RespondentConfig(backend="chat_api", checkpoint="m-1", api=api)
    with closing(open_respondent("m", config, elicitation=OPEN)) as respondent:
        answers = respondent.answers([(QUESTION, 1)], None, spent=Usage())
        (answer,) = [a for a in answers if a.question is not None]
    return answer


def test_the_wait_doubles_with_each_failure_up_to_a_minute(loopback, bounds):
    answer = asked(loopback, [500] * 6, backoff=4.0, retries=6)
    assert answer.error == ""
    assert bounds == [4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_the_wait_doubles_where_requests_come_too_fast(loopback, bounds):
    asked(loopback, [429] * 3, backoff=0.5)
    assert bounds == [0.5, 1.0, 2.0]


def test_failures_and_too_many_requests_are_counted_apart(loopback, bounds):
    asked(loopback, [500, 429, 503, 429], backoff=0.5)
    assert bounds == [0.5, 0.5, 1.0, 1.0]


def test_a_question_that_is_put_back_begins_anew(loopback, bounds):
    asked(loopback, [500] * 5, backoff=0.5, retries=2)
    # Three attempts, and at the end two more failures and the answer.
    assert bounds == [0.5, 1.0, 0.5, 1.0]
