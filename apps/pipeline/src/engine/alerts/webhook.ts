import { createHmac } from 'node:crypto'
import { guardedFetch } from '@sluice/http/guarded-fetch'
import type { OutgoingAllowed } from '@sluice/http/outgoing'
import type { AlertContent } from './alert.ts'
import { linkTo } from './alert.ts'

interface Options {
  url: string
  /** The key itself. */
  secret: Buffer
  allowed: OutgoingAllowed
  publicUrl: string
  /** Milliseconds. */
  timeLimit?: number
}

/** Calls the operator's webhook. Throws `Refused`, or what kept it from being reached. */
export interface Webhook {
  call(uid: string, alert: AlertContent, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Calls as Standard Webhooks has them: the same id at every try, and a signature over id, time and body. */
export function webhook({ url, secret, allowed, publicUrl, timeLimit = 15_000 }: Options): Webhook {
  const outgoing = guardedFetch({ allowed, timeLimit, maxBytes: 100_000 })

  return {
    async call(uid, alert, signal) {
      const { finished, ...about } = alert
      const body = JSON.stringify({
        type: 'run.failed',
        timestamp: finished,
        data: { ...about, finished, link: linkTo(alert, publicUrl) },
      })
      const timestamp = String(Math.floor(Date.now() / 1000))
      const response = await outgoing.fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Sluice',
          'webhook-id': uid,
          'webhook-timestamp': timestamp,
          'webhook-signature': signatureOf(secret, `${uid}.${timestamp}.${body}`),
        },
        body,
        signal,
      })
      await response.body?.cancel()
      if (response.ok) return
      // 410: whoever was there wants no more of them.
      throw new Refused(`The webhook answers ${response.status}.`, response.status === 410)
    },
    close: () => outgoing.close(),
  }
}

export const signatureOf = (secret: Buffer, signed: string): string =>
  `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`

/** Something did not take an alert. `permanent`: nor will it later. The message is one line without secrets. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly permanent: boolean

  constructor(message: string, permanent: boolean) {
    super(message)
    this.permanent = permanent
  }
}
