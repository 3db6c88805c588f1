"""The offline tutor: rules, the last report, the lesson and a little knowledge of PyTorch."""
