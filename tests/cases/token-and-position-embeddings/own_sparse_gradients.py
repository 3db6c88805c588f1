token_emb = nn.Embedding(vocab_size, n_embd, sparse=True)
pos_emb = nn.Embedding(block_size, n_embd, sparse=True)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
