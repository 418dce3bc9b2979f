import type { RequestHandler } from 'express'
import { list, type Setting } from '@sluice/process'
import { problems } from './problem.ts'

const loopback = ['localhost', '127.0.0.1', '[::1]']

/** A setting: the hosts that a service answers to besides its public address and this machine. Ports do not matter. */
export const hostNames = (): Setting<string[]> => ({
  ...list(),
  parse: (given) => list().parse(given).map(assertHost),
})

function assertHost(text: string): string {
  const host = hostOf(text)
  if (host === undefined)
    throw new Error(`must hold host names with commas between, such as identity or 10.0.0.7, not "${text}"`)
  return host
}

/**
 * Refuses requests that were meant for another host with 421: a page whose name somebody pointed at this machine cannot
 * use a browser inside the network to ask us. Whichever the port, proxies and containers map those.
 */
export function rejectUnknownHosts(publicUrl: string, allowedHosts: readonly string[]): RequestHandler {
  const allowed = new Set([...loopback, new URL(publicUrl).hostname, ...allowedHosts.map(hostOf)])
  return (request, _response, next) => {
    const host = hostOf(request.headers.host ?? '')
    if (host === undefined || !allowed.has(host)) throw problems.misdirected()
    next()
  }
}

/** The host of `host:port` as URLs have it: in lower case, IPv6 in brackets. Undefined: it is not one. */
function hostOf(text: string): string | undefined {
  const bracketed = /^[\da-f:]*:[\da-f:]*:[\da-f:]*$/i.test(text) ? `[${text}]` : text
  if (!/^(\[[\da-f:.]+\]|[\w.-]+)(:\d+)?$/i.test(bracketed)) return undefined
  return URL.canParse(`http://${bracketed}`) ? new URL(`http://${bracketed}`).hostname : undefined
}
