"""Finding what answers a question: cards, their index, and the words both are compared by."""
