from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr

from polbayes.data.groups import group_of, read_groups, write_groups
from polbayes.errors import UserError


@pytest.fixture
def groups():
    draws = np.arange(600.0).reshape(2, 100, 3)
    coords = {"model": ["a", "b", "c"]}
    return {
        "posterior": xr.Dataset({"theta": (("chain", "draw", "model"), draws)}, coords),
        # Neither the names nor the lengths of the dimensions are those of the other group.
        "sample_stats": xr.Dataset({"diverging": (("chain", "draw"), np.eye(2, 5, dtype=bool))}),
        "fit_constants": xr.Dataset({"pareto_k": 0.3}, attrs={"made_from": "this"}),
    }


def test_groups_are_in_the_file_as_they_were_compressed(groups, tmp_path):
    path = tmp_path / "posterior.nc"
    write_groups(path, groups)
    for name, group in groups.items():
        with xr.open_dataset(path, group=name, engine="netcdf4") as found:
            xr.testing.assert_identical(found.load(), group)
    with netCDF4.Dataset(path) as file:
        assert set(file.groups) == set(groups)
        assert file["posterior/theta"].filters()["zlib"]
    assert list(tmp_path.iterdir()) == [path]


def test_arviz_reads_the_file(groups, tmp_path):
    import arviz as az

    write_groups(tmp_path / "posterior.nc", groups)
    found = az.from_netcdf(tmp_path / "posterior.nc")
    for name, group in groups.items():
        xr.testing.assert_identical(group_of(found, name).load(), group)
    found.close()


def test_what_is_read_is_in_memory_and_its_file_closed(groups, tmp_path):
    path = tmp_path / "posterior.nc"
    write_groups(path, groups)
    found = read_groups(path)
    descriptors = Path("/proc/self/fd")
    if descriptors.is_dir():
        assert path.resolve() not in {one.resolve() for one in descriptors.iterdir()}
    path.unlink()
    for name, group in groups.items():
        xr.testing.assert_identical(group_of(found, name), group)


def test_a_damaged_file_is_said(groups, tmp_path):
    path = tmp_path / "posterior.nc"
    write_groups(path, groups)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(UserError, match=r"posterior\.nc: not a readable netCDF file"):
        read_groups(path)


def test_a_group_of_a_tree_is_a_dataset(groups):
    found = group_of(xr.DataTree.from_dict(groups), "posterior")
    assert isinstance(found, xr.Dataset)
    xr.testing.assert_identical(found, groups["posterior"])
