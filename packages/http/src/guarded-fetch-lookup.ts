import { promises as dns } from 'node:dns'
import { readFile } from 'node:fs/promises'
import { SemaphoreBusy } from '@sluice/process'
import { fewAtOnce } from './few-at-once.ts'
import { OutgoingProblem } from './guarded-fetch-problem.ts'

export interface Resolved {
  address: string
  family: number
}

interface Lookup {
  /** `address:port` of the servers to ask; the system's when absent. */
  servers?: readonly string[]
  /** Milliseconds for one name. */
  timeLimit?: number
  /** Names at once. As many again may wait eight times over. */
  atOnce?: number
}

/** Where the system keeps names that no server is asked for. */
const hostsFile = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/**
 * Looks up names that anybody may have typed. The system's own look-up would block one of the few threads that passwords are
 * hashed on, for as long as a name's servers please; this one gives up, and asks for few names at once. Throws errors with
 * the codes of the system's.
 */
export function strangersLookup({ servers, timeLimit = 5_000, atOnce = 16 }: Lookup = {}) {
  const inTurn = fewAtOnce({ atOnce, waiting: atOnce * 8, title: 'Too many names are being looked up.' })

  const ask = async (host: string): Promise<Resolved[]> => {
    const resolver = new dns.Resolver({ timeout: Math.ceil(timeLimit / 2), tries: 1 })
    if (servers) resolver.setServers(servers)
    const timer = setTimeout(() => resolver.cancel(), timeLimit)
    try {
      const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      const found = answers.flatMap((answer, index) =>
        answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
      )
      if (found.length > 0) return found
      const codes = answers.map((answer) => answer.status === 'rejected' && String(answer.reason.code))
      const none = codes.every((code) => code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME')
      throw Object.assign(new Error(`looking up ${host}: ${codes.join(', ')}`), {
        code: none ? 'ENOTFOUND' : 'EAI_AGAIN',
      })
    } finally {
      clearTimeout(timer)
    }
  }

  return async (host: string): Promise<Resolved[]> => {
    const known = await fromHostsFile(host)
    if (known.length > 0) return known
    try {
      return await inTurn(() => ask(host))
    } catch (error) {
      if (!(error instanceof SemaphoreBusy)) throw error
      throw new OutgoingProblem('Too many names are being looked up just now: try again in a few seconds.')
    }
  }
}

async function fromHostsFile(host: string): Promise<Resolved[]> {
  const wanted = host.toLowerCase().replace(/\.$/, '')
  const text = await readFile(hostsFile, 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    return names.some((name) => name.toLowerCase() === wanted)
      ? [{ address, family: address.includes(':') ? 6 : 4 }]
      : []
  })
}
