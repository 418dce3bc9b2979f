import { createServer, connect, type Socket, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { superuserUrl } from './scratch-warehouse.ts'
import { ensureCatalogue } from './redshift-catalogue-stand-in.ts'
import { copyFromBucket, type ReadableBucket } from './redshift-copy-stand-in.ts'
import { errorResponse, FrontendMessages, message, ready, ServerMessages, textOf } from './postgres-messages.ts'
import { refusal } from './unsupported-in-redshift.ts'

/** When connections are lost: before the server hears of the n-th statement, or before it can say how that went. */
export interface Cut {
  statement: number
  heard: boolean
}

/** A stand-in of a Redshift cluster: the PostgreSQL of the tests behind a proxy that executes COPY from a bucket. */
export interface RedshiftStandIn extends AsyncDisposable {
  /** Restarts the count of statements and cuts the connection at the given one. Returns the previous count. */
  count(cut?: Cut): number
  port: number
  [Symbol.asyncDispose](): Promise<void>
}

const caseSetting = /set enable_case_sensitive_identifier to true;?\s*/

/** `role` is the only one that the cluster has. */
export async function redshiftStandIn(bucket: ReadableBucket, role: string): Promise<RedshiftStandIn> {
  const { hostname, port } = new URL(superuserUrl())
  const sockets = new Set<Socket>()
  let seen = 0
  let cut: Cut | undefined
  /** Every login may use the roles of the cluster until this right is revoked. */
  let anybodyAssumes = true

  const lost = () => cut !== undefined && seen >= cut.statement
  const cutOff = () => {
    for (const socket of sockets) socket.destroy()
  }

  // What is passed on in small pieces would wait for the other side to acknowledge the piece before, 40 ms each time.
  const noDelay = true
  const server = createServer({ noDelay }, (client) => {
    sockets.add(client)
    if (lost()) client.destroy()
    const behind = connect({ port: Number(port), host: hostname, noDelay })
    sockets.add(behind)
    for (const [one, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
    let [database, user] = ['', '']
    let keepsCase = false
    let cutAfter = false
    /** What is answered at Sync instead of by the server; `false` once it was an error. */
    let instead: { text: string } | undefined

    const answers = new ServerMessages()
    behind.on('data', (bytes) => {
      if (!cutAfter) client.write(bytes)
      else if (answers.take(bytes).some(({ type }) => type === 'Z')) cutOff()
    })

    const own = (text: string): boolean => /^\s*copy\s/i.test(text) || /^revoke assumerole /i.test(text)
    async function perform(text: string): Promise<Buffer[]> {
      if (/^revoke assumerole on all from public for all$/i.test(text)) {
        anybodyAssumes = false
        return [message('C', 'REVOKE\0')]
      }
      if (!anybodyAssumes && user.startsWith('sluice_'))
        throw new Error(`user ${user} is not authorized to assume IAM Role ${role}`)
      const rows = await copyFromBucket(text, { database, bucket, role })
      return [message('C', `COPY ${rows}\0`)]
    }
    const answer = async (text: string, before: Buffer[]): Promise<void> => {
      const said = await perform(text).catch((error: Error) => [errorResponse('XX000', error.message)])
      if (cutAfter) return cutOff()
      client.write(Buffer.concat([...before, ...said, ready]))
    }

    async function take(type: string, bytes: Buffer): Promise<void> {
      if (type === 'startup') {
        const told = bytes.toString('latin1')
        database = /\0database\0([^\0]*)\0/.exec(told)?.[1] ?? ''
        user = /\0user\0([^\0]*)\0/.exec(`\0${told.slice(8)}`)?.[1] ?? ''
        await ensureCatalogue(database)
        behind.write(bytes)
        return
      }
      const text = textOf(type, bytes)
      if (text !== undefined) {
        seen += 1
        if (cut?.statement === seen) {
          if (!cut.heard) return cutOff()
          cutAfter = true
        }
        if (caseSetting.test(text)) keepsCase = true
        const why = refusal(text, keepsCase)
        if (why !== undefined || own(text)) {
          if (type === 'Q') {
            if (why === undefined) return answer(text, [])
            client.write(Buffer.concat([errorResponse('0A000', why), ready]))
          } else if (why === undefined) instead = { text }
          else {
            client.write(errorResponse('0A000', why))
            instead = { text: '' }
          }
          return
        }
        if (type === 'Q') {
          const rest = text.replace(caseSetting, '')
          behind.write(message('Q', `${rest}\0`))
          return
        }
      }
      if (instead === undefined) {
        behind.write(bytes)
        return
      }
      if (type !== 'S') return
      const { text: asked } = instead
      instead = undefined
      if (asked === '') client.write(ready)
      else await answer(asked, [message('1', ''), message('2', ''), message('n', '')])
    }

    const messages = new FrontendMessages()
    let last = Promise.resolve()
    client.on('data', (bytes) => {
      for (const { type, bytes: whole } of messages.take(bytes))
        last = last.then(() => take(type, whole)).catch(() => void client.destroy())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    count(next) {
      const before = seen
      seen = 0
      cut = next
      return before
    },
    async [Symbol.asyncDispose]() {
      cutOff()
      server.close()
      await once(server, 'close')
    },
  }
}
