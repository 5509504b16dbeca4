"""Families of URLs that make nothing new: learnt from what their pages bring, and held back."""
