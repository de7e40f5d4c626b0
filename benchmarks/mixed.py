"""Time of the mixed models of Haller et al. (2024), and agreement with lme4.

The design is theirs: 18 language models, 62 statements in 500 wordings each, eight numeric
predictors of the wording, random intercepts for statements, separate fits by model. The
answers are simulated. polbayes fits them with `sampler=exact`, including diagnostics and tables; if
Rscript and lme4 are installed, lme4 fits the same answers. With `--nuts N` the first N models are
also sampled with nutpie. `--small` is a quick try.
"""

import argparse
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.data.dataset import STATUS
from polbayes.fit.analysis import fit_analysis, parse_analysis

PREDICTORS = [f"x{k}" for k in range(1, 9)]
FORMULA = " + ".join([*PREDICTORS, "(1 | item)"])

R_SCRIPT = """
suppressMessages(library(lme4))
paths <- commandArgs(trailingOnly = TRUE)
data <- read.csv(paths[1])
started <- proc.time()[["elapsed"]]
rows <- lapply(split(data, data$model), function(d) {
  fit <- lmer(r_plus ~ FORMULA, d, REML = TRUE)
  data.frame(model = d$model[1], term = names(fixef(fit)), estimate = fixef(fit),
             se = sqrt(diag(as.matrix(vcov(fit)))))
})
cat(proc.time()[["elapsed"]] - started)
write.csv(do.call(rbind, rows), paths[2], row.names = FALSE)
"""


def make(models: int, items: int, wordings: int, seed: int = 1):
    """Simulate answers in (0, 1) with correlated predictors that differ by statement."""
    import xarray as xr

    rng = np.random.default_rng(seed)
    shape = (models, items, wordings, 1, 1)
    mixing = np.eye(8) + 0.3 * rng.normal(size=(8, 8))
    x = (rng.normal(size=(items, wordings, 8)) + rng.normal(size=(items, 1, 8))) @ mixing
    beta = rng.normal(0, 0.15, (models, 8))
    eta = np.einsum("ivk,mk->miv", x, beta) + rng.normal(0, 0.8, (models, items, 1))
    eta += rng.normal(0, 0.3, (models, 1, 1)) + rng.normal(0, 1.2, (models, items, wordings))
    dims = ("model", "item", "variant", "prefix", "run")
    data = xr.Dataset(
        {
            "r_plus": (dims, (1 / (1 + np.exp(-eta)))[..., None, None].astype(np.float32)),
            "status": (dims, np.full(shape, STATUS["ok"], dtype=np.int8)),
        },
        {
            "model": [f"m{k:02d}" for k in range(models)],
            "item": [f"i{k:02d}" for k in range(items)],
            "variant": [f"v{k:03d}" for k in range(wordings)],
            "prefix": ["baseline"],
            "run": [1],
        },
    )
    return data.assign_coords(
        {name: (("item", "variant"), x[..., k]) for k, name in enumerate(PREDICTORS)}
    )


def with_polbayes(data, backend: str) -> tuple[dict[str, pd.DataFrame], float, str]:
    """Fit every model, and return its tables, the seconds and the verdict."""
    config = AnalysisConfig(
        response="r_plus", family="gaussian", parts={"mu": f"~ {FORMULA}"}, by="model"
    )
    sampler = SamplerConfig(backend=backend)
    started = time.monotonic()
    spec = parse_analysis(config, sampler)
    result = fit_analysis(spec, data, sampler, level=0.9, seed=1)
    seconds = time.monotonic() - started
    return result.tables, seconds, result.diagnosis.verdict


def with_lme4(data) -> tuple[pd.DataFrame, float, float] | None:
    """Fit every model with lme4; None if it is not installed."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        script, given, found = (Path(folder) / n for n in ("fit.R", "data.csv", "found.csv"))
        script.write_text(R_SCRIPT.replace("FORMULA", FORMULA))
        frame = data[["r_plus"]].to_dataframe().reset_index()
        # All digits, so that both fit the same numbers.
        frame.to_csv(given, index=False, float_format="%.17g")
        started = time.monotonic()
        command = ["Rscript", str(script), str(given), str(found)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"lme4 did not run: {done.stderr.strip()[-200:]}")
            return None
        whole = time.monotonic() - started
        return pd.read_csv(found), float(done.stdout), whole


def compare(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.Series:
    """Return the differences from lme4's estimates, in lme4's standard errors."""
    theirs = theirs.replace({"term": {"(Intercept)": "Intercept"}})
    both = ours.merge(theirs, on=["model", "term"], suffixes=("", "_lme4"))
    se = "se_lme4" if "se_lme4" in both else "se"
    assert len(both) == len(ours)
    return (both["estimate"] - both["estimate_lme4"]).abs() / both[se]


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--nuts", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    models, items, wordings = (3, 20, 50) if arguments.small else (18, 62, 500)
    data = make(models, items, wordings)
    print(f"{models} models, {items * wordings:,} answers each, eight predictors, (1 | item)")
    ours, seconds, verdict = with_polbayes(data, "exact")
    print(f"polbayes, sampler=exact  {seconds:8.1f} s in all ({verdict})")
    lme4 = with_lme4(data)
    if lme4 is None:
        print("lme4 is not installed, so that there is nothing to compare with")
        return
    theirs, inside, whole = lme4
    print(f"lme4                     {inside:8.1f} s in all ({whole:.1f} s with reading the table)")
    off = compare(ours["coefficients"], theirs)
    print(f"distance from lme4, in its standard errors: largest {off.max():.4f}")
    off = compare(ours["classical"], theirs)
    print(f"the same of the classical fit, which is in these seconds too: {off.max():.0e}")
    if arguments.nuts:
        part = data.isel(model=slice(arguments.nuts))
        sampled, seconds, verdict = with_polbayes(part, "nutpie")
        print(f"polbayes, nutpie         {seconds / arguments.nuts:8.1f} s a model ({verdict})")
        off = compare(sampled["coefficients"], theirs)
        print(f"distance from lme4, in its standard errors: largest {off.max():.4f}")


if __name__ == "__main__":
    main()
