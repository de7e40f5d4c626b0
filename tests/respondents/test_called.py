"""What prompts call a respondent."""

import json
import shutil
from pathlib import Path

import pytest
from loopback import Said

from polbayes.cli import _main
from polbayes.config.compose import compose
from polbayes.config.schema import ElicitationConfig, RespondentConfig, RunConfig
from polbayes.data.dataset import open_responses
from polbayes.errors import UserError
from polbayes.instrument.design import ModelInfo, called_in_prompts
from polbayes.probing.probe import rendered_prompt
from polbayes.report.asked import prompts
from polbayes.respondents import answer_settings, check
from polbayes.run.plan import _with_name

CHOICE = ElicitationConfig(kind="forced_choice", template="haller", lexicon="haller_generative")
PLANTED = RespondentConfig(backend="simulated", checkpoint="planted:left")
SMALL = (
    *("name=called", "instruments=[wvs]", "items=[wvs-01]", "variants=[original]"),
    *("respondents=simulated", "models=[left,right]", "prefixes.only=[baseline,name]"),
)


def run(folder, *more):
    return _main([*SMALL, "stages=[probe]", f"run_dir={folder}", *more])


def settings_of(folder, model):
    header = (folder / "journal" / f"{model}.jsonl").read_text().splitlines()[0]
    return json.loads(header.partition(" ")[2])["settings"]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("called")
    assert run(folder, "+respondents.left.called=Model A") == 0
    return folder


def test_prompts_call_a_model_as_declared(asked):
    data = open_responses(asked)
    assert called_in_prompts(data) == {"left": "Model A", "right": "right"}
    first, second = (
        rendered_prompt(data, m, "wvs-01", "original", "name") for m in data["model"].values
    )
    assert "Hey Model A, please" in first
    assert "Hey right, please" in second
    texts = [prompt.text for prompt in prompts(data) if prompt.prefix == "name"]
    assert sorted("Model A" in text for text in texts) == [False, True]


def test_it_is_in_what_a_run_knows_of_itself(asked):
    assert settings_of(asked, "left")["respondent.called"] == "Model A"
    assert "called: Model A" in open_responses(asked).attrs["config"]


def test_what_was_asked_before_is_continued(asked):
    """Journals have no such key where nothing is declared, as before there was one."""
    assert "respondent.called" not in settings_of(asked, "right")
    assert "respondent.called" not in answer_settings(PLANTED, CHOICE)


def test_another_address_is_another_question(asked, tmp_path, capsys):
    other = shutil.copytree(asked, tmp_path / "other")
    assert run(other, "+respondents.left.called=Model B") == 2
    error = capsys.readouterr().err
    assert "holds a run with respondents.left.called=Model A, not Model B" in error


def test_the_dry_run_shows_it(tmp_path, capsys):
    assert run(tmp_path, "+respondents.left.called=Model A", "task=dry_run") == 0
    assert "Hey Model A, please" in capsys.readouterr().out


def test_inspection_shows_it(asked, capsys):
    assert _main(["task=inspect", f"run_dir={asked}", "inspect.prefixes=[name]"]) == 0
    assert "Hey Model A, please" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["", " ", "\u200b"])
def test_an_address_is_text(name):
    with pytest.raises(UserError, match=r"respondents\.m\.called: the text is empty"):
        check("m", RespondentConfig(backend="simulated", called=name), CHOICE)


CHECKPOINT = ("instruments=[wvs]", "items=[wvs-01]", "variants=[original]", "name=checkpoints")


def asked_of(folder, checkpoint, *more, prefixes="name"):
    """Ask a checkpoint that is declared under a telling key; return exit code and prompts."""
    arguments = [
        *(*CHECKPOINT, "elicitation=forced_choice", "elicitation.template=haller"),
        *("elicitation.lexicon=haller_generative", "analysis=ideology_probabilities_one_model"),
        *("respondents=none", f"+respondents.treated.checkpoint={checkpoint}", "stages=[probe]"),
        *("+respondents.treated.device=cpu", f"prefixes.only=[{prefixes}]", f"run_dir={folder}"),
    ]
    code = _main([*arguments, *more])
    data = open_responses(folder) if code == 0 else None
    names = prefixes.split(",")
    cells = [("treated", "wvs-01", "original", prefix) for prefix in names]
    return code, [rendered_prompt(data, *cell) for cell in cells] if code == 0 else []


