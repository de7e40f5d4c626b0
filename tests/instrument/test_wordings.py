import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import load_instrument
from polbayes.instrument.wordings import with_wordings

PCT = load_instrument("pct")
ROW = {"item": "pc-01", "variant": "mine_1", "kind": "opposite", "text": "Profit comes first."}


def write(path, *rows, **changes):
    table = pd.DataFrame([{**ROW, **row} for row in rows or ({},)]).assign(**changes)
    table.to_csv(path, index=False)
    return str(path)


def test_wordings_are_added_after_an_items_own(tmp_path):
    files = [
        write(tmp_path / "a.csv", {}, {"variant": "mine_2", "kind": "paraphrase"}, note="n"),
        write(tmp_path / "b.csv", {"item": "pc-03", "kind": "negation"}),
    ]
    before = PCT
    (after,) = with_wordings([before], files)
    assert [v.variant for v in after.items[0].variants[-2:]] == ["mine_1", "mine_2"]
    assert [v.polarity for v in after.items[0].variants[-2:]] == [-1, 1]
    assert after.items[2].variants[-1].text == "Profit comes first."
    assert after.items[1] == before.items[1]
    assert after.items[0].variants[:-2] == before.items[0].variants
    assert with_wordings([before], []) == (before,)


def test_patterns_of_ids_choose_a_set(tmp_path):
    rows = [{"variant": f"{name}_{n}"} for name in ("a", "b") for n in (1, 2)]
    (pct,) = with_wordings([PCT], [write(tmp_path / "a.csv", *rows)])
    data = design(
        [pct], [Prefix("baseline", "", "open")], [ModelInfo("m", "")], variants=["original", "b_*"]
    )
    assert data["variant"].values.tolist() == ["original", "b_1", "b_2"]
    assert data["keying"].sel(item="pc-01").values.tolist() == [-1, 1, 1]
    with pytest.raises(UserError, match=r"unknown wording 'c_\*'"):
        design([pct], [Prefix("baseline", "", "open")], [ModelInfo("m", "")], variants=["c_*"])


@pytest.mark.parametrize(
    ("rows", "changes", "says"),
    [
        ([{"item": "pc-99"}], {}, "a.csv: row 1: unknown item 'pc-99'; did you mean"),
        ([{}, {}], {}, "row 2: item 'pc-01' has a wording 'mine_1' already"),
        ([{"variant": "negation"}], {}, "row 1: item 'pc-01' has a wording 'negation' already"),
        ([{}, {"variant": "x", "text": " "}], {}, "row 2: the text is empty"),
        ([{"text": "\u200b"}], {}, "row 1: the text is empty"),
        ([{"text": "a\x01"}], {}, "row 1: the text has the character U+0001"),
        (
            [{"kind": "original"}],
            {},
            "row 1: unknown kind 'original'; known: negation, opposite, p",
        ),
        ([{"variant": "a b"}], {}, "'a b' is not a usable id"),
    ],
)
def test_a_bad_row_is_named(tmp_path, rows, changes, says):
    if "negation" in says:
        assert "negation" in {v.variant for v in PCT.items[0].variants}
    with pytest.raises(UserError) as caught:
        with_wordings([PCT], [write(tmp_path / "a.csv", *rows, **changes)])
    assert says in str(caught.value)


def test_a_file_that_is_none_is_named(tmp_path):
    with pytest.raises(UserError, match=r"wordings: .*gone.csv: no such file"):
        with_wordings([PCT], [str(tmp_path / "gone.csv")])
    pd.DataFrame([ROW]).drop(columns="kind").to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(UserError, match="the column 'kind' is missing"):
        with_wordings([PCT], [str(tmp_path / "a.csv")])


def test_a_run_asks_them_and_is_done_again_when_they_change(tmp_path, capsys):
    path = write(tmp_path / "a.csv", {}, {"item": "pc-05", "variant": "mine_7"})
    run = [
        "+experiment=pct_paraphrases",
        "respondents=none",
        "+respondents.sim.backend=simulated",
        "+respondents.sim.checkpoint=planted:left",
        f"wordings=[{path}]",
        "variants=[original,mine_*]",
        "items=[pc-01,pc-05,pc-07]",
        "stages=[probe]",
        f"run_dir={tmp_path / 'run'}",
    ]
    assert _main([*run, "task=dry_run"]) == 0
    assert capsys.readouterr().out.startswith("5 questions")
    assert _main(run) == 0
    assert _main(run) == 0
    assert "finished before, nothing to do" in capsys.readouterr().err
    write(tmp_path / "a.csv", {}, {"item": "pc-05", "variant": "mine_7", "text": "Changed."})
    assert _main(run) == 2
    assert "was asked with a different text" in capsys.readouterr().err
    nowhere = "wordings=[nowhere.csv]"
    assert _main([*run, nowhere]) == 2
    assert "not ['nowhere.csv']; choose another run_dir" in capsys.readouterr().err
    assert _main([*run, nowhere, f"run_dir={tmp_path / 'other'}"]) == 2
    assert "nowhere.csv: no such file" in capsys.readouterr().err
