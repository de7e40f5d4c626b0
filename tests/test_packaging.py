import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from email import message_from_bytes
from importlib.metadata import distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent


def test_every_package_is_installed():
    """The tests run on the checkout, where nothing is missing."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    listed = setup["options"]["packages"].split()
    folders = {path.parent.relative_to(ROOT) for path in ROOT.glob("polbayes/**/__init__.py")}
    assert len(folders) > 20
    elsewhere = {
        name.partition("=")[0].strip() for name in setup["options"]["package_dir"].split("\n")
    }
    assert sorted(set(listed) - elsewhere | {"polbayes"}) == sorted(
        ".".join(folder.parts) for folder in folders
    )


def required():
    """Return the direct requirements."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = setup["options"]["install_requires"].split("\n")
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def pinned(file, version):
    """Return the pins of a file that hold on a version of Python, by name."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    here = {**default_environment(), "python_version": version}
    return {
        canonicalize_name(one.name): re.fullmatch(r"==([\w.]+)", str(one.specifier))[1]
        for one in found
        if one.marker is None or one.marker.evaluate(here)
    }


def lock_of(version):
    """Return the file that locks what the tests on a version of Python run with."""
    return f"locks/python-{'3.11' if version == '3.11' else '3.12'}.txt"


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_locked_versions_are_those_that_are_required_and_tested(version):
    locked = pinned(lock_of(version), version)
    for one in required():
        assert one.specifier.contains(locked[canonicalize_name(one.name)]), one
    tested = pinned("constraints.txt", version)
    both = locked.keys() & tested.keys()
    assert len(both) > 15
    assert {name: locked[name] for name in both} == {name: tested[name] for name in both}


def test_a_lock_has_whatever_its_packages_need():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    locked = pinned(lock_of(version), version)
    needed = [
        one
        for found in distributions()
        if locked.get(canonicalize_name(found.metadata["Name"])) == Version(found.version).public
        for one in map(Requirement, found.requires or [])
        if one.marker is None or one.marker.evaluate({"extra": ""})
        # PyTorch's libraries for CUDA depend on its build.
        if not (found.metadata["Name"] == "torch" and "platform_system" in str(one.marker))
    ]
    assert len(needed) > 100
    for one in needed:
        assert one.specifier.contains(locked[canonicalize_name(one.name)]), one


PARTS = (
    "polbayes",
    "conf",
    "data",
    "models",
    "pyproject.toml",
    "setup.cfg",
    "README.md",
    "LICENSE",
)
BUILD = "from setuptools.build_meta import build_wheel; build_wheel('dist')"


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """Build the wheel from a copy, which is left full of files, and return its metadata."""
    folder = tmp_path_factory.mktemp("built")
    for name in PARTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    subprocess.run([sys.executable, "-c", BUILD], cwd=folder, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("polbayes-*.whl")
    with ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(files.read(name))


def test_the_metadata_of_the_wheel_names_the_versions_that_are_tested(metadata):
    assert metadata["Requires-Python"] == ">=3.11"
    named = [one.rsplit(" ", 1)[1] for one in metadata.get_all("Classifier") if ":: 3." in one]
    assert named == ["3.11", "3.12", "3.13", "3.14"]


def test_the_wheel_requires_what_is_declared_and_has_every_extra_that_is_named(metadata):
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = {
        name: {Requirement(line) for line in lines.split("\n") if line}
        for name, lines in setup["options.extras_require"].items()
    }
    assert set(metadata.get_all("Provides-Extra")) == set(extras)
    found = [Requirement(line) for line in metadata.get_all("Requires-Dist")]
    assert {str(one) for one in found if one.marker is None} == set(map(str, required()))
    for name, needed in extras.items():
        of_extra = [one for one in found if one.marker and one.marker.evaluate({"extra": name})]
        assert {f"{one.name}{one.specifier}" for one in of_extra} == set(map(str, needed))
    sources = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("polbayes/**/*.py")]
    texts = "".join(path.read_text(encoding="utf-8") for path in sources)
    told = set(re.findall(r"polbayes\[(\w+)\]'", texts))
    assert len(told) > 3
    assert told <= set(extras)
