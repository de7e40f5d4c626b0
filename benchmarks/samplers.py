"""Effective draws per second: polbayes against brms, and against plain PyMC by rows.

Four respondents answer 24 statements in three wordings with four prefixes, three times, a third
of the answers missing; the answers are drawn from the model. The three fits have the same effects
and priors, and as many chains and draws:

- polbayes, with its defaults;
- PyMC with a likelihood term per answer, the same constraints and the defaults of `pm.sample`;
- brms, without sum-to-zero constraints and widths of cutpoints by group, which it does not have.

The comparison is the smallest bulk-ESS of the quantities of the respondents that all three have
(positions, acquiescence, scales), per second of processor time for sampling with warm-up, and also
including compilation. Processor time does not depend on other load or on the number of parallel
chains. brms needs R with the packages brms and posterior, and is otherwise skipped.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
from faulborn_size import PARTS, Size, simulate

from polbayes.config.schema import AnalysisConfig, SamplerConfig
from polbayes.data.dataset import STATUS, to_frame
from polbayes.data.groups import group_of

SIZE = Size(models=4, wvs=24, pct=0, prefixes=4)
CHAINS, TUNE, DRAWS = 4, 500, 500

_BRMS = r"""
suppressMessages({library(brms); library(posterior)})
if (!file.exists(rstan::rstan_options("boost_lib"))) {
  # Debian's BH has its headers among the system's.
  rstan::rstan_options(boost_lib = "/usr/include", boost_lib2 = "/usr/include")
}
args <- commandArgs(TRUE)
d <- read.csv(args[1])
d$stance <- ordered(d$stance)
form <- bf(
  stance ~ acq + word + s * (exp(lam) * (pos - diff) + steer + quirk),
  pos ~ 0 + dimension + (0 + dimension | model),
  diff ~ 0 + (1 | item),
  lam ~ 0 + (1 | item),
  acq ~ 0 + (1 | model) + (1 | gr(mp, by = model)),
  steer ~ 0 + (1 | gr(mp, by = model)),
  quirk ~ 0 + (1 | mi),
  word ~ 0 + (1 | iv) + (1 | gr(miv, by = model)),
  nl = TRUE
)
sd_half <- function(nlpar, group, scale) {
  set_prior(sprintf("normal(0, %g)", scale), class = "sd", nlpar = nlpar, group = group)
}
pri <- c(
  set_prior("normal(0, 1)", class = "b", nlpar = "pos"),
  sd_half("pos", "model", 1), sd_half("diff", "item", 1), sd_half("lam", "item", 0.3),
  sd_half("acq", "model", 1), sd_half("acq", "mp", 0.5), sd_half("steer", "mp", 0.5),
  sd_half("quirk", "mi", 0.5), sd_half("word", "iv", 0.5), sd_half("word", "miv", 0.5),
  set_prior("lkj(2)", class = "cor")
)
fit <- brm(form, d, family = cumulative(), prior = pri, chains = 0, refresh = 0)
used <- function() sum(proc.time()[c("user.self", "sys.self")])
t0 <- used()
fit <- update(fit, chains = as.integer(args[2]), iter = as.integer(args[3]) + as.integer(args[4]),
              warmup = as.integer(args[3]), cores = 1, seed = 1, refresh = 0, recompile = FALSE)
seconds <- used() - t0
all <- as_draws_array(fit)
names <- variables(all)
keep <- grepl("^(sd_|cor_|b_pos|r_model__(pos|acq))", names)
s <- summarise_draws(subset_draws(all, variable = names[keep]), "rhat", "ess_bulk")
write.csv(data.frame(seconds = seconds, ess = min(as.numeric(s$ess_bulk)),
  r_hat = max(as.numeric(s$rhat))), args[5])
