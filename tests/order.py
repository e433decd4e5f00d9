"""The order of test files: the longest first, so that no process begins one when the others have nothing left to do."""

from pathlib import Path

# Those that take a core more than twenty seconds, in `make test` or in the sweeps, the longest first.
LONGEST = (
    "parity/test_registry.py",
    "contrib_ops/test_planted_faults.py",
    "contrib_ops/sequences/test_proof.py",
    "contrib_ops/convolution/test_proof.py",
    "backends/cuda/test_language.py",
    "backends/cuda/test_language_examples.py",
    "gradcheck/test_bank.py",
    "test_docs.py",
    "templates/test_rendered.py",
    "test_tutorial.py",
    "ship/demo/test_command.py",
    "contrib_ops/losses/test_proof.py",
    "verify/kernels/test_rounding.py",
    "contrib_ops/segments/test_proof.py",
    "contrib_ops/implicit/test_proof.py",
    "contrib_ops/linear_algebra/test_proof.py",
    "contrib_ops/quantization/test_proof.py",
    "contrib_ops/activations/test_proof.py",
    "contrib_ops/selection/test_proof.py",
    "contrib_ops/detection/test_proof.py",
    "contrib_ops/normalization/test_proof.py",
    "examples/test_kernels.py",
    "backends/vmath/test_special_functions.py",
    "test_verify.py",
)

HEAVY = Path(__file__).with_name("heavy.txt")  # ids of tests that are left to the sweeps, and why


def longest_first(items, folder):
    """Sorts collected tests in place: the files of LONGEST in its order, then all others as they were.

    Args:
        items: with a `path` each.
        folder: of the tests, which the names of LONGEST are below.
    """
    rank = {folder / name: position for position, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
