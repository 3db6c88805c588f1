Token_emb = nn.Embedding(vocab_size, n_embd)
Pos_emb = nn.Embedding(block_size, n_embd)
Tok = Token_emb(x)
Pos = Pos_emb(torch.arange(block_size))
h = Tok + Pos
