import json

import numpy as np
import pytest

from polbayes.coding import code_responses
from polbayes.coding.importer import import_table
from polbayes.config.schema import ImportConfig
from polbayes.data.dataset import MISSING, NOT_ASKED, STATUS, to_frame
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant

ITEMS = tuple(
    Item(
        item=f"q-{n}",
        dimension="economic",
        direction=direction,
        source="made up",
        variants=(
            Variant("original", f"Statement {n}.", "original", 1),
            Variant("negation", f"Not statement {n}.", "negation", -1),
            Variant("negation_2", f"No statement {n}.", "negation", -1),
        ),
        points={},
    )
    for n, direction in ((1, -1), (2, 1))
)
INSTRUMENTS = [Instrument("made", "Made up", "Nobody (2020)", ITEMS)]
COLUMNS = {"model": "who", "item": "question", "answer": "said"}
POINTS = ["Disagree", "Undecided", "Agree"]
SCALE = {
    "options": {"a) Disagree": "Disagree", "b) Undecided": "Undecided", "c) Agree": "Agree"},
    "points": POINTS,
    "stances": ["disagree", "neutral", "agree"],
}
ROWS = [
    {"who": "lab/one", "question": "q-1", "said": "c) Agree"},
    {"who": "lab/one", "question": "q-2", "said": "I disagree with the statement."},
    {"who": "two", "question": "q-2", "said": None},
]


