import csv
import json

import numpy as np
import pytest

from polbayes.cli import _main
from polbayes.data.dataset import STANCE, STATUS, write_dataset
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.probing.journal import DESIGN, Journal, journal_path
from polbayes.probing.launch.merge import shard_folder

ITEMS = (
    Item(
        "one",
        "economic",
        -1,
        "s",
        (
            Variant("original", "The state should own railways.", "original", 1),
            Variant("negation", "The state should not own railways.", "negation", -1),
        ),
        {},
    ),
    Item("two", "cultural", 1, "s", (Variant("original", "Order first.", "original", 1),), {}),
)
PREFIXES = [Prefix("baseline", "", "open"), Prefix("name", "Hey {model_name}, reply.", "open")]
CONFIG = "respondents: {n: {api: {system: Be brief.}}}\n"
# Two models, three wordings, two prefixes, two runs.
QUESTIONS = 24
EVIL = "=cmd|' /C calc'!A0\x1b[2J\u202e \ud800 done"


def laid_out():
    infos = [ModelInfo("m", "{prefix}{statement}"), ModelInfo("n", "{statement}", chat=True)]
    data = design([Instrument("tiny", "Tiny", "us", ITEMS)], PREFIXES, infos, runs=2)
    return data.assign_attrs(config=CONFIG)


@pytest.fixture
def finished(tmp_path):
    """Return the folder of a run that is finished, and one cell of it that went wrong."""
    data = laid_out()
    asked = data["status"] == STATUS["pending"]
    data["status"] = data["status"].where(~asked, STATUS["ok"]).astype(np.int8)
    texts = np.where(asked.values, "I agree.", "").astype(object)
    stance = np.where(asked.values, STANCE["agree"], -128).astype(np.int8)
    message = np.full(texts.shape, "", dtype=object)
    bad = (1, 1, 0, 1, 1)  # n, two, original, name, 2
    data["status"].values[bad], texts[bad], stance[bad] = STATUS["error"], "", -128
    message[bad] = "status 500"
    odd = (0, 0, 1, 0, 0)  # m, one, negation, baseline, 1
    texts[odd], stance[odd] = EVIL.replace("\ud800", ""), STANCE["disagree"]
    dims = data["status"].dims
    coder = {"flag_values": np.array([0, 1], np.int8), "flag_meanings": "none lexical"}
    read = asked.values.astype(np.int8)
    read[bad] = 0
    data = data.assign(
        completion=(dims, texts),
        message=(dims, message),
        stance=(dims, stance),
        coder=(dims, read, coder),
        p_agree=(dims, np.where(asked, 0.75, np.nan).astype(np.float32)),
    )
    classes = np.array(list(STANCE), dtype=object)
    probs = np.where(asked.values[..., None], [0, 0.125, 0.875, 0, 0], np.nan)
    data = data.assign_coords(stance_class=classes)
    data["stance_prob"] = ((*dims, "stance_class"), probs.astype(np.float32))
    write_dataset(data, tmp_path / "run" / "responses.nc")
    return tmp_path / "run"


@pytest.fixture
def under_way(tmp_path):
    """Return the folder of a run that has nine answers, two of them in a shard's journal."""
    options = np.array(["yes", "no", "hm"], dtype=object)
    stances = ("option", np.array([1, -1, 0], dtype=np.int8))
    data = laid_out().assign_coords(option=options, option_stance=stances)
    folder = tmp_path / "going"
    write_dataset(data, folder / DESIGN)
    head = {"prompt": "x"}
    with Journal(journal_path(folder / "journal", "m"), {}) as journal:
        for run in (1, 2):
            for item in ("one", "two"):
                cell = {"cell": [item, "original", "baseline", run], **head}
                journal.extend([{**cell, "status": "ok", "mass": [0.5, 0.25, None], "unseen": 0.1}])
        cell = {"cell": ["one", "negation", "name", 1], **head}
        journal.extend([{**cell, "status": "error", "message": "status 500"}, {"tokens": [3]}])
        journal.extend([{"cell": ["gone", "original", "name", 1], **head, "status": "ok"}])
    shard = shard_folder(journal_path(folder / "journal", "n")) / "t-1-1.jsonl"
    with Journal(shard, {}) as journal:
        cells = [{"cell": ["two", "original", "name", run], **head} for run in (1, 2)]
        journal.extend([{**cells[0], "status": "ok", "text": EVIL}])
        journal.extend([{**cells[1], "status": "refused", "text": "No.", "truncated": True}])
    return folder


