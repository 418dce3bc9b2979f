import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'

/**
 * Closes all database connections of this process at their nth query, as if the process were killed: before the query
 * is sent, or after the server has received it and before it answers. Forwards nothing after that. Returns whether the
 * nth query was reached.
 */
export async function dyingAt(step: number, when: 'before' | 'after', work: () => Promise<unknown>): Promise<boolean> {
  const { query } = Client.prototype
  const clients = new Set<Client>()
  let [steps, dead] = [0, false]
  const die = () => {
    dead = true
    for (const client of clients)
      (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
  }
  Client.prototype.query = function (this: Client, ...args: [string | Submitted]) {
    clients.add(this)
    steps += 1
    if (steps === step && when === 'before') die()
    if (dead) return refused(args[0])
    if (steps === step) setTimeout(die, 4)
    return (query as (...all: unknown[]) => unknown).apply(this, args)
  } as never
  try {
    await work().catch((error: unknown) => {
      if (!dead) throw error
    })
    // What was sent in the last moment is still on its way.
    if (steps >= step) await sleep(10)
  } finally {
    Client.prototype.query = query
  }
  return steps >= step
}

interface Submitted {
  submit?(): void
  handleError(error: Error, connection: object): void
}

function refused(query: string | Submitted) {
  const error = new Error('dead')
  if (typeof query === 'string' || !query.submit) return Promise.reject(error)
  process.nextTick(() => query.handleError(error, {}))
  return query
}
