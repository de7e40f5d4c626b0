"""What millions of cells take: memory, disk and time, from the design to the report.

Run with ``python benchmarks/size.py [--paraphrases 25]``. The defaults are 18 models, 62 items,
500 paraphrases and ten prefixes: 5.6 million cells whose probabilities are read. Every step is a
process of its own that runs the command line or reads what it left; its memory is the most that it
and the processes that it starts, as for drawing figures, held at any time, imports included. The
respondents draw their probabilities from an ideology model with known effects, which no file can
compress; all else is what any run does. ``--keep FOLDER`` works there and goes on where an earlier
call stopped.
"""

import argparse
import contextlib
import hashlib
import io
import json
import math
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import psutil
import yaml

from polbayes.cli import _main
from polbayes.config.schema import ElicitationConfig, RespondentConfig
from polbayes.data.dataset import NOT_ASKED
from polbayes.instrument.design import ModelInfo
from polbayes.instrument.prompts import Lexicon, Template
from polbayes.instrument.questionnaires import load_instrument
from polbayes.respondents import BACKENDS, Backend
from polbayes.respondents.base import Question

MB = 1e6
_PIPE = subprocess.PIPE
_PASSED = ("models", "items", "paraphrases", "prefixes")
_PASSED += ("sampler", "chains", "draws", "tune")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=18)
    parser.add_argument("--items", type=int, default=62)
    parser.add_argument("--paraphrases", type=int, default=500)
    parser.add_argument("--prefixes", type=int, default=10)
    parser.add_argument("--folder", help="where to work; a temporary folder by default")
    parser.add_argument("--keep", help="a folder to work in that is kept")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--sampler", default="nutpie", help="or laplace")
    parser.add_argument("--chains", type=int, default=4)
    own = "250 with nutpie, else the sampler's own"
    parser.add_argument("--draws", type=int, help=f"of each chain; {own}")
    parser.add_argument("--tune", type=int, help=own)
    parser.add_argument(
        "--direct", action="store_true", help="write responses.nc without asking and journals"
    )
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.sampler == "nutpie":
        chosen.draws, chosen.tune = chosen.draws or 250, chosen.tune or 250
    if chosen.step:
        BACKENDS["random"] = Backend(("forced_choice",), _describe, _open)
        begun = time.perf_counter()
        found = STEPS[chosen.step](chosen) or {}
        found["seconds"] = time.perf_counter() - begun
        # In kilobytes, on macOS in bytes.
        scale = 1 if sys.platform == "darwin" else 1024
        used, drawing = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        found["peak"] = used.ru_maxrss * scale
        found["cpu"] = sum(one.ru_utime + one.ru_stime for one in (used, drawing))
        print(json.dumps(found))
        return
    if chosen.keep:
        Path(chosen.keep).mkdir(parents=True, exist_ok=True)
        measure(chosen, Path(chosen.keep))
        return
    with tempfile.TemporaryDirectory(prefix="polbayes-size-", dir=chosen.folder) as folder:
        measure(chosen, Path(folder))


def measure(chosen: argparse.Namespace, folder: Path) -> None:
    """Run the steps one after the other, each in a separate process."""
    write_questions(chosen, folder)
    cells = chosen.models * chosen.items * chosen.paraphrases * chosen.prefixes
    print(f"{cells:,} cells: {chosen.models} models, {chosen.items} items, ", end="")
    print(f"{chosen.paraphrases} paraphrases, {chosen.prefixes} prefixes")
    print(f"{'step':36} {'seconds':>8} {'of CPU':>8} {'peak MB':>8}  bytes a cell")
    responses = folder / "run" / "responses.nc"
    for step in chosen.steps:
        # Without journals there is nothing to read again.
        if (folder / step).exists() or (chosen.direct and step == "again"):
            continue
        command = [sys.executable, __file__, "--step", step, "--folder", str(folder)]
        for name in _PASSED:
            if (value := getattr(chosen, name)) is not None:
                command += [f"--{name.replace('_', '-')}", str(value)]
        command += ["--direct"] * chosen.direct
        found = _measured(command)
        size = ""
        if step in ("ask", "code"):
            size = f"responses.nc {responses.stat().st_size / cells:.1f}"
        if step == "ask" and not chosen.direct:
            journals = sum(x.stat().st_size for x in (folder / "run" / "journal").iterdir())
            size += f", journal {journals / cells:.1f}"
        about = found.get("about", "") or size
        title = (STEPS[step].__doc__ or "").rstrip(".")
        times = f"{found['seconds']:8.1f} {found['cpu']:8.1f}"
        print(f"{title:36} {times} {found['peak'] / MB:8.0f}  {about}", flush=True)
        (folder / step).touch()


