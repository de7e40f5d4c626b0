"""What a question costs a model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polbayes.config.schema import ApiConfig, PlanConfig, RunConfig
from polbayes.data.tables import read_csv
from polbayes.probing.costs import estimate
from polbayes.respondents.chat_api.budget import cost, expected
from polbayes.tasks.planning.basis import ASSUMPTIONS, Basis
from polbayes.tasks.planning.designs import Price


def prices_of(basis: Basis, wanted: PlanConfig) -> list[Price]:
    """Return the price of a question to each model; not known for those that no server answers."""
    rows, models = _usage(basis), basis.data.sizes["model"]
    found = [_price(basis.config, wanted, row) for row in rows]
    found = found or [_price(basis.config, wanted, {})] * models
    number = wanted.models or len(found)
    mean = Price(*np.mean([[one.tokens, one.money] for one in found], axis=0).tolist())
    return found if number == len(found) else [mean] * number


def _usage(basis: Basis) -> list[dict[str, Any]]:
    """Return by model what the pilot used, or without one an estimate for servers."""
    if basis.kind == ASSUMPTIONS:
        own = basis.config
        asked = [own.respondents[str(name)] for name in basis.data["model"].values]
        if not any(one.backend == "chat_api" for one in asked):
            return []
        table = estimate(basis.data, own.respondents, own.elicitation, Path())
        rows: list[dict[str, Any]] = table.assign(answers=table["questions"]).to_dict("records")
        return rows
    path = basis.folder / "usage.csv"
    return read_csv(path).to_dict("records") if path.is_file() else []


def _price(own: RunConfig, wanted: PlanConfig, row: Mapping[str, Any]) -> Price:
    answers = max(int(row.get("answers", 0)), 1)
    asked = wanted.tokens_input or row.get("input_tokens", np.nan) / answers
    said = wanted.tokens_output or row.get("output_tokens", np.nan) / answers
    respondent = own.respondents.get(str(row.get("model", "")))
    api = respondent.api if respondent else None
    price_in, price_out = (
        given if given is not None else getattr(api, name, None)
        for name, given in (
            ("price_input", wanted.price_input),
            ("price_output", wanted.price_output),
        )
    )
    if price_in is None or price_out is None:
        return Price(asked + said)
    known = replace(api or ApiConfig(), price_input=price_in, price_output=price_out)
    million = expected(1_000_000, 0, known), expected(0, 1_000_000, known)
    each_in, each_out = (cost(usage, known) or 0.0 for usage in million)
    return Price(asked + said, (asked * each_in + said * each_out) / 1e6)
