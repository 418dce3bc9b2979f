import type { Letter } from '@sluice/mail'
import { nounOf } from '../runs/runnable.ts'
import type { AlertContent } from './alert.ts'
import { linkTo } from './link.ts'

/** What a mail about a failed run says. `publicUrl` is what people call the pipeline service. */
export function letterAbout(alert: AlertContent, publicUrl: string): Letter {
  const noun = nounOf[alert.kind]
  const name = oneLine(alert.name, 120)
  const again =
    alert.failures > 1
      ? [
          `It has failed ${alert.failures.toLocaleString('en')} times since the last mail about it: there is at most one an hour.`,
        ]
      : []
  return {
    subject: `Failed: ${noun} ${oneLine(alert.name, 80)}`,
    paragraphs: [`The ${noun} "${name}" failed on ${moment(alert.finished)}.`, oneLine(alert.message, 2_000), ...again],
    link: { label: 'See its runs', url: linkTo(alert, publicUrl) },
    notes: [
      `Run ${alert.run}${alert.errorCode ? `, ${alert.errorCode}` : ''}.`,
      'You get this since your address is in the setting ALERT_EMAIL of your organisation.',
    ],
  }
}

const oneLine = (text: string, most: number): string => {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  return plain.length <= most ? plain : `${plain.slice(0, most - 1).toWellFormed()}…`
}

/** `22 November 2026, 01:16 UTC`: readers may be in another zone than their organisation. */
const moment = (iso: string): string => {
  const date = new Date(iso)
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
  return `${day}, ${date.toISOString().slice(11, 16)} UTC`
}
