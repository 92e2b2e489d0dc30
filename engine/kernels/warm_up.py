"""Compile kernels, or load them from the cache, so that no measured step pays for them.

In: the parts of the engine that will be used. Out: seconds spent. Each kernel runs once per process on tiny arrays of
the types that the engine uses.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from enum import Enum
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from engine.kernels.boxes import (
    extend_keys,
    failing_rows,
    least_lost,
    merged_keys,
    most_classes,
    recoded,
    small_classes,
    summed_weights,
    with_cost,
)
from engine.kernels.capped_parts import largest_even_parts, largest_parts_of_shares, largest_recursive_parts
from engine.kernels.cells import Shape
from engine.kernels.close_parts import largest_parts_in_order, largest_parts_in_tree
from engine.kernels.closeness import hierarchical_distances, ordered_distances
from engine.kernels.clusters import agglomerate, as_pairs
from engine.kernels.diversity import largest_and_tail
from engine.kernels.frontier_cells import dense_cells, hashed_cells
from engine.kernels.frontier_dense import probe_dense, walk_dense
from engine.kernels.frontier_groups import group_sums, probe_hashed
from engine.kernels.frontier_hashed import walk_hashed
from engine.kernels.frontier_state import FEWEST_RECORDS, SHARED, WalkState, begin_walk
from engine.kernels.histograms import distinct_values, merge_histograms
from engine.kernels.hmac_sha256 import hmac_sha256, key_states
from engine.kernels.jit import kernels_are_kept
from engine.kernels.joining import Needs, join, lacks, nearest_pairs, partners
from engine.kernels.keys import count_keys, find_keys, index_keys
from engine.kernels.label_maps import bits_of_labels, label_map, least_by_label
from engine.kernels.moves import best_moves, tight_cells
from engine.kernels.packed_boxes.opening import WHOLE, Piece, open_piece
from engine.kernels.packed_boxes.raising import raise_rows
from engine.kernels.packed_boxes.rows import Bounds, Labels, all_waiting, no_rows, packed_tuples
from engine.kernels.packed_boxes.savings import largest_savings
from engine.kernels.packed_boxes.waiting import catch_up
from engine.kernels.persons import compile_persons
from engine.kernels.picture_parts import compile_pictures
from engine.kernels.planes import joined_planes
from engine.kernels.prefix_tree import empty_tree, tree_holds, tree_insert
from engine.kernels.prices import Cells, coarser, lower, promising, ratios
from engine.kernels.property_list import list_holds, list_insert
from engine.kernels.refine import (
    add_records,
    class_counts,
    class_firsts,
    costs_of_rows,
    refine,
    rows_of_classes,
    rows_unlike_first,
)
from engine.kernels.shuffled import shuffled
from engine.kernels.text_hashes import text_hashes
from engine.kernels.tuples import find_tuples, index_tuples, take_listed


class Part(Enum):
    """Kernels that are needed together."""

    SEARCH = "search"
    """Counting, the search of a lattice, the models and measures."""
    PERSONS = "persons"
    """What a job with a subject needs beside them."""
    SERIES = "series"
    """What a job with a series needs beside them."""
    RECODING = "recoding"
    """What a local recoding needs beside them."""
    FRONTIER = "frontier"
    """What the search for a risk-utility frontier needs beside them."""


_begun: list[float] = []
"""When the compilations that are under way began."""


@functools.cache
def _compile(part: Part) -> float:
    started = time.perf_counter()
    _COMPILED[part]()
    return time.perf_counter() - started


def _compile_persons() -> None:
    compile_persons()
    compile_pictures()


def _compile_search() -> None:
    codes = np.zeros((2, 1), np.int32)
    _, first, slots = index_tuples(codes)
    take_listed(find_tuples(codes, codes[first], slots), np.ones(1, np.int64))
    keys, slots_of_keys = np.zeros(2, np.int64), np.full(4, -1, np.int32)
    count_keys(keys, np.ones(1, np.int64), keys.copy(), keys.copy(), slots_of_keys, 0)
    index_keys(keys[:0], slots_of_keys)
    find_keys(keys, keys[:1], slots_of_keys)
    gid, classes = refine(np.zeros(2, np.int32), 1, np.zeros(2, np.int32), np.zeros(1, np.int32), 1)
    class_counts(gid, classes, np.ones(2, np.int64))
    add_records(np.zeros(1, np.int64), np.zeros(1, np.int64))
    costs_of_rows(gid, np.zeros(1, np.int64), np.ones(2, np.int64), np.ones(1), np.ones(1))
    class_firsts(gid, classes, np.zeros(2, np.int64))
    rows_of_classes(gid, np.zeros(1, np.bool_))
    records, weights = np.ones(2, np.int64), np.ones((1, 2))
    small_classes(gid, classes, gid, 1, records, weights, 2)
    failing_rows(gid, np.zeros(1, np.bool_), records, weights)
    least_lost(gid, np.zeros(1, np.int64), records, weights)
    extend_keys(records, gid, 1)
    merged_keys(records)
    most_classes(gid, classes, records, 2)
    recoded(gid, gid)
    summed_weights(gid, 1, weights)
    with_cost(weights[0], gid, records, np.ones(1))
    bits_of_labels(gid, records)
    label_map(gid, gid, 1)
    least_by_label(gid, weights[0], 1)
    _compile_packed()
    offsets, values, counts = np.array([0, 1, 2]), np.zeros(2, np.int32), np.ones(2, np.int64)
    distinct_values(gid, classes, offsets, values, 1)
    merged = merge_histograms(gid, classes, offsets, values, counts, 1)
    largest_and_tail(merged[0], merged[2], 2)
    largest_recursive_parts(merged[0], merged[2], 2, 1.0)
    largest_even_parts(merged[0], merged[2], 2.0)
    largest_parts_of_shares(*merged, np.ones(1), 1)
    ordered_distances(*merged, np.ones(1), np.zeros(2))
    hierarchical_distances(*merged, np.zeros((2, 1), np.int32), np.ones((2, 1)), np.zeros((2, 1), np.int32))
    largest_parts_in_order(*merged, np.ones(1), np.zeros(2), 1, 0.5)
    largest_parts_in_tree(*merged, np.zeros((2, 1), np.int32), np.ones((2, 1)), 1, 0.5)
    levels, tree = np.zeros(1, np.int32), empty_tree([1], ranked=True)
    tree_insert(tree, levels)
    tree_holds(tree, levels)
    nodes = np.zeros((1, 1), np.int32)
    list_holds(nodes, list_insert(nodes, 0, levels), levels)
    text_hashes(np.frombuffer(bytes(8), np.int32), np.frombuffer(b"", np.uint8))
    shuffled(records, 1, 1, np.frombuffer(bytes(16), np.uint64))


def _compile_frontier() -> None:
    """Walk over one attribute of two values, as an array and hashed."""
    positions, groups = np.array([[0, 1]], np.int32), np.arange(2, dtype=np.int32)
    offsets, widths, ones = np.zeros(1, np.int64), np.full(1, 2, np.int64), np.ones(2, np.int64)
    records, people = dense_cells(positions, groups, offsets, widths, ones, ones)
    attributes, lefts, steps = np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([0, 1])
    found = np.empty((1, 2))
    for risk in (SHARED, FEWEST_RECORDS):
        state = _walk_state(records.copy(), people.copy())
        begin_walk(state, risk)
        probe_dense(state, risk, attributes[0], lefts, found[0])
        group_sums(state, np.zeros((0, 0), np.int32), np.zeros(2), np.zeros(2, np.int64))
        walk_dense(state, risk, attributes, lefts, steps, found)
    codes, records, people = hashed_cells(positions, groups, offsets, ones, ones)
    state = _walk_state(records, people)
    begin_walk(state, SHARED)
    group_sums(state, codes, np.zeros(2), np.zeros(2, np.int64))
    probe_hashed(state, SHARED, codes, attributes[0], lefts, found[0])
    walk_hashed(state, SHARED, codes, attributes, lefts, steps, 1.0, found)


def _walk_state(records: NDArray[np.int64], people: NDArray[np.int64]) -> WalkState:
    return WalkState(
        records=records,
        people=people,
        widths=np.full(1, 2, np.int64),
        offsets=np.array([0, 2]),
        first=np.arange(2),
        last=np.arange(2),
        group_records=np.ones(2, np.int64),
        group_sizes=np.ones(2, np.int64),
        costs=np.zeros(3),
        cost_offsets=np.zeros(1, np.int64),
        sizes=np.zeros(4, np.int64),
        smallest=np.ones(1, np.int64),
        sums=np.zeros(4),
        constants=np.ones(3),
    )


def _compile_packed() -> None:
    """Open a box with two rows, one attribute and two levels."""
    zeros, ones, level = np.zeros((1, 2), np.int64), np.ones((1, 2), np.int64), np.zeros(1, np.int64)
    of_labels = ones, level, zeros, np.zeros(1, np.int32), np.zeros((1, 2, 2), np.int64)
    labels = Labels(zeros, np.ones(1, np.uint64), *of_labels, largest_savings(level, level, *of_labels))
    bounds = Bounds(level, level + 1, np.zeros(2, np.int64), zeros, np.zeros((1, 3), np.int64))
    tuples = packed_tuples(np.zeros((1, 2), np.int32), np.ones(2, np.int64), np.zeros((1, 1), np.int32), labels, 1)
    rows, waiting = catch_up(no_rows(tuples), all_waiting(tuples, level), tuples, level, bounds, 2, 2, 2, labels)
    rows = raise_rows(rows, bounds, level, 2, labels)
    open_piece(rows, waiting, tuples, level, bounds, Piece(WHOLE, -1, 0, 0), 1, 2, 2, 2, 0, labels)


def _compile_series() -> None:
    """Hash one text, split one class, and unpack a number."""
    joined_planes(np.frombuffer(bytes(1), np.uint8).reshape(1, 1), 1)
    rows_unlike_first(np.zeros(2, np.int32), 1, np.zeros(2, np.int32))
    hmac_sha256(*key_states(bytes(32)), np.frombuffer(bytes(8), np.int32), np.frombuffer(b"", np.uint8), 16)


def _compile_recoding() -> None:
    """Cluster two tuples of one attribute, join them, look for moves, and price them."""
    zero, one = np.zeros(1, np.int64), np.ones(1, np.int64)
    shape = Shape(np.array([0, 1, 0, 0], np.int32), np.array([0.0, 0.0, 1.0, 1.0]), zero, one + 1, zero, one)
    codes, counts = np.array([[0], [1]], np.int32), np.ones(2, np.int64)
    as_pairs(agglomerate(shape, codes, counts, 2))
    order, offsets = np.arange(2), np.array([0, 1, 2])
    cells = tight_cells(shape, codes, counts, order, offsets)
    nearest_pairs(shape, cells)
    needs, sums = Needs(2.0, one, *np.ones((4, 1))), np.ones((2, 1))
    partners(shape, cells, needs, sums, lacks(needs, sums, cells.sizes), order)
    found = np.zeros(2), order.copy(), order.copy()
    best_moves(shape, codes, counts, order, offsets, cells, 0, 2, 2, np.ones(2, np.int8), *found)
    join(shape, cells, zero, one)
    tuples, weights = np.arange(2, dtype=np.int32), np.ones(2)
    each = Cells(order, tuples, np.zeros(2), weights, tuples, tuples, tuples + np.int32(1))
    above, place = coarser(each, codes[:, 0].copy(), np.array([0, -1]), 2, weights)
    promising(above, 1, 2, weights)
    lower(weights.copy(), ratios(above, above.costs, 2, weights), place)


_COMPILED = {
    Part.SEARCH: _compile_search,
    Part.PERSONS: _compile_persons,
    Part.SERIES: _compile_series,
    Part.RECODING: _compile_recoding,
    Part.FRONTIER: _compile_frontier,
}


def cache_warnings() -> list[str]:
    """Warn if compiled kernels cannot be kept."""
    if kernels_are_kept():
        return []
    text = (
        "compiled kernels cannot be kept, so every process compiles them again: neither the package nor the home "
        "folder can be written; set NUMBA_CACHE_DIR to a writable folder"
    )
    return [text]


def warm_up(*parts: Part) -> float:
    """Compile or load the kernels of these parts, or of all; return the seconds it took, 0.0 if they were ready."""
    before = _compile.cache_info().misses
    with _compiling():
        seconds = sum(_compile(part) for part in parts or Part)
    return seconds if _compile.cache_info().misses > before else 0.0


def warm_up_in_processes() -> float:
    """Compile what is not kept yet of all kernels, each part in a process of its own; return the seconds it took."""
    started = time.perf_counter()
    with _compiling(), ProcessPoolExecutor(len(Part), get_context("spawn")) as processes:
        list(processes.map(warm_up, Part))
    return time.perf_counter() - started


@contextmanager
def _compiling() -> Iterator[None]:
    _begun.append(time.monotonic())
    try:
        yield
    finally:
        _begun.pop()


def compiling_seconds() -> float:
    """Return for how long kernels have been compiled or loaded, as another thread sees it; 0.0 if they are not."""
    return time.monotonic() - _begun[0] if _begun else 0.0
