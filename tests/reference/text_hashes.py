"""The slow twin of `engine.kernels.text_hashes`: FNV-1a and fmix64 in whole numbers of Python."""

from __future__ import annotations

WORD = (1 << 64) - 1


def text_hash(text: bytes) -> int:
    state = 0xCBF29CE484222325
    for byte in text:
        state = ((state ^ byte) * 0x100000001B3) & WORD
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        state = ((state ^ (state >> 33)) * factor) & WORD
    return state ^ (state >> 33)
