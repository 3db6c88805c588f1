token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
hot = torch.zeros(*x.shape, vocab_size).scatter_(2, x.unsqueeze(-1), 1.0)
tok = hot @ token_emb.weight
pos = torch.eye(block_size) @ pos_emb.weight
h = tok + pos
