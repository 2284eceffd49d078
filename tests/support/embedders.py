"""Embedders for tests. The first word of a text decides its vector, so tests say which texts mean the same."""

import os
import random
import threading

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 64


def vector_of(word: str) -> NDArray[np.float32]:
    """Return the vector of a meaning. All vectors have much in common, as those of real models."""
    draw = random.Random(word)
    own = np.array([draw.gauss(0, 1) for _ in range(DIMENSIONS)], np.float32)
    return own / np.float32(np.linalg.norm(own)) + np.ones(DIMENSIONS, np.float32) / 4


def by_first_word(texts: list[str]) -> NDArray[np.float32]:
    return np.array([vector_of(text.split()[0]) for text in texts])


class Model:
    """An embedder that is made once in each worker. A text of the class tells it to fail, to hang or to end."""

    version = "7"

    def __init__(self) -> None:
        self.made = os.getpid()

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        assert self.made == os.getpid()
        words = {text.split()[0] for text in texts}
        if "Fail" in words:
            raise ConnectionError("the service is away")
        if "Hang" in words:
            threading.Event().wait()
        if "End" in words:
            os._exit(3)
        if "Wrong" in words:
            return np.zeros((len(texts), 0), np.float32)
        return by_first_word(texts)


class NewerModel(Model):
    version = "8"


class Restarted(Model):
    """Each worker has another version."""

    version = str(os.getpid())


class LimitOfMemory:
    """Its version says how much memory its worker may take."""

    @property
    def version(self) -> str:
        import resource  # Windows has none

        return str(resource.getrlimit(resource.RLIMIT_DATA))

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        return by_first_word(texts)


def broken(texts: list[str]) -> None:
    raise RuntimeError("no model file")
