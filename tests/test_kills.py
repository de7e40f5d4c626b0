"""Stages and tasks that are killed and begun again end as if nobody had killed them.

Half of the kills come at a random moment, half right before a random change to a file of the run:
what is made, written, renamed or removed. POLBAYES_KILLS says how many each command must survive.
"""

import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import yaml

from polbayes.cli import _main
from polbayes.instrument.design import ModelInfo
from polbayes.respondents import BACKENDS, Backend
from polbayes.respondents.base import Completion, template_text

KILLS = int(os.environ.get("POLBAYES_KILLS", "3"))
# Of what takes minutes to compile.
FEW = KILLS if "POLBAYES_KILLS" in os.environ else 1
# Killing while these are imported would say nothing of what is tested.
PRELOADED = (
    *("arviz", "matplotlib.pyplot", "netCDF4", "numba", "nutpie", "pandas", "pyarrow.parquet"),
    *("pymc", "scipy.stats", "xarray"),
    *("polbayes.fit.fit", "polbayes.report.write", "polbayes.roleplay.stages", "polbayes.run.run"),
    *("polbayes.run.pairs.stages", "polbayes.run.pairs.verdicts"),
    *("polbayes.tasks.compare.task", "polbayes.tasks.paraphrasing.task"),
)
ANALYSIS = """\
response: stance
family: cumulative
parts:
  theta: "~ 0 + dimension + (0 + dimension | model)"
  acquiescence: "~ 1 + (1 | model)"
level: 0.9
"""
SMALL = [
    *("+experiment=wvs_prefixes", "respondents=simulated", "models=[left,right]"),
    *("items=[wvs-01,wvs-02,wvs-14,wvs-15]", "prefixes.only=[baseline,likert]", "analysis=tiny"),
    *("sampler.chains=2", "sampler.tune=100", "sampler.draws=150", "measures.bootstrap=100"),
]
ROLES = [
    *("+experiment=politicsbench", "roleplay.scenarios=[union]", "roleplay.wordings=[original]"),
    *("models=[liberal,conservative]", "judging.judges=[left_judge,right_judge]"),
    *("judging.sample=4", "measures.bootstrap=100"),
    *("sampler.chains=2", "sampler.tune=50", "sampler.draws=50"),
]
PAIRS = [
    *("+experiment=even_handedness", "pairs.topics=[unions,prisons]", "pairs.templates=[essay]"),
    *("models=[even,refuser]", "judging.judges=[left_grader,right_grader]"),
    *("measures.bootstrap=100", "sampler.chains=2", "sampler.tune=50", "sampler.draws=50"),
]
OPENED_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Pen:
    """A respondent that takes its time to write paraphrases, and to judge them."""

    def __init__(self, info):
        self.info = info

    def warnings(self, lexicon):
        return ()

    def complete(self, questions, seeds):
        time.sleep(0.002 * len(questions))
        return [Completion(_said(question), truncated=False) for question in questions]

    def close(self):
        pass


def _said(question):
    if "one word only" in question.prompt:
        return "OPPOSITE" if "not so" in question.prompt else "SAME"
    lines = (f"{n}. Claim {n} of call {question.run} about {question.item}." for n in range(20))
    return "\n".join(lines)


def _with_pen():
    def describe(name, config, template):
        return ModelInfo(name, template_text(template, ("chat",), name), chat=True)

    def opened(name, config, template, elicitation):
        return Pen(describe(name, config, template))

    BACKENDS["pen"] = Backend(("open_ended",), describe, opened)


def _changes(folder, do):
    """Call a function with the number of every change to a file of a folder, before it is made."""
    seen = 0

    def heard(event, given):
        nonlocal seen
        if event == "open":
            writes = isinstance(given[2], int) and given[2] & OPENED_TO_WRITE
            counts = writes and str(given[0]).startswith(folder)
        elif event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir"):
            within = event in ("os.remove", "os.rmdir") and given[1] >= 0
            counts = within or str(os.fspath(given[0])).startswith(folder)
        else:
            return
        if counts:
            seen += 1
            do(seen)

    sys.addaudithook(heard)


