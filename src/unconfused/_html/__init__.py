"""HTML that cannot be broken by what it shows, and the cards of notebooks."""

from unconfused._html.card import confusion_card
from unconfused._html.markup import Markup, element, escape, join

__all__ = ["Markup", "confusion_card", "element", "escape", "join"]
