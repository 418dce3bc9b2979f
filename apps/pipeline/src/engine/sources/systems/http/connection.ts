import { SourceProblem } from '../../source.ts'

/** Parameters of a request; what is undefined is left out, and a list comes once for each of its values. */
export type QueryParameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** Where a system is, and how whoever asks it shows who it is. */
export interface SystemConnection {
  /** As somebody typed it. */
  url: string
  /** Names of paths that people copy along and that are no part of the address, such as `api`. */
  ignoredSegments?: readonly string[]
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>>
  /**
   * Signs in and answers what is sent from then on, for systems that give out a session. Asked before the first request,
   * and once more when the system says 401, since sessions end. Its `http` is not signed in.
   */
  signIn?(http: HttpSession): Promise<Readonly<Record<string, string>>>
  /**
   * Ends the session that such headers are of, for systems that keep it until then. Asked when all else is over, for a second or two; that it
   * fails hurts nobody.
   */
  signOut?(http: HttpSession, session: Readonly<Record<string, string>>): Promise<unknown>
  /** What is sent besides, for systems that want each request signed with what is in it. Asked anew each time that it goes out. */
  sign?(request: UnsignedRequest): Promise<Readonly<Record<string, string>>>
}

/** A request that is about to go out. */
export interface UnsignedRequest {
  method: string
  url: URL
  headers: Readonly<Record<string, string>>
  body?: string
}

/** How one thing is asked. */
export interface RequestOptions {
  query?: QueryParameters
  /** GET unless told otherwise. */
  method?: 'GET' | 'POST' | 'DELETE'
  /** Sent as a form where these are parameters, and as JSON where it is anything else. */
  body?: URLSearchParams | object
  headers?: Readonly<Record<string, string>>
  /** Whether it does no harm to ask it twice. A GET does none. */
  repeatable?: boolean
  /** What it is that may not be there, for a 404: `The form "abc"`. */
  subject?: string
}

/** A text that was downloaded, on disk. Disposing it gives its room back. */
export interface DownloadedBody extends Disposable {
  /** Bytes. */
  size: number
  headers: Headers
  /** From the start, as often as it is asked for; a chunk is its reader's until the next one is asked for. */
  chunks(): AsyncIterable<Buffer>
}

/** One system as it is asked. Paths stand below the address of the connection. All throw `SourceProblem`, or the signal's reason. */
export interface HttpSession {
  /** `https://host/prefix`, without a slash at its end. */
  readonly base: string
  /**
   * The clock of the system when the first request went out, in milliseconds since 1970: the `Date` of the first answer, less the time that the
   * answer took. Our own clock where no answer has a `Date`, or none has come.
   */
  startedAt(): number
  /** What is answered, as parsed JSON of 32 MB at most. Numbers that JavaScript cannot hold keep their digits (`JSON.rawJSON`). */
  getJson(path: string, asked?: RequestOptions): Promise<unknown>
  /** The same with the headers that came along, for systems that page or sign in by them. */
  getResponse(path: string, asked?: RequestOptions): Promise<{ json: unknown; headers: Headers }>
  /** For bodies that may be larger than what is held in memory. */
  download(path: string, asked?: RequestOptions): Promise<DownloadedBody>
  /** A link that the system gave, as a path of this connection. Refuses one that leads to another host: credentials would go there. */
  resolveLink(link: string): string
  /** Another address, as something that is not signed in to and gets nothing that is sent here: where tokens are given out, or files wait. */
  forOrigin(url: string): HttpSession
  /** What the system said, without secrets, as one line of 500 characters at most. */
  redactText(text: string): string
}

/**
 * `https://host/prefix` of an address that somebody typed, whatever they copied along with it. Throws `SourceProblem` where it is none, as
 * the value of a variable may turn out.
 */
export function parseBaseUrl(typed: string, without: readonly string[] = []): string {
  if (!URL.canParse(typed.trim()))
    throw new SourceProblem('ADDRESS_INVALID', 'The address is invalid. Write it like https://data.example.org.')
  const url = new URL(typed.trim())
  let path = url.pathname.replace(/\/+$/, '')
  for (const name of without) if (path.toLowerCase().endsWith(`/${name}`)) path = path.slice(0, -name.length - 1)
  return `${url.origin}${path.replace(/\/+$/, '')}`
}
