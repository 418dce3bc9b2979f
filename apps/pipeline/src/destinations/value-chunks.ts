/** The limits of one request: the number of values, and the bytes of JSON. */
export interface ChunkLimits {
  values: number
  bytes: number
}

/** A value to send. `line` is its row number in the view. */
export interface ValueItem {
  line: number
  json: string
}

/**
 * Groups items into chunks, one per request. Calls `getLimits` for each item, because the limits can decrease between
 * items.
 */
export async function* splitChunks<T extends ValueItem>(
  items: AsyncIterable<T>,
  getLimits: () => ChunkLimits,
): AsyncGenerator<T[]> {
  let chunk: T[] = []
  let bytes = 0
  for await (const item of items) {
    const size = Buffer.byteLength(item.json) + 1
    const { values, bytes: maxBytes } = getLimits()
    const isFull = chunk.length >= values || bytes + size > maxBytes
    if (chunk.length > 0 && isFull) {
      yield chunk
      chunk = []
      bytes = 0
    }
    chunk.push(item)
    bytes += size
  }
  if (chunk.length > 0) yield chunk
}
