import type { RequestHandler } from 'express'
import { problems } from '@sluice/http'
import { prefixOf } from '../sign-in/addresses.ts'

interface Limit {
  /** Sign-ins that a network may begin and not end within the time. */
  most?: number
  /** Milliseconds. */
  within?: number
}

interface Network {
  begun: number
  since: number
}

/** About 2 MB. */
const mostNetworks = 20_000

/**
 * Turns a network away that begins sign-ins and does not end them: each is a row that is kept for an hour, and nobody needs to
 * be known to begin one. Who ends theirs gives it back, so an office that comes to work is not kept out. Counted by every
 * process for itself. To be mounted at the address that sign-ins begin at. Throws 429.
 */
export function begunSignIns({ most = 300, within = 600_000 }: Limit = {}): RequestHandler {
  // Oldest first.
  const networks = new Map<string, Network>()

  const networkOf = (address: string): Network => {
    const key = prefixOf(address)
    const known = networks.get(key)
    if (known && Date.now() - known.since < within) return known
    networks.delete(key)
    if (networks.size >= mostNetworks) networks.delete(networks.keys().next().value!)
    const network = { begun: 0, since: Date.now() }
    networks.set(key, network)
    return network
  }

  return (request, response, next) => {
    const network = networkOf(request.ip ?? '')
    const resumed = request.path !== '/'
    if (!resumed) {
      if (network.begun >= most)
        throw problems.tooManyRequests(
          Math.max(1, Math.ceil((network.since + within - Date.now()) / 1000)),
          'Too many sign-ins were begun from this network and not ended.',
        )
      // Before it is known whether it is one, so that no number of parallel ones gets past.
      network.begun += 1
    }
    response.once('close', () => {
      const location = response.get('Location') ?? ''
      const asks = /\/interaction\/[^/]+$/.test(location)
      const ended = URL.canParse(location) && new URL(location).searchParams.has('code')
      if (resumed ? ended : !asks) network.begun = Math.max(0, network.begun - 1)
    })
    next()
  }
}
