"""Philox4x32-10 by the paper, one block in Python's integers: what tests hold every language's random numbers to."""

LOW = 2**32 - 1


def block(counter, key):
    """Gives the four words of a counter's four and a key's two (Salmon et al. 2011, section 3.3)."""
    c, k = list(counter), list(key)
    for _ in range(10):
        (h0, l0), (h1, l1) = divmod(0xD2511F53 * c[0], 2**32), divmod(0xCD9E8D57 * c[2], 2**32)
        c = [h1 ^ c[1] ^ k[0], l1, h0 ^ c[3] ^ k[1], l0]
        k = [(k[0] + 0x9E3779B9) & LOW, (k[1] + 0xBB67AE85) & LOW]
    return c


def words(key, i, stream=0):
    """Gives two words of 64 bits of a key and a counter of 64 bits."""
    w = block((i & LOW, i >> 32 & LOW, stream, 0), (key & LOW, key >> 32 & LOW))
    return w[1] << 32 | w[0], w[3] << 32 | w[2]


def uniform(key, i):
    """Gives number i of a key in [0, 1)."""
    return (words(key, i)[0] >> 11) / 2**53


# kat_vectors of the Random123 distribution, philox4x32 with 10 rounds: counter, key, words
VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((LOW,) * 4, (LOW,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
