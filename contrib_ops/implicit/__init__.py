"""Solutions of what a callable says: fixed_point, ode_solve."""

from contrib_ops.implicit.fixed_point import fixed_point as fixed_point
from contrib_ops.implicit.ode_solve import ode_solve as ode_solve
