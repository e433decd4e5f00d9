"""Linear algebra: cholesky, eigh, sinkhorn, sparse_solve."""

from contrib_ops.linear_algebra.cholesky import cholesky as cholesky
from contrib_ops.linear_algebra.eigh import eigh as eigh
from contrib_ops.linear_algebra.sinkhorn import sinkhorn as sinkhorn
from contrib_ops.linear_algebra.sparse_solve import sparse_solve as sparse_solve
