"""Detection of objects: roi_align, nms."""

from contrib_ops.detection.nms import nms as nms
from contrib_ops.detection.roi_align import roi_align as roi_align
