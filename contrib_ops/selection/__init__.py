"""Selection: by positions advanced_index, by values masked_select, nonzero, unique."""

from contrib_ops.selection.advanced_index import advanced_index as advanced_index
from contrib_ops.selection.masked_select import masked_select as masked_select
from contrib_ops.selection.nonzero import nonzero as nonzero
from contrib_ops.selection.unique import unique as unique
