"""Administration: users as administrators see and change them, and who is near a limit."""
