"""The table of types that a saved model may hold, and what each may hold itself."""
