import { isUtf8 } from 'node:buffer'
import { problems } from '@sluice/http-server'
import { Metadata } from '@tus/server'

/** Characters of the header. Clients send some names and types. */
const maxHeaderLength = 4_000
const maxNameLength = 255

/**
 * Returns the file name in a header `Upload-Metadata`, under `filename` or `name`; undefined without one. Other keys are ignored. Throws 400
 * for a header that is malformed or too long, and for a name that cannot be stored.
 */
export function parseFileName(header: string | undefined): string | undefined {
  if (header === undefined || header.trim() === '') return undefined
  if (header.length > maxHeaderLength) throw malformedMetadata(`must have at most ${maxHeaderLength} characters`)
  try {
    Metadata.parse(header)
  } catch {
    throw malformedMetadata(
      'must be pairs of a key and a value in base64, separated by commas, each key once, such as "filename YS5jc3Y="',
    )
  }
  const values = new Map<string, string>()
  for (const [key = '', value = ''] of header.split(',').map((pair) => pair.split(' '))) values.set(key, value)
  const encoded = values.get('filename') || values.get('name')
  if (!encoded) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  const name = bytes.toString()
  if (!isUtf8(bytes)) throw malformedMetadata('must have a file name in UTF-8')
  if (name.length > maxNameLength)
    throw malformedMetadata(`must have a file name of at most ${maxNameLength} characters`)
  if (name.includes('\0')) throw malformedMetadata('must have a file name without the NUL character')
  return name
}

const malformedMetadata = (detail: string) => problems.malformed([{ pointer: '/Upload-Metadata', detail }])
