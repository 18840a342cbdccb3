"""Load data sets with noisy labels, and generate a toy problem.

The ``fetch_*`` functions read files from ``data_home``, from the folder in the environment variable
``UNCONFUSED_DATA``, or from the user's cache folder. Missing files are downloaded, if the data set
is available for download.
"""

from __future__ import annotations

from unconfused.datasets._circle import make_circle
from unconfused.datasets._crowds import (
    fetch_medical_relations,
    fetch_music_genre,
    fetch_sentiment_polarity,
    fetch_youtube_spam,
)
from unconfused.datasets._reuters import fetch_reuters
from unconfused.datasets._uci import fetch_letter, fetch_optdigits

__all__ = [
    "fetch_letter",
    "fetch_medical_relations",
    "fetch_music_genre",
    "fetch_optdigits",
    "fetch_reuters",
    "fetch_sentiment_polarity",
    "fetch_youtube_spam",
    "make_circle",
]
