import { once } from 'node:events'
import { createGzip } from 'node:zlib'
import type { Bucket } from './bucket.ts'

/** Bytes of rows in one object: enough of them for all slices of a cluster, few enough to be held while they are sent. */
const objectBytes = 32 * 1024 * 1024

/** Puts rows into objects that begin with `prefix`, compressed, one after another. Answers their keys. */
export async function upload(
  bucket: Bucket,
  prefix: string,
  rows: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<string[]> {
  const keys: string[] = []
  const iterator = rows[Symbol.asyncIterator]()
  try {
    for (let done = false; !done; ) {
      const packing = pack()
      let bytes = 0
      while (bytes < objectBytes) {
        const next = await iterator.next()
        signal.throwIfAborted()
        if (next.done) {
          done = true
          break
        }
        bytes += next.value.length
        await packing.write(next.value)
      }
      const body = await packing.end()
      if (bytes === 0) break
      const key = `${prefix}part-${String(keys.length + 1).padStart(6, '0')}.csv.gz`
      await bucket.put(key, body, signal)
      keys.push(key)
    }
    return keys
  } finally {
    await iterator.return?.()
  }
}

function pack() {
  const gzip = createGzip({ level: 1 })
  const parts: Buffer[] = []
  gzip.on('data', (part: Buffer) => parts.push(part))
  return {
    async write(bytes: Buffer): Promise<void> {
      if (!gzip.write(bytes)) await once(gzip, 'drain')
    },
    async end(): Promise<Buffer<ArrayBuffer>> {
      gzip.end()
      await once(gzip, 'end')
      return Buffer.concat(parts)
    },
  }
}
