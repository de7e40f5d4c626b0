"""The answer of a run in a terminal."""

import json
import sys

import pytest

from polbayes.cli import _main
from polbayes.data.progress import bars, conclude, detail, progress_bar, say, speaking
from polbayes.instrument.dimensions import Dimension
from polbayes.instrument.poles import poles_of
from polbayes.report import terminal
from polbayes.report.terminal import answer_lines, as_values


def test_positions_have_intervals_and_verdicts(make_results):
    results = make_results()
    lines = answer_lines(results)
    assert lines[0] == "Lean, from −1 (left) to 1 (right), with 90% intervals"
    assert lines[1].split() == ["Economic", "Cultural"]
    contrasts = results.tables["contrasts"]
    row = contrasts[(contrasts["against"] == "centre") & (contrasts["measure"] == "lean")].iloc[0]
    first = f"{row['estimate']:.2f} [{row['lower']:.2f}, {row['upper']:.2f}] open"
    assert lines[2].startswith(str(row["model_a"]))
    assert first.replace("-", "−") in lines[2]
    assert any(line.startswith("Can it be used?") for line in lines)


def test_failed_draws_have_no_positions(make_results):
    (line,) = answer_lines(make_results(verdict="bad"))
    assert line.startswith("No:")


def test_values_are_json(make_results):
    found = json.loads(json.dumps(as_values(make_results())))
    assert {"model", "dimension", "lean", "lower", "upper", "decision"} <= set(
        found["positions"][0]
    )


def test_values_have_the_decisions_of_the_table(make_results):
    """As the file has them, an open one too; what has no estimate has no position."""
    models = ["alpha", "beta", "gamma", "delta", "epsilon"]
    made = make_results(models)
    table = made.tables["contrasts"].copy()
    decisions = dict(zip(models, ["left", "right", "equal", "open", ""], strict=True))
    table["decision"] = table["model_a"].map(decisions)
    results = make_results(models, tables={**made.tables, "contrasts": table})
    found = {
        (row["model"], row["dimension"]): row["decision"] for row in as_values(results)["positions"]
    }
    assert found == {
        (model, on): decision
        for model, decision in decisions.items()
        if decision
        for on in ("economic", "cultural")
    }


def test_values_say_whether_to_use_them(make_results):
    """In the sentences of the first screen, with the cautions apart."""
    plain = make_results(prefixes=1)
    found = json.loads(json.dumps(as_values(plain)))
    assert found["usable"].startswith("Yes, as far as the sampler goes")
    assert any(text.startswith("There was only one prefix") for text in found["cautions"])
    (said,) = [line for line in answer_lines(plain) if line.startswith("Can it be used?")]
    assert found["usable"].split(". ")[0] in said
    assert all(text in said for text in found["cautions"])
    assert as_values(make_results(verdict="bad"))["usable"].startswith("No:")


def test_values_of_failed_draws_are_none(make_results):
    found = as_values(make_results(verdict="bad"))
    assert found["sampler"] == "bad"
    assert found["positions"] == []


def test_names_cannot_act_in_a_terminal(make_results):
    results = make_results()
    table = results.tables["contrasts"]
    table = table.replace({"model_a": {table["model_a"].iloc[0]: "\x1b[2J"}})
    lines = answer_lines(make_results(tables={**results.tables, "contrasts": table}))
    assert not any("\x1b" in line for line in lines)


def test_colours_only_on_a_terminal(make_results, monkeypatch):
    results = make_results()
    table = results.tables["contrasts"].assign(decision="left")
    results = make_results(tables={**results.tables, "contrasts": table})
    monkeypatch.setattr(terminal.sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert any("\x1b[35m" in line for line in answer_lines(results))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not any("\x1b" in line for line in answer_lines(results))


def test_other_poles_are_named(make_results):
    results = make_results()
    verdict = next(v for _, _, v in terminal._found(results))
    own = Dimension("world", "World", "nation", "globe")
    decided = type(verdict)(**{**vars(verdict), "decision": "right"})
    assert terminal._cell(decided, poles_of([own]))[0].endswith(" globe")


@pytest.mark.parametrize(
    ("mode", "err"),
    [
        ("normal", ["begun", "done"]),
        ("quiet", ["done"]),
        ("verbose", ["begun", "more", "done"]),
        ("json", []),
    ],
)
def test_how_much_is_said(mode, err, capsys):
    with speaking(mode):
        say("begun")
        detail("more")
        conclude("done")
    out, said = capsys.readouterr()
    assert [line.rpartition("] ")[2] for line in said.splitlines()] == err
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["text"] for event in events] == (["begun", "more", "done"] * (mode == "json"))


def test_bars_are_silent_where_nothing_is_said(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert bars()
    with speaking("quiet"):
        assert not bars()
        assert progress_bar("x", total=1, progress="always").disable
    assert bars()


def test_ways_of_speaking_exclude_each_other(capsys):
    assert _main(["--quiet", "--json", "task=watch"]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_an_answer_as_json(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert _main(["+experiment=wvs_prefixes", "task=explain", "--json"]) == 0
    (event,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert event["event"] == "result"
    assert event["task"] == "explain"
    assert "logistic" in event["text"]
