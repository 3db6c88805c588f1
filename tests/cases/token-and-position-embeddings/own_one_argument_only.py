token_emb = nn.Embedding(vocab_size)
pos_emb = nn.Embedding(block_size)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
