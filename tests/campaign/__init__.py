"""Hours of kills, faults and long crawls, in pieces that are done once: `python -m tests.campaign
FOLDER`.
"""
