"""Masked language models from Hugging Face checkpoints."""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.huggingface.identity import files_digest, weights_digest
from polbayes.huggingface.padded import tolerance
from polbayes.huggingface.portions import Portion, fitting, inference, release, step_bytes
from polbayes.huggingface.positions import positions
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon, Template, claim, surfaces
from polbayes.respondents.base import (
    Backend,
    Completion,
    Question,
    Room,
    left_out,
    model_info,
    template_text,
)
from polbayes.respondents.local import LocalKind

_log = logging.getLogger("polbayes")

# Prompts per pass. On a CPU more are not faster (benchmarks/engine.py).
_ROWS = {"cpu": 8}
_MOST_ROWS = 256


def _info(name: str, config: RespondentConfig, template: Template, tokenizer: Any) -> ModelInfo:
    """Return the design's entry for a masked LM."""
    if tokenizer.mask_token is None:
        raise UserError(
            f"respondents.{name}: the tokenizer of '{config.checkpoint}' has no mask token; "
            "use backend: causal for a model that continues text."
        )
    text = template_text(template, ("masked",), name).replace("{mask}", tokenizer.mask_token)
    return model_info(name, config, text, instruct=False)


def _room(info: ModelInfo, tokenizer: Any, limit: int, lexicon: Lexicon | None) -> Room:
    # Tokenizers of models whose positions start at 2 have the smaller limit.
    least = min(limit, int(tokenizer.model_max_length))
    return Room(least, lambda question: len(tokenizer(question.prompt)["input_ids"]))


class MaskedRespondent:
    """A masked LM asked in batches."""

    def __init__(
        self, info: ModelInfo, tokenizer: Any, model: Any, elicitation: ElicitationConfig
    ) -> None:
        self.info = info
        self._tokenizer = tokenizer
        self._model = model
        self._rows = Portion(elicitation.batch_size or _ROWS.get(model.device.type, _MOST_ROWS))
        self._most = elicitation.top_tokens
        self._room = _room(info, tokenizer, positions(model.config, model), None)

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Describe the words of the lexicon that are left out."""
        if lexicon is None:
            return ()
        usable = [bool(ids) for ids in self._words(lexicon)]
        return left_out(self.info.model, lexicon, usable, "a single token of this model")

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> NDArray[np.float64]:
        """Return the probability mass of each option (question, option) at the mask.

        Case variants are summed. An option without a single-token form is NaN.
        """
        words = self._words(lexicon)
        asked = [self._ids(question.prompt) for question in questions]
        prompts = sorted(set(asked), key=len, reverse=True)
        mass = np.full((len(prompts), len(words)), np.nan)
        tokens = [token for ids in words for token in ids]
        ends = np.cumsum([len(ids) for ids in words])

        def work(start: int, stop: int) -> None:
            probability = self._at_mask(prompts[start:stop], tokens)
            for option, (ids, end) in enumerate(zip(words, ends, strict=True)):
                if ids:
                    mass[start:stop, option] = probability[:, end - len(ids) : end].sum(axis=1)

        # A model that cannot be reduced to the mask computes logits everywhere.
        each = max(map(len, prompts), default=1) * step_bytes(self._model)
        most = fitting(self._model.device, each, most=max(1, len(prompts)))
        self._rows.over(len(prompts), work, most=most)
        place = {prompt: n for n, prompt in enumerate(prompts)}
        # A sum of probabilities may exceed 1 by rounding.
        return np.asarray(np.minimum(mass[[place[prompt] for prompt in asked]], 1.0))

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Refuse: a masked LM does not generate text."""
        raise UserError(
            f"respondents.{self.info.model}: a masked LM gives no open answers; "
            "use elicitation.kind=fill_mask."
        )

    def close(self) -> None:
        """Free the weights."""
        self._model = None
        release()

    def _words(self, lexicon: Lexicon) -> list[list[int]]:
        """Return for each option the ids of its single-token forms."""
        owner: dict[tuple[int, ...], int] = {}
        for option, word in enumerate(lexicon.options):
            for form in surfaces(word):
                ids = tuple(self._tokenizer(form, add_special_tokens=False)["input_ids"])
                if len(ids) == 1 and ids[0] != self._tokenizer.unk_token_id:
                    claim(owner, ids, option, lexicon)
        words: list[list[int]] = [[] for _ in lexicon.options]
        for (token,), option in owner.items():
            words[option].append(token)
        return words

    def _ids(self, prompt: str) -> tuple[int, ...]:
        ids = tuple(self._tokenizer(prompt)["input_ids"])
        masks = ids.count(self._tokenizer.mask_token_id)
        if masks != 1:
            raise ValueError(f"the prompt has {masks} masks instead of one")
        self._room.check(len(ids))
        return ids

    def _at_mask(
        self, prompts: Sequence[tuple[int, ...]], tokens: Sequence[int]
    ) -> NDArray[np.float64]:
        """Return the probabilities of some tokens at the mask (row, token), from float32."""
        where = [prompt.index(self._tokenizer.mask_token_id) for prompt in prompts]
        logits = self._logits(prompts, where, self._narrow)
        probability = logits.softmax(dim=1)
        if self._most is not None:
            best = probability.topk(min(self._most, probability.shape[1]), dim=1)
            probability = best.values.new_zeros(probability.shape).scatter_(
                1, best.indices, best.values
            )
        return np.asarray(probability[:, list(tokens)].cpu().double().numpy())

    def _logits(
        self, prompts: Sequence[tuple[int, ...]], where: Sequence[int], narrow: Sequence[Any]
    ) -> Any:
        """Return float32 logits (row, token of the vocabulary) at one position of each prompt."""
        import torch

        width = max(map(len, prompts))
        # Some models derive positions from the padding id, so it must be the real one.
        pad = self._tokenizer.pad_token_id or 0
        ids = torch.full((len(prompts), width), pad, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt)] = torch.tensor(prompt)
            mask[row, : len(prompt)] = 1
        device = self._model.device
        at = torch.tensor(where, device=device)
        with inference(), _only_position(narrow, at):
            logits = self._model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
        return _taken(logits, at)[:, 0].float()

    @cached_property
    def _narrow(self) -> Sequence[Any]:
        """Modules after which one position of each prompt suffices.

        After the last attention no position depends on another, and the head over the whole
        vocabulary is about half of the work of a masked LM. Random tokens are fed both ways to
        check: a model whose modules return something else, or are used twice, then differs or
        fails.
        """
        random = np.random.default_rng(0)
        words = self._model.config.get_text_config().vocab_size
        prompts = [tuple(random.integers(words, size=n).tolist()) for n in (9, 6)]
        expected = self._logits(prompts, [4, 2], ())
        for modules in _candidates(self._model):
            try:
                found = self._logits(prompts, [4, 2], modules)
            except Exception as error:  # whatever a model raises that is asked what it cannot do
                _log.debug("%s is not shown one position: %s", type(modules[0]).__name__, error)
                continue
            apart = (found.log_softmax(dim=1) - expected.log_softmax(dim=1)).abs().mean()
            if found.shape == expected.shape and float(apart) <= tolerance(self._model):
                return modules
        return ()


