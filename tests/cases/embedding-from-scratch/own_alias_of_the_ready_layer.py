MyEmbedding = nn.Embedding
