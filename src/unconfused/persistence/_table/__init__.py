"""The table of types that a saved model may hold, and what each may hold itself."""

from unconfused.persistence._table.allowed import (
    FUNCTIONS,
    allowed_types,
    check_object,
    full_name,
    table,
)

__all__ = ["FUNCTIONS", "allowed_types", "check_object", "full_name", "table"]
