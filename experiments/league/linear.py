"""The block of methods that are linear in the same features."""

from __future__ import annotations

from experiments.league.block import Block
from experiments.league.finding import FINDERS
from experiments.league.methods import METHODS
from experiments.league.targets import TARGETS

SETS = (
    "digits", "letter", "reuters", "reuters-rare", "music", "sentiment", "youtube", "medical",
)  # fmt: skip

BLOCK = Block("linear", "league", SETS, METHODS, FINDERS, TARGETS, "introduction.md")
