# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stretto.launch import mpi
from stretto.launch.mpi import Flavor
from stretto.support.errors import StrettoError

HYDRA = """\
HYDRA build details:
    Version:                                 {version}
    Release Date:                            Thu Apr  7 12:34:45 CDT 2022
    CC:                              gcc
"""


@pytest.mark.parametrize(
    ("text", "flavor", "version"),
    [
        ("mpirun (Open MPI) 4.1.4\n\nReport bugs to ...", Flavor.OPENMPI4, "4.1.4"),
        ("mpirun.openmpi (OpenRTE) 4.1.4\n", Flavor.OPENMPI4, "4.1.4"),
        ("mpirun (Open MPI) 3.1.6\n", Flavor.OPENMPI4, "3.1.6"),
        ("mpiexec (Open MPI) 5.0.11\n", Flavor.OPENMPI5, "5.0.11"),
        ("mpirun (Open MPI) 5.1.0a1\n", Flavor.OPENMPI5, "5.1.0a1"),
        ("prterun (PRRTE) 3.0.11\n", Flavor.OPENMPI5, "3.0.11"),
        (HYDRA.format(version="4.0.2"), Flavor.MPICH4, "4.0.2"),
        (HYDRA.format(version="3.4.3"), Flavor.MPICH4, "3.4.3"),
        (HYDRA.format(version="5.0.2"), Flavor.MPICH5, "5.0.2"),
        (HYDRA.format(version="10.1"), Flavor.MPICH5, "10.1"),
        (
            "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929 (id: 1821d9b)\n",
            Flavor.INTELMPI,
            "2021.19.0",
        ),
    ],
)
def test_version_texts(text: str, flavor: Flavor, version: str) -> None:
    assert mpi.parse_version(text) == (flavor, version)


@pytest.mark.parametrize("text", ["", "slurm 22.05.8", "Python 3.11.2", "mpirun (IBM Spectrum MPI) 10.3"])
def test_texts_of_other_programs(text: str) -> None:
    assert mpi.parse_version(text) is None


@pytest.mark.parametrize(
    "name",
    [
        "mpirun",
        "mpiexec",
        "mpiexec.hydra",
        "mpirun.openmpi",
        "mpiexec.mpich",
        "orterun",
        "prterun",
        "mpirun-mpich",
    ],
)
def test_names_of_launchers(name: str) -> None:
    assert mpi.is_launcher_name(name)


@pytest.mark.parametrize("name", ["srun", "python", "mpirun_solver", "ampirun", "mpicc", ""])
def test_names_of_others(name: str) -> None:
    assert not mpi.is_launcher_name(name)


def test_flavors_know_their_interface() -> None:
    assert {flavor: flavor.abi for flavor in Flavor} == {
        Flavor.OPENMPI4: "openmpi",
        Flavor.OPENMPI5: "openmpi",
        Flavor.MPICH4: "mpich",
        Flavor.MPICH5: "mpich",
        Flavor.INTELMPI: "mpich",
    }


@pytest.mark.parametrize(("name", "flavor"), [("mpirun.openmpi", "openmpi"), ("mpirun.mpich", "mpich")])
def test_launchers_of_debian(name: str, flavor: str, tmp_path: Path) -> None:
    launcher = mpi.identify(name)
    assert launcher is not None
    assert launcher.flavor.value == flavor
    # The launcher is found by a link with another name, as in Debian's alternatives, and by its full path.
    link = tmp_path / "mpiexec"
    link.symlink_to(launcher.path)
    linked = mpi.identify(str(link))
    assert linked is not None
    assert (linked.flavor, linked.version, linked.path) == (launcher.flavor, launcher.version, link)
    assert linked.prefix == launcher.prefix == Path("/usr")


def test_a_program_that_is_no_launcher_is_not_started(tmp_path: Path) -> None:
    program = tmp_path / "solver"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    assert mpi.identify(str(program)) is None
    assert not (tmp_path / "started").exists()


def test_a_launcher_that_says_nothing_is_unknown(tmp_path: Path) -> None:
    program = tmp_path / "mpirun"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert mpi.identify(str(program)) is None


def test_a_missing_launcher_is_named() -> None:
    with pytest.raises(StrettoError, match=r"/nowhere/mpirun does not exist"):
        mpi.identify("/nowhere/mpirun")


def fake_install(prefix: Path, version_text: str, soname: str) -> None:
    for folder in ("bin", "lib"):
        (prefix / folder).mkdir(parents=True)
    launcher = prefix / "bin/mpirun"
    launcher.write_text(f"#!/bin/sh\necho '{version_text}'\n")
    launcher.chmod(0o755)
    (prefix / "lib" / soname).touch()


