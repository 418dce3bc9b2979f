/** Bytes of an answer that says why there is none. */
const most = 100_000

/** How a body begins, as text. No more is read of it: a few packed bytes may be gigabytes. */
export async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  // To leave the loop is to cancel the body.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= most) break
  }
  return Buffer.concat(chunks).subarray(0, most).toString()
}
