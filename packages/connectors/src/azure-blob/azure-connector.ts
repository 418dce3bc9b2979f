import { createHmac } from 'node:crypto'
import type { SourceBody } from '@sluice/contracts'
import { SourceProblem } from '@sluice/row-stream'
import type { Connector, ReadRequest } from '../connector.ts'
import { createObjectStoreConnector, type StoreContext } from '../object-store/object-store-connector.ts'
import {
  encodeKey,
  parseSize,
  type ListedFolder,
  parseObjectTime,
  createObjectStore,
  type ObjectStore,
  parseErrorResponse,
  type StoredObject,
  type StoreRequest,
} from '../object-store/object-store.ts'
import type { StoreClient, StoreResponse } from '../object-store/store-client.ts'
import { findChild, parseXml, getChildText, type XmlElement } from '../object-store/xml.ts'
import { type AzureConfig, createAzureProblem } from './azure-problems.ts'

/** Reads files of Azure Blob Storage. */
export const createAzureConnector = (context: StoreContext): Connector =>
  createObjectStoreConnector(openContainer, { containers: 'containers', objects: 'blobs' }, context)

function openContainer({ settings, secrets }: ReadRequest, client: StoreClient): ObjectStore {
  const { blobStoreSource } = settings as Extract<SourceBody, { type: 'CLOUD_BLOB_STORAGE' }>
  const { account, container, endpoint } = blobStoreSource
  const { accountKey, sasToken } = secrets
  const credentials = accountKey === undefined ? { sasToken } : { accountKey }
  return createAzureStore({ account, container, endpoint, ...credentials }, client)
}

const maxBlobsPerPage = '1000'

function createAzureStore(config: AzureConfig, send: StoreClient): ObjectStore {
  const { host } = buildContainerUrl(config)

  /**
   * Sends a GET request. Throws a `SourceProblem` or `TransientError` for a response status of 300 or above that is not
   * in `expected`.
   */
  async function get(
    { key, targetsAccount = false, query = {}, headers = {}, expected = [] }: StoreRequest,
    signal: AbortSignal,
  ): Promise<StoreResponse> {
    const url = buildContainerUrl(targetsAccount ? { ...config, container: '' } : config)
    if (key !== undefined) url.pathname += `/${encodeKey(key)}`
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    // A plus sign in a query means a space to some servers. Percent-encoded spaces mean the same to all servers, so the
    // signature stays valid.
    url.search = url.search.replaceAll('+', '%20')
    const response = await send(url, signHeaders(url, headers, config), signal)
    if (response.status < 300 || expected.includes(response.status)) return response
    const errorResponse = parseErrorResponse(response.status, response.headers, await response.text(), host)
    throw createAzureProblem(errorResponse, { config, host, targetsAccount, ...(key !== undefined && { key }) })
  }

  async function readPage(request: StoreRequest, next: string | undefined, signal: AbortSignal): Promise<XmlElement> {
    const query = {
      ...request.query,
      comp: 'list',
      maxresults: maxBlobsPerPage,
      ...(next !== undefined && { marker: next }),
    }
    const response = await get({ ...request, query }, signal)
    return parseXml((await response.text()).replace(/^\uFEFF/, ''), host)
  }

  async function list(prefix: string, next: string | undefined, signal: AbortSignal, extraQuery = {}) {
    const query = { restype: 'container', ...(prefix && { prefix }), ...extraQuery }
    return parseBlobList(await readPage({ query }, next, signal))
  }

  return createObjectStore({
    host,
    get,
    list: (prefix, next, signal) => list(prefix, next, signal),
    listFolder: (prefix, next, signal) => list(prefix, next, signal, { delimiter: '/' }),
    async listContainers(next, signal) {
      const page = await readPage({ targetsAccount: true }, next, signal)
      const containers = findChild(page, 'Containers')?.children ?? []
      return { names: containers.map((container) => getChildText(container, 'Name')), next: findNextMarker(page) }
    },
    close: () => send[Symbol.asyncDispose](),
  })
}