def write(folder, rows, kind=".csv"):
    import pandas as pd

    path = folder / f"answers{kind}"
    if kind == ".jsonl":
        path.write_text("\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    elif kind == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:
        pd.DataFrame(rows).to_csv(path, index=False, sep="\t" if kind == ".tsv" else ",")
    return path


def load(folder, rows, kind=".csv", **config):
    path = write(folder, rows, kind)
    settings = ImportConfig(**{"path": path.name, "columns": dict(COLUMNS), **config})
    return import_table(settings, base=folder, instruments=INSTRUMENTS)


def cell(data, name, model, item):
    return data[name].sel(model=model, item=item).item()


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_answers_as_received(tmp_path, kind):
    data = load(tmp_path, ROWS, kind)
    assert cell(data, "completion", "lab/one", "q-1") == "c) Agree"
    assert cell(data, "completion", "two", "q-2") == ""
    assert cell(data, "status", "lab/one", "q-1") == STATUS["invalid"]
    assert cell(data, "status", "two", "q-2") == STATUS["invalid"]
    assert cell(data, "status", "two", "q-1") == NOT_ASKED
    assert "rating" not in data
    assert data.attrs["imported_rows"] == 3
    assert data.attrs["imported_missing"] == 1


def test_coordinates_are_those_of_a_design(tmp_path):
    data = load(tmp_path, ROWS)
    wanted = design(
        INSTRUMENTS,
        [Prefix("baseline", "", "open")],
        [ModelInfo("lab/one", ""), ModelInfo("two", "")],
        variants=["original"],
    )
    assert set(data.coords) == set(wanted.coords)
    for name in wanted.coords:
        assert data[name].dims == wanted[name].dims
        assert data[name].values.tolist() == wanted[name].values.tolist()
    assert data["keying"].values.ravel().tolist() == [-1, 1]


def test_options_become_ratings_and_stances(tmp_path):
    data = load(tmp_path, ROWS, **SCALE)
    assert data["rating"].dtype == np.int8
    assert data["rating"].attrs["rating_points"] == "Disagree; Undecided; Agree"
    assert cell(data, "rating", "lab/one", "q-1") == 2
    assert cell(data, "rating", "lab/one", "q-2") == 0
    assert cell(data, "rating", "two", "q-2") == MISSING
    assert cell(data, "stance", "lab/one", "q-1") == 1
    assert cell(data, "stance", "lab/one", "q-2") == -1
    assert cell(data, "status", "lab/one", "q-1") == STATUS["ok"]
    assert cell(data, "status", "two", "q-2") == STATUS["invalid"]
    assert data.attrs["imported_options_read"] == 2


def test_what_is_no_option_is_left_to_the_coders(tmp_path):
    rows = [
        {"who": "m", "question": "q-1", "said": "I support this statement."},
        {"who": "m", "question": "q-2", "said": "As an AI, I do not have opinions."},
    ]
    data = load(tmp_path, rows, **SCALE)
    assert data["status"].values.ravel().tolist() == [STATUS["invalid"]] * 2
    assert data.attrs["notes"] == (
        "None of 2 answers is a point of imported.points (Disagree, Undecided, Agree), so that "
        "coders read them; the first is 'I support this statement.'."
    )
    coded = code_responses(data, ["lexical"])
    assert coded["status"].values.ravel().tolist() == [STATUS["ok"], STATUS["refused"]]
    assert coded["rating"].values.ravel().tolist() == [MISSING] * 2


def test_ratings_are_numeric_codes(tmp_path):
    rows = [
        {"who": "m", "question": "q-1", "code": 0.0},
        {"who": "m", "question": "q-2", "code": 2.0},
        {"who": "n", "question": "q-2", "code": None},
    ]
    columns = {"model": "who", "item": "question", "rating": "code"}
    scale = {**SCALE, "options": {"0": 1, "1": 2, "2": 3}}
    data = load(tmp_path, rows, ".parquet", columns=columns, **scale)
    assert data["rating"].sel(model="m").values.ravel().tolist() == [0, 2]
    assert cell(data, "rating", "n", "q-2") == MISSING
    assert cell(data, "completion", "m", "q-1") == "0"


def test_points_alone_number_a_rating_from_one(tmp_path):
    rows = [{"who": "m", "question": "q-1", "code": 3}]
    columns = {"model": "who", "item": "question", "rating": "code"}
    scale = {key: SCALE[key] for key in ("points", "stances")}
    assert load(tmp_path, rows, columns=columns, **scale)["rating"].item() == 2


def test_runs_variants_prefixes_and_wordings(tmp_path):
    rows = [
        {"who": "m", "question": "q-1", "said": "x", "v": "negation", "p": "a/b", "r": 3, "t": "T"},
        {"who": "m", "question": "q-1", "said": "y", "v": "negation", "p": "a/b", "r": 5, "t": "T"},
        {"who": "m", "question": "q-1", "said": "z", "v": "original", "p": "c", "r": 3, "t": "U"},
    ]
    columns = {**COLUMNS, "variant": "v", "prefix": "p", "run": "r", "statement": "t"}
    data = load(tmp_path, rows, columns=columns)
    assert data["run"].values.tolist() == [3, 5]
    assert data["prefix"].values.tolist() == ["a/b", "c"]
    assert sorted(data["variant"].values.tolist()) == ["negation", "original"]
    asked = data["completion"].sel(variant="negation", prefix="a/b", run=5).item()
    assert asked == "y"
    assert data["statement"].sel(variant="negation").item() == "T"
    assert data["keying"].sel(variant="negation").item() == 1
    assert int((data["status"] != NOT_ASKED).sum()) == 3


def test_prefix_texts_and_model_facts(tmp_path):
    rows = [{**ROWS[0], "text": "Please answer.", "fam": "f"}]
    columns = {**COLUMNS, "prefix_text": "text", "family": "fam"}
    data = load(tmp_path, rows, columns=columns)
    assert data["prefix_text"].values.tolist() == ["Please answer."]
    assert data["family"].values.tolist() == ["f"]


TWO_MODELS = [
    {**ROWS[0], "params": "7", "tuned": "yes"},
    {**ROWS[2], "params": "70", "tuned": "no"},
]


def test_attributes_of_the_models_come_from_columns_and_from_the_config(tmp_path):
    data = load(
        tmp_path,
        TWO_MODELS,
        columns={**COLUMNS, "instruct": "tuned"},
        attributes={"size": "params"},
        models={"two": {"family": "f", "lab": "us"}},
    )
    assert data["size"].values.tolist() == [7.0, 70.0]
    assert data["instruct"].values.tolist() == [1, 0]
    assert data["family"].values.tolist() == ["", "f"]
    assert data["lab"].values.tolist() == ["", "us"]


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"attributes": {"size": "prams"}}, "imported.attributes.size: unknown column 'prams'"),
        ({"attributes": {"item": "params"}}, "imported.attributes: 'item' means something else"),
        ({"models": {"too": {"lab": "us"}}}, "imported.models: unknown model 'too'; did you mean"),
        ({"models": {"two": {"instruct": "maybe"}}}, "imported.models.two.instruct: must be true"),
        ({"models": {"two": {"size": [1]}}}, "imported.models.two.size: must be a text"),
    ],
)
def test_attributes_that_cannot_be_used_are_refused(tmp_path, config, says):
    ignore = [] if "attributes" in config else ["params"]
    with pytest.raises(UserError) as caught:
        load(tmp_path, TWO_MODELS, ignore=["tuned", *ignore], **config)
    assert says in str(caught.value)


