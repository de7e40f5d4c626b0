"""Causal language models from Hugging Face checkpoints."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polbayes.config.schema import TEXTS, ElicitationConfig, RespondentConfig
from polbayes.errors import UserError
from polbayes.huggingface.continuation import Continuations, Ids
from polbayes.huggingface.decoding import beam_search, contrastive_search
from polbayes.huggingface.engine import Passes
from polbayes.huggingface.identity import files_digest, weights_digest
from polbayes.huggingface.portions import release
from polbayes.huggingface.positions import positions
from polbayes.huggingface.sampling import Sampler
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.respondents.base import (
    DECODINGS,
    Backend,
    Completion,
    Question,
    Room,
    effort_of,
    left_out,
    model_info,
    template_text,
)
from polbayes.respondents.causal_prompts import EFFORT, CausalPrompts, check_chat_template
from polbayes.respondents.local import LocalKind
from polbayes.respondents.thinking import Parted, leaves_open, part


def _info(name: str, config: RespondentConfig, template: Template, tokenizer: Any) -> ModelInfo:
    can_chat = bool(tokenizer.chat_template)
    if config.chat and not can_chat:
        raise UserError(
            f"respondents.{name}: chat: the checkpoint has no chat template; leave chat out."
        )
    chat = can_chat if config.chat is None else config.chat
    text = template_text(template, ("chat",) if chat else ("base",), name)
    if chat:
        check_chat_template(name, config.checkpoint, tokenizer)
    template_of = str(tokenizer.chat_template) if chat else ""
    if effort_of(config) and not any(key in template_of for key in EFFORT):
        raise UserError(
            f"respondents.{name}.reasoning_effort: the checkpoint's chat template does not ask for "
            "it; leave it out."
        )
    return model_info(name, config, text, instruct=can_chat, chat=chat)


def _room(info: ModelInfo, tokenizer: Any, limit: int, lexicon: Lexicon | None) -> Room:
    prompts = CausalPrompts(info, tokenizer)
    return Room(limit, lambda question: prompts.needed(question, lexicon))


class CausalRespondent:
    """A causal LM asked in batches; `info.chat` decides the form of prompts."""

    def __init__(
        self, info: ModelInfo, tokenizer: Any, model: Any, elicitation: ElicitationConfig
    ) -> None:
        self.info = info
        self._tokenizer = tokenizer
        self._elicitation = elicitation
        self._prompts = CausalPrompts(info, tokenizer)
        self._room = _room(info, tokenizer, positions(model.config, model), None)
        self._ends = _end_ids(tokenizer, model)
        pad = next((i for i in (tokenizer.pad_token_id, *self._ends) if i is not None), 0)
        self._passes = Passes(model, ends=self._ends, pad=pad, rows=elicitation.batch_size)

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Describe the options of the lexicon that cannot be spelt."""
        if lexicon is None:
            return ()
        if self._prompts.opens_thinking and not self.info.thinking_tokens:
            where = f"respondents.{self.info.model}"
            raise UserError(
                f"{where}: the checkpoint's chat template begins every answer with thinking, which "
                f"is no option; read the options after it with {where}.thinking_tokens=4000, or "
                "ask with elicitation=open_ended."
            )
        absent = self._prompts.join("a", self._prompts.ids("a"), lexicon).absent
        return left_out(self.info.model, lexicon, list(~absent), "spelt by this model's tokens")

    def option_mass(self, questions: Sequence[Question], lexicon: Lexicon) -> NDArray[np.float64]:
        """Return the probability mass of each option (question, option), in [0, 1].

        See `polbayes.huggingface.continuation` for what counts as an option. If thinking is
        allowed, it is generated first, greedily; without an end of it every mass is 0.
        """
        if not questions:
            return np.zeros((0, len(lexicon.options)))
        texts = [self._prompts.text(question) for question in questions]
        lexicons = [lexicon.spelled(question.options) for question in questions]
        if self.info.thinking_tokens:
            return self._after_thinking(texts, lexicons)
        return self._mass(texts, lexicons)

    def _after_thinking(
        self, texts: Sequence[str], lexicons: Sequence[Lexicon]
    ) -> NDArray[np.float64]:
        prompts = [self._prompts.ids(text) for text in texts]
        most = self.info.thinking_tokens
        self._check(prompts, max(map(len, prompts), default=0) + 1)
        room = [min(most, self._room.limit - len(ids)) for ids in prompts]
        way = self._passes.choose(max(map(len, prompts), default=0) + max(room, default=0))
        greedy = Sampler(top_k=0, temperature=0.0, top_p=1.0)
        thought = [
            self._decoded(new) for new in way.continued(prompts, [0] * len(room), room, greedy)
        ]
        mass = np.zeros((len(texts), len(lexicons[0].options)))
        ended, begun = [], []
        for n, (text, said) in enumerate(zip(texts, thought, strict=True)):
            parted = self._parted(said, self._opens(text))
            if parted.start is not None:
                ended.append(n)
                begun.append(text + said[: parted.start])
        if ended:
            mass[ended] = self._mass(begun, [lexicons[n] for n in ended])
        return mass

    def _mass(self, texts: Sequence[str], lexicons: Sequence[Lexicon]) -> NDArray[np.float64]:
        prompts = [self._prompts.ids(text) for text in texts]
        joins = list(map(self._prompts.join, texts, prompts, lexicons))
        fed, reads, of_sequence = _rows(prompts, joins)
        longest = max(map(len, fed), default=0)
        self._check(fed, longest)
        log_p = [np.zeros(len(join.sequences)) for join in joins]
        values = self._passes.choose(longest).log_probabilities(fed, reads)
        for (q, n), value in zip(of_sequence, values.tolist(), strict=True):
            log_p[q][n] += value
        masses = [
            np.where(join.absent, np.nan, join.weights @ np.exp(lp))
            for join, lp in zip(joins, log_p, strict=True)
        ]
        # Corrects rounding only: what is subtracted from a mass is part of it.
        return np.asarray(np.clip(np.array(masses), 0.0, 1.0))

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> list[Completion]:
        """Return one open answer to each question, determined by its seed."""
        texts = [self._prompts.text(question) for question in questions]
        opened = list(map(self._opens, texts))
        prompts = [self._prompts.ids(text) for text in texts]
        longest = max(map(len, prompts), default=0)
        self._check(prompts, longest + 1)
        how, most = self._elicitation, self._elicitation.max_new_tokens + self.info.thinking_tokens
        room = [min(most, self._room.limit - len(ids)) for ids in prompts]
        if how.decoding in ("beam", "contrastive"):
            written = self._searched(prompts, room, [question.run for question in questions])
            return list(map(self._completion, written, opened))
        way = self._passes.choose(longest + max(room, default=0))
        new: dict[int, Completion] = {}
        for temperature, at in _by_temperature(questions, how.temperature).items():
            hot = 0.0 if how.decoding == "greedy" else temperature
            sampler = Sampler(top_k=how.top_k, temperature=hot, top_p=how.top_p)
            found = way.continued(
                [prompts[n] for n in at], [seeds[n] for n in at], [room[n] for n in at], sampler
            )
            new |= zip(at, map(self._completion, found, (opened[n] for n in at)), strict=True)
        return [new[n] for n in range(len(questions))]

    def _searched(
        self, prompts: Sequence[Ids], room: Sequence[int], runs: Sequence[int]
    ) -> list[list[int]]:
        """Return the search result of each prompt; of a beam, that of the run's rank."""
        how = self._elicitation
        plain = self._passes.plain
        if how.decoding == "beam":

            def beam(model: Any, ids: Any, mask: Any, longest: int) -> Any:
                # The whole beam, so that a sequence does not depend on the number wanted.
                return beam_search(model, ids, mask, room=longest, beams=how.beams, best=how.beams)

            found = plain.searched(prompts, room, beam)
            return [found[ids][run - 1] for ids, run in zip(prompts, runs, strict=True)]

        def contrast(model: Any, ids: Any, mask: Any, longest: int) -> Any:
            return contrastive_search(
                *(model, ids, mask),
                room=longest,
                alpha=how.penalty_alpha,
                k=how.top_k,
                ends=self._ends,
            )

        found = plain.searched(prompts, room, contrast)
        return [found[ids] for ids in prompts]

    def close(self) -> None:
        """Free the weights."""
        del self._passes
        release()

    def _check(self, prompts: Sequence[Ids], longest: int) -> None:
        if not all(prompts):
            raise ValueError("the prompt is empty and the model has no token to begin with")
        self._room.check(longest)

    def _completion(self, new: list[int], opened: bool = False) -> Completion:
        ended = [n for n, token in enumerate(new) if token in self._ends]
        kept = new[: ended[0]] if ended else new
        whole = self._decoded(kept)
        parted = self._parted(whole, opened)
        answer = self._of_answer(kept, parted, len(whole))
        # The answer does not get the tokens that the thinking left unused.
        said = answer[: self._elicitation.max_new_tokens]
        text = self._decoded(said, plain=True)
        cut = not ended or len(said) < len(answer)
        thought = len(kept) - len(answer)
        about = (parted.thoughts, thought) if thought else ()
        return Completion(text, "ok" if text.strip() else "empty", cut, *about)

    def _opens(self, prompt: str) -> bool:
        return leaves_open(prompt, self.info.thinking_marks)

    def _parted(self, text: str, opened: bool) -> Parted:
        return part(text, opened=opened, own=self.info.thinking_marks)

    def _of_answer(self, ids: list[int], parted: Parted, length: int) -> list[int]:
        """Return the tokens that spell the answer, without those that spell some thinking, too.

        `length` is that of the text that all of them spell.
        """

        def spelt(n: int) -> int:
            return len(self._decoded(ids[:n]))

        found: list[int] = []
        for begin, end in parted.spans:
            counts = range(len(ids) + 1)
            first = bisect_left(counts, begin, key=spelt) if begin else 0
            last = bisect_right(counts, end, key=spelt) - 1 if end < length else len(ids)
            found += ids[first:last]
        return found

    def _decoded(self, ids: Sequence[int], *, plain: bool = False) -> str:
        """Return a text; if `plain`, without special tokens, which may mark thinking."""
        return str(
            self._tokenizer.decode(
                list(ids), skip_special_tokens=plain, clean_up_tokenization_spaces=False
            )
        )


