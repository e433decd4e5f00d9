"""The runtimes beside bare arrays: the same kernels have to give the same bits."""
