"""Deterministic decoding: beam search and contrastive search.

Beam search keeps the likeliest beginnings of answers at every token; its results are sequences
ordered by mean log probability per token. It is that of transformers. Contrastive search (Su et
al., 2022) chooses, of the k likeliest tokens, the one that maximises

    (1 - alpha) * p(token | before) - alpha * max_j cos(h_token, h_j)

where h are last hidden states and j are earlier tokens: likely, but not repeating the context.
transformers has moved it to a repository whose code would have to be trusted; this implementation
needs only the caches of transformers.

References
----------
Su, Y., Lan, T., Wang, Y., Yogatama, D., Kong, L. and Collier, N. (2022). A contrastive framework
for neural text generation. NeurIPS 35.
"""

from collections.abc import Sequence
from typing import Any

from polbayes.huggingface.portions import inference
from polbayes.huggingface.tree_attention import takes


def beam_search(model: Any, ids: Any, mask: Any, *, room: int, beams: int, best: int) -> Any:
    """Return the `best` likeliest answers of a beam of `beams` after each prompt."""
    with inference():
        out = model.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=False,
            num_beams=beams,
            num_return_sequences=best,
            max_new_tokens=room,
        )
    new = out[:, ids.shape[1] :].tolist()
    return [new[row * best : (row + 1) * best] for row in range(len(ids))]


def contrastive_search(
    model: Any, ids: Any, mask: Any, *, room: int, alpha: float, k: int, ends: Sequence[int]
) -> list[list[int]]:
    """Return an answer after each prompt by contrastive search."""
    import torch

    rows = len(ids)
    k = min(k, model.config.get_text_config().vocab_size)
    answers: list[list[int]] = [[] for _ in range(rows)]
    going = [True] * rows
    with inference():
        out = _fed(model, ids, mask, None)
        if not hasattr(out.past_key_values, "batch_repeat_interleave"):
            raise ValueError("contrastive search needs a model that keeps keys and values")
        cache, logits = out.past_key_values, out.logits[:, -1].float()
        context = _directions(out.hidden_states[-1])
        for _ in range(room):
            if not torch.isfinite(logits.amax(dim=1)).all():
                raise ValueError("the model gave logits that are not numbers")
            likely, candidates = logits.softmax(dim=1).topk(k, dim=1)
            cache.batch_repeat_interleave(k)
            wider = torch.cat([mask, mask.new_ones(rows, 1)], dim=1)
            out = _fed(model, candidates.reshape(-1, 1), wider.repeat_interleave(k, dim=0), cache)
            cache = out.past_key_values
            states = _directions(out.hidden_states[-1][:, -1]).reshape(rows, k, -1)
            alike = torch.einsum("rkd,rjd->rkj", states, context)
            alike = alike.masked_fill(mask[:, None] == 0, -torch.inf).amax(dim=2)
            chosen = ((1 - alpha) * likely - alpha * alike).argmax(dim=1)
            every = torch.arange(rows, device=ids.device)
            cache.batch_select_indices(every * k + chosen)
            logits = out.logits[:, -1].float()[every * k + chosen]
            context = torch.cat([context, states[every, chosen][:, None]], dim=1)
            mask = wider
            for row, token in enumerate(candidates[every, chosen].tolist()):
                if going[row]:
                    answers[row].append(token)
                    going[row] = token not in ends
            if not any(going):
                break
    return answers


def _fed(model: Any, ids: Any, mask: Any, cache: Any) -> Any:
    """Feed tokens after those in the cache; `mask` covers both."""
    extra = {}
    if takes(model, "position_ids"):
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        extra["position_ids"] = positions[:, -ids.shape[1] :]
    return model(
        input_ids=ids,
        attention_mask=mask,
        past_key_values=cache,
        use_cache=True,
        output_hidden_states=True,
        **extra,
    )


def _directions(states: Any) -> Any:
    """Scale hidden states, along the last dimension, to length 1."""
    import torch

    return torch.nn.functional.normalize(states.float(), dim=-1)
