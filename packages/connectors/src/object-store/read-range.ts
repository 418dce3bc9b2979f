import { SourceProblem } from '@sluice/row-stream'
import type { StoreResponse } from './store-client.ts'
import type { ObjectBytes, StoredObject } from './object-store.ts'

/** Returns the headers that request a part of exactly this version. */
export const rangeHeaders = (etag: string, from: number, to: number): Record<string, string> => ({
  range: `bytes=${from}-${to - 1}`,
  ...(isStrong(etag) && { 'if-match': etag }),
})

/** Some stores mark ETags as weak if they may compress the response; weak ETags never match. */
const isStrong = (etag: string): boolean => etag.startsWith('"')

/** Returns the bytes of a range response, which has a success status or 412. Throws OBJECT_CHANGED if the bytes are of another version. */
export async function rangeOf(
  { status, headers, chunks, cancel }: StoreResponse,
  { key, etag }: StoredObject,
  from: number,
): Promise<ObjectBytes> {
  const now = headers.get('etag')
  const isOther = now !== null && etag !== '' && plain(now) !== plain(etag)
  if (status >= 300 || isOther) {
    await cancel()
    throw objectChangedProblem(key)
  }
  // The client has already decompressed the body, so offsets in it are meaningless.
  const unpacked = (headers.get('content-encoding') ?? '')
    .split(',')
    .some((coding) => ['gzip', 'x-gzip', 'deflate', 'br', 'zstd'].includes(coding.trim().toLowerCase()))
  return { from: status === 206 ? from : 0, unpacked, chunks, cancel }
}

const objectChangedProblem = (key: string): SourceProblem =>
  new SourceProblem('OBJECT_CHANGED', `"${key}" changed while it was being read. The old data stays; run again.`)

/** Returns the ETag without the weakness mark, and without the quotes that some lists omit. */
const plain = (etag: string): string => etag.replace(/^W\//, '').replaceAll('"', '')

/** Describes an object by the headers of a range response. Throws OTHER_PROTOCOL. */
export function describedBy(key: string, { status, headers }: StoreResponse): StoredObject {
  const total =
    status === 206 ? /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] : headers.get('content-length')
  if (!/^\d+$/.test(total ?? '')) {
    const text = `The store does not say how large "${key}" is, so it cannot be read.`
    throw new SourceProblem('OTHER_PROTOCOL', text)
  }
  return {
    key,
    size: Number(total),
    etag: headers.get('etag') ?? '',
    lastModified: momentOf(headers.get('last-modified') ?? ''),
  }
}

/** Parses the length of a list entry; an invalid length is 0, and the object is skipped. */
export const lengthOf = (text: string): number => (/^\d{1,18}$/.test(text) ? Number(text) : 0)

/** Parses a timestamp; 1970 if it is invalid. */
export function momentOf(text: string): Date {
  const milliseconds = Date.parse(text)
  return new Date(Number.isNaN(milliseconds) ? 0 : milliseconds)
}
