import pytest

from tools.embedded.vocabulary import END, PAD, causal_tokenizer, masked_tokenizer, with_chat

TEXTS = ["Taxes are low, and I agree.", "Taxes are high!", "I disagree with high taxes."] * 5


@pytest.fixture(scope="module")
def causal():
    return causal_tokenizer(TEXTS, 300)


@pytest.fixture(scope="module")
def masked():
    return masked_tokenizer(TEXTS, 400, ["agree", "disagree", "oppose"])


def test_text_survives_the_byte_level_tokens(causal):
    for text in ("Taxes are low.\n", " yes", "naïve – “quoted” 🙂", ""):
        assert causal.decode(causal(text)["input_ids"]) == text


def test_a_causal_prompt_gets_no_tokens_of_its_own_and_is_padded_on_the_left(causal):
    batch = causal(["Taxes are low.", "I"], padding=True)["input_ids"]
    assert causal.convert_ids_to_tokens(batch[1])[0] == PAD
    assert causal.convert_ids_to_tokens(batch[0])[-1] == "."
    assert causal(END)["input_ids"] == [causal.eos_token_id]


def test_words_of_the_masked_tokenizer(masked):
    assert masked.tokenize("I OPPOSE taxes") == ["i", "oppose", "taxes"]
    assert masked.tokenize("xy") == ["x", "##y"]
    around = masked.convert_ids_to_tokens(masked("I [MASK].")["input_ids"])
    assert around == ["[CLS]", "i", "[MASK]", ".", "[SEP]"]


def test_tokenizers_are_the_same_every_time(causal, masked):
    assert causal_tokenizer(TEXTS, 300).get_vocab() == causal.get_vocab()
    again = masked_tokenizer(TEXTS, 400, ["agree", "disagree", "oppose"])
    assert again.get_vocab() == masked.get_vocab()


def test_the_chat_template_comes_and_goes(causal):
    turn = [{"role": "user", "content": "Hello"}]
    with_chat(causal, chat=True)
    text = causal.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
    assert text == "<|user|>Hello<|end|><|assistant|>"
    assert with_chat(causal, chat=False).chat_template is None
