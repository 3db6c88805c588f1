"""The trusted parent's side: warm processes, what is forked from them, and leading a run through its trials."""
