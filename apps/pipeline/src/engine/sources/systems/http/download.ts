import { closeSync, writeSync } from 'node:fs'
import { FileBytes } from '../../files/spool/byte-source.ts'
import { diskProblem } from '../../files/spool/disk-problem.ts'
import { openSpool } from '../../files/spool/spool-file.ts'
import type { Downloaded } from './connection.ts'

const chunkBytes = 256 * 1024

/** Writes a body into a file that has no name. One that breaks off leaves nothing. */
export async function downloadInto(
  directory: string,
  response: Response,
  read: (bytes: number) => void,
): Promise<Downloaded> {
  const descriptor = openSpool(directory)
  let size = 0
  // An empty answer is a sign of life as well.
  read(0)
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      for (let done = 0; done < chunk.length; )
        done += writeSync(descriptor, chunk, done, chunk.length - done, size + done)
      size += chunk.length
      read(chunk.length)
    }
  } catch (error) {
    closeSync(descriptor)
    throw diskProblem(error) ?? error
  }
  let open = true
  return {
    size,
    headers: response.headers,
    chunks: () => new FileBytes(descriptor, 0, size, chunkBytes).chunks(),
    [Symbol.dispose]() {
      if (open) closeSync(descriptor)
      open = false
    },
  }
}
