import torch
import torch.nn as nn

num_embeddings = 12  # rows
embedding_dim = 3  # numbers in a row
ids_values = [10, 5, 8, 5, 0, 10, 7, 7]
ids = torch.tensor(ids_values)  # a batch of eight ids
place_weight = 1  # how much a place of the batch counts in the loss
weights = torch.full((len(ids),), float(place_weight))
weights[-1] = place_weight * (1 - ids_values.count(ids_values[-1]))  # the last place counts against the others with its id


def loss_of(vectors):
    return (weights[:, None] * vectors).sum()


torch.manual_seed(7)