@pytest.fixture
def shown(capsys):
    """Return a function that looks into a run: output and what was said beside it."""

    def show(folder, *more, code=0):
        capsys.readouterr()
        got = _main(["task=inspect", f"run_dir={folder}", *(f"inspect.{one}" for one in more)])
        out, err = capsys.readouterr()
        assert got == code, err
        return out, err

    return show


def rows(shown, folder, *more):
    out, _ = shown(folder, "format=jsonl", *more)
    return [json.loads(line) for line in out.splitlines()]


def test_everything_of_one_cell_is_there(finished, shown):
    cell = ["models=[m]", "items=[one]", "variants=[original]", "prefixes=[name]", "runs=[2]"]
    (row,) = rows(shown, finished, *cell)
    assert row["prompt"] == "Hey m, reply.\nThe state should own railways."
    assert row["statement"] == "The state should own railways."
    assert (row["answer"], row["status"], row["stance"]) == ("I agree.", "ok", "agree")
    assert (row["coder"], row["p_agree"], row["keying"]) == ("lexical", 0.75, -1)
    assert row["stance_prob"] == {**dict.fromkeys(STANCE, 0.0), "neutral": 0.125, "agree": 0.875}
    assert (row["dimension"], row["kind"], row["chat"], row["system"]) == (
        "economic",
        "original",
        False,
        "",
    )
    (row,) = rows(shown, finished, "models=[n]", *cell[1:])
    assert (row["chat"], row["system"]) == (True, "Be brief.")


@pytest.mark.parametrize(
    ("filters", "number"),
    [
        ([], QUESTIONS),
        (["models=[m]"], 12),
        (["items=[o*]"], 16),
        (["items=[two]", "prefixes=[name]"], 4),
        (["variants=[negation]", "runs=[1]"], 4),
        (["status=[error]"], 1),
        (["status=[ok,error]"], QUESTIONS),
        (["stance=[disagree]"], 1),
        (["stance=[agree]"], QUESTIONS - 2),
        (["text=STATUS"], 1),
        (["text=railways"], 16),
        (["text=nobody said that"], 0),
        (["text=calc", "status=[error]"], 0),
    ],
)
def test_filters(finished, shown, filters, number):
    found = rows(shown, finished, "limit=100", *filters)
    assert len(found) == number
    cells = {(r["model"], r["item"], r["variant"], r["prefix"], r["run"]) for r in found}
    assert len(cells) == number
    _, said = shown(finished, *filters)
    assert said.startswith(f"{number} of 24 questions match" if number else "No answer matches")


def test_there_is_a_limit_and_the_others_are_counted(finished, shown):
    out, said = shown(finished)
    assert out.count(" · run ") == 20
    matching = "24 of 24 questions match (1 error, 23 ok)"
    assert said == f"{matching}; 20 are shown: inspect.limit=NUMBER shows more.\n"
    out, said = shown(finished, "limit=3", "models=[n]")
    assert out.count(" · run ") == 3
    assert "12 of 24 questions match (1 error, 11 ok); 3 are shown" in said
    assert shown(finished, "status=[error]")[1].startswith("1 of 24 questions matches (1 error), ")
    assert len(rows(shown, finished, "limit=13")) == 13