@pytest.fixture
def checkpoint(causal_checkpoint, tmp_path):
    """Return a checkpoint in a folder with a name."""
    return shutil.copytree(
        causal_checkpoint("llama-bytes-bos-right").path, tmp_path / "models" / "Tiny-1B"
    )


def without_names(monkeypatch):
    """Call checkpoints by their keys, as before."""
    monkeypatch.setattr("polbayes.run.plan._with_name", lambda info, config: info)


def test_a_checkpoint_is_called_by_its_own_name(checkpoint, tmp_path, capsys):
    code, (prompt,) = asked_of(tmp_path / "run", f"{checkpoint}/")
    assert code == 0, capsys.readouterr().err
    assert "Hey Tiny-1B, please" in prompt
    assert "treated" not in prompt
    assert settings_of(tmp_path / "run", "treated")["respondent.called"] == "Tiny-1B"
    given = asked_of(tmp_path / "given", checkpoint, "+respondents.treated.called=Model A")
    assert "Hey Model A, please" in given[1][0]


@pytest.mark.parametrize(
    ("config", "called"),
    [
        ({"checkpoint": "Qwen/Qwen2.5-7B"}, "Qwen2.5-7B"),
        ({"checkpoint": "Qwen/Qwen2.5-7B", "backend": "masked"}, "Qwen2.5-7B"),
        ({"checkpoint": "some/folder/m.gguf"}, "m"),
        ({"checkpoint": "."}, Path.cwd().name),
        ({"checkpoint": "Qwen/Qwen2.5-7B", "called": "Model A"}, ""),
        # Answers of embedded and planted models are published.
        ({"checkpoint": "embedded:left"}, ""),
        ({"checkpoint": "embedded:masked_left", "backend": "masked"}, ""),
        ({"checkpoint": "planted:left", "backend": "simulated"}, ""),
        ({"checkpoint": "gpt-4o", "backend": "chat_api"}, ""),
    ],
)
def test_what_prompts_call_it_by_default(config, called, tmp_path):
    declared = RunConfig(run_dir=str(tmp_path), respondents={"key": RespondentConfig(**config)})
    assert _with_name(ModelInfo("key", "{statement}"), declared).called == called


@pytest.mark.parametrize("given", [(), ("+respondents.treated.called=null",)])
def test_a_run_that_called_it_by_its_key_goes_on(checkpoint, tmp_path, monkeypatch, capsys, given):
    folder = tmp_path / "run"
    with monkeypatch.context() as before:
        without_names(before)
        assert "Hey treated, please" in asked_of(folder, checkpoint)[1][0]
    assert "respondent.called" not in settings_of(folder, "treated")
    assert asked_of(folder, checkpoint, *given)[0] == 0
    assert "nothing to do" in capsys.readouterr().err
    # More is asked under the same name, also of its answers in another folder.
    code, prompts_of = asked_of(folder, checkpoint, *given, prefixes="name,baseline")
    assert code == 0, capsys.readouterr().err
    assert "Hey treated, please" in prompts_of[0]
    code, (prompt,) = asked_of(tmp_path / "other", checkpoint, *given, f"answers_from={folder}")
    assert code == 0, capsys.readouterr().err
    assert "Hey treated, please" in prompt


def test_the_first_line_of_a_journal_may_be_damaged(checkpoint, tmp_path, monkeypatch):
    """Its copy tells what the model was called."""
    folder = tmp_path / "run"
    asked_of(folder, checkpoint)
    path = folder / "journal" / "treated.jsonl"
    path.write_bytes(b"#" + path.read_bytes()[1:])
    code, prompts_of = asked_of(folder, checkpoint, prefixes="name,baseline")
    assert code == 0
    assert "Hey Tiny-1B, please" in prompts_of[0]


