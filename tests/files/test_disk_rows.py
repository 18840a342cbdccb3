"""A matrix on disk is the matrix that was appended."""

from contextlib import ExitStack

import pytest
from scipy import sparse

from unconfused._files import DataFileError, disk_rows
from unconfused._files.disk_rows import DiskRows


def test_sparse_rows(tmp_path, monkeypatch):
    rows = sparse.random(9, 5, 0.5, format="csr", random_state=0)
    with ExitStack() as files:
        disk = DiskRows(tmp_path, files, is_sparse=True)
        disk.append(rows[:4])
        disk.append(rows[4:])
        found = disk.matrix(5)
        assert not found.data.flags.owndata and not found.indices.flags.owndata
        assert (found != rows).nnz == 0
        monkeypatch.setattr(disk_rows, "MOST", 30)
        with pytest.raises(DataFileError, match="more than 30 entries"):
            disk.append(rows)
    assert not list(tmp_path.iterdir())
