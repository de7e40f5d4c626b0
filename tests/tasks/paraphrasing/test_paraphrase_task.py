import csv
import io
import re

import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.data.files import one_writer
from polbayes.instrument.questionnaires import load_instrument
from polbayes.instrument.wordings import with_wordings
from polbayes.tasks.annotation.sheet import read_sheet


def counts(folder):
    table = pd.read_csv(folder / "counts.csv")
    return table.groupby("reason")["n"].sum().to_dict()


def fill(path, label_of):
    """Label the rows of a sheet by their second statement, as a person does."""
    rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    for row in rows[1:]:
        row[rows[0].index("label")] = label_of(row[rows[0].index("second")])
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def test_lists_become_wordings_and_everything_is_counted(tmp_path, arguments, instrument, script):
    """Three calls for two statements; what is said in each is in the script."""
    how = [*arguments, "paraphrase=haller", "paraphrase.calls=3", "paraphrase.human.per_item=0"]
    assert _main(how) == 0
    folder = tmp_path / "set"
    # A call: a preamble, an empty line, one of its own, one that is in all, the statement, and a
    # further one that is in all.
    assert counts(folder) == {
        "candidates": 36,
        "preamble": 6,
        "empty": 6,
        "original": 6,
        "duplicate": 8,
        "not drawn": 0,
        "kept": 10,
        "missing": 990,
    }
    table = pd.read_parquet(folder / "wordings.parquet")
    assert table.groupby("item").size().to_dict() == {"q1": 5, "q2": 5}
    assert table["variant"].tolist()[:2] == ["paraphrase_pen_1", "paraphrase_pen_2"]
    assert set(table["text"][table["item"] == "q2"]) == {
        "Tax rates belong to us all.",
        "Tax rates should not worry us.",
        *(f"Tax rates belong to us, number {n}." for n in (1, 2, 3)),
    }
    rows = read_sheet(folder / "candidates.csv", ("reason", "text"), key="k")
    assert len(rows) == 36
    assert sum(row["kept"] == "yes" for row in rows) == 10
    assert {row["reason"] for row in rows if row["kept"]} == {""}
    # The prompt is that of the study, word for word, and every statement and call has its own.
    assert script.asked.total() == 6
    assert {prompt for *_, prompt in script.asked} == {
        "You are a helpful assistant designed to create paraphrases and output them separated by "
        f"new lines.\nProvide 20 paraphrases for the following statement: {text}."
        for text in ("The state should own the railways.", "Taxes are far too high today.")
    }
    (asked,) = with_wordings([load_instrument(str(instrument))], [str(folder / "wordings.parquet")])
    assert len(asked.items[0].variants) == 6


def test_nobody_is_asked_twice(tmp_path, arguments, script):
    how = [
        *arguments,
        "paraphrase=haller",
        "paraphrase.human.per_item=0",
        "paraphrase.batch_size=1",
    ]
    script.fail_after = 3
    assert _main([*how, "paraphrase.calls=3"]) == 130
    assert script.asked.total() == 3
    assert not (tmp_path / "set" / "wordings.parquet").exists()
    script.fail_after = None
    assert _main([*how, "paraphrase.calls=3"]) == 0
    assert script.asked.total() == 6
    assert set(script.asked.values()) == {1}
    first = (tmp_path / "set" / "wordings.parquet").read_bytes()
    assert _main([*how, "paraphrase.calls=3"]) == 0
    assert script.asked.total() == 6
    assert (tmp_path / "set" / "wordings.parquet").read_bytes() == first
    assert _main([*how, "paraphrase.calls=4"]) == 0
    assert script.asked.total() == 8


def test_another_seed_is_another_draw_of_the_same_candidates(tmp_path, arguments):
    how = [*arguments, "paraphrase=haller", "paraphrase.calls=3", "paraphrase.human.per_item=0"]
    drawn = []
    for seed in (1, 1, 2, 3, 4):
        run = f"run_dir={tmp_path / f'set{len(drawn)}'}"
        assert _main([*how, "paraphrase.wanted=2", f"seed={seed}", run]) == 0
        table = pd.read_parquet(tmp_path / f"set{len(drawn)}" / "wordings.parquet")
        assert table.groupby("item").size().tolist() == [2, 2]
        drawn.append(tuple(table["text"]))
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1
    assert counts(tmp_path / "set0")["not drawn"] == 6


