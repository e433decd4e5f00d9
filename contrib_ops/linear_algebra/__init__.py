"""Linear algebra: cholesky, eigh, sinkhorn."""

from contrib_ops.linear_algebra.cholesky import cholesky as cholesky
from contrib_ops.linear_algebra.eigh import eigh as eigh
from contrib_ops.linear_algebra.sinkhorn import sinkhorn as sinkhorn
