import type { AskStore, StoreAnswer } from '../ask-store.ts'
import { encodeKey } from '../encode-key.ts'
import type { ListedPage, ObjectStore, StoredObject } from '../object-store.ts'
import { lengthOf, momentOf } from '../read-range.ts'
import { readRefusal } from '../refusal.ts'
import { type Asked, objectStore } from '../store-requests.ts'
import { childOf, parseXml, textOf, type XmlElement } from '../xml.ts'
import { type AzureConfig, containerAddress } from './azure-config.ts'
import { azureProblem } from './azure-problems.ts'
import { signed } from './shared-key.ts'

const onePage = '1000'

/** A container of Azure Blob Storage. */
export function azureStore(config: AzureConfig, ask: AskStore): ObjectStore {
  const { host } = containerAddress(config)

  /** Every status from 300 is a problem but those that are expected. */
  async function get(
    { key, query = {}, headers = {}, expected = [] }: Asked,
    signal: AbortSignal,
  ): Promise<StoreAnswer> {
    const url = containerAddress(config)
    if (key !== undefined) url.pathname += `/${encodeKey(key)}`
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    // As it is signed: a plus in a query is a space to some and a plus to others.
    url.search = url.search.replaceAll('+', '%20')
    const answer = await ask(url, signed(url, headers, config), signal)
    if (answer.status < 300 || expected.includes(answer.status)) return answer
    const refusal = readRefusal(answer.status, answer.headers, await answer.text(), host)
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
      // Lists have it without the quotes that headers have.
      etag: etag === '' || etag.includes('"') ? etag : `"${etag}"`,
      lastModified: momentOf(textOf(about, 'Last-Modified')),
    }
  })
  return { objects, next: textOf(page, 'NextMarker') || undefined }
}

/** Names that XML cannot hold are percent-encoded, and say so. */
function nameOf(element: XmlElement | undefined): string {
  if (!element?.encoded) return element?.text ?? ''
  try {
    return decodeURIComponent(element.text)
  } catch {
    return element.text
  }
}
