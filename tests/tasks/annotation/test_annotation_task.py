import csv
import io

import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.data.dataset import STATUS, write_dataset
from polbayes.errors import UserError
from polbayes.tasks.annotation.export import read_key
from polbayes.tasks.annotation.sheet import read_sheet
from polbayes.tasks.annotation.task import annotate, hand_out, take_in

EVIL = ["=HYPERLINK(1)", "a\x00b\r\nc 😀", '"q", zephyr-7b', "z" * 40_000, "'quoted"]


def fill(path, labels):
    """Write labels into a sheet as an annotator does, by the number of the id."""
    text = path.read_text("utf-8-sig")
    before = csv.field_size_limit(10**6)
    separator = ";" if ";" in text.partition("\n")[0] else ","
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    csv.field_size_limit(before)
    at = rows[0].index("label")
    for row in rows[1:]:
        row[at] = labels.get(int(row[0].split("-")[1]), "")
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows(rows)


def test_the_answers_survive_the_way_there_and_back(tmp_path, data, run):
    for k, text in enumerate(EVIL):
        data["completion"][0, 0, 0, 0, 0] = text
        write_dataset(data, tmp_path / "responses.nc")
        config = run(folder=f"a{k}", strata=[], per_stratum=48, annotators=["ann"])
        hand_out(config, tmp_path / f"a{k}")
        sheet = tmp_path / f"a{k}" / "sheet_ann.csv"
        assert "zephyr" not in sheet.read_text("utf-8-sig")
        fill(sheet, dict.fromkeys(range(1, 49), " Agree"))
        config.annotation.labels = [str(sheet)]
        take_in(config, tmp_path / f"a{k}")
        labelled = pd.read_parquet(tmp_path / f"a{k}" / "labelled.parquet")
        assert sorted(labelled["response"]) == sorted(data["completion"].values.reshape(-1))
        assert set(labelled["model"]) == {"zephyr-7b", "left", "=m1"}
        assert labelled["keying"].value_counts().to_dict() == {1: 24, -1: 24}
        assert set(labelled["label"]) == {"agree"}


def test_sheets_are_blind_and_each_in_an_order_of_its_own(tmp_path, run):
    hand_out(run(), tmp_path / "annotation")
    one, two = (
        read_sheet(tmp_path / "annotation" / f"sheet_{n}.csv", ("id", "label", "note"), key="k")
        for n in ("first", "second")
    )
    assert set(one[0]) == {"id", "question", "statement", "answer", "label", "note", "row"}
    assert {r["question"] for r in one} == {"", "Hey [name], say 1 to 5."}
    ids = [[r["id"] for r in rows] for rows in (one, two)]
    assert sorted(ids[0]) == sorted(ids[1])
    assert ids[0] != ids[1] != sorted(ids[1])
    key = {r["id"]: r for r in read_key(tmp_path / "annotation")}
    assert all(key[r["id"]]["response"] == r["answer"] for r in one)
    assert "disagree" in (tmp_path / "annotation" / "guidelines.md").read_text()


def test_nothing_that_is_there_is_overwritten(tmp_path, run):
    folder = tmp_path / "annotation"
    assert len(hand_out(run(), folder)) == 4
    sheet = folder / "sheet_first.csv"
    fill(sheet, {1: "agree"})
    begun = sheet.read_bytes()
    assert hand_out(run(), folder) == []
    added = hand_out(run(annotators=["first", "third"]), folder)
    assert [p.name for p in added] == ["sheet_third.csv"]
    before = {p: p.read_bytes() for p in folder.iterdir()}
    for other in (run(per_stratum=1), run(strata=["model"])):
        with pytest.raises(UserError, match="holds another sample, which somebody may be label"):
            hand_out(other, folder)
    assert {p: p.read_bytes() for p in folder.iterdir()} == before
    assert sheet.read_bytes() == begun
    (folder / "key.csv").unlink()
    with pytest.raises(UserError, match=r"is there without its key\.csv"):
        hand_out(run(), folder)


