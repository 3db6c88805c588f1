print(f"ids: {ids.tolist()}  vectors: {list(vectors.shape)}")
print(f"what each place counts: {[int(weight) for weight in weights]}")
print(f"you predicted rows {predicted_rows}")
print("gradient of each row, added up without signs:")
for row in range(num_embeddings):
    print(f"  row {row:2}: {float(grad[row].abs().sum()):6.3f}{'  <- looked up' if row in ids_values else ''}")
print(f"you found rows {learned_rows}")
