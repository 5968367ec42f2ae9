"""Pods that come, change and go without pause: what a publisher must keep up with."""

from __future__ import annotations

import random
from threading import Event, Thread

from tests.support.pods.pods import pod
from tests.support.servers.scripted_watch import PODS, ScriptedApi, version_of

NAMES = 50


class Storm:
    """As fast as the server takes it, until it ends. `hide` is the share of changes that no watch tells of."""

    def __init__(self, api: ScriptedApi, hide: float = 0.0, seed: int = 0) -> None:
        self.api, self.hide, self.random, self.over = api, hide, random.Random(seed), Event()
        self.thread = Thread(target=self.run, daemon=True)
        self.thread.start()

    def __enter__(self) -> Storm:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def run(self) -> None:
        number = 0
        while not self.over.wait(0.001):
            number += 1
            self.change(number)

    def change(self, number: int) -> None:
        """A known pod keeps its uid; one in seven goes."""
        name, hidden = f"p{self.random.randrange(NAMES)}", self.random.random() < self.hide
        old = self.api.world.objects[PODS].get(f"games/{name}")
        if old and self.random.random() < 1 / 7:
            self.api.world.delete(PODS, f"games/{name}", hidden)
        else:
            self.api.world.put(PODS, pod(name, uid=old["metadata"]["uid"] if old else f"u{number}"), hidden)

    def end(self) -> dict[str, int]:
        """Key to version of the pods that are left."""
        self.over.set()
        self.thread.join()
        return {f"pod/{name}": version_of(obj) for name, obj in self.api.world.objects[PODS].items()}
