"""Prompts beyond what a model takes: too long, said so, and known before anything is asked."""

import contextlib
import io
import shutil

import pytest

from polbayes.cli import _main
from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.huggingface.positions import positions
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.probing.journal import read
from polbayes.respondents import Question, TooLongError, causal, masked

ROOM = 32
YES_NO = Lexicon("yn", ("yes", "no"), (1, -1))
TEMPLATE = Template(
    "t", "forced_choice", {"base": "{statement}", "chat": "{statement}", "masked": "{statement}"}
)
SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}


def question(prompt):
    return Question("i", "v", "p", 1, prompt, 1, "economic", prompt)


def small(tf, kind, vocab, room):
    """Return a random model that has so many positions."""
    if kind == "gpt2":
        shape = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": room}
        return tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=vocab, **shape))
    if kind == "opt":  # a table with two rows that are not used
        shape = {**SHAPE, "ffn_dim": 48, "word_embed_proj_dim": 32}
        config = tf.OPTConfig(vocab_size=vocab, max_position_embeddings=room, **shape)
        return tf.OPTForCausalLM(config)
    if kind == "mpt":  # slopes for so many keys, under another name
        shape = {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": room}
        return tf.MptForCausalLM(tf.MptConfig(vocab_size=vocab, **shape))
    shape = {**SHAPE, "intermediate_size": 48, "pad_token_id": 3}
    if kind == "roberta":  # counts from the padding's id on
        config = tf.RobertaConfig(
            vocab_size=vocab, max_position_embeddings=room + 4, is_decoder=True, **shape
        )
        return tf.RobertaForCausalLM(config)
    config = tf.RobertaConfig(vocab_size=vocab, max_position_embeddings=room + 4, **shape)
    return tf.RobertaForMaskedLM(config)


@pytest.fixture
def made(causal_checkpoint, tmp_path):
    """Return a function that makes a checkpoint with few positions."""
    import torch
    import transformers as tf

    def make(kind, room=ROOM):
        shutil.copytree(causal_checkpoint("gpt2-bytes-right").path, tmp_path / kind)
        tokenizer = tf.AutoTokenizer.from_pretrained(tmp_path / kind)
        for path in (tmp_path / kind).iterdir():
            path.unlink()
        if kind == "masked":
            tokenizer.add_special_tokens({"mask_token": "<mask>"})
        tokenizer.save_pretrained(tmp_path / kind)
        torch.manual_seed(4)
        small(tf, kind, len(tokenizer), room).save_pretrained(tmp_path / kind)
        return tmp_path / kind

    return make


def opened(backend, path, **elicitation):
    config = RespondentConfig(checkpoint=str(path), device="cpu")
    return backend.open("m", config, TEMPLATE, ElicitationConfig(**elicitation))


def prompt_of(path, tokens, *, start=""):
    """Return a prompt that has so many tokens."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path)
    text = start
    while len(tokenizer(text)["input_ids"]) < tokens:
        text += "!"
    assert len(tokenizer(text)["input_ids"]) == tokens
    return text


@pytest.mark.parametrize("kind", ["gpt2", "opt", "mpt", "roberta"])
def test_options_are_read_up_to_the_last_position(made, kind):
    path = made(kind)
    respondent = opened(causal.BACKEND, path, kind="forced_choice")
    prompts = respondent._prompts
    stem = prompts.needed(question("!"), YES_NO) - len(prompts.ids("!"))
    fits, beyond = (question(prompt_of(path, ROOM - stem + more)) for more in (0, 1))
    assert (respondent.option_mass([fits], YES_NO) > 0).all()
    with pytest.raises(TooLongError, match=f"have {ROOM + 1} tokens, the model takes {ROOM}"):
        respondent.option_mass([fits, beyond], YES_NO)


@pytest.mark.parametrize(
    ("kind", "decoding"),
    [
        ("gpt2", "sample"),
        ("gpt2", "beam"),
        ("gpt2", "contrastive"),
        ("opt", "greedy"),
        ("mpt", "sample"),
        ("mpt", "contrastive"),
        ("roberta", "sample"),
    ],
)
def test_answers_are_written_up_to_the_last_position(made, kind, decoding):
    path = made(kind)
    respondent = opened(causal.BACKEND, path, decoding=decoding, max_new_tokens=200, top_k=4)
    (answer,) = respondent.complete([question(prompt_of(path, ROOM - 5))], [1])
    assert answer.status in ("ok", "empty")
    with pytest.raises(TooLongError, match="the model takes 32"):
        respondent.complete([question(prompt_of(path, ROOM))], [1])


def test_a_mask_is_filled_up_to_the_last_position(made):
    path = made("masked")
    respondent = opened(masked.BACKEND, path, kind="fill_mask")
    fits, beyond = (question(prompt_of(path, ROOM + n, start="<mask> ")) for n in (0, 1))
    assert respondent.option_mass([fits], Lexicon("l", ("!", "a"), (1, -1))).shape == (1, 2)
    with pytest.raises(TooLongError, match=f"have {ROOM + 1} tokens, the model takes {ROOM}"):
        respondent.option_mass([beyond], YES_NO)


@pytest.mark.parametrize("kind", ["gpt2", "opt", "mpt", "roberta", "masked"])
def test_room_is_known_without_the_weights(made, kind):
    path = made(kind)
    backend = masked.BACKEND if kind == "masked" else causal.BACKEND
    config = RespondentConfig(checkpoint=str(path), device="cpu")
    assert backend.room("m", config, TEMPLATE, None).limit == ROOM


def test_a_model_without_positions_has_no_limit():
    import transformers as tf

    about = tf.BloomConfig(vocab_size=50, hidden_size=32, n_layer=1, n_head=4)
    assert positions(about, tf.BloomForCausalLM(about)) == 1 << 30


def called(tmp_path, path, *more):
    command = [
        *("+experiment=wvs_prefixes", "prefixes.only=[baseline]", "variants=[original]"),
        *("analysis=ideology_one_model", "respondents=none", f"run_dir={tmp_path / 'run'}"),
        *(f"+respondents.m.checkpoint={path}", "+respondents.m.device=cpu", "stages=[probe]"),
    ]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _main([*command, *more])
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("room", "how"),
    [
        (120, ["elicitation=forced_choice"]),
        (65, ["elicitation=open_ended", "elicitation.runs=1", "elicitation.max_new_tokens=4"]),
    ],
)
def test_a_dry_run_says_what_a_run_then_finds(made, tmp_path, room, how):
    path = made("gpt2", room)
    code, said, _ = called(tmp_path, path, *how, "task=dry_run")
    assert code == 0
    assert not (tmp_path / "run").exists()
    line = next(line for line in said.splitlines() if "prompts are too long" in line)
    code, _, _ = called(tmp_path, path, *how)
    assert code == 0
    records = list(read(tmp_path / "run" / "journal" / "m.jsonl"))
    records = [record for record in records if "cell" in record]
    too_long = [record for record in records if record.get("too_long")]
    assert 0 < len(too_long) < len(records)
    assert f"m: {len(too_long)} of {len(records)} prompts are too long" in line
    assert all("TooLongError: the prompt and its" in record["message"] for record in too_long)


def test_a_respondent_that_no_question_fits_into_is_an_error(made, tmp_path):
    code, _, said = called(tmp_path, made("gpt2"), "elicitation=forced_choice")
    assert code == 2
    last = said.splitlines()[-1]
    assert last.startswith("error: respondents.m: could not answer any of the last 27 questions (")
    assert "tokens, the model takes 32" in last
    assert "Traceback" not in said
