"""Plans: one's own plan, and entering a code for another."""
