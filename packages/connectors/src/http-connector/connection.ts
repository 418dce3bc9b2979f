import { SourceProblem } from '@sluice/row-stream'

/** Parameters of a request. Undefined values are omitted; a list becomes one parameter for each of its values. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** The address of a system and the credentials of its requests. */
export interface SystemConnection {
  url: string
  /** Trailing path segments that users copy by mistake, such as `api`; they are removed. */
  ignoredSegments?: readonly string[]
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>>
  /**
   * Signs in and returns the headers of the session. Called before the first request, and once more after a 401, because sessions expire.
   * Its `http` is not signed in.
   */
  signIn?(http: HttpSession): Promise<Readonly<Record<string, string>>>
  /**
   * Ends the session, for systems whose sessions do not expire. Called at the end, with a timeout of two seconds; errors are ignored.
   */
  signOut?(http: HttpSession, session: Readonly<Record<string, string>>): Promise<unknown>
  /** Returns the headers that sign a request. Called before each attempt. */
  sign?(request: UnsignedRequest): Promise<Readonly<Record<string, string>>>
}

export interface UnsignedRequest {
  method: string
  url: URL
  headers: Readonly<Record<string, string>>
  body?: string
}

export interface RequestOptions {
  query?: QueryParameters
  method?: 'GET' | 'POST' | 'DELETE'
  /** Sent as a form if it is `URLSearchParams`, else as JSON. */
  body?: URLSearchParams | object
  headers?: Readonly<Record<string, string>>
  /** Whether the request is idempotent. GET requests always are. */
  repeatable?: boolean
  /** The requested thing, for the message of a 404: `The form "abc"`. */
  subject?: string
}

/** A response body on disk. Disposing it frees the disk space. */
export interface DownloadedBody extends Disposable {
  size: number
  headers: Headers
  /** Reads the body from its start; can be called again. A chunk is valid until the next one is requested. */
  chunks(): AsyncIterable<Buffer>
}

/** Sends requests to one system. Paths are relative to `base`. All methods throw `SourceProblem` or the signal's reason. */
export interface HttpSession {
  /** `https://host/prefix`, without a trailing slash. */
  readonly base: string
  /**
   * The clock of the system at the first request, in milliseconds since 1970: the `Date` of the first response minus the
   * duration of the request. This process's clock if there was no response yet or it has no `Date`.
   */
  startedAt(): number
  /** Returns the parsed JSON body, which is limited to 32 MB. Numbers that JavaScript cannot hold keep their digits (`JSON.rawJSON`). */
  getJson(path: string, asked?: RequestOptions): Promise<unknown>
  /** Returns the parsed JSON body and the response headers. */
  getResponse(path: string, asked?: RequestOptions): Promise<{ json: unknown; headers: Headers }>
  /** Downloads a body that can be larger than the memory limit. */
  download(path: string, asked?: RequestOptions): Promise<DownloadedBody>
  /** Turns a link of a response into a path of this session. Throws for another host, which would receive the credentials. */
  resolveLink(link: string): string
  /** A session for another address, without credentials, such as a token endpoint or a file server. */
  forOrigin(url: string): HttpSession
  /** Removes secrets from text of the system and shortens it to one line of 500 characters. */
  redactText(text: string): string
}

/**
 * Returns `https://host/prefix` of an address that a user entered, without the segments `without`. Throws `SourceProblem` if the address is
 * invalid, which can be the case for the value of a variable.
 */
export function parseBaseUrl(typed: string, without: readonly string[] = []): string {
  if (!URL.canParse(typed.trim()))
    throw new SourceProblem('ADDRESS_INVALID', 'The address is invalid. Write it like https://data.example.org.')
  const url = new URL(typed.trim())
  let path = url.pathname.replace(/\/+$/, '')
  for (const name of without) if (path.toLowerCase().endsWith(`/${name}`)) path = path.slice(0, -name.length - 1)
  return `${url.origin}${path.replace(/\/+$/, '')}`
}
