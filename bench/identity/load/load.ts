import { Connection, type Reply } from './connection.ts'
import type { Job, Request, Result } from './job.ts'

/** The load generator: a process of its own, told what to do by messages. Whatever is not a 2xx ends a job. */

let counter = Date.now()

process.on('message', (job: Job) => {
  run(job).then(
    (result) => process.send!({ result }),
    (error: unknown) => process.send!({ error: String(error) }),
  )
})

async function run(job: Job): Promise<Result> {
  const latencies: number[] = []
  const began = performance.now()
  const counts = began + job.warmUp * 1000
  const end = counts + job.seconds * 1000
  const ask = job.chain ? chained(job.chain) : inTurn(job.requests ?? [])

  await Promise.all(
    Array.from({ length: job.connections }, async () => {
      await using connection = new Connection(job.port)
      for (let start = performance.now(); start < end; ) {
        await ask(connection)
        const done = performance.now()
        // By when they end: as many of those under way count at the beginning as do not at the end.
        if (done >= counts && done < end) latencies.push(done - start)
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

function inTurn(requests: Request[]) {
  // What does not change is written once.
  const texts = requests.map((request) => (request.body?.includes('{n}') ? undefined : textOf(request)))
  let turn = 0
  return async (connection: Connection): Promise<void> => {
    const index = turn++ % requests.length
    const request = requests[index]!
    demandGood(request, await connection.ask(texts[index] ?? textOf(request, { n: String(counter++) })))
  }
}

function chained({ request, tokens, next }: NonNullable<Job['chain']>) {
  return async (connection: Connection): Promise<void> => {
    const token = tokens.shift()
    if (token === undefined) throw new Error('there are fewer tokens than connections')
    const reply = await connection.ask(textOf(request, { token }))
    demandGood(request, reply)
    tokens.push((JSON.parse(reply.body.toString()) as Record<string, string>)[next]!)
  }
}

function textOf({ method, path, headers = {}, body = '' }: Request, values: Record<string, string> = {}): string {
  const filled = body.replace(/\{(n|token)\}/g, (_whole, name: string) => values[name] ?? '')
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = method === 'POST' ? `content-length: ${Buffer.byteLength(filled)}\r\n` : ''
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}${length}\r\n${filled}`
}

function demandGood({ method, path }: Request, { status, body }: Reply): void {
  if (status < 200 || status > 299) throw new Error(`${method} ${path} was answered ${status}: ${body.toString()}`)
}
