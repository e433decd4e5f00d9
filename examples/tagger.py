"""A bidirectional LSTM that tells of each character of Python code whether it is of a name, a number, a string, …

    python examples/tagger.py [--steps N] [--seed N]

The code is that of Python's own library, and its tokenizer gives the answers.
"""

import argparse
import inspect
import io
import json
import keyword
import textwrap
import tokenize

import numpy as np

import opsdk
from opsdk import nn

KINDS = ("space", "keyword", "name", "number", "string", "comment", "operator")
MARKS = " kn1s#+"  # of the kinds, in what is printed
LENGTH, WIDTH = 48, 32


def tagged(source):
    """Returns the characters of some code, as numbers below 128, and the kind of each."""
    lines = source.splitlines(keepends=True)
    starts = np.cumsum([0, *map(len, lines)])
    kinds = np.zeros(len(source), np.int64)
    names = {tokenize.NUMBER: 3, tokenize.STRING: 4, tokenize.COMMENT: 5, tokenize.OP: 6}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = names.get(token.type, 0)
        if token.type == tokenize.NAME:
            kind = 1 if keyword.iskeyword(token.string) else 2
        (row, column), (last, end) = token.start, token.end
        if kind:
            kinds[starts[row - 1] + column : starts[last - 1] + end] = kind
    return np.minimum([ord(letter) for letter in source], 127), kinds


class Tagger(nn.Layer):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(128, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, direction="bidirect")
        self.head = nn.Linear(2 * WIDTH, len(KINDS))

    def forward(self, letters):
        states, _ = self.lstm(self.letters(letters))
        return self.head(states)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--steps", type=int, default=150)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    opsdk.seed(options.seed)
    letters, kinds = tagged(inspect.getsource(json.decoder) + inspect.getsource(textwrap))
    unseen, answers = (part[: 40 * LENGTH].reshape(40, LENGTH) for part in tagged(inspect.getsource(json.scanner)))
    net = Tagger()
    adam = opsdk.optimizer.Adam(0.01, parameters=net.parameters())
    rng = np.random.default_rng(options.seed)
    for step in range(1, options.steps + 1):
        places = rng.integers(0, len(letters) - LENGTH, 16)[:, None] + np.arange(LENGTH)
        scores = net(opsdk.to_tensor(letters[places]))
        loss = nn.functional.cross_entropy(scores, opsdk.to_tensor(kinds[places][..., None]))
        loss.backward()
        adam.step()
        adam.clear_grad()
        if step in (1, options.steps) or step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    net.eval()
    with opsdk.no_grad():
        found = net(opsdk.to_tensor(unseen)).argmax(-1).numpy()
    print(f"right of the unseen: {(found == answers).mean():.3f}; always {KINDS[2]!r}: {(answers == 2).mean():.3f}")
    row = int(np.argmax([len(set(each)) for each in answers]))
    print("".join(map(chr, unseen[row])).replace("\n", " "))
    print("".join(MARKS[kind] for kind in found[row]))


if __name__ == "__main__":
    main()
