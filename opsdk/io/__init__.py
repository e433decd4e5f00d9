"""Floor 4: data, from what a sample is to batches of tensors: datasets, samplers, the DataLoader and its processes."""

from opsdk.io.dataset import Dataset, IterableDataset, Subset, TensorDataset, random_split
from opsdk.io.loader import DataLoader
from opsdk.io.sampler import BatchSampler, RandomSampler, Sampler, SequenceSampler
from opsdk.io.worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "Subset",
    "TensorDataset",
    "WorkerInfo",
    "get_worker_info",
    "random_split",
]
