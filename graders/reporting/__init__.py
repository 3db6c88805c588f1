"""From how a run ended and what a judge found to a report: verdicts, bounds, and text made printable."""
