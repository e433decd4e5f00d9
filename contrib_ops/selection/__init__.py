"""Selection by values: masked_select, nonzero, unique."""

from contrib_ops.selection.masked_select import masked_select as masked_select
from contrib_ops.selection.nonzero import nonzero as nonzero
from contrib_ops.selection.unique import unique as unique