def _measured(command: Sequence[str]) -> dict[str, Any]:
    """Run a step, and return what it prints; its peak counts the processes that it starts.

    These share libraries with it, whose memory is counted for each.
    """
    with subprocess.Popen(command, stdout=_PIPE, stderr=_PIPE, text=True) as step:
        whole, done = [0], threading.Event()
        watch = threading.Thread(target=_watch, args=(psutil.Process(step.pid), whole, done))
        watch.start()
        said, errors = step.communicate()
        done.set()
        watch.join()
    if step.returncode:
        sys.exit(errors)
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    found["peak"] = max(found["peak"], *whole)
    return found


def _watch(step: psutil.Process, whole: list[int], done: threading.Event) -> None:
    """Record the memory of a process and those that it starts, ten times a second."""
    while not done.wait(0.1):
        with contextlib.suppress(psutil.NoSuchProcess):
            family = [step, *step.children(recursive=True)]
            whole.append(sum(one.memory_info().rss for one in family))


def write_questions(chosen: argparse.Namespace, folder: Path) -> None:
    """Write paraphrases of realistic length, all of them different, and the prefixes."""
    draw, lines = random.Random(1), ["item,variant,kind,text"]
    for item in load_instrument("pct").items[: chosen.items]:
        words = item.variants[0].text.replace(",", "").replace('"', "").split()
        for n in range(chosen.paraphrases):
            draw.shuffle(words)
            lines.append(f"{item.item},w_{n},paraphrase,{' '.join(words)} {n}")
    (folder / "wordings.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    prefixes = {
        f"p_{n}": {"text": f"Please give your opinion in way {n}." if n else ""}
        for n in range(chosen.prefixes)
    }
    text = yaml.safe_dump({"prefixes": prefixes})
    (folder / "prefixes.yaml").write_text(text, encoding="utf-8")


def _run(chosen: argparse.Namespace, *stages: str) -> None:
    folder = Path(chosen.folder)
    items = [item.item for item in load_instrument("pct").items[: chosen.items]]
    overrides = [
        "+experiment=pct_paraphrases",
        "respondents=none",
        f"items=[{','.join(items)}]",
        "variants=['w_*']",
        f"wordings=['{folder / 'wordings.csv'}']",
        f"prefixes.file='{folder / 'prefixes.yaml'}'",
        "prefixes.only=null",
        f"stages=[{','.join(stages)}]",
        f"run_dir='{folder / 'run'}'",
        f"sampler={chosen.sampler}",
    ]
    for name in ("chains", "draws", "tune"):
        if (value := getattr(chosen, name)) is not None:
            overrides.append(f"sampler.{name}={value}")
    overrides += [f"+respondents.m{n}.backend=random" for n in range(chosen.models)]
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = _main(overrides)
    if code:
        sys.exit(said.getvalue())


def nothing(chosen: argparse.Namespace) -> None:
    """Nothing but imports, for comparison."""
    import_module("xarray")


def ask(chosen: argparse.Namespace) -> None:
    """Design, ask, journal, consolidate."""
    if chosen.direct:
        probe: Any = import_module("polbayes.probing.probe")
        stages: Any = import_module("polbayes.run.run")
        probe.ask, stages.consolidate = (lambda *_, **__: {}), _write_directly
    _run(chosen, "probe")


def again(chosen: argparse.Namespace) -> None:
    """Read the journals, consolidate again."""
    (Path(chosen.folder) / "run" / "responses.nc").unlink()
    _run(chosen, "probe")


