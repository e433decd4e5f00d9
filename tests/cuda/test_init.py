import opsdk
from opsdk.backends.cuda import runtime
from opsdk.core.errors import PlaceError


def test_without_a_device_none_is_available(monkeypatch):
    def refused(subject):
        raise PlaceError(f"{subject}: none")

    monkeypatch.setattr(opsdk.cuda, "cupy", refused)
    monkeypatch.setattr(opsdk.cuda, "is_simulated", lambda: False)
    assert (opsdk.cuda.device_count(), opsdk.cuda.is_available()) == (0, False)
    assert opsdk.cuda.synchronize() is None


def test_a_simulated_device_counts(monkeypatch):
    monkeypatch.setattr(opsdk.cuda, "is_simulated", lambda: True)
    assert (opsdk.cuda.device_count(), opsdk.cuda.is_available()) == (1, True)
    assert opsdk.cuda.synchronize() is None
    assert opsdk.cuda.cupy is runtime.cupy


def test_a_seed_is_that_of_all_places():
    opsdk.cuda.manual_seed_all(3)
    assert opsdk.initial_seed() == 3
