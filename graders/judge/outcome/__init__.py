"""What is said of all trials together: the results of the checks, the misconception, the printed check."""