def code(chosen: argparse.Namespace) -> None:
    """Code."""
    _run(chosen, "code")


def one_model(chosen: argparse.Namespace) -> dict[str, Any]:
    """Open one model."""
    from polbayes.data.dataset import open_responses

    begun = time.perf_counter()
    name = f"m{chosen.models // 2}"
    data = open_responses(Path(chosen.folder) / "run", models=[name])
    seconds = time.perf_counter() - begun
    one = data.isel(model=0)
    first = one.isel(item=0, variant=0, prefix=0)
    names = ("item", "variant", "prefix", "dimension")
    item, variant, prefix, dimension = (str(first[label].item()) for label in names)
    expected = _masses(name, item, variant, prefix, dimension, int(first["keying"].item()))
    if not chosen.direct:
        np.testing.assert_allclose(first["p_agree"].values.ravel(), expected[0], rtol=1e-6)
    return {"about": f"{int((data['status'] == 1).sum()):,} answers; opening alone {seconds:.2f} s"}


def whole(chosen: argparse.Namespace) -> dict[str, Any]:
    """Open all models, for comparison."""
    from polbayes.data.dataset import open_responses

    data = open_responses(Path(chosen.folder) / "run")
    assert int((data["status"] != NOT_ASKED).sum()) == data["status"].size
    return {"about": f"{int((data['status'] == 1).sum()):,} answers"}


def reduce(chosen: argparse.Namespace) -> dict[str, Any]:
    """Compute bias and validity of all models."""
    import pandas as pd

    from polbayes.data.out_of_core import reduce_by_model
    from polbayes.measures import bias, validity

    table = reduce_by_model(
        Path(chosen.folder) / "run", lambda data: pd.concat([bias(data), validity(data)])
    )
    mass = table[table["measure"] == "mass"]
    # The mean of (u + 1) / 2 for u uniform on [0, 1].
    assert abs(mass["estimate"].mean() - 0.75) < 0.05
    return {"about": f"a table of {len(table)} rows, {mass['model'].nunique()} models"}


def measures(chosen: argparse.Namespace) -> None:
    """Stage measure."""
    _run(chosen, "measure")


def fit(chosen: argparse.Namespace) -> dict[str, Any]:
    """Stage fit."""
    import pandas as pd

    _run(chosen, "fit")
    theta = pd.read_csv(Path(chosen.folder) / "run" / "estimates" / "theta.csv")
    planted = [
        _effect(1.0, "theta", m, d) for m, d in zip(theta["model"], theta["dimension"], strict=True)
    ]
    inside = theta["lower"].le(planted) & theta["upper"].ge(planted)
    verdict = json.loads((Path(chosen.folder) / "run" / "manifest.json").read_text("utf-8"))
    verdict = verdict["stages"]["fit"]["verdict"]
    return {"about": f"verdict {verdict}; {inside.mean():.0%} of the planted theta in 90 %"}


def report(chosen: argparse.Namespace) -> dict[str, Any]:
    """Stage report."""
    _run(chosen, "report")
    page = Path(chosen.folder) / "run" / "report" / "index.html"
    return {"about": f"index.html {page.stat().st_size / MB:.1f} MB"}


STEPS: dict[str, Callable[[argparse.Namespace], dict[str, Any] | None]] = {
    "nothing": nothing,
    "ask": ask,
    "again": again,
    "code": code,
    "one_model": one_model,
    "whole": whole,
    "reduce": reduce,
    "measure": measures,
    "fit": fit,
    "report": report,
}


def _describe(name: str, config: RespondentConfig, template: Template) -> ModelInfo:
    return ModelInfo(name, template.texts["base"], family="random")


def _open(
    name: str, config: RespondentConfig, template: Template, elicitation: ElicitationConfig
) -> "RandomRespondent":
    return RandomRespondent(_describe(name, config, template))


@cache
def _effect(sd: float, *labels: str) -> float:
    """Return a normal effect, the same every time."""
    return sd * NormalDist().inv_cdf(_uniforms(*labels)[0])


