/** PostgreSQL's binary COPY, read by its description; what is given has to be whole tuples. */
export function tuplesOf(bytes: Buffer): (Buffer | null)[][] {
  const tuples: (Buffer | null)[][] = []
  for (let at = 0; at < bytes.length; ) {
    const tuple: (Buffer | null)[] = []
    const width = bytes.readInt16BE(at)
    at += 2
    for (let field = 0; field < width; field++) {
      const length = bytes.readInt32BE(at)
      at += 4
      tuple.push(length < 0 ? null : bytes.subarray(at, at + length))
      at += Math.max(length, 0)
    }
    if (at > bytes.length) throw new Error('A tuple is cut off')
    tuples.push(tuple)
  }
  return tuples
}