SERVED = ("+experiment=wvs_prefixes", "respondents=served")


@pytest.mark.parametrize(
    ("checkpoint", "name"),
    [
        ("gpt-4o", "gpt-4o"),
        ("Qwen/Qwen2.5-7B-Instruct", "Qwen2.5-7B-Instruct"),
        ("/models/llama/", "llama"),
    ],
)
def test_a_served_model_is_called_by_its_own_name(checkpoint, name):
    config, text = compose([*SERVED, f"respondents.served.checkpoint={checkpoint}"])
    assert config.respondents["served"].called == name
    # What is kept with a run does not depend on what later versions call a model.
    assert f"called: {name}\n" in text
    given = [f"respondents.served.checkpoint={checkpoint}", "respondents.served.called=Model A"]
    assert compose([*SERVED, *given])[0].respondents["served"].called == "Model A"


@pytest.mark.parametrize("others", ["none", "embedded"])
def test_a_profile_by_itself_calls_its_model_as_a_served_one(others):
    given = ["+experiment=wvs_prefixes", f"respondents={others}", "api=vllm"]
    model = "respondents.served.checkpoint=Green/green-1"
    config, text = compose([*given, model])
    assert config.respondents["served"].called == "green-1"
    assert "called: green-1\n" in text
    for name, called in (("Model A", "Model A"), ("null", None)):
        named = compose([*given, model, f"respondents.served.called={name}"])[0]
        assert named.respondents["served"].called == called
    assert compose(given)[0].respondents["served"].called is None
    # A key of the user's own is a name.
    own = [*given[:2], "+api@respondents.green=vllm", "+respondents.green.checkpoint=green-1"]
    assert compose(own)[0].respondents["green"].called is None


def test_prompts_of_a_profile_by_itself_name_its_model(tmp_path, capsys):
    given = ["+experiment=wvs_prefixes", "respondents=none", "api=vllm", "task=dry_run"]
    assert _main([*given, "respondents.served.checkpoint=green-1", f"run_dir={tmp_path}"]) == 0
    shown = capsys.readouterr().out
    assert "Hey green-1, please" in shown
    assert "Hey served" not in shown


def test_a_served_model_without_a_name_is_told_so(tmp_path, capsys):
    assert _main([*SERVED, "task=dry_run", f"run_dir={tmp_path}"]) == 2
    assert "respondents.served.checkpoint: is empty" in capsys.readouterr().err


def test_a_run_that_called_it_served_goes_on_as_it_began(loopback, tmp_path, capsys):
    world = loopback(answer=lambda prompt, body: Said("I agree."))
    arguments = [
        *(*SERVED, "respondents.served.checkpoint=m-1", f"run_dir={tmp_path}"),
        *(f"respondents.served.api.base_url={world.url}", "items=[wvs-01]"),
        *("variants=[original]", "prefixes.only=[name]"),
    ]
    once, twice = ([*arguments, "stages=[probe]", f"elicitation.runs={n}"] for n in (1, 2))
    # As before, when there was no name but that in the config.
    before = "respondents.served.called=null"
    assert _main([*once, before]) == 0
    assert "Hey served, please" in world.bodies[-1]["messages"][-1]["content"]
    for more in (arguments, twice):
        assert _main(more) == 2
        assert f"not m-1; choose another run_dir or go back to {before}." in capsys.readouterr().err
    assert _main([*twice, before]) == 0
    asked = [body["messages"][-1]["content"] for body in world.bodies]
    # A trial question and one answer, twice.
    assert len(asked) == 4
    assert "Hey served, please" in asked[-1]
    assert _main([*once, f"run_dir={tmp_path / 'new'}"]) == 0
    assert "Hey m-1, please" in world.bodies[-1]["messages"][-1]["content"]