def test_prefixes_are_searched_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_install(tmp_path / "own", "mpirun (Open MPI) 4.9.9", "libmpi.so.40")
    monkeypatch.setenv("STRETTO_MPI_PREFIXES", f"{tmp_path}/none:{tmp_path}/own")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/before")
    install = mpi.find_install("openmpi")
    assert install.launcher.version == "4.9.9"
    assert install.environment() == {
        "LD_LIBRARY_PATH": f"{tmp_path}/own/lib:/before",
        "OPAL_PREFIX": f"{tmp_path}/own",
    }


def test_prefixes_above_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_install(tmp_path / ".mpi/openmpi5", "mpirun (Open MPI) 5.9.9", "libmpi.so.40")
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/b")
    monkeypatch.delenv("STRETTO_MPI_PREFIXES", raising=False)
    assert mpi.find_install("openmpi5").launcher.version == "5.9.9"


def test_prefixes_of_the_clone_whose_environment_this_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_install(tmp_path / "clone/.mpi/openmpi5", "mpirun (Open MPI) 5.9.9", "libmpi.so.40")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.delenv("STRETTO_MPI_PREFIXES", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "clone/.venv"))
    assert mpi.find_install("openmpi5").launcher.version == "5.9.9"


def test_an_mpi_in_the_environment_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_install(tmp_path / "venv", "mpirun (Open MPI) 5.9.8", "libmpi.so.40")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    assert mpi.find_install("openmpi5").launcher.version == "5.9.8"


def test_an_mpi_that_is_here_is_taken_if_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("I_MPI_ROOT", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert mpi.usual_name() == "openmpi"  # whose error says how to get it
    fake_install(tmp_path / "5", "mpirun (Open MPI) 5.9.9", "libmpi.so.40")
    monkeypatch.setenv("STRETTO_MPI_PREFIXES", f"{tmp_path}/5")
    assert mpi.usual_name() == "openmpi5"
    fake_install(tmp_path / "4", "mpirun (Open MPI) 4.9.9", "libmpi.so.40")
    monkeypatch.setenv("STRETTO_MPI_PREFIXES", f"{tmp_path}/5:{tmp_path}/4")
    assert mpi.usual_name() == "openmpi"


def test_an_alias_of_debians_mpich(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mpich4/lib").mkdir(parents=True)
    (tmp_path / "libmpich.so.12.2.0").touch()
    (tmp_path / "mpich4/lib/libmpi.so.12").symlink_to(tmp_path / "libmpich.so.12.2.0")
    monkeypatch.setenv("STRETTO_MPI_PREFIXES", str(tmp_path / "mpich4"))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert mpi.find_install("mpich").environment() == {"LD_LIBRARY_PATH": f"{tmp_path}/mpich4/lib"}


def test_an_mpi_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("STRETTO_MPI_PREFIXES", "")
    monkeypatch.delenv("I_MPI_ROOT", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(StrettoError, match=r"MPICH 5 was not found .* pip install --prefix .mpi/mpich5"):
        mpi.find_install("mpich5")


def test_an_mpi_that_does_not_exist() -> None:
    with pytest.raises(StrettoError, match="openmpi, openmpi5, mpich, mpich5, intelmpi"):
        mpi.find_install("lam")


def test_library_beside_the_launcher() -> None:
    launcher = mpi.identify("mpirun.openmpi")
    assert launcher is not None
    library = mpi.find_libmpi(launcher)
    assert library is not None
    assert library.name == "libmpi.so.40"
    assert library.is_relative_to("/usr/lib")


def test_no_library_is_guessed_from_a_script(tmp_path: Path) -> None:
    # A script may start a launcher elsewhere, as Intel's mpirun does.
    fake_install(tmp_path, "mpirun (Open MPI) 5.0.0", "libmpi.so.40")
    launcher = mpi.identify(str(tmp_path / "bin/mpirun"))
    assert launcher is not None
    assert mpi.find_libmpi(launcher) is None


def test_every_flavor_has_words_for_how_to_get_it() -> None:
    assert set(mpi.HOW_TO_GET) == set(Flavor)


@pytest.mark.parametrize(
    ("library", "maker"),
    [
        ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", Flavor.OPENMPI4),
        ("Open MPI v5.0.11, package: Open MPI", Flavor.OPENMPI5),
        ("MPICH Version:\t4.0.2", Flavor.MPICH4),
        ("MPICH Version:      5.0.2", Flavor.MPICH5),
        ("Intel(R) MPI Library 2021.19.0 for Linux* OS", Flavor.INTELMPI),
    ],
)
def test_a_library_is_told_by_its_own_name(library: str, maker: Flavor) -> None:
    assert [flavor for flavor in Flavor if flavor.made(library)] == [maker]
