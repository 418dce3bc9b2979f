import type { StoreResponse } from './store-client.ts'
import type { ListedPage, ObjectStore } from './object-store.ts'
import { describedBy, rangeHeaders, rangeOf } from './read-range.ts'
import { SourceProblem } from '@sluice/row-stream'

export interface StoreRequest {
  /** Absent: the bucket or container itself. */
  key?: string
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  /** Statuses besides success that are returned to the caller. */
  expected?: readonly number[]
}

interface StoreProtocol {
  host: string
  /** Sends an authenticated request. Throws a problem for each status from 300 that is not expected. */
  get(asked: StoreRequest, signal: AbortSignal): Promise<StoreResponse>
  list(prefix: string, next: ListedPage['next'], signal: AbortSignal): Promise<ListedPage>
  close(): PromiseLike<void>
}

export function objectStore({ host, get, list, close }: StoreProtocol): ObjectStore {
  return {
    host,
    list,

    async find(key, signal) {
      // A HEAD would return the same headers, but not the reason of a refusal.
      const answer = await get({ key, headers: { range: 'bytes=0-0' }, expected: [416] }, signal)
      await answer.cancel()
      if (answer.status !== 416) return describedBy(key, answer)
      const empty = await get({ key }, signal)
      await empty.cancel()
      return describedBy(key, empty)
    },

    async open(object, from, to, signal) {
      const { key, etag } = object
      const answer = await get({ key, headers: rangeHeaders(etag, from, to), expected: [412] }, signal)
      return rangeOf(answer, object, from)
    },

    [Symbol.asyncDispose]: close,
  }
}

/** Encodes a key for the path of a URL. Throws KEY_NOT_READABLE if no URL can express the key. */
export function encodeKey(key: string): string {
  const parts = key.split('/')
  if (parts.some((part) => part === '.' || part === '..')) {
    const text = `The key ${key} has a folder called "." or "..", which no address can name. Copy the object to another key.`
    throw new SourceProblem('KEY_NOT_READABLE', text)
  }
  return parts.map(encodePart).join('/')
}

const encodePart = (part: string): string =>
  encodeURIComponent(part.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
