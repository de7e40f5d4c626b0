"""Command lines that cannot work: one sentence, a non-zero exit, and nothing half-written."""

import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from polbayes.cli import _main

WVS = ["+experiment=wvs_prefixes", "respondents=simulated"]
PCT = ["+experiment=pct_paraphrases", "respondents=simulated"]
IMPORTED = [
    "name=mine",
    "instruments=[pct]",
    "respondents=none",
    "coding.coders=[lexical]",
    "analysis=ideology_ratings",
]
SCALE = [
    "+imported.points=[Disagree,Agree]",
    "+imported.stances=[disagree,agree]",
    "+imported.options={Disagree:Disagree,Agree:Agree}",
]
INSTRUMENT = """\
id: mine
title: Mine
citation: Us
items:
  - {item: a-1, text: Tea., dimension: economic, direction: left, source: us, variants: {}}
  - {item: a-2, text: Milk., dimension: economic, direction: right, source: us, variants: {}}
"""


@pytest.fixture
def called(tmp_path, monkeypatch, capsys):
    """Run a command line in an empty folder: exit code, errors, and what it left there."""
    before = set(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        code = _main([argument.replace("HERE", str(tmp_path)) for argument in arguments])
        out, err = capsys.readouterr()
        assert out == ""
        return code, err, sorted(set(tmp_path.rglob("*")) - before)

    return call


def refused(answer, says, *, left=()):
    """Check that a command line was refused in one sentence that says this."""
    code, err, now = answer
    assert code == 2
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith(".\n")
    assert "Traceback" not in err
    assert says in err
    assert [path.name for path in now] == sorted(left)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["+experiment=wvs_prefix"], "unknown experiment 'wvs_prefix'; did you mean 'wvs_prefixes"),
        (
            ["+experiment="],
            "unknown experiment ''; known: eroglu, even_handedness, faulborn, ",
        ),
        (
            ["seed=3"],
            "no experiment was chosen; add +experiment=NAME with one of eroglu, even_handedness, ",
        ),
        ([*WVS, "--sede=3"], "unknown option '--sede=3'"),
        ([*WVS, "sampler.drws=3"], "sampler: unknown key 'drws'; did you mean 'draws'?"),
        ([*WVS, "+sampler.foo=3"], "sampler: unknown key 'foo'"),
        ([*WVS, "respondents.lefft.family=x"], "unknown key 'lefft'; did you mean 'left'?"),
        ([*WVS, "+respondents.new.chekpoint=x"], "did you mean 'checkpoint'?"),
        ([*WVS, "sampler=5"], "Config group override must be a string or a list"),
        ([*WVS, "sampler=null"], "Config group override must be a string or a list"),
        ([*WVS, "analysis=ideologie"], "unknown analysis 'ideologie'; did you mean 'ideology'?"),
        (
            [*WVS, "measures.paraphrase_sets={a: [original], b: [para*]}"],
            "measures.paraphrase_sets: 'b' matches none of the wordings, which are original, ",
        ),
        (
            [*WVS, "measures.paraphrase_sets={a: [original], b: [reformulation]}"],
            "measures.paraphrase_sets: comparing them takes answer probabilities",
        ),
        ([*WVS, "coding.coders=[lexicel]"], "unknown coder 'lexicel'; did you mean 'lexical'?"),
        ([*WVS, "coding.coders=[]"], "coding.coders: the list is empty, but answers in words"),
        ([*WVS, "coding.coders=[[lexical]]"], "coding.coders: '['lexical']' is not a name"),
        ([*WVS, "models=[lefft]"], "models: unknown model 'lefft'; did you mean 'left'?"),
        ([*WVS, "models=[[left]]"], "models: '['left']' is not a name"),
        ([*WVS, "models=[left,right,left]"], "models: a model is named twice"),
        ([*WVS, "models=left"], "models: must be a list, e.g. models=[...]"),
        ([*WVS, "runs=3"], "e.g. runs=[...] (elicitation.runs and inspect.runs would be something"),
        ([*WVS, "report.maps=[x]"], "report.maps: must be a list of pairs, e.g. [[A,B],[A,C]]"),
        ([*WVS, "draws=3"], "config: unknown key 'draws'; write sampler.draws."),
        ([*WVS, "models=[]"], "models: the list is empty"),
        ([*WVS, "prefixes.only=[baselin]"], "unknown prefix 'baselin'; did you mean 'baseline'?"),
        (
            [*WVS, "prefixes=[baseline]"],
            "prefixes: '[baseline]' stands where keys with values are expected",
        ),
        (
            [*WVS, "analysis.parts.steer=~ 1 + (1 | model)"],
            "'~ 1 + (1 | model)' cannot be read; put",
        ),
        ([*WVS, "prefixes=baseline"], "'baseline' stands where keys with values are expected"),
        ([*WVS, "prefixes.file=HERE/gone.yaml"], "gone.yaml: no such file"),
        ([*WVS, "items=[wvs-1]"], "items: unknown item 'wvs-1'; did you mean 'wvs-"),
        ([*WVS, "items=[]"], "items: the list is empty"),
        ([*WVS, "variants=[orignal]"], "unknown wording 'orignal'; did you mean 'original'?"),
        ([*WVS, "seed=many"], "seed: "),
        ([*WVS, "seed=-1"], "seed: must be from 0 to 4294967295, not -1"),
        ([*WVS, "seed=99999999999999999999"], "seed: must be from 0 to 4294967295"),
        ([*WVS, "run_dir="], "run_dir: is empty"),
        ([*WVS, "stages=[]"], "stages: the list is empty"),
        ([*WVS, "stages=[fitt]"], "stages: unknown stage 'fitt'; did you mean 'fit'?"),
        ([*WVS, "elicitation.kind=open"], "elicitation: unknown kind 'open'"),
        ([*WVS, "elicitation.runs=0"], "runs: must be from 1 to 32767, not 0"),
        ([*WVS, "elicitation.runs=99999"], "runs: must be from 1 to 32767, not 99999"),
        ([*WVS, "elicitation.batch_size=0"], "elicitation.batch_size: must be at least 1, not 0"),
        ([*WVS, "elicitation.temperature=-1"], "elicitation.temperature: must be at least 0"),
        ([*WVS, "elicitation.template=faulbron"], "did you mean 'faulborn'?"),
        ([*WVS, "elicitation.template=haller_masked"], "is for fill_mask, not for open_ended"),
        ([*WVS, "respondents.left.backend=casual"], "unknown backend 'casual'; did you mean"),
        ([*WVS, "respondents.left.checkpoint=planted:lefft"], "did you mean 'left'?"),
        ([*WVS, "respondents.left.checkpoint=left"], "write planted:NAME"),
        ([*PCT, "features.language=xx"], "unknown language 'xx'; known: ar, "),
        ([*PCT, "elicitation.lexicon=haller"], "unknown name in data/lexicons 'haller'"),
        ([*PCT, "prefixes.only=[baseline,likert]"], "prefix 'likert' asks for a number"),
        ([*PCT, "items=[pc-21]"], "items: none of the items to ask is scored"),
        ([*WVS, "sampler.draws=-1"], "sampler.draws: must be at least 50, not -1"),
        ([*WVS, "sampler.tune=49"], "sampler.tune: must be at least 50, not 49; convergence"),
        ([*WVS, "sampler=laplace", "sampler.tune=19"], "sampler.tune: must be at least 20, not 19"),
        ([*WVS, "analysis.parts.theta='~ (1 |'"], "analysis.parts.theta: "),
        ([*WVS, "analysis.parts.theta='~ party'"], "unknown variable 'party'"),
        ([*WVS, "analysis.response=opinion"], "analysis.response: unknown response"),
        (
            [*WVS, "+analysis.select.model=[nobody]"],
            "analysis.select.model: unknown value 'nobody'",
        ),
    ],
)
def test_a_name_or_a_value_that_is_wrong(called, arguments, says):
    refused(called(*arguments), says)


