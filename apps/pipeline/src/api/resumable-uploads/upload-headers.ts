import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem, problems } from '@sluice/http-server'
import { Metadata } from '@tus/server'

export const tusVersion = '1.0.0'

/**
 * Returns the response headers of OPTIONS, which describe what the service supports. Checksums are missing, because
 * @tus/server does not support them.
 */
export const tusCapabilities = (uploadLimit: number): Record<string, string> => ({
  'Tus-Resumable': tusVersion,
  'Tus-Version': tusVersion,
  'Tus-Extension': 'creation,termination,expiration',
  'Tus-Max-Size': String(uploadLimit),
})

/** Throws 412 if the request has another version of the tus protocol or omits the version. */
export function assertTusVersion(headers: IncomingHttpHeaders): void {
  if (headers['tus-resumable'] === tusVersion) return
  throw new Problem(412, 'tus-version', 'This version of tus is not supported.', {
    detail: `Send the header "Tus-Resumable: ${tusVersion}". A plain upload of the whole file needs no such header.`,
    headers: { 'Tus-Version': tusVersion },
  })
}

/**
 * Returns the length of the file from the headers of a creation request. Throws 400, 413, 415 or 422 before anything is
 * stored.
 */
export function parseUploadLength(headers: IncomingHttpHeaders, uploadLimit: number): number {
  if (headers['upload-concat'] !== undefined)
    throw problems.refused(
      '/Upload-Concat',
      'Sluice cannot join uploads. Send the file as one upload, without parallel parts.',
    )
  if (headers['upload-defer-length'] !== undefined)
    throw problems.refused(
      '/Upload-Defer-Length',
      'Sluice reserves the bytes of the whole file, so send their number in Upload-Length. A plain upload may have any length.',
    )
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
    throw problems.unsupportedMediaType('a request without a body, then the bytes with PATCH')
  const length = parseByteCount(headers, 'upload-length', 'Upload-Length')
  if (length > uploadLimit) throw problems.tooLarge(uploadLimit)
  if (length === 0) throw problems.refused('/Upload-Length', 'The file is empty.')
  return length
}

/** Throws 400 or 415 if the headers are not those of a request that appends bytes to an upload. */
export function assertAppendable(headers: IncomingHttpHeaders): void {
  parseByteCount(headers, 'upload-offset', 'Upload-Offset')
  const type = headers['content-type']
  if (type !== 'application/offset+octet-stream')
    throw problems.unsupportedMediaType('application/offset+octet-stream: the body is the next bytes of the file')
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw problems.unsupportedMediaType('plain bytes, without Content-Encoding')
  if (headers['upload-length'] !== undefined)
    throw problems.refused('/Upload-Length', 'The length was set when the upload was created. Leave out this header.')
}

/** Returns the number of bytes in a header. Throws 400 if the header is missing or has another format. */
function parseByteCount(
  headers: IncomingHttpHeaders,
  name: 'upload-length' | 'upload-offset',
  displayName: string,
): number {
  const value = headers[name]
  if (typeof value === 'string' && /^(0|[1-9]\d{0,14})$/.test(value)) return Number(value)
  throw problems.malformed([
    { pointer: `/${displayName}`, detail: 'must be a number of bytes in decimal digits, at most 999999999999999' },
  ])
}

/** The maximum length of the header in characters. Programs send names and types in it. */
const maxHeaderLength = 4_000
const maxNameLength = 255

/**
 * Returns the file name from the header `Upload-Metadata` (key `filename` or `name`); undefined if it has none. Ignores
 * other keys. Throws 400 for a header that is malformed or too long, and for a name that cannot be stored.
 */
export function parseFileName(header: string | undefined): string | undefined {
  if (header === undefined || header.trim() === '') return undefined
  if (header.length > maxHeaderLength) throw malformedMetadata(`must have at most ${maxHeaderLength} characters`)
  try {
    // Checks only the form, because the parsed values do not show whether their bytes are UTF-8.
    Metadata.parse(header)
  } catch {
    throw malformedMetadata(
      'must be pairs of a key and a value in base64, separated by commas, each key once, such as "filename YS5jc3Y="',
    )
  }
  const pairs = header.split(',').map((pair) => pair.split(' '))
  const base64Values = new Map(pairs.map(([key = '', value = '']) => [key, value]))
  // An empty value counts as absent.
  const base64Name = base64Values.get('filename') || base64Values.get('name')
  if (!base64Name) return undefined
  const bytes = Buffer.from(base64Name, 'base64')
  if (!isUtf8(bytes)) throw malformedMetadata('must have a file name in UTF-8')
  const name = bytes.toString()
  if (name.length > maxNameLength)
    throw malformedMetadata(`must have a file name of at most ${maxNameLength} characters`)
  if (name.includes('\0')) throw malformedMetadata('must have a file name without the NUL character')
  return name
}

const malformedMetadata = (detail: string) => problems.malformed([{ pointer: '/Upload-Metadata', detail }])
