import type { StoreClient, StoreResponse } from '../object-store/store-client.ts'
import { type StoreRequest, encodeKey, objectStore } from '../object-store/store-requests.ts'
import type { ListedPage, ObjectStore, StoredObject } from '../object-store/object-store.ts'
import { lengthOf, momentOf } from '../object-store/read-range.ts'
import { parseErrorResponse } from '../object-store/error-response.ts'
import { type XmlElement, childOf, parseXml, textOf } from '../object-store/xml.ts'
import { type AzureConfig, apiVersion, containerAddress } from './azure-config.ts'
import { azureProblem } from './azure-problems.ts'
import { createHmac } from 'node:crypto'
import { SourceProblem } from '@sluice/row-stream'

const onePage = '1000'

/** A container of Azure Blob Storage. */
export function azureStore(config: AzureConfig, ask: StoreClient): ObjectStore {
  const { host } = containerAddress(config)

  /** Throws a problem for each status from 300 that is not expected. */
  async function get(
    { key, query = {}, headers = {}, expected = [] }: StoreRequest,
    signal: AbortSignal,
  ): Promise<StoreResponse> {
    const url = containerAddress(config)
    if (key !== undefined) url.pathname += `/${encodeKey(key)}`
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    // The URL must match its signature: some servers read a plus in a query as a space, others as a plus.
    url.search = url.search.replaceAll('+', '%20')
    const answer = await ask(url, signed(url, headers, config), signal)
    if (answer.status < 300 || expected.includes(answer.status)) return answer
    const refusal = parseErrorResponse(answer.status, answer.headers, await answer.text(), host)
    throw azureProblem(refusal, { config, host, ...(key !== undefined && { key }) })
  }

  return objectStore({
    host,
    get,
    async list(prefix, next, signal) {
      const query = {
        restype: 'container',
        comp: 'list',
        maxresults: onePage,
        ...(prefix && { prefix }),
        ...(next !== undefined && { marker: next }),
      }
      const answer = await get({ query }, signal)
      return pageOf(parseXml((await answer.text()).replace(/^\uFEFF/, ''), host))
    },
    close: () => ask[Symbol.asyncDispose](),
  })
}

function pageOf(page: XmlElement): ListedPage {
  const blobs = childOf(page, 'Blobs')?.children.filter(({ name }) => name === 'Blob') ?? []
  const objects = blobs.map((blob): StoredObject => {
    const about = childOf(blob, 'Properties') ?? blob
    const etag = textOf(about, 'Etag')
    return {
      key: nameOf(childOf(blob, 'Name')),
      size: lengthOf(textOf(about, 'Content-Length')),
      // Lists contain the ETag without the quotes that headers have.
      etag: etag === '' || etag.includes('"') ? etag : `"${etag}"`,
      lastModified: momentOf(textOf(about, 'Last-Modified')),
    }
  })
  return { objects, next: textOf(page, 'NextMarker') || undefined }
}

/** Decodes a name. Azure percent-encodes names that XML cannot hold, and marks them. */
function nameOf(element: XmlElement | undefined): string {
  if (!element?.encoded) return element?.text ?? ''
  try {
    return decodeURIComponent(element.text)
  } catch {
    return element.text
  }
}

/**
 * Lines of the signed text that a GET leaves empty: encoding, language, length, MD5, type, date, conditions; the range has
 * its own line.
 */
const empty = '\n'.repeat(5)

/**
 * Returns the headers of a GET, signed with Azure's Shared Key, or unchanged without a key. Throws AUTHENTICATION_FAILED
 * for an invalid key.
 */
function signed(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { account, accountKey }: { account: string; accountKey?: string },
  date = new Date(),
): Headers {
  const all = new Headers({ ...headers, 'x-ms-date': date.toUTCString(), 'x-ms-version': apiVersion })
  if (accountKey === undefined) return all
  const signature = createHmac('sha256', keyOf(accountKey))
    .update(textToSign(url, all, account))
    .digest('base64')
  all.set('authorization', `SharedKey ${account}:${signature}`)
  return all
}

/** Returns the text to sign, as the service builds it. */
export function textToSign(url: URL, headers: Headers, account: string): string {
  const own = [...headers]
    .filter(([name]) => name.startsWith('x-ms-'))
    .map(([name, value]) => `${name}:${value.trim()}\n`)
  const conditions = ['', headers.get('if-match') ?? '', '', '', headers.get('range') ?? ''].join('\n')
  const names = [...new Set(url.searchParams.keys())].toSorted()
  const query = names.map((name) => `\n${name.toLowerCase()}:${url.searchParams.getAll(name).toSorted().join(',')}`)
  return `GET\n${empty}\n${conditions}\n${own.toSorted().join('')}/${account}${url.pathname}${query.join('')}`
}

function keyOf(accountKey: string): Buffer {
  const text = accountKey.trim()
  if (!/^[A-Za-z0-9+/]{40,}={0,2}$/.test(text)) {
    const said = 'The account key is not one: it is Base64, some 88 signs. Copy it whole from the storage account.'
    throw new SourceProblem('AUTHENTICATION_FAILED', said)
  }
  return Buffer.from(text, 'base64')
}