def _by_temperature(questions: Sequence[Question], usual: float) -> dict[float, list[int]]:
    """Return the positions of the questions by the temperature of their answers."""
    places: dict[float, list[int]] = {}
    for n, question in enumerate(questions):
        own = usual if question.temperature is None else question.temperature
        places.setdefault(own, []).append(n)
    return places


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


def _rows(
    prompts: Sequence[Ids], joins: Sequence[Continuations]
) -> tuple[list[Ids], list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Return what must be fed to read the probability of every sequence."""
    fed: list[Ids] = []
    reads, of_sequence = [], []
    for q, (prompt, join) in enumerate(zip(prompts, joins, strict=True)):
        for n, (sequence, stem) in enumerate(zip(join.sequences, join.stem_of, strict=True)):
            for depth, token in enumerate(sequence):
                reads.append((len(fed) + stem, len(prompt) - 1 + depth, token))
                of_sequence.append((q, n))
        fed += [prompt + stem for stem in join.stems]
    return fed, reads, of_sequence


_KIND = LocalKind(False, _info, CausalRespondent, _room)

BACKEND = Backend(
    ("forced_choice", *TEXTS),
    _KIND.describe,
    _KIND.open,
    weights_digest,
    decodings=DECODINGS,
    by_prompt=True,
    files=files_digest,
    room=_KIND.room_of,
)
