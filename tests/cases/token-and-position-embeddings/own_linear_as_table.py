token_emb = nn.Linear(vocab_size, n_embd, bias=False)
pos_emb = nn.Embedding(block_size, n_embd)
tok = token_emb(nn.functional.one_hot(x, vocab_size).float())
pos = pos_emb(torch.arange(block_size))
h = tok + pos
