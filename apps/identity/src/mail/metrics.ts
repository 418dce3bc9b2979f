import { Counter, type Registry } from '@sluice/process'

export interface MailMetrics {
  /** One try of one mail: sent, delayed or failed. */
  tries: Counter<'outcome'>
}

/** What mails show at /metrics. Mails that fail or are delayed for long are worth an alarm. */
export const mailMetrics = (registry: Registry): MailMetrics => ({
  tries: new Counter({
    name: 'identity_mail_tries_total',
    help: 'Tries to send a mail, by what came of them.',
    labelNames: ['outcome'],
    registers: [registry],
  }),
})
