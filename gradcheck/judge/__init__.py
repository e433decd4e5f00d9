"""The judgement of gradients: at one point, over all points, at other values and sizes."""