def test_an_attribute_has_one_value_a_model(tmp_path):
    rows = [{**ROWS[0], "params": "7"}, {**ROWS[1], "params": "8"}]
    with pytest.raises(UserError, match="'8' of model 'lab/one' was '7' before"):
        load(tmp_path, rows, attributes={"size": "params"})


def administered_rows():
    """Two models answer both items in two prompts a run; the second model in one prompt a run."""
    rows = []
    for run in (1, 2):
        for question in ("q-1", "q-2"):
            for way in ("plain", "polite"):
                for who, number in (("one", f"{run}-{way}"), ("two", f"{run}")):
                    rows.append(
                        {
                            "who": who,
                            "question": question,
                            "said": "a) Agree",
                            "way": way,
                            "run": run,
                            "chat": number,
                            "courtesy": {"plain": "no", "polite": "yes"}[way],
                            "length": {"q-1": 4, "q-2": 7}[question],
                            "about": {"q-1": "taxes", "q-2": "work"}[question],
                            "hour": 9 + run + (who == "two"),
                        }
                    )
    return rows


ADMINISTERED = {
    "columns": {
        **COLUMNS,
        "prefix": "way",
        "run": "run",
        "administration": "chat",
        "topic": "about",
    },
    "prefix_attributes": {"polite": "courtesy"},
    "wording_attributes": {"size": "length"},
    "administration_attributes": {"hour": "hour"},
}


def test_attributes_of_prefixes_wordings_and_administrations(tmp_path):
    data = load(tmp_path, administered_rows(), **ADMINISTERED)
    assert data["polite"].dims == ("prefix",)
    assert data["polite"].values.tolist() == [0, 1]
    assert data["size"].dims == ("item", "variant")
    assert data["size"].sel(variant="original").values.tolist() == [4, 7]
    assert data["topic"].values.tolist() == ["taxes", "work"]
    # All statements of a prompt are one administration, so that the item does not matter.
    assert data["administration"].dims == ("model", "prefix", "run")
    assert data["administration"].sel(model="one", prefix="polite", run=2) == "2-polite"
    assert (data["administration"].sel(model="two", run=1) == "1").all()
    assert data["hour"].sel(model="two", run=2, prefix="plain") == 12


def test_the_attributes_are_columns_for_formulas(tmp_path):
    data = load(tmp_path, administered_rows(), **ADMINISTERED)
    frame = to_frame(data)
    assert {"polite", "size", "topic", "administration", "hour"} <= set(frame.columns)
    one = frame[(frame["model"] == "one") & (frame["prefix"] == "polite")]
    assert sorted(one["administration"].unique()) == ["1-polite", "2-polite"]


def test_a_column_says_in_which_mode_an_answer_was_given(tmp_path):
    rows = [
        {"who": who, "question": question, "said": "c) Agree", "mode": mode}
        for who in ("one", "two")
        for question in ("q-1", "q-2")
        for mode in ("choice", "open")
    ]
    data = load(
        tmp_path,
        rows,
        columns={**COLUMNS, "administration": "mode"},
        constants={"run": "count"},
        administration_attributes={"mode": "mode"},
    )
    frame = to_frame(data)
    assert frame.groupby(["model", "item", "mode"]).size().tolist() == [1] * 8


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"prefix_attributes": {"size": "length"}}, "prefix 'plain' was '4' before"),
        ({"wording_attributes": {"polite": "courtesy"}}, "was 'no' before"),
        ({"wording_attributes": {"size": "lenght"}}, "imported.wording_attributes.size"),
        ({"prefix_attributes": {"prefix": "courtesy"}}, "means something else in the data"),
        (
            {"wording_attributes": {"polite": "length"}, "prefix_attributes": {"polite": "way"}},
            "'polite' is declared for two kinds of things",
        ),
        (
            {
                "columns": {k: v for k, v in ADMINISTERED["columns"].items() if v != "chat"},
                "administration_attributes": {"hour": "hour"},
            },
            "map 'administration' under imported.columns",
        ),
    ],
)
def test_attributes_that_do_not_fit_are_refused(tmp_path, config, says):
    given = {**ADMINISTERED, "administration_attributes": {}, **config}
    used = set(given["columns"].values())
    used |= {c for k, v in given.items() if k != "columns" for c in v.values()}
    ignore = [c for c in administered_rows()[0] if c not in used]
    with pytest.raises(UserError, match=says.replace("(", r"\(")):
        load(tmp_path, administered_rows(), **given, ignore=ignore)


