"""The engine for rows in memory."""
