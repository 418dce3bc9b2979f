/** What is sent at once at most: values, and bytes of JSON. */
export interface ChunkLimits {
  values: number
  bytes: number
}

/** A value on its way: where in the view it stood, and its JSON. */
export interface Item {
  line: number
  json: string
}

/** Items in groups of what may be sent at once. `limits` are looked at anew for each group, since they may shrink on the way. */
export async function* chunksOf<T extends Item>(
  items: AsyncIterable<T>,
  limits: () => ChunkLimits,
): AsyncGenerator<T[]> {
  let chunk: T[] = []
  let bytes = 0
  for await (const item of items) {
    const size = Buffer.byteLength(item.json) + 1
    const { values, bytes: most } = limits()
    if (chunk.length > 0 && (chunk.length >= values || bytes + size > most)) {
      yield chunk
      chunk = []
      bytes = 0
    }
    chunk.push(item)
    bytes += size
  }
  if (chunk.length > 0) yield chunk
}
