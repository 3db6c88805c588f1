"""What Kelolo talks to besides its database."""
