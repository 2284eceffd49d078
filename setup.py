"""A source package with the same bytes from every build of one commit; everything else is in pyproject.toml."""

import gzip
import os
import tarfile
import time

from setuptools import setup
from setuptools.command.sdist import sdist


class ReproducibleSdist(sdist):
    """Write no owners, rights and times of this machine. SOURCE_DATE_EPOCH sets the time of all files."""

    def make_archive(self, base_name: str, _kind: str, *, base_dir: str, **_owners: object) -> str:
        time_of_all = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))

        def same_everywhere(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mtime, member.mode = time_of_all, 0o755 if member.isdir() else 0o644
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            return member

        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=time_of_all) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=same_everywhere)  # sorted by name
        return path


setup(cmdclass={"sdist": ReproducibleSdist})
