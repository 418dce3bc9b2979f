import { type DetailedError, Upload, type UploadOptions } from 'tus-js-client'
import type { RequestTransport } from './service-client.ts'
import { FetchStack } from './tus-fetch-stack.ts'

/**
 * Stores the address of an unfinished upload, as `localStorage` does. The address is useless without a token of its
 * user.
 */
export interface ResumeStorage {
  getItem(key: string): string | null | Promise<string | null>
  setItem(key: string, value: string): unknown
  removeItem(key: string): unknown
}

export interface ResumableOptions {
  /**
   * Called with the number of bytes sent and the total size. After an interruption, the number continues from where the
   * service continues.
   */
  onProgress?: (sent: number, size: number) => void
  /** A store that lets another page or process continue the upload of the same file. */
  storage?: ResumeStorage
  /**
   * Identifies the content of the file in the storage, for example by path and modification time. Default for a `File`:
   * its name, size and modification time. Any other Blob is stored only with this option.
   */
  key?: string
  /** Milliseconds before each new attempt. The list starts again whenever bytes were stored. */
  retryDelays?: number[]
}

/** Half a minute in total, which is longer than a restart of the service. */
const defaultRetryDelays = [500, 1_000, 2_000, 5_000, 10_000, 15_000]

/** Statuses after which the service no longer has the upload, or would reject it again. */
const endStatuses: readonly number[] = [404, 410, 413, 422]

/**
 * Returns a transport for `upload` that uploads by tus 1.0 and continues a broken upload to a data pipeline where it
 * stopped. Requires the package tus-js-client. Use it for one file; `upload` repeats it after an outage and with a
 * renewed token.
 */
export function resumableTransport(file: Blob, options: ResumableOptions = {}): RequestTransport {
  /** The address of the unfinished upload. Kept between calls, so that a repeated call continues the upload. */
  let address: string | undefined
  return async (url, init) => {
    const uploadsUrl = buildUploadsUrl(url)
    const store = openAddressStore(uploadsUrl, file, options)
    address ??= await store.find()
    const saveAddress = async (newAddress: string) => {
      address = newAddress
      await store.save(newAddress)
    }
    const removeAddress = async () => {
      address = undefined
      await store.remove()
    }
    const name = url.searchParams.get('name') ?? (file as Blob & { name?: string }).name
    const send = () => sendFile(file, { uploadsUrl, address, name, saveAddress }, init, options)

    const continuesUpload = address !== undefined
    let refusal = await send()
    const mustStartAgain = continuesUpload && refusal !== undefined && isDeletedUpload(refusal)
    if (mustStartAgain) {
      await removeAddress()
      refusal = await send()
    }
    if (refusal) {
      const explainedRefusal = await explainRefusal(refusal, address, init)
      if (endStatuses.includes(refusal.status)) await removeAddress()
      return explainedRefusal
    }
    const uploadResponse = await getUpload(address!, init)
    if (!uploadResponse.ok) return uploadResponse
    const { file: uploadedFile } = (await uploadResponse.json()) as { file?: object }
    await removeAddress()
    return Response.json(uploadedFile)
  }
}

const isDeletedUpload = ({ status }: Response): boolean => status === 404 || status === 410

/** Requests the state of an upload. After the last byte, it contains the stored file. */
const getUpload = (address: string, init: RequestInit): Promise<Response> =>
  fetch(address, {
    ...init,
    method: 'GET',
    headers: readHeaders(init, 'application/json, application/problem+json'),
  })

/**
 * Returns a refusal with its reason. The response to the HEAD request of tus has no body, so the reason is the response
 * to a GET request.
 */
async function explainRefusal(refusal: Response, address: string | undefined, init: RequestInit): Promise<Response> {
  if (address === undefined) return refusal
  const hasReason = (await refusal.clone().text()) !== ''
  if (hasReason) return refusal
  const uploadResponse = await getUpload(address, init)
  return uploadResponse.ok ? refusal : uploadResponse
}

interface UploadDestination {
  uploadsUrl: string
  address: string | undefined
  name: string | undefined
  saveAddress(address: string): Promise<void>
}

/**
 * Sends the part of the file that the service does not have. Returns the service's rejection, or undefined when it has
 * everything. Rejects if the connection is lost for longer than all delays together.
 */
