"""Folders of finished runs, with answers drawn by numpy and posteriors made up."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from polbayes.config.schema import (
    AnalysisConfig,
    MeasureConfig,
    RespondentConfig,
    RunConfig,
    SamplerConfig,
)
from polbayes.data.dataset import MISSING, NOT_ASKED, STATUS, write_dataset
from polbayes.fit.fit import save_posterior
from polbayes.instrument.design import ModelInfo, design
from polbayes.instrument.prompts import Prefix
from polbayes.instrument.questionnaires import Instrument, Item, Variant
from polbayes.run.manifest import Manifest
from polbayes.tasks.compare.finished import FinishedRun

DIMENSIONS = ("economic", "cultural")
TINY = {
    "theta": "~ 0 + dimension + (0 + dimension | model)",
    "acquiescence": "~ 1 + (1 | model)",
}


def build_answers(
    theta: Mapping[str, float],
    *,
    items: Sequence[str] = ("q1", "q2", "q3", "q4"),
    texts: Mapping[str, str] | None = None,
    prefixes: Mapping[str, str] | None = None,
    instrument: str = "tiny",
    seed: int = 1,
    runs: int = 4,
    revisions: Mapping[str, str] | None = None,
    attributes: Mapping[str, Mapping[str, object]] | None = None,
    checkpoints: Mapping[str, str] | None = None,
    steer: Mapping[str, float] | None = None,
):
    """Draw answers of models of a leaning; items are economic and cultural in turn.

    A prefix moves all models by `steer`.
    """
    made = [
        Item(
            name,
            DIMENSIONS[k % 2],
            1,
            "made up",
            (
                Variant("original", (texts or {}).get(name, f"Text of {name}."), "original", 1),
                Variant("opposite", f"Not {name}.", "opposite", -1),
            ),
            {},
        )
        for k, name in enumerate(items)
    ]
    infos = [
        ModelInfo(
            model,
            "{prefix}{statement}",
            instruct=False,
            checkpoint=(checkpoints or {}).get(model, f"hub/{model}"),
            revision=(revisions or {}).get(model, ""),
            attributes=(attributes or {}).get(model, {}),
        )
        for model in theta
    ]
    data = design(
        [Instrument(instrument, "Tiny", "Nobody (2020)", tuple(made))],
        [Prefix(p, t, "open") for p, t in (prefixes or {"baseline": ""}).items()],
        infos,
        runs=runs,
    )
    rng = np.random.default_rng(seed)
    asked = data["status"] != NOT_ASKED
    keying = data["keying"].transpose("item", "variant").values
    moved = [(steer or {}).get(str(p), 0.0) for p in data["prefix"].values]
    place = np.array(list(theta.values()))[:, None] + np.array(moved)
    eta = place[:, None, None, :, None] * keying[..., None, None]
    latent = np.broadcast_to(eta, asked.shape) + rng.logistic(size=asked.shape)
    stance = np.where(latent > 0.4, 1, np.where(latent < -0.4, -1, 0))
    data["status"] = data["status"].where(~asked, np.int8(STATUS["ok"]))
    data["stance"] = asked.copy(data=np.where(asked, stance, MISSING).astype(np.int8))
    words = np.array(["I disagree.", "Neither.", "I agree."], dtype=object)
    data["completion"] = asked.copy(data=np.where(asked, words[stance + 1], ""))
    data.attrs["finished"] = "2026-01-01T00:00:00"
    return data


def build_posterior(data, *, seed: int = 1):
    rng = np.random.default_rng(seed)
    models = [str(m) for m in data["model"].values]
    shape = (2, 50, len(models), 2)
    coords = {"model": np.array(models, dtype=object), "dimension": list(DIMENSIONS)}
    dims = ("chain", "draw", "model", "dimension")
    theta = xr.DataArray(rng.normal(size=shape), dims=dims, coords=coords)
    return xr.Dataset({"theta": theta, "bias": theta / 10, "bias_total": theta.mean("dimension")})


def build_config(name, folder, backends=None, **parts):
    return RunConfig(
        name=name,
        run_dir=str(folder),
        respondents={m: RespondentConfig(backend=b) for m, b in (backends or {}).items()},
        instruments=["tiny"],
        analysis=AnalysisConfig(parts=dict(parts or TINY)),
        measures=MeasureConfig(bootstrap=100),
        sampler=SamplerConfig(chains=2, tune=400, draws=500),
    )


@pytest.fixture(scope="session")
def answers():
    return build_answers


@pytest.fixture(scope="session")
def loaded():
    """Make a finished run without a folder."""

    def make(label, data, backends=None):
        config = build_config(label, label, backends)
        stages = {"probe": {}, "code": {}, "fit": {"verdict": "good"}}
        return FinishedRun(label, Path(label), config, data, build_posterior(data), stages)

    return make


@pytest.fixture(scope="session")
def finished():
    """Write the folder of a finished run."""

    def make(folder, data, backends=None, notes=(), **parts):
        config = build_config(folder.name, folder, backends, **parts)
        write_dataset(data, folder / "responses.nc")
        stats = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((2, 50), bool))})
        save_posterior(build_posterior(data), stats, folder / "posterior.nc")
        (folder / ".hydra").mkdir()
        (folder / ".hydra" / "config.yaml").write_text(yaml.safe_dump(asdict(config)))
        manifest = Manifest(folder)
        manifest.finish("probe", "key", ["responses.nc"])
        manifest.finish("code", "key", ["responses.nc"], notes=[f"Read: {n}" for n in notes])
        how = {"verdict": "good", "sentences": [], "notes": [f"Fitted: {n}" for n in notes]}
        manifest.finish("fit", "key", ["posterior.nc"], **how)
        return folder

    return make
