"""Load data sets with noisy labels, and generate a toy problem.

The ``fetch_*`` functions read files from ``data_home``, from the folder in the environment variable
``UNCONFUSED_DATA``, or from the user's cache folder. Missing files are downloaded, if the data set
is available for download.
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