@pytest.mark.parametrize(
    ("choice", "says", "way_out"),
    [
        (
            "models=[left]",
            "analysis.parts.theta: (0 + dimension | model) needs at least two levels",
            "analysis=ideology_one_model",
        ),
        ("items=[wvs-01]", "analysis.parts.difficulty: (1 | item) needs", "leave the term out"),
        (
            "prefixes.only=[baseline]",
            "(1 | gr(model:prefix, by = model))",
            "there is only one prefix, baseline",
        ),
        (
            "variants=[original]",
            "wording's (1 | item:variant)",
            "there is only one variant, original",
        ),
    ],
)
def test_one_of_what_is_compared_names_the_term_and_the_way_out(called, choice, says, way_out):
    answer = called(*WVS, choice, "analysis.unidentified=refuse")
    refused(answer, says)
    assert way_out in answer[1]


@pytest.mark.parametrize("task", ["dry_run", "explain"])
def test_what_cannot_be_run_cannot_be_shown_either(called, task):
    refused(called(*WVS, "items=[wvs-99]", f"task={task}"), "items: unknown item 'wvs-99'")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "mine.yaml: no such file; give the path of a .yaml file in instruments"),
        ("", "mine.yaml: must be a mapping of keys to values"),
        ("id: [", "mine.yaml: line 1 is not valid YAML"),
        ("id: \xe9", "mine.yaml: cannot be read ('utf-8' codec can't decode"),
        (INSTRUMENT.replace("a-2", "a-1"), "mine.yaml: item id 'a-1' occurs twice"),
        (INSTRUMENT.replace("left", "lefft"), "item 'a-1': unknown direction 'lefft'; did you"),
        (INSTRUMENT.replace("Tea.", "' '"), "item 'a-1': text: the text is empty"),
        (INSTRUMENT.replace(", source: us", ""), "item 'a-1': the key 'source' is missing"),
    ],
)
def test_an_instrument_that_cannot_be_used(called, tmp_path, content, says):
    left = ()
    if content is not None:
        (tmp_path / "mine.yaml").write_bytes(content.encode("latin-1"))
        left = ("mine.yaml",)
    refused(called(*WVS, "instruments=[HERE/mine.yaml]"), says, left=left)