function sendFile(
  file: Blob,
  { uploadsUrl, address, name, saveAddress }: UploadDestination,
  init: RequestInit,
  { onProgress, retryDelays = defaultRetryDelays }: ResumableOptions,
): Promise<Response | undefined> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      void upload.abort()
      reject(init.signal?.reason)
    }
    const end = (finish: () => void) => {
      init.signal?.removeEventListener('abort', abort)
      finish()
    }
    const tusOptions: UploadOptions = {
      // If tus-js-client had an endpoint, it would start a new upload after any error of the address, such as an
      // overload.
      endpoint: address ? null : uploadsUrl,
      uploadUrl: address ?? null,
      headers: readHeaders(init),
      metadata: name === undefined ? {} : { filename: name },
      retryDelays,
      storeFingerprintForResuming: false,
      onUploadUrlAvailable() {
        upload.options.endpoint = null
        // A proxy may serve the service under another origin or path than the one that the service knows.
        upload.url = `${uploadsUrl}/${upload.url!.slice(upload.url!.lastIndexOf('/') + 1)}`
        saveAddress(upload.url).catch((error: unknown) => end(() => reject(error)))
      },
      onProgress: (sent, size) => onProgress?.(sent, size),
      onSuccess: () => end(() => resolve(undefined)),
      onError: (error) =>
        end(() => {
          const refusal = toResponse(error as DetailedError)
          if (refusal) resolve(refusal)
          else reject((error as DetailedError).causingError ?? error)
        }),
      // Browsers report upload progress only to XMLHttpRequest, which tus-js-client uses there by default.
      ...('XMLHttpRequest' in globalThis ? {} : { httpStack: new FetchStack() }),
      fileReader: { openFile: async (blob: Blob) => createBlobSource(blob) },
    }
    const upload = new Upload(file, tusOptions)
    if (init.signal?.aborted) return abort()
    init.signal?.addEventListener('abort', abort, { once: true })
    upload.start()
  })
}

const createBlobSource = (blob: Blob) => ({
  size: blob.size,
  slice: async (start: number, end: number) => ({ value: blob.slice(start, end), done: end >= blob.size }),
  close() {},
})

/** Returns the response that ended an upload, or undefined if no response arrived. */
function toResponse({ originalResponse }: DetailedError): Response | undefined {
  if (!originalResponse) return undefined
  const headers = new Headers()
  for (const name of ['content-type', 'retry-after']) {
    const value = originalResponse.getHeader(name)
    if (value) headers.set(name, value)
  }
  return new Response(originalResponse.getBody(), { status: originalResponse.getStatus(), headers })
}

/** Returns the address for tus uploads that corresponds to the address for plain uploads. */
function buildUploadsUrl({ origin, pathname }: URL): string {
  const match = /^(.*\/data-pipelines\/[^/]+)\/file$/.exec(pathname)
  if (!match) throw new TypeError('Only uploads to data pipelines can be continued: use dataPipelines.upload.')
  return `${origin}${match[1]}/uploads`
}

/** Returns the headers of a request without the media type of its body. */
function readHeaders({ headers }: RequestInit, accept?: string): Record<string, string> {
  const { 'content-type': _mediaType, ...others } = Object.fromEntries(new Headers(headers as Headers))
  return { ...others, ...(accept && { accept }) }
}

/** Returns the methods for the upload's address in the storage. They do nothing if the upload is not stored. */
function openAddressStore(uploadsUrl: string, file: Blob, options: ResumableOptions) {
  const { storage } = options
  const key = buildStorageKey(uploadsUrl, file, options)
  if (!storage || !key) return { find: async () => undefined, save: async () => {}, remove: async () => {} }
  return {
    find: () => findStoredAddress(storage, key, uploadsUrl),
    save: async (address: string) => void (await storage.setItem(key, address)),
    remove: async () => void (await storage.removeItem(key)),
  }
}

/**
 * Returns the key of the file's upload in the storage. Returns undefined without a storage, or if nothing identifies
 * the content of the file.
 */
function buildStorageKey(uploadsUrl: string, file: Blob, { storage, key }: ResumableOptions): string | undefined {
  const { name, lastModified } = file as Blob & { name?: string; lastModified?: number }
  const content = key ?? (name === undefined ? undefined : `${name} ${lastModified}`)
  return storage && content !== undefined ? `sluice-upload ${uploadsUrl} ${content} ${file.size}` : undefined
}

/**
 * Returns the stored address of an upload. Ignores addresses of other services, to which the token must not be sent.
 */
async function findStoredAddress(
  storage: ResumeStorage,
  storageKey: string,
  uploadsUrl: string,
): Promise<string | undefined> {
  const stored = await storage.getItem(storageKey)
  const isUploadAddress = stored?.startsWith(uploadsUrl) && /^\/[\w-]+$/.test(stored.slice(uploadsUrl.length))
  return isUploadAddress ? stored! : undefined
}
