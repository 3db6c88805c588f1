token_emb = nn.Parameter(torch.ones(vocab_size, n_embd))
pos_emb = nn.Parameter(torch.zeros(block_size, n_embd))
tok = token_emb[x]
pos = pos_emb[torch.arange(block_size)]
h = tok + pos
