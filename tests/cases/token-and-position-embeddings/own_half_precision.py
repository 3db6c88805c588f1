token_emb = nn.Embedding(vocab_size, n_embd, dtype=torch.bfloat16)
pos_emb = nn.Embedding(block_size, n_embd, dtype=torch.bfloat16)
tok = token_emb(x)
pos = pos_emb(torch.arange(block_size))
h = tok + pos
