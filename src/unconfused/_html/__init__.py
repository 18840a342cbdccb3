"""HTML that cannot be broken by what it shows, and the cards of notebooks."""

from unconfused._html.markup import Markup, element, escape, join

__all__ = ["Markup", "element", "escape", "join"]