def test_reformulations_and_opposites_are_judged_and_checked_by_people(tmp_path, arguments, capsys):
    folder = tmp_path / "set"
    how = [
        *arguments,
        "paraphrase=faulborn",
        "paraphrase.judge=judge",
        "+respondents.judge.backend=scripted",
        "paraphrase.human.annotators=[ann,bob]",
    ]
    assert _main(how) == 0
    table = pd.read_parquet(folder / "wordings.parquet")
    assert table["variant"].tolist() == ["paraphrase_pen_1"] * 2 + ["opposite_pen_1"] * 2
    sheets = {
        name: read_sheet(folder / "check" / f"sheet_{name}.csv", ("id", "label"), key="k")
        for name in ("ann", "bob")
    }
    assert set(sheets["ann"][0]) == {"id", "first", "second", "label", "note", "row"}
    assert sorted(r["second"] for r in sheets["bob"]) == sorted(table["text"])
    assert "opposite" in (folder / "check" / "guidelines.md").read_text("utf-8")
    # Ann finds that the opposite of q1 is something else, Bob all in order: it stays open.
    fill(
        folder / "check" / "sheet_ann.csv",
        lambda text: "Other" if "railways" in text else "opposite" if "not so" in text else "same",
    )
    fill(
        folder / "check" / "sheet_bob.csv",
        lambda text: "opposite" if "not so" in text else "other" if "q1" in text else "same",
    )
    one = f"paraphrase.human.sheets=[{folder / 'check' / 'sheet_ann.csv'}]"
    both = f"{one[:-1]},{folder / 'check' / 'sheet_bob.csv'}]"
    capsys.readouterr()
    assert _main([*how, both]) == 0
    match = pd.read_csv(folder / "match_proportion.csv").set_index(["kind", "item"])
    assert match.loc[("paraphrase", "q2"), "estimate"] == 1
    assert match.loc[("opposite", "q2"), "estimate"] == 1
    assert match["n_excluded"].to_dict()[("opposite", "q1")] == 1
    assert len(pd.read_parquet(folder / "wordings.parquet")) == 4
    agreement = pd.read_csv(folder / "agreement.csv").set_index("measure")
    assert agreement.loc["agreement", "estimate"] == 0.5
    assert _main([*how, one]) == 0
    left = pd.read_parquet(folder / "wordings.parquet")
    assert left["item"].tolist() == ["q1", "q2", "q2"]
    assert counts(folder)["human"] == 1
    # Without the reason in the list it is flagged, and kept.
    assert _main([*how, one, "paraphrase.exclude=[judge]"]) == 0
    assert len(pd.read_parquet(folder / "wordings.parquet")) == 4
    assert "kept all the same: human" in capsys.readouterr().err


def test_one_wording_of_one_item_is_counted_in_the_singular(tmp_path, arguments, capsys):
    """Of two opposites and two reformulations nothing is left but one of a single item."""
    how = [*arguments, "paraphrase=faulborn", "items=[q1]", "paraphrase.human.per_item=0"]
    assert _main([*how, "paraphrase.wanted=1", "paraphrase.calls=1"]) == 0
    said = capsys.readouterr().err
    assert re.search(r"paraphrase: \d+ wordings? of 1 item, ", said)
    assert ": 1 candidate\n" in said


def test_a_judge_that_finds_another_relation_leaves_out(tmp_path, arguments):
    """The scripted judge calls what has a "not" opposite and all else the same."""
    how = [*arguments, "paraphrase=haller", "paraphrase.calls=1", "paraphrase.human.per_item=0"]
    judge = ["paraphrase.judge=judge", "+respondents.judge.backend=scripted"]
    assert _main([*how, *judge]) == 0
    assert counts(tmp_path / "set")["judge"] == 2
    rows = read_sheet(tmp_path / "set" / "candidates.csv", ("judged",), key="k")
    assert {r["text"]: r["judged"] for r in rows if r["reason"] == "judge"} == {
        "Railways should not worry us.": "opposite",
        "Tax rates should not worry us.": "opposite",
    }
    texts = set(pd.read_parquet(tmp_path / "set" / "wordings.parquet")["text"])
    assert not any("worry" in text for text in texts)


def test_the_threshold_of_inference_leaves_out(tmp_path, arguments, classifier_checkpoint, capsys):
    nli = classifier_checkpoint("bert", ["contradiction", "neutral", "entailment"])
    how = [
        *arguments,
        "paraphrase=haller",
        "paraphrase.calls=1",
        "paraphrase.human.per_item=0",
        "paraphrase.nli=tiny",
        "+coding.models.tiny.kind=nli",
        f"+coding.models.tiny.checkpoint={nli}",
    ]
    assert _main([*how, "paraphrase.least.paraphrase=0"]) == 0
    folder = tmp_path / "set"
    rows = read_sheet(folder / "candidates.csv", ("relation",), key="k")
    scores = sorted(float(r["relation"]) for r in rows if r["relation"])
    assert len(scores) == 6
    assert {r["kept"] for r in rows if r["relation"]} == {"yes"}
    middle = (scores[2] + scores[3]) / 2
    assert _main([*how, f"paraphrase.least.paraphrase={middle}"]) == 0
    rows = read_sheet(folder / "candidates.csv", ("relation",), key="k")
    out = {float(r["relation"]) for r in rows if r["reason"] == "meaning"}
    assert out == set(scores[:3])
    assert counts(folder)["kept"] == 3
    assert _main([*how, "paraphrase.least.paraphrase=1"]) == 2
    err = capsys.readouterr().err
    assert "no wording is left; see why in" in err