"""


def used() -> float:
    """Return the processor time of this process and its finished children, in seconds."""
    return sum(os.times()[:4])


def rows(data: Any) -> pd.DataFrame:
    """Return the answers, one per row."""
    frame = to_frame(data, ["stance", "status"])
    frame = frame[(frame["status"] == STATUS["ok"]) & (frame["keying"] != 0)]
    return frame.reset_index(drop=True)


def by_polbayes(data: Any) -> tuple[float, float, Any]:
    """Fit with polbayes; return sampling and total seconds, and the posterior."""
    from polbayes.fit.density.model import build
    from polbayes.fit.posterior.naming import name_posterior
    from polbayes.fit.sampling.imputation import with_integrated
    from polbayes.fit.sampling.sample import sample
    from polbayes.fit.spec.cells import gather_cells
    from polbayes.fit.spec.spec import parse_spec
    from polbayes.fit.spec.terms import bind

    started = used()
    spec = parse_spec(AnalysisConfig(parts=PARTS))
    cells = gather_cells(data, spec)
    built = build(spec, cells, bind(spec, cells))
    # A few draws first, so that sampling time excludes compilation.
    sample(built, SamplerConfig(chains=2, tune=50, draws=50), seed=1)
    ready = used()
    drawn, _ = sample(built, SamplerConfig(chains=CHAINS, tune=TUNE, draws=DRAWS), seed=1)
    done = used()
    whole = with_integrated(built, drawn, seed=1)
    return done - ready, done - started, name_posterior(built, whole)


def by_rows(frame: pd.DataFrame) -> tuple[float, float, Any]:
    """Fit the same model in plain PyMC, one term per row, with the defaults of `pm.sample`."""
    import pymc as pm
    import pytensor.tensor as pt

    started = used()
    code = {c: pd.factorize(frame[c], sort=True)[0] for c in ("model", "item", "variant", "prefix")}
    m, i, v, p = code.values()
    items = frame.drop_duplicates("item").sort_values("item")
    cultural = (items["dimension"] == "cultural").to_numpy().astype(int)
    n_m, n_i, n_v, n_p = (int(c.max()) + 1 for c in code.values())
    s = frame["keying"].to_numpy(dtype=float)
    sides = [np.flatnonzero(cultural == side) for side in (0, 1)]

    def by_side(name: str, sd: Any, *outer: int) -> Any:
        """Draw effects of items that sum to zero within each dimension."""
        whole = pt.zeros((*outer, n_i))
        for number, at in enumerate(sides):
            drawn = pm.ZeroSumNormal(f"{name}_{number}", sd, shape=(*outer, len(at)))
            whole = pt.set_subtensor(whole[..., at], drawn)
        return whole

    with pm.Model():
        mean = pm.Normal("theta_mean", 0, 1, shape=2)
        chol, _, _ = pm.LKJCholeskyCov(
            "theta_chol", n=2, eta=2, sd_dist=pm.HalfNormal.dist(1.0, size=2)
        )
        z = pm.ZeroSumNormal("theta_z", shape=(2, n_m))
        theta = pm.Deterministic("theta", (mean[:, None] + pt.dot(chol, z)).T)
        difficulty = by_side("difficulty", pm.HalfNormal("sd_difficulty", 1))
        disc = by_side("log_disc", pm.HalfNormal("sd_disc", 0.3))
        quirk = by_side("quirk", pm.HalfNormal("sd_quirk", 0.5), n_m)
        acq = pm.Normal("acq_mean", 0, 1) + pm.ZeroSumNormal(
            "acq_model", pm.HalfNormal("sd_acq", 1), shape=n_m
        )
        pm.Deterministic("acquiescence", acq)
        sd_ap = pm.HalfNormal("sd_acq_prefix", 0.5, shape=n_m)
        sd_steer = pm.HalfNormal("sd_steer", 0.5, shape=n_m)
        acq_prefix = sd_ap[:, None] * pm.ZeroSumNormal("acq_prefix", shape=(n_m, n_p))
        steer = sd_steer[:, None] * pm.ZeroSumNormal("steer", shape=(n_m, n_p))
        wording = pm.ZeroSumNormal(
            "wording", pm.HalfNormal("sd_wording", 0.5), shape=n_i * n_v
        ).reshape((n_i, n_v))
        sd_own = pm.HalfNormal("sd_wording_model", 0.5, shape=n_m)
        own = pm.ZeroSumNormal("wording_model", shape=(n_m, n_i * n_v)).reshape((n_m, n_i, n_v))
        log_width = pm.ZeroSumNormal("log_width", pm.HalfNormal("sd_width", 0.5), shape=n_m)
        gap = pm.LogNormal("gap", 0, 0.7)
        believed = pt.exp(disc)[i] * (theta[m, cultural[i]] - difficulty[i])
        eta = acq[m] + acq_prefix[m, p] + wording[i, v] + sd_own[m] * own[m, i, v]
        eta = eta + s * (believed + steer[m, p] + quirk[m, i])
        half = gap / 2 * pt.exp(log_width)[m]
        pm.OrderedLogistic(
            "stance",
            eta=eta,
            cutpoints=pt.stack([-half, half], axis=1),
            observed=frame["stance"].to_numpy() + 1,
            compute_p=False,
        )
        drawn: list[float] = []  # time of each draw; before the first one is compilation
        trace = pm.sample(
            DRAWS,
            tune=TUNE,
            chains=CHAINS,
            cores=1,
            random_seed=1,
            progressbar=False,
            callback=lambda **_: drawn or drawn.append(used()),
        )
    done = used()
    return done - drawn[0], done - started, group_of(trace, "posterior")


def rows_apart(frame: pd.DataFrame) -> tuple[float, float, float, float]:
    """Run `by_rows` in a separate process; return seconds, smallest ESS and largest R-hat."""
    sampling, whole, posterior = by_rows(frame)
    names = ["theta", "acquiescence", *(n for n in map(str, posterior) if n.startswith("sd_"))]
    return sampling, whole, *smallest(posterior, names)


def by_brms(frame: pd.DataFrame) -> tuple[float, float, float, float] | None:
    """Fit with brms; return sampling and total seconds, smallest ESS and largest R-hat."""
    if shutil.which("Rscript") is None:
        return None
    table = frame.assign(
        s=frame["keying"],
        mp=frame["model"] + frame["prefix"],
        mi=frame["model"] + frame["item"],
        iv=frame["item"] + frame["variant"],
        miv=frame["model"] + frame["item"] + frame["variant"],
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("fit.R", "data.csv", "out.csv")]
        paths[0].write_text(_BRMS)
        table.to_csv(paths[1], index=False)
        numbers = [str(n) for n in (CHAINS, TUNE, DRAWS)]
        command = ["Rscript", str(paths[0]), str(paths[1]), *numbers, str(paths[2])]
        started = used()
        done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False)
        whole = used() - started
        if done.returncode:
            return None
        found = pd.read_csv(paths[2]).iloc[0]
    return float(found["seconds"]), whole, float(found["ess"]), float(found["r_hat"])


def smallest(posterior: Any, names: list[str]) -> tuple[float, float]:
    """Return the smallest bulk-ESS and the largest R-hat of some variables."""
    varying = posterior[names]
    ess, r_hat = az.ess(varying, method="bulk"), az.rhat(varying)
    return (
        float(min(np.nanmin(ess[n].to_numpy()) for n in names)),
        float(max(np.nanmax(r_hat[n].to_numpy()) for n in names)),
    )


def main() -> None:
    """Print a line for each, with ratios to polbayes."""
    data = simulate(SIZE, seed=7)
    frame = rows(data)
    print(f"{len(frame):,} answers, {CHAINS} chains of {TUNE} + {DRAWS}")
    found: dict[str, tuple[float, float, float, float]] = {}
    sampling, whole, posterior = by_polbayes(data)
    found["polbayes"] = (sampling, whole, *smallest(posterior, ["theta", "acquiescence", "scale"]))
    _line("polbayes", found)
    if "brms" in sys.argv[1:] or not sys.argv[1:]:
        other = by_brms(frame)
        if other is None:
            print("brms: R with brms is not here, or it failed")
        else:
            found["brms"] = other
            _line("brms", found)
    if "rows" in sys.argv[1:] or not sys.argv[1:]:
        # A separate process and folder avoid interference.
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PYTENSOR_FLAGS"] = f"base_compiledir={folder}"
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found["PyMC by rows"] = pool.submit(rows_apart, frame).result()
        _line("PyMC by rows", found)


def _line(name: str, found: dict[str, tuple[float, float, float, float]]) -> None:
    sampling, whole, ess, r_hat = found[name]
    ours = found["polbayes"]
    print(
        f"{name:<13} sampling {sampling:7.1f} s, in all {whole:7.1f} s, smallest bulk-ESS "
        f"{ess:6.0f}, R-hat {r_hat:.3f}, {ess / sampling:8.3f} a second "
        f"({ess / whole:.3f} with compilation); "
        f"polbayes has {ours[2] / ours[0] / (ess / sampling):.1f} times "
        f"({ours[2] / ours[1] / (ess / whole):.1f} times)",
        flush=True,
    )


if __name__ == "__main__":
    main()
