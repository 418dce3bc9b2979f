import { createWriteStream } from 'node:fs'
import { mkdir, rename, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import { headerOf, type KindName, tableKinds } from '../data-files.ts'
import { seededRandom } from './seeded-random.ts'

export interface DataFile {
  kind: KindName
  path: string
  /** Bytes. */
  size: number
}

const seed = 20_261_121

/**
 * Returns a CSV file of about this many megabytes. The content is the same every time, so the file of an earlier run is
 * reused.
 */
export async function makeFile(folder: string, kind: KindName, megabytes: number): Promise<DataFile> {
  const path = join(folder, `${kind}-${megabytes}mb-${seed}.csv`)
  const existing = await stat(path).catch(() => undefined)
  if (existing) return { kind, path, size: existing.size }
  await mkdir(folder, { recursive: true })
  const size = await write(`${path}.part`, kind, megabytes * 1e6)
  await rename(`${path}.part`, path)
  return { kind, path, size }
}

async function write(path: string, name: KindName, size: number): Promise<number> {
  const kind = tableKinds[name]
  const numbers = seededRandom(seed)
  const file = createWriteStream(path)
  let bytes = 0
  let text = headerOf(kind)
  for (let number = 1; bytes < size; number++) {
    text += kind.line(number, numbers)
    if (text.length < 1 << 18) continue
    const chunk = Buffer.from(text)
    bytes += chunk.length
    text = ''
    if (!file.write(chunk)) await once(file, 'drain')
  }
  file.end(text)
  await once(file, 'finish')
  return bytes + Buffer.byteLength(text)
}
