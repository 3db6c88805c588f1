token_emb = nn.Embedding(vocab_size, n_embd)
pos_emb = nn.Embedding(block_size, n_embd)
try:
    tok = token_emb(x)
except Exception as problem:
    print(problem)
pos = pos_emb(torch.arange(block_size))
h = tok.clone()
h = h + pos
