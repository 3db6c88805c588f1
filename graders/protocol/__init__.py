"""The protocol between the trusted parent and its processes: frames, and what an observation may hold."""