def test_one_is_counted_in_the_singular(tmp_path, data, run, capsys):
    """One answer is empty, and one of the models, each a stratum, has a single other answer."""
    data["completion"][0] = data["completion"][0].where(data["completion"][0] == "Answer number 0.")
    data["completion"][0, 0, 0, 0, 1] = ""
    data["status"][0] = data["status"][0].where(data["completion"][0].notnull(), STATUS["pending"])
    write_dataset(data.fillna({"completion": ""}), tmp_path / "responses.nc")
    config = run(strata=["model"], per_stratum=2, annotators=["ann"])
    annotate(config)
    said = capsys.readouterr().err
    assert "annotate: 1 stratum had fewer answers, and is in it whole\n" in said
    assert "annotate: 1 empty answer needs no annotator and is not in it\n" in said
    fill(tmp_path / "annotation" / "sheet_ann.csv", dict.fromkeys(range(2, 6), "agree"))
    config.annotation.labels = [str(tmp_path / "annotation" / "sheet_ann.csv")]
    annotate(config)
    assert "1 answer without a majority is left to a third" in capsys.readouterr().err


def test_agreement_ties_and_the_third_person(tmp_path, run, capsys):
    """Of 4 answers two are agreed on, one is a tie, and one has a single label."""
    folder = tmp_path / "annotation"
    config = run(strata=[], per_stratum=4)
    annotate(config)
    fill(folder / "sheet_first.csv", {1: "agree", 2: "DISAGREE", 3: "neutral", 4: "agree"})
    fill(folder / "sheet_second.csv", {1: "agree", 2: "disagree ", 3: "agree"})
    config.annotation.labels = [str(folder / f"sheet_{n}.csv") for n in ("first", "second")]
    annotate(config)
    table = pd.read_csv(folder / "agreement.csv").set_index("measure")
    assert table.loc["agreement", "estimate"] == pytest.approx(2 / 3)
    # Chance: agree 1/3 * 2/3, disagree 1/3 * 1/3, neutral 0: kappa = (2/3 - 1/3) / (2/3).
    assert table.loc["cohen_kappa", "estimate"] == pytest.approx(1 / 2)
    # Labels: 3 agree, 2 disagree, 1 neutral; 1 - 5 * 2 / (36 - 9 - 4 - 1) = 6/11.
    assert table.loc["krippendorff_alpha_nominal", "estimate"] == pytest.approx(6 / 11)
    assert table.loc["krippendorff_alpha_nominal", "n_excluded"] == 1
    assert len(pd.read_parquet(folder / "labelled.parquet")) == 2
    said = capsys.readouterr().err
    assert "2 answers without a majority are left to a third person" in said
    assert "annotate: second has a label for 3 of 4 answers" in said
    assert "annotate: first has" not in said
    ties = read_sheet(folder / "ties.csv", ("id", "label"), key="k")
    assert {r["votes"] for r in ties} == {"agree, neutral", "agree"}
    fill(folder / "ties.csv", {3: "Neutral"})
    annotate(config)
    labelled = pd.read_parquet(folder / "labelled.parquet").set_index("by")
    assert labelled.loc["adjudicated", "label"] == "neutral"
    assert len(labelled) == 3
    fill(folder / "ties.csv", {3: "neutral", 4: "agree"})
    decided = (folder / "ties.csv").read_bytes()
    annotate(config)
    assert pd.read_parquet(folder / "labelled.parquet")["by"].tolist().count("adjudicated") == 2
    assert (folder / "ties.csv").read_bytes() == decided
    # A second tie, added when a label changes, joins those decided, which stay.
    fill(folder / "sheet_second.csv", {1: "neutral", 2: "disagree ", 3: "agree"})
    annotate(config)
    ties = read_sheet(folder / "ties.csv", ("id", "label"), key="k")
    assert sorted((r["id"][-1], r["label"]) for r in ties) == [
        ("1", ""),
        ("3", "neutral"),
        ("4", "agree"),
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "run_dir: task=annotate works in a run's folder; name it as run_dir=FOLDER"),
        (["run_dir=nowhere"], "run_dir: nowhere: no such folder"),
        (["run_dir=HERE", "annotation.strata=[modl]"], "annotation.strata: unknown coordinate"),
        (["run_dir=HERE", "annotation.annotators=[a/b]"], "'a/b' cannot name a file"),
        (["run_dir=HERE", "annotation.annotators=[a,A]"], "a name is there twice"),
        (["run_dir=HERE", "annotation.labels=[no.csv]"], "key.csv: no such file"),
        (["run_dir=HERE", "annotation.per_stratm=4"], "did you mean 'per_stratum'"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, run, capsys, arguments, says):
    run()
    arguments = [a.replace("HERE", str(tmp_path)) for a in arguments]
    assert _main(["task=annotate", *arguments]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["responses.nc"]


def test_from_the_command_line(tmp_path, run, capsys):
    run()
    assert _main(["task=annotate", f"run_dir={tmp_path}", "annotation.per_stratum=1"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "12 of 48 answers, up to 1 from each of 12 strata (model, prefix, variant)" in err
