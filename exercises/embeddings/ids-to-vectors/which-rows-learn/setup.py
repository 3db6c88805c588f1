import torch
import torch.nn as nn

num_embeddings = 12  # rows
embedding_dim = 3  # numbers in a row
ids_values = [10, 5, 8, 5, 0, 10]
ids = torch.tensor(ids_values)  # a batch of six ids

torch.manual_seed(7)
