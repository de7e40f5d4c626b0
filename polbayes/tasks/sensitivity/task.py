"""``task=sensitivity``: what would change the conclusions of a finished run."""

from pathlib import Path

import pandas as pd

from polbayes.data.dataset import open_responses
from polbayes.data.files import one_writer
from polbayes.data.progress import say
from polbayes.data.tables import write_csv
from polbayes.errors import UserError
from polbayes.fit.posterior.flips import concluded
from polbayes.instrument.dimensions import dimensions_of
from polbayes.report.assemble import CODERS_TABLE, read_tables
from polbayes.report.conclusions import answer_of
from polbayes.run.manifest import Manifest, read_config
from polbayes.run.run import fit_again, report_again
from polbayes.tasks.sensitivity.coders import flips_by_coder


def sensitivity(run_dir: str) -> str:
    """Add to a finished run what would change its conclusions, and say it in a few lines."""
    folder = Path(run_dir).expanduser()
    manifest = Manifest(folder)
    if "fit" not in manifest.stages:
        raise UserError(
            f"run_dir: {folder} holds no run with a posterior; name the folder of a finished run."
        )
    manifest.check_tables("measure", "fit")
    path = folder / ".hydra" / "config.yaml"
    config, text = read_config(path), path.read_text(encoding="utf-8")
    config.run_dir = str(folder)
    tables = read_tables(folder / "estimates")
    if "contrasts" not in tables:
        raise UserError(
            f"run_dir: {folder} was analysed with a model without leanings, which concludes "
            "nothing about them; fit it with analysis=ideology first."
        )
    with one_writer(folder):
        if "flips" not in tables:
            say("sensitivity: other studies are drawn from the posterior")
            fit_again(config, text)
            tables = read_tables(folder / "estimates")
        data = open_responses(folder)
        conclusions = list(concluded(tables["contrasts"]))
        coders = flips_by_coder(data, config.coding, conclusions, folder=manifest, seed=config.seed)
        if len(coders):
            coded = coders.assign(answers=manifest.stages["code"]["key"])
            write_csv(folder / CODERS_TABLE, coded)
        report = report_again(config, text)
    flips = pd.concat([tables["flips"], coders], ignore_index=True)
    lines = answer_of(flips, dimensions_of(data))
    if manifest.stages["fit"]["verdict"] == "bad":
        lines.insert(0, "Do not use this: the draws of the sampler failed the checks.")
    where = [f"tables: {folder / 'estimates'}", *([f"report: {report}"] if report else [])]
    return "\n".join([*lines, *where])
