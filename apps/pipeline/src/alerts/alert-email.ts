import type { EmailContent } from '@sluice/mail'
import { nounOf } from '../runs/runnable.ts'
import { adviceFor } from './failure-advice.ts'
import { type AlertContent, commandFor } from './alert.ts'
import { mostMailsPerHour } from './write-alerts.ts'

/** Returns the email for an alert. `publicUrl` is the public address of the pipeline service. */
export function alertEmail(alert: AlertContent, publicUrl: string): EmailContent {
  const { event = 'FAILED', kind, run, errorCode, leftOutUntil } = alert
  const noun = nounOf[kind]
  const subject = `${noun} ${oneLine(alert.name, 80)}`
  const called = `The ${noun} "${oneLine(alert.name, 120)}"`
  const { title, sentences } = textOf[event](alert, called)
  const message = oneLine(alert.message, 2_000)
  const code = event === 'FAILED' && errorCode ? ` Its code is ${errorCode}.` : ''
  return {
    subject: `${title}: ${subject}`,
    paragraphs: [
      ...sentences,
      ...(message === '' ? [] : [message]),
      `What to do: ${adviceFor({ event, kind, errorCode })}`,
      ...(run === null ? [] : [`Run id: ${run}.${code}`]),
      ...(leftOutUntil === undefined
        ? []
        : [
            `Your organisation gets at most ${mostMailsPerHour} such mails an hour, and this is the last one. No further ones are sent until ${moment(leftOutUntil)}: look at the status of your other objects.`,
          ]),
    ],
    command: {
      label: 'This command shows more. TOKEN is an API token of yours, or an access token:',
      line: commandFor(alert, publicUrl),
    },
    notes: ['You get this mail because your address is in the setting ALERT_EMAIL of your organisation.'],
  }
}

interface EmailText {
  title: string
  sentences: string[]
}

const textOf: Readonly<Record<NonNullable<AlertContent['event']>, (alert: AlertContent, called: string) => EmailText>> =
  {
    FAILED: ({ finished, failures }, called) => ({
      title: 'Failed',
      sentences: [`${called} failed on ${moment(finished)}.`, ...sinceLast(failures, 'It has failed')],
    }),
    WARNING: ({ finished, failures }, called) => ({
      title: 'Warning',
      sentences: [
        `${called} ended with a warning on ${moment(finished)}.`,
        ...sinceLast(failures, 'It has ended with a warning'),
      ],
    }),
    NO_SUCCESS: ({ hours = 0, lastSuccess, message }, called) => ({
      title: `No success for ${hoursOf(hours)}`,
      sentences: [
        `${called} has a schedule and had no successful run for ${hoursOf(hours)}. ${
          lastSuccess ? `The last one ended on ${moment(lastSuccess)}.` : 'It has never run successfully.'
        }`,
        ...(message === '' ? ['No run was started since.'] : ['Its last run says:']),
      ],
    }),
    RECOVERED: ({ finished }, called) => ({
      title: 'OK again',
      sentences: [`${called} is OK again: it ran successfully on ${moment(finished)}.`],
    }),
  }

const sinceLast = (times: number, what: string): string[] =>
  times > 1
    ? [`${what} ${times.toLocaleString('en')} times since the last mail about it: there is at most one an hour.`]
    : []

const hoursOf = (hours: number) => `${hours.toLocaleString('en')} ${hours === 1 ? 'hour' : 'hours'}`

const oneLine = (text: string, most: number): string => {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  return plain.length <= most ? plain : `${plain.slice(0, most - 1).toWellFormed()}…`
}

/** Formats a time in UTC, because readers may be in another zone than their organisation: `22 November 2026, 01:16 UTC`. */
const moment = (iso: string): string => {
  const date = new Date(iso)
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
  return `${day}, ${date.toISOString().slice(11, 16)} UTC`
}
