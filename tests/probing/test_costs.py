import pytest

from polbayes.config.schema import ApiConfig, RespondentConfig
from polbayes.probing.costs import usage_in_words, usage_table, write_usage
from polbayes.probing.journal import Journal, journal_path
from polbayes.respondents.chat_api.budget import Budget, cost
from polbayes.respondents.usage import Usage, used

PRICED = ApiConfig(price_input=2.0, price_output=8.0, currency="EUR")


def written(folder, name, records):
    with Journal(journal_path(folder / "journal", name), {"x": 1}) as journal:
        journal.extend(records)


def cell(n, **more):
    return {"cell": ["i", "v", "p", n], "prompt": "0", "status": "ok", **more}


def test_records_say_what_was_used_and_nothing_else():
    assert Usage().record() == {}
    assert Usage(3).record() == {"tokens": [3]}
    assert Usage(3, 0, 1, 70, 20).record() == {"tokens": [3, 0, 1, 70, 20]}
    records = [{"tokens": [3]}, {"note": "x"}, {"tokens": [3, 4, 1, 70, 20]}]
    assert used(records) == Usage(6, 4, 1, 70, 20)


def test_costs_are_prices_of_a_million_tokens():
    usage = Usage(input=1000, output=500, uncounted=1, input_bound=250, output_bound=100)
    assert cost(usage, PRICED) == pytest.approx(0.002 + 0.004)
    assert cost(usage, PRICED, at_most=True) == pytest.approx(0.0025 + 0.0048)
    assert cost(usage, ApiConfig()) is None


def test_what_is_set_aside_is_given_back():
    budget = Budget(ApiConfig(budget_tokens=100), Usage(input=10))
    assert budget.set_aside(Usage.at_most((30, 10)))
    assert budget.set_aside(Usage.at_most((40, 10)))
    assert not budget.set_aside(Usage.at_most((1, 0)))
    assert budget.lacking(Usage.at_most((1, 0))) == "budget_tokens"
    budget.settle(Usage.at_most((40, 10)), Usage(5, 5))
    assert budget.spent == Usage(15, 5)
    # 20 are spent and 40 set aside.
    assert budget.set_aside(Usage.at_most((30, 10)))
    assert not budget.set_aside(Usage.at_most((1, 0)))


def test_a_budget_of_money_says_so():
    priced = ApiConfig(price_input=2.0, price_output=8.0, budget=0.001)
    assert Budget(priced, Usage()).lacking(Usage.at_most((100, 100))) == ""
    assert Budget(priced, Usage()).lacking(Usage.at_most((101, 100))) == "budget"


def test_the_table_has_a_row_for_every_server_that_was_asked(tmp_path):
    api = RespondentConfig(backend="chat_api", checkpoint="m", api=PRICED)
    names = {"a": api, "not asked": api, "near": RespondentConfig(backend="simulated")}
    written(tmp_path, "a", [{"tokens": [10, 5]}, cell(1, tokens=[1000, 500]), cell(2)])
    written(tmp_path, "near", [cell(1)])
    journals = {name: journal_path(tmp_path / "journal", name) for name in names}
    (row,) = usage_table(journals, names).to_dict("records")
    assert row == {
        "model": "a",
        "answers": 2,
        "input_tokens": 1010,
        "output_tokens": 505,
        "uncounted_requests": 0,
        "cost": pytest.approx(0.00202 + 0.00404),
        "cost_at_most": pytest.approx(0.00606),
        "currency": "EUR",
    }
    assert usage_in_words(row) == "1,010 tokens in, 505 out, 0.00606 EUR"
    row |= {"uncounted_requests": 2, "cost_at_most": 0.1}
    assert usage_in_words(row).endswith(
        ", 2 requests without a count from the server, 0.00606 (at most 0.1) EUR"
    )
    assert ", 1 request without a count" in usage_in_words({**row, "uncounted_requests": 1})
    assert usage_in_words({**row, "cost": None, "uncounted_requests": 0}) == (
        "1,010 tokens in, 505 out"
    )


def test_no_file_is_written_where_no_server_was_asked(tmp_path):
    assert write_usage(tmp_path, {"near": RespondentConfig(backend="simulated")}).empty
    assert list(tmp_path.iterdir()) == []
