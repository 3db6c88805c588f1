"""What a student is told: descriptions, explanations, misconceptions, and what must not be told."""
