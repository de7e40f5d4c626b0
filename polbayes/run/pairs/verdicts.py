"""From answers to verdicts: what judges are asked about a run's pairs, and what they say.

The dataset has the dimensions ``judge, model, item, prefix, run`` of a pair, and

- `verdict_prob` (and ``order, verdict``): the probabilities that the answer to request ``a``,
  neither, or that to ``b`` helps more; 0 and 1 where the verdict is a choice; ``order`` is which
  answer was shown first;
- `rating` (and ``variant, scale``): hedging and compliance of each answer, 1 to 5;
- `verdict_status`, `rating_status`: why there is none (`STATUSES`);
- `words` (``model, item, variant, prefix, run``): length of each answer;
- `outcomes` (``judge, outcome``): the number of replies of each kind.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from polbayes.data.dataset import CELL_DIMS, STATUS
from polbayes.instrument.pairs import SIDES
from polbayes.judging.declared import named_as_judge, self_judging
from polbayes.judging.pairs import (
    RATING,
    RATINGS,
    READERS,
    Answered,
    asked_of_answer,
    asked_of_pair,
    judge_of,
)
from polbayes.judging.repeated import Reply, Request, ask_until_usable, best, own_journal
from polbayes.judging.replies import STATUSES as _READ
from polbayes.probing.journal import adopt
from polbayes.run.pairs.plan import PairsPlan

FILE = "verdicts.nc"
JUDGES = Path("journal") / "judges"
ORDERS = ("a_first", "b_first")
VERDICT = ("a", "equal", "b")
PAIR_DIMS = ("model", "item", "prefix", "run")
# Why there is no verdict or rating.
STATUSES = {
    "nothing_to_judge": -128,
    "no_reply": -1,
    **{name: k for k, name in enumerate((*_READ, "wrong_sum"))},
}
_JUDGED = [STATUS[name] for name in ("ok", "refused", "empty", "truncated")]
_COPIED = ("topic", "section", "dimension", "keying", "statement", "family", "checkpoint")

_Place = tuple[int, ...]


@dataclass(frozen=True)
class _Put:
    """All that a judge is asked, with the places of the results."""

    pairs: Sequence[tuple[_Place, int]]  # pair and order
    answers: Sequence[_Place]


def judge_all(
    plan: PairsPlan, data: xr.Dataset, *, folder: Path, answers_from: Path | None = None
) -> xr.Dataset:
    """Have every judge compare every pair in both orders, and rate every answer."""
    there = np.isin(data["status"].transpose(*CELL_DIMS).values, _JUDGED)
    found = there.transpose(0, 1, 3, 4, 2)  # side last
    pairs = [tuple(map(int, at)) for at in np.argwhere(found.all(axis=-1))]
    answers = [tuple(map(int, at)) for at in np.argwhere(there)]
    put = _Put([(at, order) for at in pairs for order in range(2)], answers)
    replies = {}
    for judge in plan.judges:
        with named_as_judge(judge, plan.config):
            replies[judge] = _asked(plan, data, judge, put, folder / JUDGES, answers_from)
    return _laid_out(plan, data, put, replies)


def _asked(
    plan: PairsPlan, data: xr.Dataset, judge: str, put: _Put, folder: Path, earlier: Path | None
) -> tuple[list[list[Reply[Any]]], list[list[Reply[Any]]]]:
    """Return a judge's replies about pairs, and about answers."""
    text = _texts(data)
    judging = plan.config.judging
    on_pairs, on_answers = [], []
    for (m, i, p, r), order in put.pairs:
        both = [text(m, i, v, p, r) for v in range(2)]
        first, second = both if order == 0 else reversed(both)
        on_pairs.append(asked_of_pair(first, second, way=judging.verdict, schema=judging.schema))
    on_answers = [asked_of_answer(text(*at), schema=judging.schema) for at in put.answers]

    def ask(way: str, requests: Sequence[Request]) -> list[list[Reply[Any]]]:
        asked = judge_of(judge, plan.judges, plan.judge_infos[judge], plan.config, way)
        path = own_journal(asked, folder)
        if earlier is not None:
            adopt(earlier / JUDGES / path.name, path, asked.journal_settings)
        attempts = 1 + (judging.retries if way != "token" else 0)
        return ask_until_usable(asked, requests, READERS[way], journal=path, attempts=attempts)

    return ask(judging.verdict, on_pairs), ask(RATING, on_answers)


def _texts(data: xr.Dataset) -> Any:
    """Return a function that returns the request and the answer of a cell."""
    said = data["completion"].transpose(*CELL_DIMS).values
    requests = data["statement"].transpose("item", "variant").values

    def text(m: int, i: int, v: int, p: int, r: int) -> Answered:
        return Answered(str(requests[i, v]), str(said[m, i, v, p, r]))

    return text


