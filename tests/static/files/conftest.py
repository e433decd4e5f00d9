"""Programs that are written, and read again."""

import json

import numpy as np
import pytest

import opsdk
from opsdk import nn, static
from opsdk.static.files import written
from opsdk.static.files.reading import Document


def text_of(program):
    """Gives the text of one Program, called main."""
    return written.text_of({"main": written.described(program, "save")}, written.packages_of(program))


def read(text):
    """Gives the Program of a text."""
    return Document(text, "load").program("main")


@pytest.fixture
def trained(main):
    """A Program that trains: data, parameters, dropout, an optimizer; its loss."""
    main.random_seed = 5
    x, label = static.data("x", [None, 4], "float32"), static.data("label", [None, 1], "int64")
    hidden = nn.functional.dropout(static.nn.fc(x, 6, activation="relu"), 0.25)
    loss = nn.functional.cross_entropy(static.nn.fc(hidden, 3), label)
    opsdk.optimizer.Adam(0.1).minimize(loss)
    return loss


@pytest.fixture
def simple(main):
    """What a small Program says in a file, to be changed: y = relu(x) * 2."""
    x = static.data("x", [None, 2], "float32")
    y = opsdk.relu(x) * np.float32([2.0])
    document = json.loads(text_of(main))
    return document, document["programs"]["main"], y.name
