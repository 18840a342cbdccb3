"""Data sets: the toy problem that is drawn, and the real ones that are fetched.

Every ``fetch_*`` function first looks for files in a folder of yours: the argument ``data_home``,
or the environment variable ``UNCONFUSED_DATA``, or else a folder in the user's cache. Where the
files are not there it downloads the set from its public home, if it has one.
"""

from __future__ import annotations

from unconfused.datasets._circle import make_circle
from unconfused.datasets._letter import fetch_letter
from unconfused.datasets._medical import fetch_medical_relations
from unconfused.datasets._music_genre import fetch_music_genre
from unconfused.datasets._optdigits import fetch_optdigits
from unconfused.datasets._reuters import fetch_reuters
from unconfused.datasets._sentiment import fetch_sentiment_polarity
from unconfused.datasets._youtube import fetch_youtube_spam

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