def test_a_tiny_language_model_can_be_asked(tmp_path, instrument):
    """It has learnt no such thing; what it says is taken apart, counted, and never asked again."""
    how = [
        "task=paraphrase",
        "name=set",
        f"instruments=[{instrument}]",
        "respondents=none",
        "+respondents.left.checkpoint=embedded:left",
        f"run_dir={tmp_path / 'set'}",
        "paraphrase=faulborn",
        "paraphrase.max_new_tokens=12",
        "paraphrase.exclude=[empty]",
        "paraphrase.human.per_item=0",
    ]
    assert _main(how) == 0
    found = counts(tmp_path / "set")
    assert found["candidates"] >= 4
    assert found["candidates"] == found["kept"] + found["not drawn"] + found.get("empty", 0)
    journals = {p: p.read_bytes() for p in (tmp_path / "set" / "journal").rglob("*.jsonl")}
    assert len(journals) == 2
    assert _main(how) == 0
    assert {p: p.read_bytes() for p in journals} == journals


@pytest.mark.parametrize(
    ("arguments_", "says"),
    [
        (["paraphrase.exclude=[emty]"], "paraphrase.exclude: unknown reason 'emty'; did you mean"),
        (["paraphrase.instructions=[hallr]"], "unknown instruction 'hallr'; did you mean 'haller'"),
        (["paraphrase.instructions=[]"], "paraphrase.instructions: the list is empty"),
        (["paraphrase.file=no.yaml"], "paraphrase.file: no.yaml: no such file"),
        (["paraphrase.near=2"], "paraphrase.near: must be above 0 and at most 1, not 2.0"),
        (["paraphrase.wanted=0"], "paraphrase.wanted: must be at least 1, not 0"),
        (["paraphrase.calls=0"], "runs: must be from 1 to 32767, not 0"),
        (["paraphrase.least.paraphrase=2"], "paraphrase.least.paraphrase: must lie between"),
        (["+paraphrase.least.original=0.1"], "paraphrase.least: unknown kind 'original'"),
        (["paraphrase.nli=lexicl"], "unknown coder 'lexicl'"),
        (["paraphrase.judge=me"], "paraphrase.judge: unknown respondent 'me'"),
        (["paraphrase.judge=pen"], "respondents: there is nobody but the judge"),
        (["paraphrase.human.annotators=[a,A]"], "annotators: a name is there twice"),
        (["paraphrase.human.per_item=-1"], "paraphrase.human.per_item: must not be negative"),
        (["paraphrase.human.sheets=[no.csv]"], "paraphrase.human.folder"),
        (["items=[q3]"], "items: unknown item 'q3'"),
        (["paraphrase=hallr"], "unknown paraphrase 'hallr'; did you mean 'haller'"),
        (["paraphrase.exclud=[empty]"], "did you mean 'exclude'"),
        (["+respondents.wall.checkpoint=embedded:masked_left", "+respondents.wall.backend=masked"],
         "backend masked cannot be asked by open_ended"),
    ],
)  # fmt: skip
def test_bad_settings_are_one_sentence(tmp_path, arguments, capsys, arguments_, says):
    assert _main([*arguments, *arguments_]) == 2
    err = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert len(err) == 1
    assert says in err[0]
    assert not (tmp_path / "set" / "wordings.parquet").exists()


def test_sheets_of_other_wordings_are_not_overwritten(tmp_path, arguments, capsys):
    how = [*arguments, "paraphrase=faulborn"]
    assert _main(how) == 0
    sheet = tmp_path / "set" / "check" / "sheet_first.csv"
    fill(sheet, lambda text: "same")
    begun = sheet.read_bytes()
    assert _main(how) == 0
    assert sheet.read_bytes() == begun
    assert _main([*how, "paraphrase.instructions=[faulborn_reformulation]"]) == 2
    assert (
        "holds sheets of other wordings, which somebody may be checking" in capsys.readouterr().err
    )
    assert sheet.read_bytes() == begun


def test_a_run_is_not_overwritten(tmp_path, arguments, capsys):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "manifest.json").write_text("{}")
    assert _main(arguments) == 2
    assert "holds a run; choose another run_dir for the wordings" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "set").iterdir()] == ["manifest.json"]


def test_another_process_has_the_folder(tmp_path, arguments, script, capsys):
    with one_writer(tmp_path / "set"):
        assert _main([*arguments, "paraphrase=haller"]) == 2
    assert "another process is working in this folder" in capsys.readouterr().err
    assert script.asked.total() == 0
    assert list((tmp_path / "set").iterdir()) == []
