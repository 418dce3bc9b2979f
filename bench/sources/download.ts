import { readFile } from 'node:fs/promises'
import type { Exchange } from './stand-in/serve.ts'

/** Asks what a file lists, by plain fetch, so many at once, and does nothing with the answers but count their bytes. */
const [file = '', atOnce = '1'] = process.argv.slice(2)
const exchanges = JSON.parse(await readFile(file, 'utf8')) as Exchange[]

let next = 0
let bytes = 0
async function work(): Promise<void> {
  for (let exchange = exchanges[next++]; exchange; exchange = exchanges[next++]) {
    const { url, ...how } = exchange
    const answer = await fetch(url, { ...how, redirect: 'manual' })
    if (answer.status >= 400) throw new Error(`${how.method} ${url.split('?')[0]} answers ${answer.status}.`)
    for await (const chunk of answer.body ?? []) bytes += chunk.length
  }
}

const began = performance.now()
await Promise.all(Array.from({ length: Number(atOnce) }, work))
process.send!({ milliseconds: performance.now() - began, bytes })
process.disconnect()