def test_an_administration_has_a_label_in_every_row(tmp_path):
    rows = administered_rows()
    rows[5]["chat"] = None
    with pytest.raises(UserError, match="row 6: the column of 'administration' has no value"):
        load(tmp_path, rows, **ADMINISTERED)


def test_item_ids_can_be_mapped(tmp_path):
    rows = [{"who": "m", "question": 0, "said": "c"}]
    data = load(tmp_path, rows, ".parquet", items={"0": "q-2"}, **SCALE)
    assert data["item"].values.tolist() == ["q-2"]
    assert data["rating"].item() == 2


def test_words_for_nothing_are_answers_in_csv(tmp_path):
    (tmp_path / "answers.csv").write_text("who,question,said\nm,q-1,None\nm,q-2,\n")
    config = ImportConfig(path="answers.csv", columns=dict(COLUMNS))
    data = import_table(config, base=tmp_path, instruments=INSTRUMENTS)
    assert data["completion"].values.ravel().tolist() == ["None", ""]


WRONG = [
    ({"columns": {**COLUMNS, "item": "questoin"}}, "unknown column 'questoin'; did you mean"),
    ({"columns": {"model": "who", "item": "question"}}, "column 'said' is not mapped"),
    (
        {"columns": {"model": "who", "item": "question"}, "ignore": ["said"]},
        "map 'answer' or 'rating'",
    ),
    ({"columns": {"item": "question", "answer": "said"}, "ignore": ["who"]}, "'model' is neither"),
    ({"columns": {**COLUMNS, "itm": "who"}}, "unknown key 'itm'; did you mean 'item'"),
    ({"constants": {"model": "m"}}, "'model' is also mapped"),
    ({"constants": {"variant": "negatoin"}}, "row 1: unknown variant of item 'q-1' 'negatoin'"),
    ({"constants": {"run": "first"}}, "row 1: run 'first' is not a number"),
    ({**SCALE, "options": {"a": "Agre"}}, "unknown point 'Agre'; did you mean 'Agree'"),
    ({**SCALE, "options": {"a": 4}}, "point 4 is outside 1 to 3"),
    ({**SCALE, "stances": ["agree"]}, "has 1 entries for the 3 points"),
    ({**SCALE, "stances": ["disagree", "neutral", "agre"]}, "unknown stance 'agre'"),
    (
        {"columns": {"model": "who", "item": "question", "rating": "said"}},
        "imported.points: a rating needs",
    ),
    (
        {"columns": {"model": "who", "item": "question", "rating": "said"}, **SCALE},
        r"row 1: the code 'c\) Agree' is outside the declared options",
    ),
    ({"path": ""}, "imported.path: is empty"),
    ({"path": "nowhere.csv"}, "nowhere.csv: no such file"),
]


@pytest.mark.parametrize(("config", "message"), WRONG)
def test_wrong_configs(tmp_path, config, message):
    with pytest.raises(UserError, match=message) as caught:
        load(tmp_path, ROWS, **config)
    assert str(caught.value).endswith(".")


def test_unknown_item(tmp_path):
    rows = [*ROWS, {"who": "m", "question": "q-11", "said": "c"}]
    with pytest.raises(UserError, match="row 4: unknown item 'q-11'; did you mean 'q-1'"):
        load(tmp_path, rows)


def test_missing_id(tmp_path):
    with pytest.raises(UserError, match="row 2: the column of 'item' has no value"):
        load(tmp_path, [ROWS[0], {"who": "m", "question": None, "said": "c"}])


def test_duplicate_cell(tmp_path):
    with pytest.raises(UserError, match="rows 2 and 4 are both the answer of model 'lab/one'"):
        load(tmp_path, [*ROWS, ROWS[1]])


def test_strict_options(tmp_path):
    rows = [ROWS[0], {"who": "m", "question": "q-1", "said": "Well, it depends."}]
    with pytest.raises(UserError, match=r"row 2: the answer 'Well, it depends\.' is none"):
        load(tmp_path, rows, strict_options=True, **SCALE)


def test_reservations_count_where_they_are_asked_for(tmp_path):
    rows = [
        ROWS[0] | {"said": "Agree, but with a caveat"},
        ROWS[1] | {"said": "I lean towards disagreeing"},
    ]
    read = [
        load(tmp_path, rows, reservations=given, **SCALE).attrs["imported_options_read"]
        for given in (False, True)
    ]
    assert read == [0, 2]


