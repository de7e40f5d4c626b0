"""Causal language models from Hugging Face checkpoints."""

import gc
import inspect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polbayes.config import ElicitationConfig, RespondentConfig
from polbayes.design import ModelInfo
from polbayes.errors import UserError
from polbayes.prompts import Lexicon, Template
from polbayes.respondents import checkpoint
from polbayes.respondents.continuation import (
    Continuations,
    Ids,
    continuations,
    encode,
    leading_ids,
)
from polbayes.respondents.contract import Completion, Question, left_out, template_text
from polbayes.respondents.sampling import HashedSampler

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How an option continues a prompt is decided by the end of the prompt; no token is longer.
_TAIL = 64


def describe(name: str, config: RespondentConfig, template: Template) -> ModelInfo:
    """Return what the design says about a causal LM, from its tokenizer alone.

    Raises
    ------
    UserError
        If the checkpoint cannot be used, or the template has no text for it.
    """
    tokenizer = checkpoint.load_tokenizer(checkpoint.locate(name, config))
    return _describe(name, config, template, tokenizer)


def _describe(name: str, config: RespondentConfig, template: Template, tokenizer: Any) -> ModelInfo:
    can_chat = bool(tokenizer.chat_template)
    if config.chat and not can_chat:
        raise UserError(
            f"respondents.{name}: chat: the checkpoint has no chat template; leave chat out."
        )
    chat = can_chat if config.chat is None else config.chat
    return ModelInfo(
        model=name,
        template=template_text(template, ("chat",) if chat else ("base",), name),
        chat=chat,
        family=config.family,
        instruct=can_chat if config.instruct is None else config.instruct,
        checkpoint=config.checkpoint,
        revision=config.revision or "",
    )


def open_causal(
    name: str, config: RespondentConfig, template: Template, elicitation: ElicitationConfig
) -> "CausalRespondent":
    """Load a causal LM.

    Raises
    ------
    UserError
        If the checkpoint cannot be used.
    """
    source = checkpoint.locate(name, config)
    tokenizer = checkpoint.load_tokenizer(source)
    info = _describe(name, config, template, tokenizer)
    model = checkpoint.load_model(source, config, masked=False)
    return CausalRespondent(info, tokenizer, model, elicitation)


