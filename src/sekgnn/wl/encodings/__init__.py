"""Substructure encoding functions f, made exact."""
