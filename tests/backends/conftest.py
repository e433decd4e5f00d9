"""What tests of backends share."""

import pytest

from opsdk.core.flags import set_flags


@pytest.fixture
def debug():
    """Checks every call in full."""
    set_flags(debug=True)