class CausalRespondent:
    """A causal LM that is asked in batches.

    Parameters
    ----------
    info
        What the design says about it; `info.chat` decides how a prompt is put.
    tokenizer, model
        As transformers loads them.
    elicitation
        Batch size, and how open answers are sampled.
    """

    def __init__(
        self, info: ModelInfo, tokenizer: Any, model: Any, elicitation: ElicitationConfig
    ) -> None:
        self.info = info
        self._tokenizer = tokenizer
        self._model = model
        self._elicitation = elicitation
        self._lead: Ids = () if info.chat else leading_ids(tokenizer)
        takes = inspect.signature(model.forward).parameters
        self._last_only = "logits_to_keep" in takes
        # Without position ids a model counts the padding: it then gets prompts of one length.
        self._pads = "position_ids" in takes
        self._limit = int(getattr(model.config, "max_position_embeddings", 0) or 1 << 30)
        self._ends = _end_ids(tokenizer, model)
        self._pad = next((i for i in (tokenizer.pad_token_id, *self._ends) if i is not None), 0)
        self._joins: dict[tuple[str, tuple[str, ...]], Continuations] = {}
        # The checkpoint's own defaults (penalties, top-p, ...) would change what is sampled.
        generation = type(model.generation_config)
        model.generation_config = generation(
            pad_token_id=self._pad, eos_token_id=list(self._ends) or None
        )

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Say which options of the lexicon cannot be spelt.

        Raises
        ------
        UserError
            If no option is left to agree or to disagree with.
        """
        if lexicon is None:
            return ()
        absent = self._join("a", self._ids("a"), lexicon).absent
        return left_out(self.info.model, lexicon, list(~absent), "spelt by this model's tokens")

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> "NDArray[np.float64]":
        """Return the probability mass of each option (question, option), in [0, 1].

        See `polbayes.respondents.continuation` for what counts as an option.

        Raises
        ------
        ValueError
            If a prompt does not fit into the model.
        """
        texts = [self._text(question) for question in questions]
        prompts = [self._ids(text) for text in texts]
        joins = [self._join(t, p, lexicon) for t, p in zip(texts, prompts, strict=True)]
        log_p = [np.zeros(len(join.sequences)) for join in joins]
        rows = [(q, s) for q, join in enumerate(joins) for s in range(len(join.stems))]
        fed = [prompts[q] + joins[q].stems[s] for q, s in rows]
        for ids in fed:
            self._check_length(len(ids))
        for batch in self._batches([len(ids) for ids in fed]):
            chosen = [rows[n] for n in batch]
            keep = 1 + max(len(joins[q].stems[s]) for q, s in chosen)
            logits = self._logits([fed[n] for n in batch], keep)
            _add_log_probabilities(logits, chosen, joins, log_p)
        masses = [
            np.where(join.absent, np.nan, join.weights @ np.exp(lp))
            for join, lp in zip(joins, log_p, strict=True)
        ]
        # Rounding only: what is taken out of a mass is part of it.
        mass = np.array(masses).reshape(len(questions), len(lexicon.options))
        return np.asarray(np.clip(mass, 0.0, 1.0))

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return one open answer to each question; its seed fixes it.

        Raises
        ------
        ValueError
            If a prompt does not fit into the model.
        """
        prompts = [self._ids(self._text(question)) for question in questions]
        for ids in prompts:
            self._check_length(len(ids) + 1)
        room = [min(self._elicitation.max_new_tokens, self._limit - len(ids)) for ids in prompts]
        answers: list[Completion | None] = [None] * len(prompts)
        for tokens in sorted(set(room)):
            rows = [n for n, size in enumerate(room) if size == tokens]
            for batch in self._batches([len(prompts[n]) for n in rows]):
                chosen = [rows[n] for n in batch]
                ids, mask = self._padded([prompts[n] for n in chosen])
                drawn = self._generate(ids, mask, [seeds[n] for n in chosen], tokens)
                for n, new in zip(chosen, drawn, strict=True):
                    answers[n] = self._completion(new)
        return [answer for answer in answers if answer is not None]

    def close(self) -> None:
        """Free the weights."""
        import torch

        self._model = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _text(self, question: Question) -> str:
        if not self.info.chat:
            return question.prompt
        turn = [{"role": "user", "content": question.prompt}]
        return str(
            self._tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
        )

    def _ids(self, text: str) -> Ids:
        return self._lead + encode(self._tokenizer, text)

    def _join(self, text: str, ids: Ids, lexicon: Lexicon) -> Continuations:
        key = (text[-_TAIL:], lexicon.options)
        if key not in self._joins:
            own = ids[len(self._lead) :]
            self._joins[key] = continuations(self._tokenizer, text, own, lexicon)
        return self._joins[key]

    def _check_length(self, tokens: int) -> None:
        if tokens > self._limit:
            raise ValueError(
                f"the prompt and its answer have {tokens} tokens, the model takes {self._limit}"
            )

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yield the indices of rows that are fed together, of similar length, longest first."""
        order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
        batch: list[int] = []
        for n in order:
            full = len(batch) >= self._elicitation.batch_size
            if batch and (full or not (self._pads or lengths[n] == lengths[batch[0]])):
                yield batch
                batch = []
            batch.append(n)
        if batch:
            yield batch

    def _padded(self, prompts: Sequence[Ids]) -> tuple[Any, Any]:
        """Return ids and attention mask (row, position), padded on the left."""
        import torch

        if not all(prompts):
            raise ValueError("the prompt is empty and the model has no token to begin with")
        width = max(map(len, prompts))
        ids = np.full((len(prompts), width), self._pad, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, width - len(prompt) :] = prompt
            mask[row, width - len(prompt) :] = 1
        device = self._model.device
        return torch.as_tensor(ids, device=device), torch.as_tensor(mask, device=device)

    def _logits(self, prompts: Sequence[Ids], keep: int) -> Any:
        """Return the last `keep` positions' logits (row, position, token), as float32."""
        import torch

        ids, mask = self._padded(prompts)
        extra: dict[str, Any] = {"logits_to_keep": keep} if self._last_only else {}
        if self._pads:
            extra["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)
        with torch.inference_mode():
            out = self._model(input_ids=ids, attention_mask=mask, use_cache=False, **extra)
        return out.logits[:, -keep:].float()

    def _generate(self, ids: Any, mask: Any, seeds: Sequence[int], tokens: int) -> list[list[int]]:
        import torch
        from transformers import LogitsProcessorList

        how = self._elicitation
        sampler = HashedSampler(seeds, ids.shape[1], top_k=how.top_k, temperature=how.temperature)
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=ids,
                attention_mask=mask,
                do_sample=False,
                max_new_tokens=tokens,
                logits_processor=LogitsProcessorList([sampler]),
            )
        new: list[list[int]] = out[:, ids.shape[1] :].tolist()
        return new

    def _completion(self, new: list[int]) -> Completion:
        ended = [n for n, token in enumerate(new) if token in self._ends]
        kept = new[: ended[0]] if ended else new
        text = self._tokenizer.decode(
            kept, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return Completion(text, "ok" if text.strip() else "invalid", truncated=not ended)


def _end_ids(tokenizer: Any, model: Any) -> tuple[int, ...]:
    """Return every token that ends an answer, by the tokenizer, the model or its defaults."""
    found: list[int | None] = []
    for given in (
        tokenizer.eos_token_id,
        getattr(model.config, "eos_token_id", None),
        model.generation_config.eos_token_id,
    ):
        found += given if isinstance(given, list) else [given]
    return tuple(dict.fromkeys(i for i in found if i is not None))


def _add_log_probabilities(
    logits: Any,
    rows: Sequence[tuple[int, int]],
    joins: Sequence[Continuations],
    log_p: Sequence["NDArray[np.float64]"],
) -> None:
    """Add up, for each sequence that a row predicts, the log probability of its tokens.

    Parameters
    ----------
    logits
        Dimensions row, position, token; the last position is the one after the whole stem.
    rows
        For each row the question and the stem.
    joins, log_p
        For each question its sequences, and where their log probabilities are added up.
    """
    keep = logits.shape[1]
    at = [
        (row, keep - 1 - len(joins[q].stems[s]) + depth, token, q, n)
        for row, (q, s) in enumerate(rows)
        for n, sequence in enumerate(joins[q].sequences)
        if joins[q].stem_of[n] == s
        for depth, token in enumerate(sequence)
    ]
    if not at:
        return
    row, position, token = (list(column) for column in tuple(zip(*at, strict=True))[:3])
    picked = logits[row, position, token] - logits.logsumexp(dim=2)[row, position]
    for value, (*_, q, n) in zip(picked.cpu().double().tolist(), at, strict=True):
        log_p[q][n] += value
