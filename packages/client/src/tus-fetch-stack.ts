import type { HttpRequest, HttpResponse, HttpStack } from 'tus-js-client'
import { readAhead, readBlob, createStreamTransport } from './upload.ts'

/**
 * Sends the requests of tus-js-client with `fetch`, which streams a Blob without loading it into memory. For Node.js.
 */
export class FetchStack implements HttpStack {
  createRequest(method: string, url: string): HttpRequest {
    return new FetchRequest(method, url)
  }

  getName(): string {
    return 'FetchStack'
  }
}

class FetchRequest implements HttpRequest {
  readonly #method: string
  readonly #url: string
  readonly #headers = new Headers()
  readonly #aborting = new AbortController()
  #onProgress: (bytes: number) => void = () => {}

  constructor(method: string, url: string) {
    this.#method = method
    this.#url = url
  }

  getMethod = (): string => this.#method
  getURL = (): string => this.#url
  setHeader = (name: string, value: string): void => this.#headers.set(name, value)
  getHeader = (name: string): string | undefined => this.#headers.get(name) ?? undefined
  setProgressHandler = (handler: (bytes: number) => void): void => {
    this.#onProgress = handler
  }
  getUnderlyingObject = (): undefined => undefined

  async send(body: Blob | null): Promise<HttpResponse> {
    const init: RequestInit = {
      method: this.#method,
      headers: this.#headers,
      signal: this.#aborting.signal,
      // Following a redirect would send the token to an unknown host.
      redirect: 'manual',
    }
    if (!body) return toTusResponse(await fetch(this.#url, init))
    const source = readAhead(readBlob(body))
    try {
      const send = createStreamTransport(source, { size: body.size, onProgress: this.#onProgress })
      return await toTusResponse(await send(new URL(this.#url), init))
    } finally {
      await source.close()
    }
  }

  async abort(): Promise<void> {
    this.#aborting.abort()
  }
}

async function toTusResponse(response: Response): Promise<HttpResponse> {
  const text = await response.text()
  return {
    getStatus: () => response.status,
    getHeader: (name) => response.headers.get(name) ?? undefined,
    getBody: () => text,
    getUnderlyingObject: () => response,
  }
}
