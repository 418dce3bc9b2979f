import { isIPv6 } from 'node:net'
import { problems } from '@sluice/http'

/** Requests of one network in a minute, and at once. */
const perMinute = 300
const burst = 100
/** Networks that are remembered; the ones that were quiet longest go first. */
const most = 20_000

interface Bucket {
  left: number
  at: number
}

/**
 * Lets a network ask now and then: 100 times at once, 300 times a minute. Counted in this process alone, so as many times over
 * as there are processes. An address of IPv6 stands for its /64, since whoever has one has them all.
 */
export function publicAdmission(now: () => number = Date.now) {
  const buckets = new Map<string, Bucket>()

  /** Throws 429 with the seconds to wait. */
  return (address: string): void => {
    const key = networkOf(address)
    const { left, at } = buckets.get(key) ?? { left: burst, at: now() }
    const filled = Math.min(burst, left + ((now() - at) / 60_000) * perMinute)
    buckets.delete(key)
    buckets.set(key, { left: Math.max(0, filled - 1), at: now() })
    if (buckets.size > most) buckets.delete(buckets.keys().next().value!)
    if (filled >= 1) return
    const seconds = Math.ceil(((1 - filled) / perMinute) * 60)
    throw problems.tooManyRequests(
      seconds,
      `Your network has asked too often: wait ${seconds === 1 ? 'a second' : `${seconds} seconds`} before the next request.`,
    )
  }
}

function networkOf(address: string): string {
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = plain.toLowerCase().split('%')[0]!.split('::')
  const groups = head.split(':').filter(Boolean)
  if (tail === undefined) return groups.slice(0, 4).join(':')
  const after = tail.split(':').filter(Boolean)
  const gap = Array.from({ length: Math.max(0, 8 - groups.length - after.length) }, () => '0')
  return [...groups, ...gap, ...after].slice(0, 4).join(':')
}
