"""Submissions: taking in what students send, checking its form, and their drafts."""
