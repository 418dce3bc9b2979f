import { SourceProblem } from '@sluice/row-stream'
import { startOf, type ByteSource } from '../spool/byte-source.ts'
import type { ZipArchive } from '../archive/zip-archive.ts'
import { tooLarge } from '../spool/spool-writer.ts'
import { BadXml, type XmlHandler, XmlScanner } from './xml-scanner.ts'

/** Receives each element of a part. */
export type XmlReader = (xml: XmlScanner) => void

/** Maximum bytes of the parts that are held in memory as a whole: names, relations, styles. */
const smallPart = 64 * 1024 * 1024
const longestToken = 16 * 1024 * 1024

/** Reads one of a workbook's small parts. Throws SourceProblem EXCEL_DAMAGED or TOO_LARGE. */
export async function readPart(
  archive: ZipArchive,
  part: string,
  open: XmlReader,
  close: XmlReader = () => {},
): Promise<void> {
  await scanPart(partOf(archive, part), { open, close, text: () => {} }, archive.name, smallPart)
}

/** Returns a part's bytes by its name; Office compares these names case-insensitively. */
export function partOf(archive: ZipArchive, part: string): ByteSource {
  const name = archive.entries.has(part)
    ? part
    : [...archive.entries.keys()].find((entry) => entry.toLowerCase() === part.toLowerCase())
  if (name === undefined) throw damaged(archive.name, `${part} is missing`)
  return archive.bytes(name)
}

/** Passes a part to a handler from its start to its end. */
export async function scanPart(
  source: ByteSource,
  handler: XmlHandler,
  name: string,
  limit = Number.POSITIVE_INFINITY,
): Promise<void> {
  const xml = new XmlScanner(handler, longestToken)
  let size = 0
  try {
    const [first, second] = await startOf(source, 2)
    if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
      throw new BadXml('it is written in UTF-16')
    for await (const chunk of source.chunks()) {
      size += chunk.length
      if (size > limit) throw tooLarge(name, limit)
      xml.scan(chunk)
    }
    xml.finish()
  } catch (error) {
    throw error instanceof BadXml ? damaged(name, error.message, error) : error
  }
}

export const damaged = (name: string, why: string, cause?: unknown): SourceProblem =>
  new SourceProblem(
    'EXCEL_DAMAGED',
    `${name} cannot be read as an Excel workbook: ${why}. Open it in Excel and save it anew.`,
    { cause },
  )
