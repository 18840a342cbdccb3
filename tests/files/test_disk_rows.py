"""A matrix on disk is the matrix that was appended."""

import pytest
from scipy import sparse

from unconfused._files import disk_rows
from unconfused._files.disk_rows import DiskRows


@pytest.mark.parametrize("many", [2**31, 3])
def test_sparse_rows(many, tmp_path, monkeypatch):
    """However many entries there are; SciPy copies indices that are wider than it needs."""
    monkeypatch.setattr(disk_rows, "MANY", many)
    monkeypatch.setattr(disk_rows, "BLOCK", 2)
    rows = sparse.random(9, 5, 0.5, format="csr", random_state=0)
    with DiskRows(tmp_path, is_sparse=True) as disk:
        disk.append(rows[:4])
        disk.append(rows[4:])
        found = disk.matrix(5)
        assert not found.data.flags.owndata and (many == 3 or not found.indices.flags.owndata)
        assert (found != rows).nnz == 0
    assert not list(tmp_path.iterdir())
