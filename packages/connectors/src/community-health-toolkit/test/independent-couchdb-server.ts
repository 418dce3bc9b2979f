import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/**
 * Serves databases by CouchDB's protocol from memory, with somebody else's implementation, installed by infra/independent-servers/install.ts, and writes its port.
 * CouchDB has no users here: this program checks the credentials.
 */
type Handler = (request: IncomingMessage, response: ServerResponse) => void

interface PouchDB {
  new (name: string): object
  defaults(options: object): PouchDB
  plugin(plugin: unknown): void
}

const from = createRequire(join(process.argv[2]!, 'package.json'))
const express = from('express') as () => Handler & { use(handler: Handler): void }
const serve = from('express-pouchdb') as (databases: PouchDB, options: object) => Handler
const pouch = from('pouchdb') as PouchDB
pouch.plugin(from('pouchdb-adapter-memory'))

const app = express()
app.use(serve(pouch.defaults({ adapter: 'memory' }), { mode: 'minimumForPouchDB', inMemoryConfig: true }))
const known = `Basic ${Buffer.from('reader:a-passphrase-of-cht').toString('base64')}`
const server = createServer((request, response) => {
  if (request.headers.authorization === known) return app(request, response)
  response.writeHead(401, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: 'unauthorized', reason: 'Name or password is incorrect.' }))
})
// The parent process holds the other end, so this program ends with it.
process.stdin.on('end', () => process.exit()).resume()
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
