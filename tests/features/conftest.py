"""A tiny spaCy pipeline whose heads are set by hand, and tiny text classifiers."""

import pytest

# Wording -> place of every word's head; the head of the sentence is its own.
HEADS = {
    "Dogs chase cats": [1, 1, 1],
    "The old dog sleeps soundly today.": [2, 2, 3, 3, 3, 3],
    "Stop!": [0],
}


@pytest.fixture(scope="session")
def parser(tmp_path_factory) -> str:
    """Return the folder of a blank English pipeline that knows the heads of `HEADS`."""
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")

    @spacy.Language.component("heads_by_hand", assigns=["token.head", "token.dep"])
    def heads_by_hand(doc):
        places = HEADS.get(" ".join(token.text for token in doc), [0] * len(doc))
        for token, head in zip(doc, places, strict=True):
            token.head = doc[head]
            token.dep_ = "ROOT" if token.i == head else "dep"
        return doc

    pipeline = spacy.blank("en")
    pipeline.add_pipe("heads_by_hand")
    folder = tmp_path_factory.mktemp("parser") / "en_by_hand"
    pipeline.to_disk(folder)
    return str(folder)


def save_classifier(folder, labels, *, bias=None):
    """Save a random BERT classifier of a few words; with `bias` its logits are these."""
    import torch
    import transformers as tf
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "taxes",
        "are",
        "theft",
        "good",
        "bad",
        "very",
        "Agree",
    ]
    inner = Tokenizer(models.WordLevel({w: k for k, w in enumerate(words)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
    config = tf.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
        id2label=dict(enumerate(labels)),
        label2id={label: k for k, label in enumerate(labels)},
        initializer_range=0.6,
    )
    torch.manual_seed(1)
    model = tf.BertForSequenceClassification(config)
    if bias is not None:
        model.classifier.weight.data.zero_()
        model.classifier.bias.data = torch.tensor(bias)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="session")
def classifier(tmp_path_factory) -> str:
    return save_classifier(tmp_path_factory.mktemp("sentiment"), ["NEG", "NEU", "POS"])


@pytest.fixture(scope="session")
def biased(tmp_path_factory) -> str:
    """Return a classifier that says the same of every text, under labels of its own."""
    folder = tmp_path_factory.mktemp("biased")
    return save_classifier(folder, ["LABEL_0", "LABEL_1"], bias=[0.0, 1.0])
