"""SHAKE128 (FIPS 202) of many short messages, expanded and added up, several messages at a time.

In: the messages in one buffer, and how often each counts. Out: the sums of their expansions, modulo 2**32. Messages of
one batch are hashed in step, so that one instruction serves several of them.

FIPS 202: SHA-3 standard: permutation-based hash and extendable-output functions. NIST 2015, sections 3.2 (steps of the
permutation) and 6.2 (SHAKE128).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel

LANES = 8
"""Messages of a batch."""
_RATE = 21
"""Words of 64 bits that a permutation takes in or gives out."""


def _round_constants() -> NDArray[np.uint64]:
    """Return the constants of the step iota: bits of a shift register (FIPS 202, section 3.2.5)."""
    register, found = 1, []
    for _ in range(24):
        constant = 0
        for place in range(7):
            constant |= (register & 1) << ((1 << place) - 1)
            register = (register << 1) ^ (0x171 if register & 0x80 else 0)
        found.append(constant)
    return np.array(found, np.uint64)


_CONSTANTS = _round_constants()


@inlined
def _turned(word: np.uint64, bits: int) -> np.uint64:
    return np.uint64((word << np.uint64(bits)) | (word >> np.uint64(64 - bits)))


@kernel
def _permute(state: NDArray[np.uint64]) -> None:
    """Apply Keccak-f[1600] to each message's state, in place.

    The steps of a round stand written out, word after word, since only then are they compiled to instructions that
    serve several messages: theta (c, d), rho and pi (b), chi and iota.

    Parameters
    ----------
    state : uint64, shape (25 * `LANES`,)
        Word w of message i is ``state[w * LANES + i]``.
    """
    for number in range(24):
        constant = _CONSTANTS[number]
        for i in range(LANES):
            c0 = state[i] ^ state[5 * LANES + i] ^ state[10 * LANES + i] ^ state[15 * LANES + i] ^ state[20 * LANES + i]
            c1 = (
                state[LANES + i]
                ^ state[6 * LANES + i]
                ^ state[11 * LANES + i]
                ^ state[16 * LANES + i]
                ^ state[21 * LANES + i]
            )
            c2 = (
                state[2 * LANES + i]
                ^ state[7 * LANES + i]
                ^ state[12 * LANES + i]
                ^ state[17 * LANES + i]
                ^ state[22 * LANES + i]
            )
            c3 = (
                state[3 * LANES + i]
                ^ state[8 * LANES + i]
                ^ state[13 * LANES + i]
                ^ state[18 * LANES + i]
                ^ state[23 * LANES + i]
            )
            c4 = (
                state[4 * LANES + i]
                ^ state[9 * LANES + i]
                ^ state[14 * LANES + i]
                ^ state[19 * LANES + i]
                ^ state[24 * LANES + i]
            )
            d0 = c4 ^ _turned(c1, 1)
            d1 = c0 ^ _turned(c2, 1)
            d2 = c1 ^ _turned(c3, 1)
            d3 = c2 ^ _turned(c4, 1)
            d4 = c3 ^ _turned(c0, 1)
            b0 = state[i] ^ d0
            b10 = _turned(state[LANES + i] ^ d1, 1)
            b20 = _turned(state[2 * LANES + i] ^ d2, 62)
            b5 = _turned(state[3 * LANES + i] ^ d3, 28)
            b15 = _turned(state[4 * LANES + i] ^ d4, 27)
            b16 = _turned(state[5 * LANES + i] ^ d0, 36)
            b1 = _turned(state[6 * LANES + i] ^ d1, 44)
            b11 = _turned(state[7 * LANES + i] ^ d2, 6)
            b21 = _turned(state[8 * LANES + i] ^ d3, 55)
            b6 = _turned(state[9 * LANES + i] ^ d4, 20)
            b7 = _turned(state[10 * LANES + i] ^ d0, 3)
            b17 = _turned(state[11 * LANES + i] ^ d1, 10)
            b2 = _turned(state[12 * LANES + i] ^ d2, 43)
            b12 = _turned(state[13 * LANES + i] ^ d3, 25)
            b22 = _turned(state[14 * LANES + i] ^ d4, 39)
            b23 = _turned(state[15 * LANES + i] ^ d0, 41)
            b8 = _turned(state[16 * LANES + i] ^ d1, 45)
            b18 = _turned(state[17 * LANES + i] ^ d2, 15)
            b3 = _turned(state[18 * LANES + i] ^ d3, 21)
            b13 = _turned(state[19 * LANES + i] ^ d4, 8)
            b14 = _turned(state[20 * LANES + i] ^ d0, 18)
            b24 = _turned(state[21 * LANES + i] ^ d1, 2)
            b9 = _turned(state[22 * LANES + i] ^ d2, 61)
            b19 = _turned(state[23 * LANES + i] ^ d3, 56)
            b4 = _turned(state[24 * LANES + i] ^ d4, 14)
            state[i] = b0 ^ (~b1 & b2) ^ constant
            state[LANES + i] = b1 ^ (~b2 & b3)
            state[2 * LANES + i] = b2 ^ (~b3 & b4)
            state[3 * LANES + i] = b3 ^ (~b4 & b0)
            state[4 * LANES + i] = b4 ^ (~b0 & b1)
            state[5 * LANES + i] = b5 ^ (~b6 & b7)
            state[6 * LANES + i] = b6 ^ (~b7 & b8)
            state[7 * LANES + i] = b7 ^ (~b8 & b9)
            state[8 * LANES + i] = b8 ^ (~b9 & b5)
            state[9 * LANES + i] = b9 ^ (~b5 & b6)
            state[10 * LANES + i] = b10 ^ (~b11 & b12)
            state[11 * LANES + i] = b11 ^ (~b12 & b13)
            state[12 * LANES + i] = b12 ^ (~b13 & b14)
            state[13 * LANES + i] = b13 ^ (~b14 & b10)
            state[14 * LANES + i] = b14 ^ (~b10 & b11)
            state[15 * LANES + i] = b15 ^ (~b16 & b17)
            state[16 * LANES + i] = b16 ^ (~b17 & b18)
            state[17 * LANES + i] = b17 ^ (~b18 & b19)
            state[18 * LANES + i] = b18 ^ (~b19 & b15)
            state[19 * LANES + i] = b19 ^ (~b15 & b16)
            state[20 * LANES + i] = b20 ^ (~b21 & b22)
            state[21 * LANES + i] = b21 ^ (~b22 & b23)
            state[22 * LANES + i] = b22 ^ (~b23 & b24)
            state[23 * LANES + i] = b23 ^ (~b24 & b20)
            state[24 * LANES + i] = b24 ^ (~b20 & b21)


@kernel
def _absorb(state: NDArray[np.uint64], lane: int, data: NDArray[np.uint8], begin: int, end: int, number: int) -> None:
    """Add a block of a message with its padding to its state: the bits 1111, a one bit, zeros, and a one bit."""
    length = end - begin
    for word in range(_RATE):
        found = np.uint64(0)
        first = 8 * (number * _RATE + word)
        for place in range(min(8, max(0, length - first))):
            found |= np.uint64(data[begin + first + place]) << np.uint64(8 * place)
        if first <= length < first + 8:
            found |= np.uint64(0x1F) << np.uint64(8 * (length - first))
        state[word * LANES + lane] ^= found
    if number == length // (8 * _RATE):
        state[(_RATE - 1) * LANES + lane] ^= np.uint64(1) << np.uint64(63)


@kernel
def add_expanded(
    offsets: NDArray[np.int64],
    data: NDArray[np.uint8],
    order: NDArray[np.int64],
    times: NDArray[np.uint32],
    sums: NDArray[np.uint32],
) -> None:
    """Add the expansion of each message, the first numbers of its SHAKE128, as often as it counts.

    Parameters
    ----------
    offsets : int64, shape (messages + 1,)
        Message m is `data[offsets[m]:offsets[m + 1]]`.
    data : uint8
        The bytes of all messages.
    order : int64, shape (messages,)
        The messages by their lengths: those of as many blocks of 168 bytes must be neighbours to be hashed in step.
    times : uint32, shape (messages,)
    sums : uint32, shape (2 * words,)
        Changed in place, modulo 2**32; an expansion has as many numbers.
    """
    words = sums.shape[0] // 2
    state, each = np.empty(25 * LANES, np.uint64), np.empty(2 * LANES, np.uint32)
    numbers = state.view(np.uint32)
    found = np.zeros(words * 2 * LANES, np.uint32)
    first = 0
    while first < order.shape[0]:
        blocks = (offsets[order[first] + 1] - offsets[order[first]]) // (8 * _RATE) + 1
        state[:], each[:] = np.uint64(0), np.uint32(0)
        there = 0
        while there < LANES and first + there < order.shape[0]:
            message = order[first + there]
            if (offsets[message + 1] - offsets[message]) // (8 * _RATE) + 1 != blocks:
                break
            each[2 * there] = each[2 * there + 1] = times[message]
            there += 1
        for number in range(blocks):
            for lane in range(there):
                message = order[first + lane]
                _absorb(state, lane, data, offsets[message], offsets[message + 1], number)
            _permute(state)
        word = 0
        while word < words:
            taken = min(_RATE, words - word)
            for row in range(taken):
                for i in range(2 * LANES):
                    place = 2 * LANES * (word + row) + i
                    found[place] = np.uint32(found[place] + numbers[2 * LANES * row + i] * each[i])
            word += taken
            if word < words:
                _permute(state)
        first += there
    for word in range(words):
        for i in range(2 * LANES):
            sums[2 * word + i % 2] = np.uint32(sums[2 * word + i % 2] + found[2 * LANES * word + i])