def _uniforms(*labels: str) -> tuple[float, float]:
    drawn = hashlib.blake2b("\0".join(labels).encode(), digest_size=16).digest()
    one, two = (int.from_bytes(half, "big") / 2**64 for half in (drawn[:8], drawn[8:]))
    return min(max(one, 1e-12), 1 - 1e-12), two


def _write_directly(design: Any, journals: Any, lexicon: Lexicon, path: Path) -> None:
    """Write the answers of all models, one after the other."""
    from polbayes.data.dataset import CELL_DIMS, STATUS
    from polbayes.data.out_of_core import write_by_model
    from polbayes.probing.consolidation import with_masses

    items, variants = (design[d].values.tolist() for d in ("item", "variant"))
    dimensions, keying = design["dimension"].values.tolist(), design["keying"].values

    def of(name: str) -> Any:
        data = design.sel(model=[name])
        shape = tuple(data.sizes[d] for d in CELL_DIMS)
        rng = np.random.default_rng(int(name[1:]))
        middle = [
            [_middle(name, item, v, dimension, int(keying[i, k])) for k, v in enumerate(variants)]
            for i, (item, dimension) in enumerate(zip(items, dimensions, strict=True))
        ]
        eta = np.array(middle)[None, :, :, None, None]
        eta = eta + _residual(name) * rng.standard_normal(shape)
        agree = 1 / (1 + np.exp(-_decisiveness(name) * eta))
        mass = (rng.random(shape) + 1) / 2
        both = np.stack([agree * mass, (1 - agree) * mass], axis=-1).astype(np.float32)
        status = data["status"].copy(data=np.full(shape, STATUS["ok"], np.int8))
        texts = np.full(shape, "", dtype=object)
        return with_masses(data.assign(status=status, completion=(CELL_DIMS, texts)), both, lexicon)

    parts = map(of, design["model"].values.tolist())
    write_by_model(design.assign_attrs(notes=""), parts, path, text_bytes={"completion": 1})


def _decisiveness(model: str) -> float:
    return math.exp(_effect(0.3, "decisiveness", model))


def _residual(model: str) -> float:
    return math.exp(_effect(0.2, "sigma", model) - 0.5)


def _middle(model: str, item: str, variant: str, dimension: str, keying: int) -> float:
    """Return the predictor of agreeing, in the unit of quirks."""
    belief = _effect(1.0, "theta", model, dimension) - _effect(0.5, "difficulty", item)
    belief = math.exp(_effect(0.2, "discrimination", item)) * belief
    belief += _effect(1.0, "quirk", model, item)
    asked = _effect(0.3, "acquiescence", model) + _effect(0.3, "wording", item, variant)
    return asked + keying * belief


def _masses(
    model: str, item: str, variant: str, prefix: str, dimension: str, keying: int
) -> tuple[float, float]:
    """Return masses of yes and no of a known ideology model, the same every time."""
    share, mass = _uniforms(model, item, variant, prefix)
    eta = _middle(model, item, variant, dimension, keying)
    eta += _residual(model) * NormalDist().inv_cdf(share)
    agree = 1 / (1 + math.exp(-_decisiveness(model) * eta))
    return agree * (mass + 1) / 2, (1 - agree) * (mass + 1) / 2


class RandomRespondent:
    """Answers with probabilities drawn from a known ideology model."""

    def __init__(self, info: ModelInfo) -> None:
        self.info = info

    def warnings(self, lexicon: Lexicon | None) -> tuple[str, ...]:
        """Return no sentence."""
        return ()

    def option_mass(
        self, questions: Sequence[Question], lexicon: Lexicon
    ) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """Return masses of yes and no."""
        return np.array(
            [
                _masses(self.info.model, q.item, q.variant, q.prefix, q.dimension, q.keying)
                for q in questions
            ]
        )

    def complete(self, questions: Sequence[Question], seeds: Sequence[int]) -> Any:
        """Give no open-ended answers."""
        raise NotImplementedError

    def close(self) -> None:
        """Hold nothing."""


if __name__ == "__main__":
    main()
