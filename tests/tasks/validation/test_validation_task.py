import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from polbayes.cli import _main
from polbayes.data.dataset import CELL_DIMS, STANCE_CLASSES, read_dataset, write_dataset
from polbayes.instrument.dimensions import Dimension, dimension_coordinates
from polbayes.tasks.annotation.task import LABELLED, TIES

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def table(tmp_path):
    """Forty answers of two models to statements of either side; some are read wrongly."""
    n = 40
    rng = np.random.default_rng(1)
    labels = rng.choice(["agree", "disagree", "neutral"], size=n)
    words = {"agree": "I agree.", "disagree": "I disagree.", "neutral": "I am neutral."}
    answers = [words[label] for label in labels]
    answers[3], answers[4], labels[5] = "Hm.", "Bananas are yellow.", "refused"
    frame = pd.DataFrame(
        {
            "statement": [f"Statement {k // 2}." for k in range(n)],
            "answer": answers,
            "label": labels,
            "item": [f"q{k // 2}" for k in range(n)],
            "model": np.tile([f"=m{EVIL}", "n"], n // 2),
            "keying": np.repeat([1, -1], n // 2),
        }
    )
    path = tmp_path / "labelled.csv"
    frame.to_csv(path, index=False)
    return path


def called(tmp_path, path, *more):
    return _main(
        [
            "task=validate_coder",
            f"run_dir={tmp_path / 'v'}",
            f"validation.table={path}",
            "validation.columns.response=answer",
            "measures.bootstrap=100",
            *more,
        ]
    )


def test_answers_without_a_decision_are_told(tmp_path, table):
    """Of three ties one was decided by a third person, and one row has no label."""
    folder = tmp_path / "annotation"
    folder.mkdir()
    rows = pd.read_csv(table)
    rows.loc[0, "label"] = ""
    rows.to_parquet(folder / LABELLED)
    ties = pd.DataFrame({"id": ["a", "b", "c"], "label": ["agree", "", ""]})
    ties.to_csv(folder / TIES, index=False)
    assert called(tmp_path, folder / LABELLED, "validation.coders=[lexical]") == 0
    page = (tmp_path / "v" / "validation" / "index.html").read_text(encoding="utf-8")
    assert "2 answers on which the annotators did not agree" in page
    assert f"1 row of {LABELLED} has no label." in page
    assert "No exclusions were reported" not in page


def test_everything_is_written(tmp_path, table, capsys):
    assert called(tmp_path, table, "validation.coders=[lexical,likert]", "validation.bins=5") == 0
    said = capsys.readouterr().err
    # Two of forty are not coded; Wilson's interval of 38/40 by its formula.
    assert "validate_coder: lexical: share_coded 0.950 [0.860, 0.983], of all" in said
    assert "accuracy 0.925 [0.827, 0.970], of all, those not coded taken as wrong" in said
    page = (tmp_path / "v" / "validation" / "index.html").read_text(encoding="utf-8")
    assert "2 of 40 answers that lexical did not code" in page
    assert "40 of 40 answers that likert did not code" in page
    assert "No exclusions were reported" not in page
    folder = tmp_path / "v" / "validation"
    names = {path.stem for path in (folder / "tables").iterdir()}
    assert names == {
        *("scores", "confusion", "confusion_by_model", "thresholds", "calibration"),
        *("calibration_curve", "temperature", "errors", "keying"),
    }
    counts = read_dataset(folder / "confusion.nc")
    assert counts["confusion"].dims == ("coder", "label", "coded_as")
    assert counts["coded_as"].values.tolist() == [*STANCE_CLASSES, "not_coded"]
    assert counts["model"].values.tolist() == [f"=m{EVIL}", "n"]
    assert int(counts["confusion"].sel(coder="lexical").sum()) == 40
    assert int(counts["confusion"].sel(coder="lexical", coded_as="not_coded").sum()) == 2
    by_model = counts["confusion_by_model"].sum("model").transpose(*counts["confusion"].dims)
    assert (by_model == counts["confusion"]).all()
    tidy = pd.read_csv(folder / "tables" / "confusion.csv")
    assert tidy.groupby("coder")["count"].sum().to_dict() == dict.fromkeys(
        ("lexical", "likert", "cascade"), 40
    )
    # No answer is to a prefix that asks for a number, so that the rule for these reads none.
    assert (
        counts["confusion"].sel(coder="cascade") == counts["confusion"].sel(coder="lexical")
    ).all()
    assert (counts["confidence"].sum("bin")[..., :-1] == counts["confusion"][..., :-1]).all()
    assert counts["bin_start"].values.tolist() == [0.0, 0.7, 0.9]
    for name in (
        "scores_lexical",
        "confusion_likert",
        "thresholds",
        "calibration",
        "errors_likert",
    ):
        for suffix in (".png", ".svg"):
            assert (folder / "figures" / f"{name}{suffix}").stat().st_size > 1000
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert EVIL not in page
    assert not re.findall(r"(?:src|href)=\"(?:http|//)", page)
    assert "Do the errors move the bias measure?" in page
    errors = pd.read_csv(folder / "tables" / "errors.csv")
    assert f"'=m{EVIL}" in set(errors["value"])


def test_again_with_other_coders_the_page_is_replaced(tmp_path, table):
    assert called(tmp_path, table, "validation.coders=[lexical]") == 0
    folder = tmp_path / "v" / "validation"
    assert called(tmp_path, table, "validation.coders=[likert]") == 0
    assert set(pd.read_csv(folder / "tables" / "scores.csv")["coder"]) == {"likert"}
    assert not (folder / "figures" / "scores_lexical.png").exists()


def test_sides_have_the_words_of_the_run_in_the_folder(tmp_path, table):
    own = Dimension("world", "Diplomatic", "nation", "globe")
    data = xr.Dataset(coords={name: ["one"] for name in CELL_DIMS})
    items = [{own.dimension: 1.0}]
    (tmp_path / "v").mkdir()
    write_dataset(
        data.assign_coords(dimension_coordinates((own,), items)), tmp_path / "v" / "responses.nc"
    )
    frame = pd.read_csv(table)
    frame.assign(keying=np.repeat(["globe", "nation"], 20)).to_csv(table, index=False)
    assert called(tmp_path, table, "validation.coders=[lexical]") == 0
    folder = tmp_path / "v" / "validation"
    page = (folder / "index.html").read_text(encoding="utf-8")
    shown = re.sub(r"(?s)<(style|script).*?</\1>|<[^>]+>", " ", page).split("The whole config")[0]
    assert "net agreement with globe-keyed wordings minus half that with nation-keyed" in shown
    assert "coded wrongly, globe minus nation" in shown
    assert not re.search(r"\bleft-|right-keyed|right minus left|\bleft\b(?! out)", shown)
    # In files the sides keep the ids that they have in every run.
    errors = pd.read_csv(folder / "tables" / "errors.csv")
    assert set(errors.loc[errors["group"] == "keying", "value"]) == {"left", "right"}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            ["validation.coders=[lexicl]"],
            "validation.coders: unknown coder 'lexicl'; did you mean 'lexical'",
        ),
        (["validation.table=no.csv"], "validation.table: no.csv: no such file"),
        (["validation.thresholds=[2]"], "validation.thresholds: must lie between 0 and 1"),
        (["validation.bins=1"], "validation.bins: must be at least 2, not 1"),
        (["+validation.merge.x=[agre]"], "unknown class 'agre'; did you mean 'agree'"),
        (["measures.bootstrap=10"], "measures.bootstrap: at least 100 draws"),
        (["validation.coder=[lexical]"], "did you mean 'coders'"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(tmp_path, table, capsys, more, says):
    assert called(tmp_path, table, *more) == 2
    err = capsys.readouterr().err
    (error,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert says in error
    assert not (tmp_path / "v").exists()


def test_what_annotators_left_is_the_default(tmp_path, capsys):
    assert _main(["task=validate_coder", f"run_dir={tmp_path}"]) == 2
    err = capsys.readouterr().err
    assert "annotation/labelled.parquet: no such file; name a table of labelled answers" in err
    assert _main(["task=validate_coder"]) == 2
    assert "task=validate_coder works in a run's folder" in capsys.readouterr().err
