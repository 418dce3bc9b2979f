import { connect, type Socket } from 'node:net'
import type { Job, Request, Result } from './load-job.ts'

/** The load generator process. It receives jobs as messages. A response without a 2xx status fails the job. */

let counter = Date.now()

process.on('message', (job: Job) => {
  run(job).then(
    (result) => process.send!({ result }),
    (error: unknown) => process.send!({ error: String(error) }),
  )
})

async function run(job: Job): Promise<Result> {
  const latencies: number[] = []
  const startedAt = performance.now()
  const measureStart = startedAt + job.warmUp * 1000
  const end = measureStart + job.seconds * 1000
  const sendNext = job.chain ? tokenChain(job.chain) : roundRobin(job.requests ?? [])

  await Promise.all(
    Array.from({ length: job.connections }, async () => {
      await using connection = new Connection(job.port)
      for (let start = performance.now(); start < end; ) {
        await sendNext(connection)
        const done = performance.now()
        // Requests count by their end. Those in flight at the start of the measurement balance those in flight at its
        // end.
        if (done >= measureStart && done < end) latencies.push(done - start)
        start = done
      }
    }),
  )
  latencies.sort((a, b) => a - b)
  const quantile = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN
  return {
    rate: latencies.length / job.seconds,
    p50: quantile(0.5),
    p95: quantile(0.95),
    tokens: job.chain?.tokens ?? [],
  }
}

function roundRobin(requests: Request[]) {
  // Constant requests are serialized once.
  const texts = requests.map((request) => (request.body?.includes('{n}') ? undefined : requestText(request)))
  let turn = 0
  return async (connection: Connection): Promise<void> => {
    const index = turn++ % requests.length
    const request = requests[index]!
    assertSuccess(request, await connection.send(texts[index] ?? requestText(request, { n: String(counter++) })))
  }
}

function tokenChain({ request, tokens, next }: NonNullable<Job['chain']>) {
  return async (connection: Connection): Promise<void> => {
    const token = tokens.shift()
    if (token === undefined) throw new Error('there are fewer tokens than connections')
    const reply = await connection.send(requestText(request, { token }))
    assertSuccess(request, reply)
    tokens.push((JSON.parse(reply.body.toString()) as Record<string, string>)[next]!)
  }
}

function requestText({ method, path, headers = {}, body = '' }: Request, values: Record<string, string> = {}): string {
  const filled = body.replace(/\{(n|token)\}/g, (_whole, name: string) => values[name] ?? '')
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = method === 'POST' ? `content-length: ${Buffer.byteLength(filled)}\r\n` : ''
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}${length}\r\n${filled}`
}

function assertSuccess({ method, path }: Request, { status, body }: Reply): void {
  if (status < 200 || status > 299) throw new Error(`${method} ${path} returned ${status}: ${body.toString()}`)
}

interface Reply {
  status: number
  body: Buffer
}

const blankLine = Buffer.from('\r\n\r\n')

/**
 * A keep-alive connection with one request at a time. It shares its cores with the measured service, so it does only
 * what is necessary: a tenth of the work of Node's HTTP client. Responses need a Content-Length.
 */
class Connection implements AsyncDisposable {
  #socket: Socket
  #parts: Buffer = Buffer.alloc(0)
  #waiting: { resolve(reply: Reply): void; reject(error: Error): void } | undefined

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error('the connection was closed')))
  }

  /** Sends a complete HTTP/1.1 request. */
  send(text: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(text)
    })
  }

  #receive(chunk: Buffer): void {
    this.#parts = this.#parts.length === 0 ? chunk : Buffer.concat([this.#parts, chunk])
    const end = this.#parts.indexOf(blankLine)
    if (end < 0) return
    const head = this.#parts.toString('latin1', 0, end)
    const status = Number(head.slice(9, 12))
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? (status === 204 ? 0 : Number.NaN))
    if (Number.isNaN(length)) return this.#fail(new Error(`a response without Content-Length: ${head}`))
    const bodyStart = end + blankLine.length
    if (this.#parts.length < bodyStart + length) return
    const body = this.#parts.subarray(bodyStart, bodyStart + length)
    this.#parts = this.#parts.subarray(bodyStart + length)
    const pending = this.#waiting
    this.#waiting = undefined
    pending?.resolve({ status, body })
  }

  #fail(error: Error): void {
    const pending = this.#waiting
    this.#waiting = undefined
    pending?.reject(error)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy()
  }
}
