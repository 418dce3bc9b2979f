import type { Service } from './app-under-test.ts'

export interface TusAnswer {
  status: number
  headers: Headers
  /** The problem, or the state of the upload; `{}` without a body. */
  body: Record<string, any>
}

type GivenHeaders = Record<string, string | undefined>
type Body = string | Uint8Array | AsyncIterable<Uint8Array>

/** Sends requests of tus, also wrong ones, as one user to one pipeline. A header that is undefined is left out. */
export function tusRequests(url: Service['url'], token: string, pipeline: string) {
  const uploads = `${url}/api/v1/data-pipelines/${pipeline}/uploads`

  async function send(method: string, address: string, headers: GivenHeaders = {}, body?: Body): Promise<TusAnswer> {
    const all = { authorization: `Bearer ${token}`, 'tus-resumable': '1.0.0', ...headers }
    const sent = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
    const answer = await fetch(address, { method, headers: sent, body, duplex: 'half' } as RequestInit)
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text ? JSON.parse(text) : {} }
  }

  return {
    uploads,
    send,
    create: (length: number | string, headers: GivenHeaders = {}, body?: string) =>
      send('POST', uploads, { 'upload-length': String(length), ...headers }, body),
    /** Creates an upload and returns its address. */
    async address(length: number, headers: GivenHeaders = {}): Promise<string> {
      const {
        status,
        headers: answered,
        body,
      } = await send('POST', uploads, { 'upload-length': `${length}`, ...headers })
      if (status !== 201) throw new Error(`The upload was not created: ${JSON.stringify(body)}`)
      return new URL(answered.get('location')!, url).href
    },
    append: (address: string, offset: number | string, bytes: Body, headers: GivenHeaders = {}) =>
      send(
        'PATCH',
        address,
        { 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream', ...headers },
        bytes,
      ),
    head: (address: string, headers: GivenHeaders = {}) => send('HEAD', address, headers),
    read: (address: string) => send('GET', address, { 'tus-resumable': undefined }),
    remove: (address: string, headers: GivenHeaders = {}) => send('DELETE', address, headers),
  }
}

/** The header for a file of this name. */
export const named = (name: string): GivenHeaders => ({
  'upload-metadata': `filename ${Buffer.from(name).toString('base64')}`,
})
