"""A small GPT that learns to go on with a text, character by character: attention, layer norms and embeddings.

python examples/characters.py [--steps N]
"""

import argparse

import numpy as np

import opsdk
from opsdk import nn

TEXT = "the quick brown fox jumps over the lazy dog. " * 8
LENGTH, WIDTH, HEADS = 32, 32, 4


class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norms = nn.LayerList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.packed = nn.Linear(WIDTH, 3 * WIDTH)
        self.joined = nn.Linear(WIDTH, WIDTH)
        self.wide = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length = x.shape[0], x.shape[1]
        q, k, v = self.packed(self.norms[0](x)).reshape([batch, length, 3, HEADS, -1]).unbind(2)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(seen.reshape([batch, length, WIDTH]))
        return x + self.wide(self.norms[1](x))


class GPT(nn.Layer):
    def __init__(self, letters):
        super().__init__()
        self.letters = nn.Embedding(letters, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, letters))

    def forward(self, tokens):
        return self.head(self.blocks(self.letters(tokens) + self.places(opsdk.arange(tokens.shape[1]))))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--steps", type=int, default=150)
    steps = arguments.parse_args().steps
    opsdk.seed(0)
    letters = sorted(set(TEXT))
    tokens = np.array([letters.index(letter) for letter in TEXT])
    net = GPT(len(letters))
    adam = opsdk.optimizer.AdamW(0.003, parameters=net.parameters())
    rng = np.random.default_rng(0)
    for step in range(1, steps + 1):
        starts = rng.integers(0, len(tokens) - LENGTH - 1, 16)
        rows = np.stack([tokens[start : start + LENGTH + 1] for start in starts])
        scores = net(opsdk.to_tensor(rows[:, :-1]))
        loss = nn.functional.cross_entropy(scores.reshape([-1, len(letters)]), opsdk.to_tensor(rows[:, 1:].reshape(-1)))
        loss.backward()
        adam.step()
        adam.clear_grad()
        if step in (1, steps) or step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    net.eval()
    written = [letters.index(letter) for letter in "the quick"]
    with opsdk.no_grad():
        for _ in range(24):
            scores = net(opsdk.to_tensor([written[-LENGTH:]]))
            written.append(int(scores[0, -1].argmax()))
    print("".join(letters[token] for token in written))


if __name__ == "__main__":
    main()
