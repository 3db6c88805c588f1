"""What developers run beside the tests: nothing of it is installed with Kelolo."""
