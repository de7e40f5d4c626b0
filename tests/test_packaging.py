from configparser import ConfigParser
from pathlib import Path

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