def test_two_wordings_of_one_cell(tmp_path):
    rows = [{**row, "t": f"T{n}"} for n, row in enumerate(ROWS[1:])]
    with pytest.raises(UserError, match="row 2: statement 'T1' of wording 'q-2 / original'"):
        load(tmp_path, rows, columns={**COLUMNS, "statement": "t"})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"who,question,said\n", "has no rows"),
        ("a.csv", b"who,question,said\nm,q-1,\xff\xfe\n", "cannot be read as a table"),
        ("a.csv", b"a,b\n1,2,3\n4,5,6,7\n", "cannot be read as a table"),
        ("a.parquet", b"not parquet", "cannot be read as a table"),
        ("a.jsonl", b'{"who": "m"}\n{"who"\n', "line 2 is not valid JSON"),
        ("a.jsonl", b"[1]\n", "line 1 is not an object"),
        ("a.jsonl", b'{"who": "m", "who": "n"}\n', "line 1 .*the key 'who' occurs twice"),
        ("a.jsonl", b"[" * 5000 + b"\n", "cannot be read as a table"),
        ("a.csv", b"who,question,said\nm,q-1\n", "row 1 has fewer fields than the header"),
        ("a.csv", b"who,question\nm,q-1,Agree\nn,q-1,Agree\n", "cannot be read as a table"),
        ("a.csv", b"who,question,who\nm,q-1,Agree\n", "two columns have the name 'who'"),
        ("a.csv", b"who,question,said\n ,q-1,Agree\n", "row 1: the column of 'model' has no val"),
        ("a.csv", b"who,question,said\nm,q-1,A\nn\x1b,q-1,A\n", r"row 2: .*character U\+001B"),
        ("a.xlsx", b"x", "file type '.xlsx' is not supported"),
    ],
)
def test_unreadable_tables(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        import_table(
            ImportConfig(path=name, columns=dict(COLUMNS)), base=tmp_path, instruments=INSTRUMENTS
        )


def test_published_answers(shared_data):
    import yaml

    from polbayes.config.resources import folder
    from polbayes.instrument.questionnaires import load_instrument

    declared = yaml.safe_load((folder("conf") / "importer/rottger_explicit.yaml").read_text())
    declared["path"] = str(shared_data / "rottger" / "explicit_paraphrase.parquet")
    data = import_table(ImportConfig(**declared), instruments=[load_instrument("pct")])
    assert dict(data["status"].sizes) == {
        "model": 8,
        "item": 62,
        "variant": 1,
        "prefix": 10,
        "run": 1,
    }
    counts = data["rating"].sel(model="Mistral-7B-Instruct-v0.1")
    assert [int((counts == point).sum()) for point in range(4)] == [150, 201, 228, 41]
    assert data["keying"].sel(item="pc-21").item() == 0


def test_published_answers_in_a_hundred_runs(shared_data):
    """What the options mean, against the scores that the authors gave the same answers."""
    import pandas as pd
    import yaml

    from polbayes.config.resources import folder
    from polbayes.instrument.questionnaires import load_instrument

    declared = yaml.safe_load((folder("conf") / "importer/eroglu.yaml").read_text())
    path = shared_data / "eroglu" / "responses.parquet"
    declared["path"] = str(path)
    data = import_table(ImportConfig(**declared), instruments=[load_instrument("pct")])
    assert dict(data["status"].sizes) == {
        "model": 2,
        "item": 62,
        "variant": 1,
        "prefix": 3,
        "run": 100,
    }
    scores = pd.read_parquet(path).groupby(["model", "context"])["score_0_3"].value_counts()
    for (model, context, score), count in scores.items():
        read = data["rating"].sel(model=model, prefix=context)
        assert int((read == score).sum()) == count


def test_prompts_of_the_table_are_kept_one_a_prefix(tmp_path):
    rows = [
        {"who": "m", "question": q, "said": "c) Agree", "how": how, "whole": f"{how}: {q}?"}
        for how in ("plain", "polite")
        for q in ("q-1", "q-2")
    ]
    columns = {**COLUMNS, "prefix": "how", "prompt": "whole"}
    data = load(tmp_path, rows, columns=columns, **SCALE)
    assert dict(zip(data["prefix"].values, data["prompt_example"].values, strict=True)) == {
        "plain": "plain: q-1?",
        "polite": "polite: q-1?",
    }
