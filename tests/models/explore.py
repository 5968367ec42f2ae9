"""Explores every state of a small model, breadth first, and says what is wrong with it in the shortest way.

A model gives a first state, `step(state)` (yields (kind, label, next state)), rules that hold in every reachable
state, and `settled`; `same` gives one state for all that differ in names alone. SYS is what the program itself does,
ENV what happens to it. Checked: the rules; and that from each reachable state, if nothing more happens to the program,
every way ends, and ends settled. Else: "stuck", or "hot loop".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

SYS, ENV = "sys", "env"
State = TypeVar("State")


class Result(NamedTuple):
    states: int
    broken: str | None  # name of the rule, "stuck" or "hot loop"
    trace: list[str]


class Graph(Generic[State]):
    def __init__(self, init: State) -> None:
        self.ids: dict[State, int] = {init: 0}
        self.order: list[State] = [init]
        self.parent: list[tuple[int, str]] = [(-1, "")]
        self.succ: list[list[int]] = []  # SYS edges only

    def add(self, state: State, parent: int, label: str) -> tuple[int, bool]:
        there = self.ids.setdefault(state, len(self.order))
        if there < len(self.order):
            return there, False
        self.order.append(state)
        self.parent.append((parent, label))
        return there, True

    def result(self, broken: str | None, at: int = 0) -> Result:
        words: list[str] = []
        while at > 0:
            at, label = self.parent[at]
            words.append(label)
        return Result(len(self.order), broken, words[::-1])


def explore(
    init: State,
    step: Callable[[State], Iterable[tuple[str, str, State]]],
    rules: Mapping[str, Callable[[State], bool]],
    settled: Callable[[State], bool],
    same: Callable[[State], State] = lambda state: state,
) -> Result:
    graph = Graph(init)
    todo = deque([0])
    while todo:
        here = todo.popleft()
        out: list[int] = []
        for kind, label, state in step(graph.order[here]):
            there, new = graph.add(same(state), here, label)
            if new:
                broken = next((name for name, rule in rules.items() if not rule(graph.order[there])), None)
                if broken:
                    return graph.result(broken, there)
                todo.append(there)
            if kind == SYS and there != here:
                out.append(there)
        graph.succ.append(out)
    return ends(graph, settled)


def ends(graph: Graph[State], settled: Callable[[State], bool]) -> Result:
    for at, out in enumerate(graph.succ):
        if not out and not settled(graph.order[at]):
            return graph.result("stuck", at)
    loop = in_a_loop(graph.succ)
    return graph.result(None) if loop is None else graph.result("hot loop", loop)


def in_a_loop(succ: list[list[int]]) -> int | None:
    """A state from which SYS edges go on for ever: what is left when all states whose ways end are taken off."""
    pred: list[list[int]] = [[] for _ in succ]
    left = [len(out) for out in succ]
    for a, out in enumerate(succ):
        for b in out:
            pred[b].append(a)
    todo = deque(a for a, n in enumerate(left) if n == 0)
    while todo:
        for a in pred[todo.popleft()]:
            left[a] -= 1
            if left[a] == 0:
                todo.append(a)
    return next((a for a, n in enumerate(left) if n), None)