def _child(arguments, folder, log, fatal, pipe):
    """Run a command line; be killed before the change of a file that has this number."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1), os.dup2(file, 2)
    sys.stdout = sys.stderr = os.fdopen(file, "w", buffering=1)
    changes = 0

    def change(number):
        nonlocal changes
        changes = number
        if number == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    _with_pen()
    _changes(str(folder), change)
    code = _main(arguments)
    pipe.send((code, changes))


@dataclass(frozen=True)
class Ended:
    killed: bool
    changes: int = 0
    seconds: float = 0.0


def start(arguments, folder, *, fatal=0, after=None):
    """Run a command line in a process of its own, and kill it after so many seconds."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED, __name__])
    log = folder.parent / "log.txt"
    pipe, other = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(arguments, folder, log, fatal, other))
    begun = time.monotonic()
    process.start()
    other.close()
    process.join(after)
    process.kill()
    process.join()
    seconds = time.monotonic() - begun
    if process.exitcode == -signal.SIGKILL and (fatal or after is not None):
        return Ended(killed=True)
    said = log.read_text(encoding="utf-8", errors="replace")[-3000:]
    assert process.exitcode == 0, said
    code, changes = pipe.recv()
    assert code == 0, said
    return Ended(killed=False, changes=changes, seconds=seconds)


# What differs from one undisturbed run to the next: times.
TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\+00:00)?|duration (\d+ min )?\d+ s")
STORIES = ("started", "finished", "seconds", "created_at", "created")


def told(value):
    """Return a value of JSON without when it was."""
    if isinstance(value, dict):
        return {key: told(one) for key, one in value.items() if key not in STORIES}
    return [told(one) for one in value] if isinstance(value, list) else value


def variables(group):
    """Return every variable of a netCDF file, and its attributes."""
    group.set_auto_mask(False)
    names = [name for name in group.ncattrs() if name not in STORIES]
    found = {"": [(name, str(group.getncattr(name))) for name in names]}
    for name, variable in group.variables.items():
        values = np.asarray(variable[:])
        kept = values.tolist() if values.dtype.kind == "O" else values.tobytes()
        found[name] = (variable.dimensions, str(values.dtype), kept)
    for name, inner in group.groups.items():
        found |= {f"{name}/{key}": value for key, value in variables(inner).items()}
    return found


def content(path):
    """Return what a file says, but for when it was written."""
    if path.suffix == ".nc":
        with netCDF4.Dataset(path) as file:
            return variables(file)
    if path.suffix == ".json":
        return told(json.loads(path.read_text(encoding="utf-8")))
    if path.suffix == ".html":
        return TIMES.sub("TIME", path.read_text(encoding="utf-8"))
    return path.read_bytes()