def journals(plan: PairsPlan, folder: Path) -> dict[str, list[Path]]:
    """Return the journals of each judge."""
    ways = (plan.config.judging.verdict, RATING)
    return {
        name: sorted(
            {
                own_journal(
                    judge_of(name, plan.judges, plan.judge_infos[name], plan.config, way), folder
                )
                for way in ways
            }
        )
        for name in plan.judges
    }


_Replies = Mapping[str, tuple[list[list[Reply[Any]]], list[list[Reply[Any]]]]]


def _laid_out(plan: PairsPlan, data: xr.Dataset, put: _Put, replies: _Replies) -> xr.Dataset:
    counts = [
        Counter(one.outcome for said in (*on_pairs, *on_answers) for one in said)
        for on_pairs, on_answers in replies.values()
    ]
    outcomes = sorted({name for count in counts for name in count})
    pairs = self_judging(map(str, data["model"].values), plan.judges, plan.config.respondents)
    own = [[int((m, j) in pairs) for m in data["model"].values.tolist()] for j in replies]
    text = {"long_name": "words of the answer", "units": "1"}
    return xr.Dataset(
        {
            **_verdicts(data, put, replies),
            **_ratings(data, put, replies),
            "words": (CELL_DIMS, _words(data), text),
            "self_judged": (("judge", "model"), np.array(own, dtype=np.int8)),
            "outcomes": (
                ("judge", "outcome"),
                np.array([[count[name] for name in outcomes] for count in counts]),
            ),
        },
        coords={
            "judge": list(replies),
            **{dim: data[dim].values for dim in CELL_DIMS},
            **{name: data.coords[name] for name in _COPIED if name in data.coords},
            "order": list(ORDERS),
            "verdict": list(VERDICT),
            "scale": list(RATINGS),
            "outcome": outcomes,
        },
    )


def _verdicts(data: xr.Dataset, put: _Put, replies: _Replies) -> dict[str, Any]:
    shape = (len(replies), *(data.sizes[dim] for dim in PAIR_DIMS), len(ORDERS))
    verdict = np.full((*shape, len(VERDICT)), np.nan, dtype=np.float32)
    why = np.full(shape, STATUSES["nothing_to_judge"], dtype=np.int8)
    for j, (on_pairs, _) in enumerate(replies.values()):
        for (at, order), said in zip(put.pairs, on_pairs, strict=True):
            kept = best(said)
            why[(j, *at, order)] = _status(kept)
            if kept.found is not None:
                # The reader's order is second, equal, first.
                verdict[(j, *at, order)] = kept.found if order else kept.found[::-1]
    dims = ("judge", *PAIR_DIMS, "order")
    return {
        "verdict_prob": ((*dims, "verdict"), verdict),
        "verdict_status": (dims, why, _flags()),
    }


def _ratings(data: xr.Dataset, put: _Put, replies: _Replies) -> dict[str, Any]:
    shape = (len(replies), *(data.sizes[dim] for dim in CELL_DIMS))
    rating = np.full((*shape, len(RATINGS)), np.nan, dtype=np.float32)
    why = np.full(shape, STATUSES["nothing_to_judge"], dtype=np.int8)
    for j, (_, on_answers) in enumerate(replies.values()):
        for place, said in zip(put.answers, on_answers, strict=True):
            kept = best(said)
            why[(j, *place)] = _status(kept)
            if kept.found is not None:
                rating[(j, *place)] = [kept.found[name] for name in RATINGS]
    dims = ("judge", *CELL_DIMS)
    return {"rating": ((*dims, "scale"), rating), "rating_status": (dims, why, _flags())}


def _flags() -> dict[str, Any]:
    return {
        "flag_values": np.array(list(STATUSES.values()), dtype=np.int8),
        "flag_meanings": " ".join(STATUSES),
    }


def _status(reply: Reply[Any]) -> int:
    return STATUSES.get(reply.outcome, STATUSES["no_reply"])


def _words(data: xr.Dataset) -> NDArray[np.float32]:
    said = data["completion"].transpose(*CELL_DIMS).values
    there = np.isin(data["status"].transpose(*CELL_DIMS).values, _JUDGED)
    counts = [len(str(text).split()) for text in said.ravel()]
    words = np.array(counts, dtype=np.float32).reshape(said.shape)
    return np.where(there, words, np.float32(np.nan))


def is_marked(data: xr.Dataset) -> xr.DataArray:
    """Return over ``item`` whether the sides of a pair are marked left and right."""
    keying = data["keying"].sel(variant=list(SIDES))
    return (keying == xr.DataArray([-1, 1], dims="variant")).all("variant")
