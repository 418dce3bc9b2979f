import type { RequestHandler } from 'express'
import { listSetting, type Setting } from '@sluice/process'
import { problems } from './problem.ts'

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

/**
 * Returns the definition of an environment setting: hosts that a service accepts in addition to its public address and
 * loopback. Ports are ignored.
 */
export const hostNames = (): Setting<string[]> => ({
  ...listSetting(),
  parse: (text) => listSetting().parse(text).map(assertHost),
})

function assertHost(text: string): string {
  const host = hostOf(text)
  if (host === undefined)
    throw new Error(`must contain host names, separated by commas, such as identity or 10.0.0.7, not "${text}"`)
  return host
}

/**
 * Rejects requests with other Host headers with 421. This prevents DNS rebinding attacks through a browser inside the
 * network. Ports are ignored, because proxies and containers map them.
 */
export function rejectUnknownHosts(publicUrl: string, allowedHosts: readonly string[]): RequestHandler {
  const allowed = new Set([...loopbackNames, new URL(publicUrl).hostname, ...allowedHosts.map(hostOf)])
  return (request, _response, next) => {
    const host = hostOf(request.headers.host ?? '')
    if (host === undefined || !allowed.has(host)) throw problems.misdirected()
    next()
  }
}

/** Returns the host of `host:port` in lower case, with IPv6 in brackets, or undefined if the text is not a host. */
function hostOf(text: string): string | undefined {
  const bracketed = /^[\da-f:]*:[\da-f:]*:[\da-f:]*$/i.test(text) ? `[${text}]` : text
  if (!/^(\[[\da-f:.]+\]|[\w.-]+)(:\d+)?$/i.test(bracketed)) return undefined
  return URL.canParse(`http://${bracketed}`) ? new URL(`http://${bracketed}`).hostname : undefined
}
