"""Sessions for tests, checks, docs, benchmarks and the wheel.

`nox -s tests` is the quick suite, `nox -s tests_new` the same on later versions of Python,
`nox -s slow` what takes minutes, `nox -s wheel` builds the wheel and runs it from an empty folder
in an environment of its own.
"""

import shutil
import tempfile
from configparser import ConfigParser
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True
ROOT = Path(__file__).parent
CONSTRAINTS = ("-c", str(ROOT / "constraints.txt"))
# Tests run in a process for each core; more threads would wait for each other.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
# Tests of a file share what is slow to make: a finished run, a report.
ONE_FILE_EACH = ("-n", "2", "--dist", "loadfile")
# In the order in which they are read; the gallery shows the first one's run.
NOTEBOOKS = ("first_run", "own_models", "collected_elsewhere", "gallery")


@nox.session(python="3.11")
def tests(session: nox.Session) -> None:
    """Run the quick tests."""
    session.install(*CONSTRAINTS, "-e", ".[test]")
    session.run("pytest", *(session.posargs or ONE_FILE_EACH), env=ONE_THREAD)


@nox.session(python=["3.12", "3.13", "3.14"])
def tests_new(session: nox.Session) -> None:
    """Run the quick tests with PyMC 6 and ArviZ 1, without PyTorch: what needs it is skipped."""
    session.install(*CONSTRAINTS, *_without_torch())
    session.install(*CONSTRAINTS, "--no-deps", "transformers", "-e", ".")
    session.run("pytest", *(session.posargs or ONE_FILE_EACH), env=ONE_THREAD)


def _without_torch() -> list[str]:
    """Return the requirements of polbayes and its tests, less PyTorch and what installs it."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lists = setup["options"]["install_requires"], setup["options.extras_require"]["test"]
    needs = ("#", "torch", "transformers", "accelerate", "peft")
    return [line for line in "\n".join(lists).split("\n") if line and not line.startswith(needs)]


@nox.session(python=False)
def slow(session: nox.Session) -> None:
    """Run the tests that take minutes, in the environment of the quick ones."""
    session.notify("tests", ["-m", "slow and not long", *(session.posargs or ONE_FILE_EACH)])


@nox.session(python=False)
def long(session: nox.Session) -> None:
    """Run the longest tests: recoveries, hundreds of kills and mutations, fits by others in R."""
    session.notify("tests", ["-m", "long", *(session.posargs or ONE_FILE_EACH)])


@nox.session(python="3.11")
def servers(session: nox.Session) -> None:
    """Run the tests that ask servers of others: llama.cpp's, built for that, and transformers'."""
    others = ("llama-cpp-python[server]", "gguf", "transformers[serving]", "accelerate")
    session.install(*CONSTRAINTS, "-e", ".[test]", *others)
    session.run(
        "pytest", "-m", "slow", "tests/probing/launch/test_real_servers.py", *session.posargs
    )


@nox.session(python="3.11")
def interchange(session: nox.Session) -> None:
    """Run the tests that need lm-evaluation-harness, Inspect and Hugging Face's datasets."""
    others = ("lm_eval[hf]==0.4.13", "inspect-ai==0.3.285", "datasets==5.2.0")
    session.install(*CONSTRAINTS, "-e", ".[test]", *others)
    chosen = session.posargs or ["tests/coding/logs", "tests/tasks/export"]
    session.run("pytest", *chosen, env=ONE_THREAD)


@nox.session(python="3.11")
def lint(session: nox.Session) -> None:
    """Check style."""
    session.install("ruff==0.17.5")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(python="3.11")
def types(session: nox.Session) -> None:
    """Check types, with the libraries of the environment of the quick tests."""
    session.install("mypy==2.4.1", "types-PyYAML", "types-tqdm")
    own = Path(session.virtualenv.location)
    libraries = own.parent / "tests" / "bin" / "python"
    if not libraries.exists():
        session.error("run `nox -s tests` first; types are checked with its libraries")
    tools = {"PYTHONPATH": str(next(own.glob("lib/*/site-packages")))}
    session.run(str(libraries), "-m", "mypy", env=tools, external=True)


@nox.session(python="3.11")
def docs(session: nox.Session) -> None:
    """Build the documentation as HTML under docs/_build."""
    site = ("sphinx", "myst-nb", "numpydoc", "pydata-sphinx-theme")
    session.install(*CONSTRAINTS, "-e", ".", *site)
    session.run("sphinx-build", "-W", "-b", "html", "docs", "docs/_build/html")


@nox.session(python="3.11")
def notebooks(session: nox.Session) -> None:
    """Execute the notebooks of the documentation anew (minutes)."""
    session.install(*CONSTRAINTS, "-e", ".", "nbclient", "ipykernel", "ipywidgets")
    folder = ROOT / "docs" / "notebooks"
    with tempfile.TemporaryDirectory() as empty:
        session.chdir(empty)
        for name in session.posargs or NOTEBOOKS:
            copy = shutil.copy(folder / f"{name}.ipynb", empty)
            session.run("jupyter", "execute", "--inplace", copy, env=ONE_THREAD)
            shutil.copy(copy, folder)


@nox.session(python="3.11")
def benchmarks(session: nox.Session) -> None:
    """Run a benchmark, as in `nox -s benchmarks -- benchmarks/dif.py --sets 2`."""
    if not session.posargs:
        session.error("Name a benchmark: nox -s benchmarks -- benchmarks/dif.py --sets 2")
    session.install(*CONSTRAINTS, "-e", ".[test]")
    session.run("python", *session.posargs, env={"PYTHONPATH": str(ROOT)})


@nox.session(python="3.11")
def sbc(session: nox.Session) -> None:
    """Calibrate the shipped models by simulation, anew (hours)."""
    session.install(*CONSTRAINTS, "-e", ".")
    out = ROOT / "docs" / "calibration"
    for old in out.glob("ranks-*.csv"):
        old.unlink()
    session.run("python", "-m", "tools.calibration", *(session.posargs or ["--out", str(out)]))


@nox.session(python="3.11")
def embedded(session: nox.Session) -> None:
    """Train the embedded models again (minutes)."""
    session.install(*CONSTRAINTS, "-e", ".")
    session.run("python", "-m", "tools.embedded", *session.posargs)


@nox.session(python="3.11")
def mutants(session: nox.Session) -> None:
    """Change modules in small ways and see whether their tests notice (hours; resumes)."""
    session.install(*CONSTRAINTS, "-e", ".[test]", "cosmic-ray==8.7.0")
    session.run("python", "-m", "tools.mutants", *(session.posargs or ["--jobs", "2"]))


@nox.session(python="3.11")
def wheel(session: nox.Session) -> None:
    """Build the wheel and use it from an empty folder."""
    session.install("build")
    session.run("python", "-m", "build", "--wheel", "--outdir", "dist", ".")
    built = max((ROOT / "dist").glob("polbayes-*.whl"), key=lambda path: path.stat().st_mtime)
    session.install(*CONSTRAINTS, str(built))
    # An earlier wheel of the same version would stay.
    session.install("--force-reinstall", "--no-deps", str(built))
    with tempfile.TemporaryDirectory() as empty:
        session.chdir(empty)
        session.run("polbayes", "--help")
        session.run("polbayes", "+experiment=wvs_prefixes", *session.posargs)
