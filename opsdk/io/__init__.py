"""Floor 4: data, from what a sample is to batches of tensors: datasets, samplers, the DataLoader and its processes."""

from opsdk.core.spellings import point
from opsdk.io.collate import collated as default_collate
from opsdk.io.dataset import (
    ChainDataset,
    ComposeDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from opsdk.io.loader import DataLoader
from opsdk.io.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequenceSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from opsdk.io.worker import WorkerInfo, get_worker_info

SequentialSampler = SequenceSampler  # PyTorch's name
point(globals(), "opsdk.io")

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ComposeDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "get_worker_info",
    "random_split",
]
