"""Attacks on real releases: what somebody learns who holds the files, their figures, last night's files and the code.

In: the benchmark table adult and the demo's nightly releases, made by the code beside this folder. Out: one line per
attack and table: how often it is right, how often somebody is right who has not seen what the attack uses, and the
bound that the threat model (docs/threat-model.md) promises. `python -m redteam` fails if one is above its bound.

The attacks use only what the engine has offered all along, so that `--against COMMIT` runs the same ones on an earlier
version of the code, where those that were closed since are above their bounds.
"""
