token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
with torch.no_grad():
    tok = token_emb(x)
    pos = pos_emb(torch.arange(block_size))
    h = tok + pos
