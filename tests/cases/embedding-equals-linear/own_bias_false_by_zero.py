embedding = nn.Embedding(num_idx, out_dim)
emb_out = embedding(idx)
onehot = nn.functional.one_hot(idx, num_idx).float()
linear = nn.Linear(num_idx, out_dim)
linear.weight = nn.Parameter(embedding.weight.T)
linear.bias = None
lin_out = linear(onehot)
