"""Sample logs of lm-evaluation-harness: as it writes them, and made by it on an embedded model."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from polbayes.cli import _main
from polbayes.coding.importer import import_table
from polbayes.config.compose import compose
from polbayes.data.dataset import open_responses, to_frame
from polbayes.errors import UserError

CHOICES = ["yes", "Yes", " yes", "no", "No", "maybe"]
NAME = "samples_mine_2026-01-02T03-04-05.678.jsonl"


def multiple_choice(doc_id, log_likelihoods, choices=CHOICES, **doc):
    """Return one line of a log, in the form that lm_eval 0.4 has."""
    asked = {f"gen_args_{n}": {"arg_0": "Q?", "arg_1": c} for n, c in enumerate(choices)}
    return {
        "doc_id": doc_id,
        "doc": {"question": f"q-{doc_id}", **doc},
        "target": "0",
        "arguments": asked,
        "resps": [[[str(x), "False"]] for x in log_likelihoods],
        "filtered_resps": [[str(x), "False"] for x in log_likelihoods],
        "filter": "none",
    }


def generated(doc_id, *answers, **doc):
    return {
        "doc_id": doc_id,
        "doc": doc,
        "target": "",
        "arguments": {"gen_args_0": {"arg_0": "Q?", "arg_1": {"until": []}}},
        "resps": [list(answers)],
        "filtered_resps": [answers[0]],
        "filter": "none",
    }


def write(folder, *lines, name=NAME):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def lexicon(tmp_path):
    path = tmp_path / "words.yaml"
    path.write_text('agree: ["yes"]\ndisagree: ["no"]\nneutral: ["maybe"]\n', encoding="utf-8")
    return path


def imported(group, path, *overrides):
    config, _ = compose([f"+importer={group}", f"imported.path={path}", "name=x", *overrides])
    return config, import_table(config.imported, instruments=[])


def test_log_likelihoods_become_the_masses_of_agreeing_and_disagreeing(tmp_path, lexicon):
    first = [math.log(x) for x in (0.1, 0.2, 0.3, 0.05, 0.15, 0.1)]
    second = [math.log(x) for x in (0.3, 0.1, 0.05, 0.2, 0.1, 0.2)]
    write(tmp_path / "owner__model", multiple_choice(0, first), multiple_choice(1, second))
    config, data = imported("lm_eval", tmp_path, f"imported.lexicon={lexicon}")

    np.testing.assert_allclose(data["p_agree"].values.ravel(), [0.6, 0.45], rtol=1e-6)
    np.testing.assert_allclose(data["p_disagree"].values.ravel(), [0.2, 0.3], rtol=1e-6)
    neutral = data["option_prob"].sel(option="neutral").values.ravel()
    np.testing.assert_allclose(neutral, [0.1, 0.2], rtol=1e-6)
    assert data["model"].values.tolist() == ["owner__model"]
    assert config.analysis.response == "r_plus"


def test_forms_that_are_the_same_tokens_are_counted_once(tmp_path, lexicon):
    # "yes" and " yes" agree in both samples, "no" and "No" only in the first.
    first = [math.log(x) for x in (0.3, 0.1, 0.3, 0.2, 0.2, 0.1)]
    second = [math.log(x) for x in (0.2, 0.1, 0.2, 0.1, 0.3, 0.1)]
    write(tmp_path / "m", multiple_choice(0, first), multiple_choice(1, second))
    _, data = imported("lm_eval", tmp_path, f"imported.lexicon={lexicon}")

    np.testing.assert_allclose(data["p_agree"].values.ravel(), [0.4, 0.3], rtol=1e-6)
    np.testing.assert_allclose(data["p_disagree"].values.ravel(), [0.4, 0.4], rtol=1e-6)


def test_the_list_that_older_versions_wrote_of_what_was_asked_is_read(tmp_path, lexicon):
    line = multiple_choice(0, [math.log(x) for x in (0.1, 0.2, 0.3, 0.05, 0.15, 0.1)])
    line["arguments"] = [list(one.values()) for one in line["arguments"].values()]
    write(tmp_path / "m", line)
    said = generated(0, "Yes.", "No.")
    said["arguments"] = [["Q?", {"until": []}]]
    texts = write(tmp_path / "n", said)

    _, data = imported("lm_eval", tmp_path / "m", f"imported.lexicon={lexicon}")
    assert data["p_agree"].item() == pytest.approx(0.6)
    assert data["p_disagree"].item() == pytest.approx(0.2)
    _, data = imported("lm_eval_text", texts)
    assert data["completion"].values.ravel().tolist() == ["Yes.", "No."]


def after(line, contexts):
    """Return a line whose choices follow several contexts."""
    asked = zip(line["arguments"].items(), contexts, strict=True)
    return {**line, "arguments": {key: {**one, "arg_0": c} for (key, one), c in asked}}


@pytest.mark.parametrize("same", [True, False])
def test_choices_without_the_prompt_are_not_counted(tmp_path, lexicon, same):
    """As lm_eval asks for them if a task has the metric ``acc_mutual_info``."""
    given = [(0.3, 0.1), (0.2, 0.4)]
    alone = [(0.01, 0.02), (0.01 if same else 0.03, 0.02)]
    lines = [
        after(
            multiple_choice(n, [math.log(x) for x in (*one, *other)], choices=["yes", "no"] * 2),
            ["Q?", "Q?", "", ""],
        )
        for n, (one, other) in enumerate(zip(given, alone, strict=True))
    ]
    write(tmp_path / "m", *lines)
    _, data = imported("lm_eval", tmp_path, f"imported.lexicon={lexicon}")

    np.testing.assert_allclose(data["p_agree"].values.ravel(), [0.3, 0.2], rtol=1e-6)
    np.testing.assert_allclose(data["p_disagree"].values.ravel(), [0.1, 0.4], rtol=1e-6)


def test_choices_after_different_prompts_are_an_error(tmp_path, lexicon):
    line = multiple_choice(7, [-1.0, -2.0], choices=["yes", "no"])
    path = write(tmp_path / "m", after(line, ["First?", "Second?"]))
    with pytest.raises(UserError, match="the choices of document 7 follow different prompts"):
        imported("lm_eval", path, f"imported.lexicon={lexicon}")


OTHER = NAME.replace("mine", "mmlu")


def test_one_of_several_tasks_is_read_whatever_the_others_hold(tmp_path):
    """The other tasks do not say which option agrees, have several prompts, or no choices."""
    known = {"options": {"yes": 1, "no": -1}}
    values = {"polbayes": json.dumps(known), "form": "original"}
    mine = multiple_choice(0, [math.log(0.3), math.log(0.1)], choices=["yes", "no"], **values)
    letters = multiple_choice(0, [-1.0, -2.0], choices=["A", "B"])
    twice = after(multiple_choice(1, [-1.0, -2.0], choices=["A", "B"]), ["First?", "Second?"])
    text = {**generated(2, "-5.0"), "arguments": {"gen_args_0": {"arg_0": "A whole text."}}}
    write(tmp_path / "m", mine)
    write(tmp_path / "m", letters, twice, text, name=OTHER)
    for where in (
        "{task: mine}",
        "{table: " + NAME.removesuffix(".jsonl") + "}",
        "{doc.form: 1st}",
    ):
        more = ("imported.rename={doc.form: {original: 1st}}",) if "1st" in where else ()
        _, data = imported("lm_eval", tmp_path, f"imported.where={where}", *more)
        assert data["p_agree"].values.tolist() == [[[[[pytest.approx(0.3)]]]]]
    with pytest.raises(UserError, match=r"mmlu.* leave out its task by imported\.where"):
        imported("lm_eval", tmp_path)

    write(tmp_path / "m", generated(0, "Yes."))
    write(tmp_path / "m", generated(0, "B"), text, name=OTHER)
    _, data = imported("lm_eval_text", tmp_path, "imported.where={task: mine}")
    assert data["completion"].values.ravel().tolist() == ["Yes."]


def test_answers_that_two_files_have_are_kept_from_one_or_counted_as_repetitions(tmp_path):
    again = NAME.replace("03-04", "04-04")
    write(tmp_path / "m", generated(0, "Yes."))
    write(tmp_path / "m", generated(0, "No."), name=again)
    says = rf"{NAME}: row 1 and {again}: row 1 are both the answer of .* keep one of them with "
    says += r"imported\.path=FILE, or set imported\.constants\.run=count, without "
    with pytest.raises(UserError, match=says):
        imported("lm_eval_text", tmp_path)
    number = ("~imported.columns.run", "imported.constants.run=count")
    _, data = imported("lm_eval_text", tmp_path, *number)
    assert data["completion"].values.ravel().tolist() == ["Yes.", "No."]
    _, data = imported("lm_eval_text", tmp_path / "m" / again)
    assert data["completion"].values.ravel().tolist() == ["No."]

    write(tmp_path / "n", generated(0, "Maybe."))
    where = "imported.constants.model=one"
    says = rf"m/{NAME}: row 1 and n/{NAME}: row 1 are both"
    (tmp_path / "m" / again).unlink()
    with pytest.raises(UserError, match=says):
        imported("lm_eval_text", tmp_path, "~imported.columns.model", where)


def test_items_can_be_named_by_any_field_of_the_documents(tmp_path, lexicon):
    write(tmp_path / "m", multiple_choice(0, [-1.0] * 6), multiple_choice(1, [-2.0] * 6))
    set_up = (f"imported.lexicon={lexicon}", "imported.columns.item=doc.question")
    _, data = imported("lm_eval", tmp_path, *set_up)

    assert data["item"].values.tolist() == ["q-0", "q-1"]


def test_repeated_generations_are_runs_and_further_filters_are_left_out(tmp_path):
    again = {**generated(0, "Yes.", "No."), "filter": "strict", "filtered_resps": ["?"]}
    path = write(tmp_path / "m", generated(0, "Yes.", "No."), again, generated(1, "Maybe.", ""))
    _, data = imported("lm_eval_text", path)

    frame = to_frame(data, ["completion"])
    assert frame[["item", "run", "completion"]].values.tolist() == [
        ["0", 1, "Yes."],
        ["0", 2, "No."],
        ["1", 1, "Maybe."],
        ["1", 2, ""],
    ]
    assert data.attrs["notes"] == "1 of 4 rows has no answer."


def test_the_name_of_the_model_is_that_of_the_results_beside_the_samples(tmp_path):
    path = write(tmp_path / "owner__m", generated(0, "Yes."))
    results = path.with_name("results_2026-01-02T03-04-05.678.json")
    results.write_text(json.dumps({"model_name": "owner/m"}), encoding="utf-8")

    assert imported("lm_eval_text", path)[1]["model"].values.tolist() == ["owner/m"]


def test_what_cannot_be_read_is_said(tmp_path, lexicon):
    with pytest.raises(UserError, match=r"holds no samples_\*\.jsonl"):
        imported("lm_eval", tmp_path)
    path = write(tmp_path / "m", multiple_choice(0, [-1.0] * 6))
    with pytest.raises(UserError, match=r"set imported\.lexicon to a lexicon"):
        imported("lm_eval", path)
    with pytest.raises(UserError, match="unknown value 'generate_until'; known: multiple_choice"):
        imported("lm_eval_text", path)
    other = write(tmp_path / "n", multiple_choice(0, [-1.0, -2.0], choices=["yes", "perhaps"]))
    with pytest.raises(UserError, match="the choice 'perhaps' is no option of lexicon"):
        imported("lm_eval", other, f"imported.lexicon={lexicon}")
    bad = write(tmp_path / "o", {"doc_id": 0, "doc": {}, "resps": []})
    with pytest.raises(UserError, match=r"line 1 is not a sample of lm-evaluation-harness"):
        imported("lm_eval", bad)
    less = multiple_choice(3, [-1.0] * 6)
    bad = write(tmp_path / "o", {**less, "resps": less["resps"][1:]})
    with pytest.raises(UserError, match="document 3 has no log-likelihood of every choice"):
        imported("lm_eval", bad)
    bad.write_text("{\n", encoding="utf-8")
    with pytest.raises(UserError, match="line 1 is not valid JSON"):
        imported("lm_eval", bad)


ASKED = ("items=[pc-01,pc-02]", "variants=[original,negation]", "prefixes.only=null")


def run_lm_eval(tmp_path, model, *overrides):
    """Ask the questions of a config by lm_eval itself, on an embedded model."""
    pytest.importorskip("lm_eval", reason="lm_eval is not installed (nox -s interchange)")
    from polbayes.config.resources import folder

    written = ("task=export", "export.formats=[lm_eval]", f"run_dir={tmp_path}/asked")
    assert _main([*overrides, *written]) == 0
    include = tmp_path / "asked/export/lm_eval"
    (task,) = include.glob("*.yaml")
    offline = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    command = [sys.executable, "-m", "lm_eval", "run", "--model", "hf", "--tasks", task.stem]
    command += ["--model_args", f"pretrained={folder('models') / model},dtype=float32"]
    command += ["--include_path", str(include), "--output_path", str(tmp_path / "logs")]
    command += ["--log_samples", "--device", "cpu", "--batch_size", "1"]
    done = subprocess.run(
        command, env={**os.environ, **offline}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return tmp_path / "logs"


@pytest.mark.parametrize(
    ("prefixes", "more"),
    [
        ("option_orders", ("order",)),
        # Of a scale whose order is drawn, each question has its own, also in a second run.
        ("scale4", ()),
    ],
)
def test_lm_eval_gives_the_probabilities_that_polbayes_reads_itself(tmp_path, prefixes, more):
    orders = (f"prefixes.file={prefixes}", "elicitation.template=options", *ASKED)
    if prefixes == "scale4":
        orders += ("elicitation.lexicon=agree4", "elicitation.runs=2", "seed=5")
    logs = run_lm_eval(tmp_path, "left", "+experiment=pct_paraphrases", *orders)
    common = ("instruments=[pct]", "respondents=none", "stages=[probe,code]")
    back = ["+importer=lm_eval", f"imported.path={logs}", "name=x", f"run_dir={tmp_path}/a"]
    assert _main([*back, *common]) == 0
    left = ("+respondents.left.checkpoint=embedded:left", "+respondents.left.chat=false")
    own = ["+experiment=pct_paraphrases", *common, *left, *orders, f"run_dir={tmp_path}/b"]
    assert _main(own) == 0

    theirs, ours = open_responses(tmp_path / "a"), open_responses(tmp_path / "b")
    assert theirs["model"].values.tolist() == ["left"]
    theirs = theirs.sel({name: ours[name] for name in ("item", "variant", "prefix", "run")})
    for name in ("p_agree", "p_disagree", "r_plus"):
        np.testing.assert_allclose(theirs[name].values, ours[name].values, rtol=0, atol=1e-6)
    assert np.ptp(theirs["r_plus"].values) > 0.1
    for name in ("statement", "prefix_text", "prefix_options", "agree_first", "keying", *more):
        assert (theirs[name] == ours[name]).all(), name


def test_greedy_answers_of_lm_eval_come_back_as_runs_with_the_texts_of_polbayes(tmp_path):
    prefixes = ("prefixes.only=[baseline,likert]", "items=[wvs-01,wvs-02]", "variants=[original]")
    set_up = ("+experiment=wvs_prefixes", *prefixes, "elicitation.decoding=greedy")
    logs = run_lm_eval(tmp_path, "resolute", *set_up, "elicitation.runs=2")
    _, theirs = imported("lm_eval_text", logs, "instruments=[wvs]")
    one = ("respondents=none", "+respondents.resolute.checkpoint=embedded:resolute")
    own = [*set_up, *one, "+respondents.resolute.chat=false", "elicitation.runs=1"]
    assert _main([*own, "stages=[probe]", f"run_dir={tmp_path}/own"]) == 0

    ours = open_responses(tmp_path / "own")
    assert dict(theirs.sizes) == {"model": 1, "item": 2, "variant": 1, "prefix": 2, "run": 2}
    assert theirs["prefix_answer"].sel(prefix="likert").item() == "likert"
    theirs = theirs.sel(item=ours["item"], variant=ours["variant"], prefix=ours["prefix"])
    texts = ours["completion"].isel(run=0).values
    assert (texts != "").all()
    assert len({*texts.ravel()}) > 1
    for run in (0, 1):
        assert theirs["completion"].isel(run=run).values.tolist() == texts.tolist()
