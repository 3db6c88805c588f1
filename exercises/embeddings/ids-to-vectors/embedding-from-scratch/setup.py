import torch
import torch.nn as nn

num_embeddings = 10  # rows
embedding_dim = 4  # numbers in a row
ids_values = [1, 3, 3, 0, 9, 1]
ids = torch.tensor(ids_values).reshape(-1, 2)  # [[1, 3], [3, 0], [9, 1]]

torch.manual_seed(123)