def contents(folder):
    return {
        str(path.relative_to(folder)): content(path) if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def assert_same(found, whole):
    assert sorted(found) == sorted(whole)
    assert [name for name in whole if found[name] != whole[name]] == []


def survives(arguments, before, folder, *, seed, most=KILLS):
    """Check that a command whose process is killed over and over ends like an undisturbed one.

    `before` is what the folder has when the command is first given; None for nothing.
    """

    def put():
        shutil.rmtree(folder, ignore_errors=True)
        if before is not None:
            shutil.copytree(before, folder)

    put()
    start(arguments, folder)  # what is compiled for the first time is not what takes time here
    put()
    undisturbed = start(arguments, folder)
    whole = contents(folder)
    moments, kills, rounds = random.Random(seed), 0, 0
    while kills < most:
        put()
        rounds += 1
        ended = Ended(killed=True)
        while ended.killed and kills < most:
            if moments.random() < 0.5:
                ended = start(
                    arguments, folder, fatal=moments.randint(1, undisturbed.changes * 11 // 10 + 1)
                )
            else:
                after = moments.uniform(0, 1.1 * undisturbed.seconds)
                ended = start(arguments, folder, after=after)
            kills += ended.killed
        if ended.killed:
            start(arguments, folder)
        assert_same(contents(folder), whole)
    print(f"{kills} kills in {rounds} rounds, {undisturbed}")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("kills")
    (place / "configs" / "analysis").mkdir(parents=True)
    (place / "configs" / "analysis" / "tiny.yaml").write_text(ANALYSIS, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def small(place):
    """Return the command line of the small run in a folder."""
    return lambda folder: [*SMALL, f"run_dir={folder}", "--config-dir", str(place / "configs")]


@pytest.fixture(scope="module")
def stages(place, small):
    """Return copies of the small run's folder as it is before each stage."""
    folder, before = place / "small", {}
    for stage in ("probe", "code", "measure", "fit", "report"):
        if folder.exists():
            before[stage] = place / f"before-{stage}"
            shutil.copytree(folder, before[stage])
        assert start([*small(folder), f"stages=[{stage}]"], folder).killed is False
    return before


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["code", "measure", "fit", "report"])
def test_a_stage_that_is_killed(place, small, stages, stage):
    folder = place / "small"
    survives([*small(folder), f"stages=[{stage}]"], stages[stage], folder, seed=len(stage))


@pytest.mark.slow
@pytest.mark.long
def test_a_comparison_that_is_killed(place, small, tmp_path):
    runs = [place / "first", place / "second"]
    for seed, run in enumerate(runs):
        start([*small(run), f"seed={seed}", "stages=[probe,code,measure,fit]"], run)
    chosen = f"runs=[{','.join(map(str, runs))}]"
    folder = tmp_path / "both"
    survives(["task=compare", chosen, f"run_dir={folder}"], None, folder, seed=2)


@pytest.mark.slow
def test_a_set_of_paraphrases_that_is_killed(tmp_path):
    items = [
        {
            "item": f"q{n}",
            "text": f"Statement {n} is true.",
            "dimension": "economic",
            "direction": "left",
            "source": "made up",
            "variants": {},
        }
        for n in range(6)
    ]
    instrument = {"id": "tiny", "title": "Tiny", "citation": "Nobody", "items": items}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(instrument), encoding="utf-8")
    folder = tmp_path / "set"
    arguments = [
        *("task=paraphrase", "name=set", f"instruments=[{tmp_path / 'tiny.yaml'}]"),
        *("respondents=none", "+respondents.pen.backend=pen", "+respondents.judge.backend=pen"),
        *("paraphrase=haller", "paraphrase.calls=8", "paraphrase.batch_size=2"),
        *("paraphrase.judge=judge", "paraphrase.human.per_item=2", f"run_dir={folder}"),
    ]
    survives(arguments, None, folder, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("stages", ["probe,code,measure", "fit,report"])
def test_a_roleplay_that_is_killed(tmp_path, stages):
    folder = tmp_path / "roles"
    arguments = [*ROLES, f"run_dir={folder}"]
    before = None
    if stages == "fit,report":
        start([*arguments, "stages=[probe,code,measure]"], folder)
        before = Path(shutil.copytree(folder, tmp_path / "before"))
    most = FEW if stages == "fit,report" else KILLS
    survives([*arguments, f"stages=[{stages}]"], before, folder, seed=4, most=most)


@pytest.mark.slow
@pytest.mark.parametrize(
    "stages", ["probe,code,measure", pytest.param("fit,report", marks=pytest.mark.long)]
)
def test_paired_requests_that_are_killed(tmp_path, stages):
    folder = tmp_path / "pairs"
    arguments = [*PAIRS, f"run_dir={folder}"]
    before = None
    if stages == "fit,report":
        start([*arguments, "stages=[probe,code,measure]"], folder)
        before = Path(shutil.copytree(folder, tmp_path / "before"))
    most = FEW if stages == "fit,report" else KILLS
    survives([*arguments, f"stages=[{stages}]"], before, folder, seed=5, most=most)
