"""``task=paraphrase``: a file of wordings from respondents or a table, with its record."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from polbayes.config.schema import RespondentConfig, RunConfig
from polbayes.data.files import one_writer, replacing, write_text
from polbayes.data.progress import conclude, say
from polbayes.data.prose import form, plural
from polbayes.data.tables import write_csv
from polbayes.errors import UserError, check_known, unknown
from polbayes.instrument.questionnaires import Instrument, load_instrument
from polbayes.probing.journal import CODING
from polbayes.report.numbers import interval, number
from polbayes.respondents import check
from polbayes.tasks.annotation.sheet import write_sheet
from polbayes.tasks.annotation.task import check_annotators
from polbayes.tasks.paraphrasing import sheet
from polbayes.tasks.paraphrasing.check import (
    EXPECTED,
    SCORES,
    check_least,
    infer,
    judged,
    nli_config,
)
from polbayes.tasks.paraphrasing.generate import elicitation_of, generate
from polbayes.tasks.paraphrasing.imported import import_wordings
from polbayes.tasks.paraphrasing.instructions import Instruction, load_instructions
from polbayes.tasks.paraphrasing.reasons import ALWAYS, MEANING, check_reasons, with_reasons
from polbayes.tasks.paraphrasing.sample import check_sets, sampled, with_ids

WORDINGS, CANDIDATES, COUNTS = "wordings.parquet", "candidates.csv", "counts.csv"
MATCH, AGREEMENT = "match_proportion.csv", "agreement.csv"


def paraphrase(config: RunConfig, text: str, *, command: Sequence[str]) -> pd.DataFrame:
    """Make a file of wordings."""
    folder = _folder(config)
    instruments = [load_instrument(name) for name in config.instruments]
    originals = {i.item: i.variants[0].text for q in instruments for i in q.items}
    check_known("item", *(config.items or ()), known=originals, where="items")
    _check(config)
    instructions = load_instructions(config.paraphrase.instructions, config.paraphrase.file)
    table = None
    if config.paraphrase.table is not None:
        table = import_wordings(config.paraphrase, originals)
        if config.items is not None:
            table = table[table["item"].isin(config.items)].reset_index(drop=True)
        check_sets(list(dict.fromkeys(table["set"])))
    else:
        check_sets(list(_generators(config)))
    with one_writer(folder):
        write_text(folder / ".hydra" / "config.yaml", text)
        if table is None:
            table = _generated(config, instruments, instructions, folder)
        write_text(folder / ".hydra" / "overrides.yaml", yaml.safe_dump(list(command[1:])))
        table = _excluded(table, originals, config, instructions, folder)
        table = table.assign(statement=[originals[item] for item in table["item"]])
        wanted = config.paraphrase.wanted
        drawn = sampled(table, _usable(table, config), wanted=wanted, seed=config.seed)
        table = with_ids(table, drawn)
        table = _checked_by_people(table, config, folder)
        return _write(table, config, folder)


def _generated(
    config: RunConfig,
    instruments: Sequence[Instrument],
    instructions: Sequence[Instruction],
    folder: Path,
) -> pd.DataFrame:
    """Have the respondents generate the wordings."""
    return generate(
        instruments,
        instructions,
        _generators(config),
        config=config.paraphrase,
        items=config.items,
        seed=config.seed,
        journal_dir=folder / "journal" / "paraphrase",
    )


def _folder(config: RunConfig) -> Path:
    folder = Path(config.run_dir).expanduser()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"run_dir: {folder} is a file; name a folder.")
    if (folder / "manifest.json").exists():
        raise UserError(f"run_dir: {folder} holds a run; choose another run_dir for the wordings.")
    return folder


def _check(config: RunConfig) -> None:
    """Check the settings before anything is asked."""
    settings = config.paraphrase
    check_reasons(settings.exclude)
    check_least(settings.least)
    if settings.nli is not None:
        from polbayes.coding.registry import get_coder

        get_coder(settings.nli, {settings.nli: nli_config(settings.nli, config.coding.models)})
    if settings.judge is not None and settings.judge not in config.respondents:
        raise unknown("respondent", settings.judge, config.respondents, where="paraphrase.judge")
    asked = _generators(config) if settings.table is None else {}
    for name in {*asked, *([settings.judge] if settings.judge else [])}:
        check(name, config.respondents[name], elicitation_of(settings))
    check_annotators(settings.human.annotators, key="paraphrase.human.annotators")


def _generators(config: RunConfig) -> Mapping[str, RespondentConfig]:
    """Return the respondents to ask: the models named or all but the judge."""
    if config.models is not None:
        return {name: config.respondents[name] for name in config.models}
    judge = config.paraphrase.judge
    asked = {name: one for name, one in config.respondents.items() if name != judge}
    if not asked:
        raise UserError(
            "respondents: there is nobody but the judge; declare who makes the wordings, or name "
            "the judge under models, too."
        )
    return asked


def _excluded(
    table: pd.DataFrame,
    originals: dict[str, str],
    config: RunConfig,
    instructions: Sequence[Instruction],
    folder: Path,
) -> pd.DataFrame:
    """Add reasons and scores."""
    settings = config.paraphrase
    table = with_reasons(
        table,
        originals,
        exclude=settings.exclude,
        one=[i.instruction for i in instructions if i.answer == "statement"],
        least_words=settings.least_words,
        near=settings.near,
    )
    rows = np.flatnonzero(_usable(table, config))
    pairs = table["text"].iloc[rows].tolist(), [originals[x] for x in table["item"].iloc[rows]]
    kinds = table["kind"].iloc[rows].tolist()
    reasons = table["reason"].to_numpy(dtype=object, copy=True)
    if settings.nli is not None:
        journal, models = folder / CODING, config.coding.models
        scores = infer(*pairs, kinds, nli=settings.nli, models=models, journal_dir=journal)
        for name in scores.columns:
            values = np.full(len(table), np.nan)
            values[rows] = scores[name]
            table[name] = values
        least = np.array([settings.least.get(kind, -np.inf) for kind in kinds])
        passed = (scores["relation"].to_numpy() >= least) | ~np.isfinite(least)
        _note(reasons, rows[~passed], "meaning")
    if settings.judge is not None:
        verdicts = judged(
            *pairs,
            judge=(settings.judge, config.respondents[settings.judge]),
            batch_size=settings.batch_size,
            seed=config.seed,
            journal_dir=folder / "journal" / "judge",
        )
        column = np.full(len(table), "", dtype=object)
        column[rows] = verdicts
        table["judged"] = column
        wrong = [v != EXPECTED[kind] for v, kind in zip(verdicts, kinds, strict=True)]
        _note(reasons, rows[np.array(wrong, dtype=bool)], "judge")
    return table.assign(reason=reasons)


def _note(reasons: np.ndarray, rows: np.ndarray, reason: str) -> None:
    """Set the reason of rows that have none yet."""
    rows = rows[reasons[rows] == ""]
    reasons[rows] = reason


def _usable(table: pd.DataFrame, config: RunConfig) -> np.ndarray:
    left_out = [*ALWAYS, *config.paraphrase.exclude]
    return np.asarray(~table["reason"].isin(left_out))


def _checked_by_people(table: pd.DataFrame, config: RunConfig, folder: Path) -> pd.DataFrame:
    """Write sheets, or read them and leave out what people found wrong."""
    settings = config.paraphrase.human
    where = folder / settings.folder
    wordings = table[table["variant"] != ""]
    if not settings.sheets:
        if settings.per_item and len(wordings):
            written = sheet.hand_out(
                wordings,
                where,
                per_item=settings.per_item,
                annotators=settings.annotators,
                seed=config.seed,
            )
            for path in written:
                conclude(f"paraphrase: wrote {path}")
        return table
    checked, labels = sheet.take_in(settings.sheets, where, wordings)
    _write_match(checked, labels, config, folder)
    found = {
        (row["item"], row["variant"]): (row["label"], row["match"])
        for row in checked.to_dict("records")
    }
    pairs = list(zip(table["item"], table["variant"], strict=True))
    said = [found.get(pair, (None, None)) for pair in pairs]
    reasons = table["reason"].to_numpy(dtype=object, copy=True)
    rejected = np.array([match is False for _, match in said], dtype=bool)
    _note(reasons, np.flatnonzero(rejected), "human")
    out = rejected & ("human" in config.paraphrase.exclude)
    return table.assign(
        reason=reasons,
        human=[label or "" for label, _ in said],
        variant=table["variant"].where(~out, ""),
    )


def _write_match(
    checked: pd.DataFrame, labels: pd.DataFrame, config: RunConfig, folder: Path
) -> None:
    from polbayes.measures.kappa import annotator_agreement
    from polbayes.measures.match_proportion import ALL, match_proportion

    how = {"draws": config.measures.bootstrap, "level": config.measures.level, "seed": config.seed}
    table = match_proportion(checked, **how)  # type: ignore[arg-type]
    write_csv(folder / MATCH, table)
    for row in table[table["item"] == ALL].to_dict("records"):
        conclude(
            f"paraphrase: {row['set']}, {row['kind']}: {number(row['estimate'])} "
            f"{interval(row['lower'], row['upper'])} of {row['n']} checked wordings match"
            + (f", {row['n_excluded']} without a decision" if row["n_excluded"] else "")
        )
    if len(labels.columns) > 1:
        agreement = annotator_agreement(labels, **how)  # type: ignore[arg-type]
        write_csv(folder / AGREEMENT, agreement)


def _write(table: pd.DataFrame, config: RunConfig, folder: Path) -> pd.DataFrame:
    """Write candidates, counts and wordings, and summarise them."""
    kept = table["variant"] != ""
    table = table.assign(kept=np.where(kept, "yes", ""))
    counts = counted(table, config.paraphrase.exclude, config.paraphrase.wanted)
    columns = ["item", "set", "kind", "instruction", "call", "line", "variant", "kept", "reason"]
    columns += [name for name in (*SCORES, "relation", "judged", "human") if name in table]
    columns += ["text"]
    rows = table[columns].astype(object).where(table[columns].notna(), "").astype(str)
    write_sheet(folder / CANDIDATES, columns, rows.to_dict("records"))
    write_csv(folder / COUNTS, counts)
    wordings = table.loc[kept, ["item", "variant", "kind", "set", "text"]].reset_index(drop=True)
    for row in counts.groupby(["set", "kind", "reason"], sort=False)["n"].sum().items():
        (name, kind, reason), n = row
        if n:
            say(f"paraphrase: {name}, {kind}: {_said(n, str(reason), config)}")
    if wordings.empty:
        raise UserError(
            f"no wording is left; see why in {folder / CANDIDATES}, and change paraphrase.exclude, "
            "paraphrase.least or who is asked."
        )
    with replacing(folder / WORDINGS) as temporary:
        wordings.to_parquet(temporary, index=False)
    per_item = wordings.groupby(["item", "set", "kind"]).size()
    conclude(
        f"paraphrase: {plural(len(wordings), 'wording')} of "
        f"{plural(wordings['item'].nunique(), 'item')}, "
        f"{per_item.min()} to {per_item.max()} an item, set and kind, in {folder / WORDINGS}"
    )
    conclude(f"paraphrase: to ask them, add wordings=[{folder / WORDINGS}] to a run")
    return wordings


def _said(n: int, reason: str, config: RunConfig) -> str:
    if reason == "candidates":
        return plural(n, "candidate")
    if reason in ("kept", "not drawn", "missing"):
        lacking = f"wanted that {form(n, 'is', 'are')} not there"
        return f"{n} {lacking if reason == 'missing' else reason}"
    left_out = reason in ALWAYS or reason in config.paraphrase.exclude
    return f"{n} {'left out' if left_out else 'kept all the same'}: {reason} ({MEANING[reason]})"


def counted(table: pd.DataFrame, exclude: Sequence[str], wanted: int | None) -> pd.DataFrame:
    """Count the candidates by outcome."""
    rows = []
    for (name, kind, item), group in table.groupby(["set", "kind", "item"], sort=False):
        kept = (group["kept"] == "yes").to_numpy()
        out = group["reason"].isin([*ALWAYS, *exclude]).to_numpy()
        found = {"candidates": (len(group), False)}
        for reason, n in group["reason"][group["reason"] != ""].value_counts().items():
            found[str(reason)] = (int(n), reason in (*ALWAYS, *exclude))
        found["not drawn"] = (int((~kept & ~out).sum()), False)
        found["kept"] = (int(kept.sum()), False)
        found["missing"] = (max((wanted or 0) - int(kept.sum()), 0), False)
        rows += [
            {"set": name, "kind": kind, "item": item, "reason": r, "n": n, "left_out": gone}
            for r, (n, gone) in found.items()
        ]
    return pd.DataFrame(rows)
