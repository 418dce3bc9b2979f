import { readFile } from 'node:fs/promises'
import type { Exchange } from './stand-in/serve.ts'

/**
 * Sends the requests that a file lists, with plain fetch and this concurrency. Counts the bytes of the responses and
 * discards them.
 */
const [file = '', concurrency = '1'] = process.argv.slice(2)
const exchanges = JSON.parse(await readFile(file, 'utf8')) as Exchange[]

let next = 0
let bytes = 0
async function sendRequests(): Promise<void> {
  for (let exchange = exchanges[next++]; exchange; exchange = exchanges[next++]) {
    const { url, ...request } = exchange
    const response = await fetch(url, { ...request, redirect: 'manual' })
    if (response.status >= 400) throw new Error(`${request.method} ${url.split('?')[0]} returned ${response.status}.`)
    for await (const chunk of response.body ?? []) bytes += chunk.length
  }
}

const startedAt = performance.now()
await Promise.all(Array.from({ length: Number(concurrency) }, sendRequests))
process.send!({ milliseconds: performance.now() - startedAt, bytes })
process.disconnect()
