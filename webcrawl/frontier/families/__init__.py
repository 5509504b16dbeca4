"""Learns which families of URLs bring nothing new, and holds those families back."""
