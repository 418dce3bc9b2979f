import { createHmac } from 'node:crypto'
import { ssrfSafeFetch, type OutgoingAllowList } from '@sluice/http-client'
import { type AlertContent, createRunsUrl } from './alert.ts'

interface WebhookOptions {
  url: string
  /** The key that signs calls, decoded. */
  secret: Buffer
  allowed: OutgoingAllowList
  publicUrl: string
  /** The timeout of one call in milliseconds. */
  timeLimitMs?: number
}

export interface Webhook {
  /** Sends the alert. Throws `DeliveryRejected`, or the network error. */
  call(uid: string, alert: AlertContent, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/**
 * Creates the operator's webhook, which follows the Standard Webhooks specification: all attempts of an alert have the
 * same id, and a signature covers id, time and body.
 */
export function createWebhook({ url, secret, allowed, publicUrl, timeLimitMs = 15_000 }: WebhookOptions): Webhook {
  const outgoing = ssrfSafeFetch({ allowed, timeLimitMs, maxBytes: 100_000 })

  return {
    async call(uid, alert, signal) {
      const { finished, ...details } = alert
      const body = JSON.stringify({
        type: 'run.failed',
        timestamp: finished,
        data: { ...details, finished, link: createRunsUrl(alert, publicUrl) },
      })
      const timestamp = String(Math.floor(Date.now() / 1000))
      const response = await outgoing.fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Sluice',
          'webhook-id': uid,
          'webhook-timestamp': timestamp,
          'webhook-signature': signWebhookCall(secret, `${uid}.${timestamp}.${body}`),
        },
        body,
        signal,
      })
      await response.body?.cancel()
      if (response.ok) return
      // The status 410 (Gone) means that the receiver wants no further calls.
      throw new DeliveryRejected(`The webhook returned the status ${response.status}.`, response.status === 410)
    },
    close: () => outgoing.close(),
  }
}

export const signWebhookCall = (secret: Buffer, signed: string): string =>
  `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`

/**
 * Thrown if the receiver rejected an alert. `permanent` means that retries are useless. The message is one line without
 * secrets.
 */
export class DeliveryRejected extends Error {
  override readonly name = 'DeliveryRejected'
  readonly permanent: boolean

  constructor(message: string, permanent: boolean) {
    super(message)
    this.permanent = permanent
  }
}
