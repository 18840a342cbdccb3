"""The experiments of Louche and Ralaivola's paper, one file per table or figure."""
