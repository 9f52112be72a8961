# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""A step whose graph is known: planned from the first step on; and what the report of the order
says."""

import threading

import numpy as np
import pytest

import ranks
import unisono
from unisono import GraphNode

SIZE, TENSORS = 3, 6


def nodes(count=TENSORS):
    """A backward pass: each gradient comes after the one before, and is summed."""
    made = [GraphNode("loss")]
    for layer in reversed(range(count)):
        gradient = len(made)
        made.append(GraphNode(f"gradient.{layer}", inputs=[max(0, gradient - 2)]))
        made.append(GraphNode(f"layer.{layer}", inputs=[gradient], shape=[8], op=unisono.Sum))
    made.append(GraphNode("step", inputs=list(range(2, len(made), 2))))
    return made, [len(made) - 1]


def step(engine):
    handles = [engine.allreduce_async(np.full(8, engine.rank() + layer, np.float32),
                                      name=f"layer.{layer}", op=unisono.Sum)
               for layer in reversed(range(TENSORS))]
    for layer, handle in zip(reversed(range(TENSORS)), handles):
        np.testing.assert_array_equal(handle.wait(), 3 * layer + 3)


def test_a_given_graph_is_planned_from_the_first_step():
    together = threading.Barrier(SIZE)

    def body(engine):
        engine.follow_graph(*nodes())
        step(engine)
        step(engine)
        order = engine.stats()["order"]
        together.wait()                       # a rank that leaves ends the plan
        return order

    for order in ranks.as_threads(SIZE, body):
        assert order["strategy"] == "topo" and order["planned"], order
        assert order["plans"] == 1 and order["buckets"] >= 1, order


def test_graphs_that_differ_raise_on_every_rank_and_nothing_is_lost():
    def body(engine):
        with pytest.raises(unisono.Mismatch, match="different graphs"):
            engine.follow_graph(*nodes(TENSORS - (engine.rank() == 1)))
        step(engine)

    ranks.as_threads(SIZE, body)


@pytest.mark.parametrize("bad, words", [
    ([GraphNode("a", inputs=[5], shape=[2])], "needs node 5"),
    ([GraphNode("a", inputs=[0], shape=[2])], "needs itself"),
    ([GraphNode("a")], "no collective"),
    ([GraphNode("a", shape=[2]), GraphNode("a", shape=[2])], "another one has too"),
])
def test_a_graph_that_is_wrong_is_refused_with_the_node(bad, words):
    def body(engine):
        with pytest.raises(unisono.InvalidArgument, match=words):
            engine.follow_graph(bad, [0])

    ranks.as_threads(1, body)


def test_a_rank_whose_nodes_cannot_be_read_keeps_nobody_waiting():
    def body(engine):
        wrong = engine.rank() == 1
        fetches = [-1] if wrong else nodes()[1]
        error = unisono.InvalidArgument if wrong else unisono.Mismatch
        with pytest.raises(error, match="no node" if wrong else "another rank is wrong"):
            engine.follow_graph(nodes()[0], fetches)
        engine.barrier()
        step(engine)

    ranks.as_threads(SIZE, body)


def test_a_dtype_that_unisono_does_not_carry_is_named():
    with pytest.raises(unisono.InvalidArgument, match="complex64"):
        GraphNode("a", shape=[2], dtype=np.complex64).for_core()


def test_the_order_says_what_keeps_steps_from_being_planned():
    def body(engine):
        for count in range(8):
            engine.allreduce(np.ones(2, np.float32), name="same")
            engine.allreduce(np.ones(2, np.float32), name=f"new.{count}")
        return engine.stats()["order"]

    for order in ranks.as_threads(2, body, order="topo"):
        assert not order["planned"] and "new." in order["reason"], order
