"""
Sentences as vectors, by a small BERT on the CPU: all-MiniLM-L6-v2, whose weights a package carries.

Source: Reimers and Gurevych, Sentence-BERT (2019); Wang et al., MiniLM (2020); Devlin et al., BERT (2019). Six layers
of twelve heads over 384 numbers, the mean over all places, brought to length 1. It is computed with NumPy alone: one
question is a few places long, and neither torch nor another runtime has to be loaded into a web process for it.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

_LAYERS, _HEADS = 6, 12
_MOST_PIECES = 128  # of a sentence
_LONGEST_WORD = 100
_EPSILON = 1e-12
_TOKEN = re.compile(r"\w+|[^\w\s]")


class SentenceModel:
    """Turns sentences into vectors; two that mean alike lie close together."""

    def __init__(self, folder: Path) -> None:
        """
        Read vocabulary and weights.

        Args:
            folder: with `vocab.txt` and `model.safetensors`.

        Raises:
            OSError, ValueError: they are not there, or cannot be read.
        """
        lines = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self._vocabulary = {piece: number for number, piece in enumerate(lines)}
        self._weights = _safetensors(folder / "model.safetensors")

    def vectors(self, sentences: Iterable[str]) -> Vector:
        """Return a vector of length 1 for each sentence: `[sentences, 384]`."""
        return np.stack([self._vector(sentence) for sentence in sentences])

    def _vector(self, sentence: str) -> Vector:
        known = self._vocabulary
        pieces = [known["[CLS]"], *list(self._pieces(sentence))[: _MOST_PIECES - 2], known["[SEP]"]]
        weights = self._weights
        x = (
            weights["embeddings.word_embeddings.weight"][pieces]
            + weights["embeddings.position_embeddings.weight"][: len(pieces)]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._normalised(x, "embeddings.LayerNorm")
        for number in range(_LAYERS):
            x = self._layer(x, f"encoder.layer.{number}")
        mean = x.mean(axis=0)
        vector: Vector = mean / np.linalg.norm(mean)
        return vector

    def _layer(self, x: Vector, name: str) -> Vector:
        query, key, value = (
            self._linear(x, f"{name}.attention.self.{part}").reshape(len(x), _HEADS, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1], dtype=np.float32)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        joined = mixed.transpose(1, 0, 2).reshape(len(x), -1)
        x = self._normalised(
            x + self._linear(joined, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm"
        )
        inner = _gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._normalised(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, x: Vector, name: str) -> Vector:
        result: Vector = x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return result

    def _normalised(self, x: Vector, name: str) -> Vector:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + _EPSILON)
        result: Vector = centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return result

    def _pieces(self, sentence: str) -> Iterator[int]:
        """Cut a sentence as BERT's WordPiece does: words and signs, and each word into its longest known parts."""
        plain = unicodedata.normalize("NFD", sentence.lower())
        bare = "".join(c for c in plain if unicodedata.category(c) != "Mn")
        for word in _TOKEN.findall(bare.replace("_", " _ ")):
            yield from self._parts(word)

    def _parts(self, word: str) -> list[int]:
        found, start, unknown = list[int](), 0, [self._vocabulary["[UNK]"]]
        if len(word) > _LONGEST_WORD:
            return unknown
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._vocabulary), None)
            if end is None:
                return unknown
            found.append(self._vocabulary[prefix + word[start:end]])
            start = end
        return found


def _gelu(x: Vector) -> Vector:
    """The Gaussian error linear unit, with the error function by Abramowitz and Stegun 7.1.26 (error below 2e-7)."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - poly * np.exp(-z * z))
    result: Vector = (x * 0.5 * (1 + erf)).astype(np.float32)
    return result


def _safetensors(path: Path) -> Mapping[str, Vector]:
    """Read tensors: the length of the header in 8 bytes, the header as JSON, and the numbers. Raises ValueError."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    length = int(raw[:8].view("<u8")[0])
    header: dict[str, Any] = json.loads(bytes(raw[8 : 8 + length]))
    numbers = raw[8 + length :]
    tensors = {}
    for name, facts in header.items():
        if name != "__metadata__" and facts["dtype"] == "F32":
            begin, end = facts["data_offsets"]
            tensors[name] = np.frombuffer(numbers[begin:end], dtype="<f4").reshape(facts["shape"])
    return tensors
