import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.config.schema import ParaphraseConfig
from polbayes.errors import UserError
from polbayes.instrument.questionnaires import load_instrument
from polbayes.instrument.wordings import with_wordings
from polbayes.tasks.paraphrasing.imported import import_wordings

COLUMNS = {"item": "nr", "text": "wording", "set": "by", "number": "k"}
ROWS = [
    {"nr": "q1", "by": "a b", "k": 0, "wording": "Trains  should be\nours."},
    {"nr": "q1", "by": "a b", "k": 1, "wording": "trains should be OURS"},
    {"nr": "q2", "by": "c", "k": 7, "wording": "Tax takes too much."},
]


@pytest.fixture
def read(tmp_path):
    def read(*rows, columns=COLUMNS, **settings):
        path = tmp_path / "table.csv"
        pd.DataFrame(rows or ROWS).to_csv(path, index=False)
        config = ParaphraseConfig(table=str(path), columns=columns, **settings)
        return import_wordings(config, ("q1", "q2"))

    return read


def test_columns_become_candidates(read):
    table = read()
    assert table["text"].tolist()[0] == "Trains should be ours."
    assert table["set"].tolist() == ["a b", "a b", "c"]
    assert table["kind"].unique().tolist() == ["paraphrase"]
    assert table["line"].tolist() == [1, 2, 3]
    renamed = read(constants={"kind": "opposite"}, items={"q2": "q1"})
    assert renamed["item"].tolist() == ["q1"] * 3
    assert renamed["kind"].unique().tolist() == ["opposite"]


@pytest.mark.parametrize(
    ("change", "settings", "says"),
    [
        ({"nr": "q9"}, {}, "table.csv: row 1: unknown item 'q9'"),
        ({"k": 1}, {}, "table.csv: row 2: item 'q1' has a wording with number '1' already"),
        ({"k": "x"}, {}, "row 1: the number 'x' is not a whole number"),
        ({"nr": ""}, {}, "row 1: the column of 'item' has no value"),
        ({"more": 1}, {}, "the column 'more' is not mapped; map it under paraphrase.columns or"),
        ({}, {"columns": {**COLUMNS, "text": "wordin"}}, "unknown column 'wordin'; did you mean"),
        ({}, {"columns": {"item": "nr"}}, "paraphrase.columns: map 'text' to a column"),
        ({}, {"columns": {**COLUMNS, "tekst": "by"}}, "paraphrase.columns: unknown key 'tekst'"),
        ({}, {"constants": {"set": "x"}}, "paraphrase.constants: 'set' is also mapped"),
        ({}, {"constants": {"kind": "original"}}, "row 1: unknown kind 'original'"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(read, change, settings, says):
    with pytest.raises(UserError) as caught:
        read({**ROWS[0], **change}, *ROWS[1:], **settings)
    assert says in str(caught.value)


def test_ids_of_the_table_are_kept_and_checked(read):
    rows = [{"item": "q1", "id": name, "text": "Some wording here."} for name in ("x", "y")]
    columns = {"item": "item", "variant": "id", "text": "text"}
    assert read(*rows, columns=columns)["variant"].tolist() == ["x", "y"]
    with pytest.raises(UserError, match="row 2: item 'q1' has a wording with variant 'x' already"):
        read(rows[0], rows[0], columns=columns)
    with pytest.raises(UserError, match="'a b' is not a usable id"):
        read({**rows[0], "id": "a b"}, columns=columns)


def test_a_table_that_is_not_there(tmp_path):
    config = ParaphraseConfig(table=str(tmp_path / "no.csv"), columns=COLUMNS)
    with pytest.raises(UserError, match=r"paraphrase.table: .*no.csv: no such file"):
        import_wordings(config, ("q1",))


def test_the_published_set_takes_the_table(tmp_path, capsys):
    how = ["task=paraphrase", "paraphrase=haller_published", "name=x", "instruments=[pct]"]
    assert _main([*how, f"run_dir={tmp_path / 'set'}"]) == 2
    assert "paraphrase.table: is empty; give the table" in capsys.readouterr().err
    assert not (tmp_path / "set").exists()


def test_an_imported_set_needs_nobody(tmp_path, instrument, capsys):
    path = tmp_path / "table.csv"
    pd.DataFrame([*ROWS, {"nr": "q2", "by": "c", "k": 8, "wording": None}]).to_csv(
        path, index=False
    )
    mapped = ",".join(f"{key}: {column}" for key, column in COLUMNS.items())
    how = [
        "task=paraphrase",
        "name=set",
        f"instruments=[{instrument}]",
        "respondents=none",
        f"paraphrase.table={path}",
        f"+paraphrase.columns={{{mapped}}}",
        "paraphrase.human.per_item=0",
        f"run_dir={tmp_path / 'set'}",
    ]
    assert _main(how) == 0
    table = pd.read_parquet(tmp_path / "set" / "wordings.parquet")
    assert table["variant"].tolist() == ["paraphrase_a-b_0", "paraphrase_c_7"]
    err = capsys.readouterr().err
    assert "a b, paraphrase: 1 left out: duplicate" in err
    assert "c, paraphrase: 1 left out: empty" in err
    assert _main([*how, "paraphrase.exclude=[]"]) == 0
    # An empty one cannot be kept.
    assert len(pd.read_parquet(tmp_path / "set" / "wordings.parquet")) == 3


def published(shared_data, tmp_path, *more):
    table = shared_data / "haller" / "paraphrases.parquet"
    how = ["task=paraphrase", "paraphrase=haller_published", f"paraphrase.table={table}"]
    where = ["name=set", "instruments=[pct]", f"run_dir={tmp_path / 'set'}"]
    assert _main([*how, *where, "paraphrase.human.per_item=0", *more]) == 0
    return pd.read_parquet(tmp_path / "set" / "wordings.parquet"), pd.read_parquet(table)


def test_published_paraphrases_of_two_sets_stay_apart(shared_data, tmp_path):
    """Claude refused the fourth statement."""
    wordings, given = published(shared_data, tmp_path, "items=[pc-01,pc-04]")
    assert wordings.groupby(["set", "item"]).size().to_dict() == {
        ("gpt-3.5-turbo", "pc-01"): 500,
        ("gpt-3.5-turbo", "pc-04"): 500,
        ("claude-3-5-sonnet-20240620", "pc-01"): 500,
    }
    one = wordings[wordings["variant"] == "paraphrase_gpt-3.5-turbo_007"].set_index("item")["text"]
    at = given[(given["k"] == 7) & (given["paraphraser"] == "gpt-3.5-turbo")].set_index("item_id")
    assert one.to_dict() == at["text"][["pc-01", "pc-04"]].to_dict()


@pytest.mark.slow
def test_all_published_paraphrases_become_variants_of_the_instrument(shared_data, tmp_path):
    wordings, given = published(shared_data, tmp_path)
    assert len(wordings) == 58_848
    assert wordings["text"].tolist() == [" ".join(text.split()) for text in given["text"]]
    by_set = wordings.groupby("set")["item"].nunique().to_dict()
    assert by_set == {"gpt-3.5-turbo": 62, "claude-3-5-sonnet-20240620": 56}
    before = load_instrument("pct")
    (pct,) = with_wordings([before], [str(tmp_path / "set" / "wordings.parquet")])
    own = sum(len(item.variants) for item in before.items)
    assert sum(len(item.variants) for item in pct.items) == own + 58_848
