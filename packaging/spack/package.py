# SPDX-License-Identifier: Apache-2.0
"""The Spack package of Stretto, for a repository of packages of your own."""

import os

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class Stretto(PythonPackage):
    """Fast MPI collectives for unmodified programs: the library that is preloaded, for the MPI of the
    spec, the command `stretto exec`, and the tools that measure, tune and explain."""

    # There is no public address yet. In a clone, this makes the archive:
    #   git archive --prefix=stretto-0.1.0/ -o stretto-0.1.0.tar.gz HEAD
    # and `spack install --no-checksum stretto` in the same folder finds it.
    manual_download = True
    url = f"file://{os.getcwd()}/stretto-0.1.0.tar.gz"

    license("Apache-2.0")

    version("0.1.0")

    variant("tools", default=False, description="What draws, reports and calibrates, too")
    variant("simulate", default=False, description="Run the engine in virtual time, under SimGrid's SMPI")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("highway", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("mpi")
    depends_on("simgrid+smpi", when="+simulate")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-nanobind@2.4:", type="build")
    depends_on("py-rich@13:", type="run")
    depends_on("py-typer@0.17:", type="run")
    depends_on("py-jinja2@3.1:", type="run", when="+tools")
    depends_on("py-matplotlib@3.8:", type="run", when="+tools")
    depends_on("py-numpy@1.26:", type="run", when="+tools")
    depends_on("py-pydantic@2.6:", type="run", when="+tools")
    depends_on("py-scipy@1.11:", type="run", when="+tools")

    conflicts("platform=darwin", msg="Stretto is for Linux")
    conflicts("platform=windows", msg="Stretto is for Linux")

    import_modules = ["stretto", "stretto.cli"]

    def config_settings(self, spec, prefix):
        """Returns what pip passes to CMake. The MPI is that of the spec, which the wrapper's mpi.h names."""
        return {"cmake.define.STRETTO_WITH_SIMGRID": "ON" if spec.satisfies("+simulate") else "OFF"}

    def setup_build_environment(self, env):
        """Lets CMake find the compiler wrapper of the MPI first."""
        env.prepend_path("PATH", self.spec["mpi"].prefix.bin)