def test_an_instrument_named_twice(called):
    refused(called(*WVS, "instruments=[wvs,wvs]"), "item 'wvs-01' is in 'wvs' and in 'wvs'")


ANSWERS = pd.DataFrame(
    [
        (model, f"pc-{n:02d}", answer)
        for model, answer in (("a", "Agree"), ("b", "Disagree"))
        for n in range(1, 9)
    ],
    columns=["model", "item", "answer"],
)


def table(folder, change=None, name="answers.csv"):
    frame = ANSWERS.copy() if change is None else change(ANSWERS.copy())
    frame.to_csv(folder / name, index=False)


def imported(*more, path="answers.csv", columns="{model:model,item:item,answer:answer}"):
    return [*IMPORTED, f"+imported.path=HERE/{path}", f"+imported.columns={columns}", *SCALE, *more]


@pytest.mark.parametrize(
    ("change", "more", "says"),
    [
        (
            lambda t: t.assign(note="x"),
            [],
            "answers.csv: the column 'note' is not mapped; map it under imported.columns or list",
        ),
        (
            lambda t: t.rename(columns={"answer": "anser"}),
            [],
            "imported.columns.answer: unknown column 'answer'; did you mean 'anser'?",
        ),
        (lambda t: pd.concat([t, t[2:3]]), [], "rows 3 and 17 are both the answer of model 'a'"),
        (
            lambda t: t.assign(answer=["What?"] * len(t)),
            ["+imported.strict_options=true"],
            "row 1: the answer 'What?' is none of the declared options; known: Disagree, Agree",
        ),
        (
            lambda t: t.assign(item=t["item"].str.replace("pc-08", "pc-80")),
            [],
            "row 8: unknown item 'pc-80'; did you mean 'pc-",
        ),
        (
            lambda t: t.assign(model=t["model"].where(t.index != 4)),
            [],
            "row 5: the column of 'model' has no value",
        ),
        (None, ["models=[c]"], "models: unknown model 'c'; known: a, b"),
        (None, ["coding.coders=[lexicel]"], "did you mean 'lexical'?"),
        (lambda t: t[:0], [], "answers.csv: the table has no rows"),
    ],
)
def test_a_table_that_cannot_be_imported(called, tmp_path, change, more, says):
    table(tmp_path, change)
    refused(called(*imported(*more)), says, left=["answers.csv"])


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("gone.csv", None, "gone.csv: no such file; set imported.path to the table of answers"),
        ("empty.csv", b"", "empty.csv: the file is empty"),
        ("odd.xlsx", b"PK", "odd.xlsx: file type '.xlsx' is not supported; give one of .csv"),
        ("binary.csv", b"\xff\xfe\x00\x81" * 9, "binary.csv: cannot be read as a table"),
        ("binary.parquet", b"PAR1junk", "binary.parquet: cannot be read as a table"),
        ("broken.jsonl", b'{"model": "a"\n', "line 1 is not valid JSON"),
    ],
)
def test_a_table_that_cannot_be_read(called, tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    left = [] if content is None else [name]
    refused(called(*imported(path=name)), says, left=left)


def test_a_truncated_table(called, tmp_path):
    path = tmp_path / "answers.parquet"
    ANSWERS.to_parquet(path)
    path.write_bytes(path.read_bytes()[:-200])
    says = "answers.parquet: cannot be read as a table"
    refused(called(*imported(path=path.name)), says, left=[path.name])


def test_a_key_of_the_importer_that_is_wrong(called, tmp_path):
    table(tmp_path)
    columns = "{model:model,item:item,answr:answer}"
    says = "imported.columns: unknown key 'answr'; did you mean 'answer'?"
    refused(called(*imported(columns=columns)), says, left=["answers.csv"])


@pytest.mark.parametrize("answer", ["", "Hm."])
def test_answers_that_are_all_missing_or_unusable(called, tmp_path, answer):
    """What came back is kept and shown; there is no posterior and no report."""
    table(tmp_path, lambda t: t.assign(answer=answer))
    code, err, now = called(*imported("run_dir=HERE/run"))
    assert code == 2
    assert "Traceback" not in err
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert errors == [err.splitlines()[-1]]
    assert "none of the 16 answers has a usable rating; measures/validity.csv shows" in errors[0]
    validity = pd.read_csv(tmp_path / "run" / "measures" / "validity.csv")
    assert set(validity["model"]) == {"a", "b"}
    names = {path.name for path in now}
    assert not {"posterior.nc", "report"} & names
    assert not [name for name in names if "tmp" in name]


def test_half_a_character_in_an_answer_is_replaced(called, tmp_path):
    """JSON can hold one half of a surrogate pair; no file of ours can."""
    lines = [
        f'{{"model": "{row.model}", "item": "{row.item}", "answer": "{row.answer} \\ud83d"}}\n'
        for row in ANSWERS.itertuples()
    ]
    (tmp_path / "answers.jsonl").write_text("".join(lines), encoding="utf-8")
    stages = "stages=[probe,code,measure]"
    code, err, _ = called(*imported(stages, "run_dir=HERE/run", path="answers.jsonl"))
    assert code == 0, err
    from polbayes.data.dataset import open_responses

    text = open_responses(tmp_path / "run")["completion"].sel(model="a", item="pc-01").values
    assert np.unique(text).tolist() == ["Agree \ufffd"]


def test_a_run_dir_that_is_a_file(called, tmp_path):
    (tmp_path / "run").write_text("mine", encoding="utf-8")
    says = "run is a file; name a folder"
    refused(called(*WVS, "run_dir=HERE/run"), f"run_dir: {tmp_path / says}", left=["run"])
    assert (tmp_path / "run").read_text(encoding="utf-8") == "mine"


def test_a_run_dir_in_a_file(called, tmp_path):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    answer = called(*WVS, "run_dir=HERE/file/run")
    refused(answer, "cannot be written (Not a directory)", left=["file"])
    assert str(tmp_path / "file" / "run") in answer[1]


def test_a_run_dir_that_cannot_be_written(called, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        (tmp_path / "run" / "probe").mkdir()
    except PermissionError:
        refused(called(*WVS, "run_dir=HERE/run"), "cannot be written", left=["run"])
    else:
        pytest.skip(
            "root may write everywhere: not tested that a run_dir without write permission is told"
        )


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a file system to refuse")
def test_a_place_where_nobody_can_write(called):
    refused(called(*WVS, "run_dir=/proc/polbayes"), "/proc/polbayes")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("# @package _global_\nname: [mine\n", "line 3 is not valid YAML"),
        ("# @package _global_\nname: mine\ninstrments: [wvs]\n", "did you mean 'instruments'?"),
    ],
)
def test_a_config_of_ones_own_that_is_wrong(called, tmp_path, content, says):
    folder = tmp_path / "my configs, mine" / "experiment"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(content, encoding="utf-8")
    left = ["experiment", "mine.yaml", "my configs, mine"]
    answer = called("+experiment=mine", "--config-dir", "HERE/my configs, mine")
    refused((*answer[:2], sorted(answer[2], key=lambda p: p.name)), says, left=left)
    answer = called("+experiment=minne", "--config-dir", "HERE/my configs, mine")
    assert "unknown experiment 'minne'; did you mean 'mine'?" in answer[1]


def test_a_key_that_a_config_of_ones_own_leaves_out_needs_no_plus_sign(called, tmp_path):
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis" / "mine.yaml").write_text("family: cumulative\n", encoding="utf-8")
    code, err, _ = called(*WVS, "analysis=mine", "analysis.level=1.5", "--config-dir=HERE")
    assert code == 2
    assert "analysis.level: must be between 0 and 1, not 1.5" in err