def _candidates(model: Any) -> Iterator[tuple[Any, ...]]:
    """Yield what may be followed by one position only: the last attention, and the encoder."""
    import torch

    if model.base_model is model:
        return
    lists = [m for m in model.base_model.modules() if isinstance(m, torch.nn.ModuleList) and len(m)]
    layers = max(lists, key=len, default=None)
    attention = getattr(layers[-1], "attention", None) if layers else None
    if isinstance(attention, torch.nn.Module):
        # A layer that adds its input restores all positions, so the encoder is tried, too.
        yield attention, model.base_model
    yield (model.base_model,)


def _taken(hidden: Any, at: Any) -> Any:
    """Return one position of each row (row, 1, ...), possibly the only one."""
    import torch

    if hidden.shape[1] == 1:
        return hidden
    return hidden[torch.arange(len(at), device=hidden.device), at.to(hidden.device)][:, None]


@contextlib.contextmanager
def _only_position(modules: Sequence[Any], at: Any) -> Iterator[None]:
    """Make modules return one position of each row while the context lasts."""

    def cut(module: Any, inputs: Any, output: Any) -> Any:
        one = _taken(output[0], at)
        if isinstance(output, tuple):
            return (one, *output[1:])
        output["last_hidden_state"] = one
        return output

    with contextlib.ExitStack() as hooks:
        for module in modules:
            hooks.callback(module.register_forward_hook(cut).remove)
        yield


_KIND = LocalKind(True, _info, MaskedRespondent, _room)

BACKEND = Backend(
    ("fill_mask",),
    _KIND.describe,
    _KIND.open,
    weights_digest,
    by_prompt=True,
    files=files_digest,
    room=_KIND.room_of,
)
