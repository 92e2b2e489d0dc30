"""Frequency of diagnoses by age and setting, and whom they cannot affect: plausible, not epidemiology."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

AGE_GROUPS = np.array([0, 1, 5, 15, 25, 35, 45, 55, 65, 75, 85])
"""First age in years of each age group."""

AMBULATORY, INPATIENT = 0, 1
"""Codes of a visit's setting."""


class Chapter(NamedTuple):
    """A chapter: its categories from `first` to `last`, the common ones first, and how often it is the diagnosis.

    `by_age` are relative frequencies, one for each of AGE_GROUPS; `inpatient` multiplies them in hospital stays.
    """

    first: str
    last: str
    common: str
    by_age: tuple[float, ...]
    inpatient: float


CHAPTERS = (
    Chapter("A00", "B99", "A09 B34 A41 B37 B35 A08 A04 B02", (9, 12, 8, 5, 4, 3, 3, 3, 3, 3, 3), 1.3),
    Chapter("C00", "D49", "C44 C50 C34 C18 C61 D22 D12 C67 D17 C43", (0.5, 0.6, 0.8, 1, 2, 4, 6, 9, 12, 11, 8), 1.3),
    Chapter("D50", "D89", "D64 D50 D69 D72 D68", (1, 1, 1, 1, 1, 1, 1.2, 1.5, 2, 2.5, 3), 0.8),
    Chapter("E00", "E89", "E78 E11 E03 E55 E87 E66 E86 E10", (2, 1.5, 2, 3, 5, 8, 11, 13, 13, 11, 8), 0.8),
    Chapter("F01", "F99", "F41 F32 F17 F10 F33 F43 F90 F11", (0.2, 2, 8, 14, 12, 10, 8, 6, 4, 5, 7), 0.8),
    Chapter("G00", "G99", "G47 G43 G89 G40 G62 G56", (1, 1, 2, 3, 4, 4.5, 5, 5, 5, 5, 5), 0.6),
    Chapter("H00", "H59", "H10 H25 H40 H52 H35 H04", (3, 4, 4, 2, 2, 2, 3, 4, 7, 8, 7), 0.1),
    Chapter("H60", "H95", "H66 H61 H65 H93 H60", (6, 10, 5, 2, 1.5, 1.5, 1.5, 1.5, 2, 2, 2), 0.1),
    Chapter("I00", "I99", "I10 I25 I48 I50 I63 I11 I21 I87", (0.5, 0.3, 0.5, 1, 3, 7, 12, 17, 21, 24, 26), 1.8),
    Chapter("J00", "J99", "J06 J18 J44 J45 J02 J20 J96 J30", (24, 28, 18, 9, 8, 7, 7, 7, 8, 9, 10), 1.2),
    Chapter("K00", "K95", "K21 K59 K57 K29 K80 K35 K52 K92", (6, 5, 5, 5, 6, 7, 7, 7, 6, 6, 6), 1.3),
    Chapter("L00", "L99", "L03 L30 L57 L02 L70 L50", (8, 7, 6, 5, 4, 3.5, 3, 3, 3, 3, 3), 0.5),
    Chapter("M00", "M99", "M54 M25 M17 M79 M16 M19 M62 M81", (0.3, 1, 4, 7, 9, 12, 14, 14, 12, 10, 8), 0.8),
    Chapter("N00", "N99", "N39 N18 N17 N20 N40 N92 N30", (1.5, 1.5, 2, 5, 5, 5, 5, 5, 6, 7, 8), 1.0),
    Chapter("O00", "O9A", "O80 O34 O36 O48 O99 O13 O42 O70 O26", (0, 0, 0, 8, 20, 9, 0, 0, 0, 0, 0), 3.5),
    Chapter("P00", "P96", "P59 P07 P22 P05 P92 P70", (22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 2.0),
    Chapter("Q00", "Q99", "Q21 Q66 Q65 Q38 Q18", (5, 1.5, 1, 0.4, 0.3, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1), 0.8),
    Chapter("R00", "R99", "R07 R10 R05 R51 R55 R06 R11 R50 R42 R53", (11, 11, 10, 10, 9, 9, 9, 9, 9, 9, 10), 0.5),
    Chapter("S00", "T88", "S93 S01 S61 S52 S72 S06 S83 S82 T78", (4, 11, 18, 14, 9, 7, 6, 6, 6, 8, 11), 1.0),
    Chapter("Z00", "Z99", "Z00 Z12 Z23 Z51 Z79 Z48 Z13 Z01", (18, 14, 10, 6, 6, 6, 7, 8, 8, 6, 4), 0.2),
)

AGE_LIMITS = (
    ("F01 F02 F03 G30 G20 H25 M80 M81 N40 C61 L57 M16 M17 Z12", 45, 200),
    ("I20 I21 I22 I24 I25 I48 I50 I63 I70 J44 N18", 35, 200),
    ("I10 I11 I12 I13 I15 E11 E78 C50 C34 C18 C67 D12", 25, 200),
    ("F10 F11 F12 F13 F14 F15 F16 F17 F18 F19 F20 F31 F32 F33 F52 L70 N91 N92 N93 N94 N97 Z00.0", 15, 200),
    ("J21 H65 Z00.1 Z00.2 Z00.3", 0, 14),
    ("N91 N92 N94 N97", 15, 54),
)
"""First and last age, in years, at which codes with this beginning occur; the limits are those of AGE_GROUPS."""

FEMALE = (("O00", "O9A"), ("C51", "C58"), ("D25", "D28"), ("N70", "N77"), ("N80", "N98"), ("Q50", "Q52"))
"""First and last category of the ranges that only women have."""

MALE = (("C60", "C63"), ("N40", "N53"), ("Q53", "Q55"))
"""First and last category of the ranges that only men have."""

MALE_BREAST_CANCER = 0.01
"""Frequency of the codes of breast cancer in men, relative to those in women."""

LEFT_OUT = (("Z30", "Z3A"), ("A34", "A34"), ("F53", "F53"))
"""Pregnancy and birth outside their own chapters; live birth (Z38) comes with a birth."""

CHRONIC = (
    ("C00", "C96"), ("E03", "E03"), ("E10", "E14"), ("E78", "E78"), ("F20", "F33"), ("F90", "F90"), ("G20", "G43"),
    ("I10", "I15"), ("I25", "I25"), ("I48", "I50"), ("J44", "J45"), ("K50", "K51"), ("L40", "L40"), ("M05", "M06"),
    ("M16", "M17"), ("M81", "M81"), ("N18", "N18"), ("N40", "N40"),
)  # fmt: skip
"""First and last category of the ranges of chronic diagnoses, which a person keeps from visit to visit."""

# In the descriptions of codes. The chapter of the newborn names the mother's condition, so it is not searched.
FEMALE_WORDS = re.compile(
    r"female|ovar|uter[uio]|cervix|vagin|vulv|fallopian|pregnan|obstetric|matern|lactation|menopaus|menstr|placent",
    re.IGNORECASE,
)
MALE_WORDS = re.compile(r"\bmale|penis|penile|scrot|testi[cs]|prostat|spermat|epididym", re.IGNORECASE)
BOTH_SEXES = re.compile(r"female (and|or) male|male (and|or) female", re.IGNORECASE)

LATER_ENCOUNTER = frozenset("DEFGHJKMNPQRS")
"""Seventh characters of later encounters; a first visit has A, or B and C for open fractures."""
