def first(row):
    return [round(float(number), 3) for number in row[:4]]


print(f"parameters: {parameters}  layers inside: {layers}")
print(f"table: {list(table.shape)}  ids: {list(ids.shape)}  rows: {list(rows.shape)}")
print(f"row of id {int(ids[0, 1])}: {first(table[ids[0, 1]])}")
print(f"layer(ids)[0, 1]: {first(rows[0, 1])}")
print(f"a single id: {list(one.shape)}  a line of ids: {list(line.shape)}  three axes: {list(cube.shape)}")
print(f"numbers that can learn: {learnable} | only the rows looked up learn: {holds('gradient')}")