def test_on_the_screen_nothing_acts_and_everything_is_seen(finished, shown):
    out, _ = shown(finished, "stance=[disagree]")
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "    | =cmd|' /C calc'!A0⟨U+001B⟩[2J⟨U+202E⟩  done" in out
    assert "m · one · negation · baseline · run 1: ok, disagree by lexical" in out
    out, _ = shown(finished, "status=[error]")
    assert "n · two · original · name · run 2: error, not coded" in out
    assert "  system prompt\n    | Be brief.\n  prompt, as a user's turn\n    | Order first." in out
    assert "  why there is no answer\n    | status 500" in out


def test_a_file_holds_all_of_them_and_a_spreadsheet_does_not_compute(finished, shown, tmp_path):
    for name in ("all.csv", "all.jsonl"):
        out, said = shown(finished, f"file={tmp_path / name}")
        assert out == ""
        assert "24 of 24 questions match (1 error, 23 ok), all shown." in said
    _, said = shown(finished, f"file={tmp_path / 'one.csv'}", "status=[error]")
    assert "one.csv: 1 answer\n" in said
    with (tmp_path / "all.csv").open(newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    lines = (tmp_path / "all.jsonl").read_text(encoding="ascii").splitlines()
    assert len(table) == len(lines) == 24
    (odd,) = (r for r in table if r["stance"] == "disagree")
    assert odd["answer"] == "'=cmd|' /C calc'!A0⟨U+001B⟩[2J⟨U+202E⟩  done"
    assert odd["stance_neutral"] == "0.125"
    (exact,) = (r for r in map(json.loads, lines) if r["stance"] == "disagree")
    assert exact["answer"] == EVIL.replace("\ud800", "")


def test_a_run_that_is_under_way_is_read_from_its_journals_and_left_alone(under_way, shown):
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in under_way.rglob("*.*")}
    found = rows(shown, under_way, "status=[ok,refused,error]")
    assert len(found) == 7
    first = found[0]
    assert first["option_prob"] == {"yes": 0.5, "no": 0.25, "hm": None}
    assert (first["p_agree"], first["p_disagree"], first["mass_unseen"]) == (0.5, 0.25, 0.1)
    assert first["r_plus"] == pytest.approx(2 / 3, abs=1e-6)
    assert found[-1]["status"] == "refused"
    assert found[-2]["answer"] == EVIL  # exactly as it is, lone surrogate and all
    _, said = shown(under_way)
    assert "24 of 24 questions match (1 error, 5 ok, 17 pending, 1 refused); 20 are" in said
    assert len(rows(shown, under_way, "status=[pending]", "limit=100")) == 17
    assert len(rows(shown, under_way, "text=500")) == 1
    assert rows(shown, under_way, "stance=[agree]") == []
    out, _ = shown(under_way, "status=[refused]")
    assert "n · two · original · name · run 2: refused, not coded" in out
    assert "  answer, cut off\n    | No." in out
    after = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in under_way.rglob("*.*")}
    assert before == after


def test_a_lone_surrogate_can_be_shown_and_kept(under_way, shown, tmp_path):
    out, _ = shown(under_way, "models=[n]", "status=[ok]")
    assert "⟨U+D800⟩ done" in out
    shown(under_way, f"file={tmp_path / 'x.csv'}", "models=[n]")
    assert "⟨U+D800⟩ done" in (tmp_path / "x.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["models=[mm]"], "inspect.models: unknown model 'mm'; did you mean 'm'? known: m, n."),
        (["prefixes=[x*]"], "inspect.prefixes: unknown prefix 'x*'"),
        (["runs=[7]"], "inspect.runs: unknown run '7'; known: 1, 2."),
        (["status=[fine]"], "inspect.status: unknown status 'fine'"),
        (["stance=[left]"], "inspect.stance: unknown stance 'left'"),
        (["limit=0"], "inspect.limit: must be at least 1, not 0."),
        (["format=xml"], "inspect: unknown format 'xml'"),
    ],
)
def test_what_is_not_there_is_said(finished, shown, more, says):
    out, err = shown(finished, *more, code=2)
    assert out == ""
    assert says in err
    assert err.count("\n") == 1


def test_a_folder_without_a_run(tmp_path, shown):
    _, err = shown(tmp_path, code=2)
    assert "holds no run that has asked anything" in err
