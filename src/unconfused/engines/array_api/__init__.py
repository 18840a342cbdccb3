"""The engine for arrays of any library that follows the array API standard."""