/** Parses a page of the list of blobs. `next` is undefined on the last page. */
function parseBlobList(page: XmlElement): ListedFolder {
  const entries = findChild(page, 'Blobs')?.children ?? []
  const blobs = entries.filter(({ name }) => name === 'Blob')
  const folders = entries
    .filter(({ name }) => name === 'BlobPrefix')
    .map((folder) => decodeBlobName(findChild(folder, 'Name')))
  const objects = blobs.map((blob): StoredObject => {
    const properties = findChild(blob, 'Properties') ?? blob
    const etag = getChildText(properties, 'Etag')
    return {
      key: decodeBlobName(findChild(blob, 'Name')),
      size: parseSize(getChildText(properties, 'Content-Length')),
      // The XML of a blob list contains the ETag without quotes; response headers contain it with quotes. Both must
      // compare equal.
      etag: etag === '' || etag.includes('"') ? etag : `"${etag}"`,
      lastModified: parseObjectTime(getChildText(properties, 'Last-Modified')),
    }
  })
  return { objects, folders, next: findNextMarker(page) }
}

const findNextMarker = (page: XmlElement): string | undefined => getChildText(page, 'NextMarker') || undefined

/**
 * Decodes the name of a blob. Azure percent-encodes a name that XML cannot represent, and sets the attribute `Encoded`
 * on its element.
 */
function decodeBlobName(element: XmlElement | undefined): string {
  if (!element?.isEncoded) return element?.text ?? ''
  try {
    return decodeURIComponent(element.text)
  } catch {
    return element.text
  }
}

/**
 * Returns the headers of a GET request with the date and the API version. If there is an account key, they include a
 * Shared Key signature. Throws AUTHENTICATION_FAILED for an invalid key.
 */
function signHeaders(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { account, accountKey }: { account: string; accountKey?: string },
  date = new Date(),
): Record<string, string> {
  const signedHeaders = { ...headers, 'x-ms-date': date.toUTCString(), 'x-ms-version': apiVersion }
  if (accountKey === undefined) return signedHeaders
  const signature = createHmac('sha256', decodeAccountKey(accountKey))
    .update(buildTextToSign(url, signedHeaders, account))
    .digest('base64')
  return { ...signedHeaders, authorization: `SharedKey ${account}:${signature}` }
}

/** Returns the text to sign in the format that Azure specifies for Shared Key authorization. */
export function buildTextToSign(url: URL, headers: Readonly<Record<string, string>>, account: string): string {
  const azureHeaders = Object.entries(headers)
    .filter(([name]) => name.startsWith('x-ms-'))
    .map(([name, value]) => `${name}:${value.trim()}\n`)
  // The format requires a line for each of these headers, even if the request does not have it.
  const standardHeaders = [
    'content-encoding',
    'content-language',
    'content-length',
    'content-md5',
    'content-type',
    'date',
    'if-modified-since',
    'if-match',
    'if-none-match',
    'if-unmodified-since',
    'range',
  ].map((name) => `${headers[name] ?? ''}\n`)
  const parameterNames = [...new Set(url.searchParams.keys())].toSorted()
  const parameters = parameterNames.map((name) => {
    const values = url.searchParams.getAll(name).toSorted().join(',')
    return `\n${name.toLowerCase()}:${values}`
  })
  const resource = `/${account}${url.pathname}${parameters.join('')}`
  return `GET\n${standardHeaders.join('')}${azureHeaders.toSorted().join('')}${resource}`
}

function decodeAccountKey(accountKey: string): Buffer {
  const text = accountKey.trim()
  if (!/^[A-Za-z0-9+/]{40,}={0,2}$/.test(text)) {
    const message =
      'The account key is invalid: it must be about 88 characters of Base64. Copy it unchanged from the storage account.'
    throw new SourceProblem('AUTHENTICATION_FAILED', message)
  }
  return Buffer.from(text, 'base64')
}

/** The API version to request. All Azure clouds and the emulator Azurite support it. */
const apiVersion = '2021-12-02'

function buildContainerUrl({ account, container, endpoint, sasToken }: AzureConfig): URL {
  const url = new URL(endpoint ?? `https://${account}.blob.core.windows.net`)
  url.search = sasToken?.trim().replace(/^\?/, '') ?? ''
  url.hash = ''
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${container}`
  return url
}
