import type { EmailContent } from '@sluice/mail'
import { nounOf } from '../runs/runnable-kinds.ts'
import { getAlertAdvice } from './failure-advice.ts'
import { type AlertContent, createLogCommand } from './alert.ts'
import { maxMailsPerHour } from './write-alerts.ts'

/** Returns the email of an alert. `publicUrl` is the public address of the pipeline service. */
export function createAlertEmail(alert: AlertContent, publicUrl: string): EmailContent {
  const { event = 'FAILED', kind, errorCode } = alert
  const noun = nounOf[kind]
  const objectName = `The ${noun} "${toSingleLine(alert.name, 120)}"`
  const { title, sentences } = emailTextByEvent[event](alert, objectName)
  const paragraphs = [
    ...sentences,
    toSingleLine(alert.message, 2_000),
    `What to do: ${getAlertAdvice({ event, kind, errorCode })}`,
    describeRunId(alert),
    announceMailLimit(alert),
  ]
  return {
    subject: `${title}: ${noun} ${toSingleLine(alert.name, 80)}`,
    paragraphs: paragraphs.filter((paragraph) => paragraph !== ''),
    command: {
      label: 'This command shows more. TOKEN is an API token of yours, or an access token:',
      line: createLogCommand(alert, publicUrl),
    },
    notes: ['You get this mail because your address is in the setting ALERT_EMAIL of your organisation.'],
  }
}

const describeRunId = ({ event = 'FAILED', run, errorCode }: AlertContent): string => {
  if (run === null) return ''
  const codeText = event === 'FAILED' && errorCode ? ` Its code is ${errorCode}.` : ''
  return `Run id: ${run}.${codeText}`
}

/** Returns a notice in the last email that the organisation gets within its hourly limit, otherwise an empty text. */
const announceMailLimit = ({ leftOutUntil }: AlertContent): string =>
  leftOutUntil
    ? `Your organisation gets at most ${maxMailsPerHour} such emails an hour, and this is the last one. No further emails are sent until ${formatTime(leftOutUntil)}: look at the status of your other objects.`
    : ''

interface EmailText {
  title: string
  sentences: string[]
}

const emailTextByEvent: Readonly<
  Record<NonNullable<AlertContent['event']>, (alert: AlertContent, objectName: string) => EmailText>
> = {
  FAILED: ({ finished, failures }, objectName) => ({
    title: 'Failed',
    sentences: [`${objectName} failed on ${formatTime(finished)}.`, ...describeRepetition(failures, 'It has failed')],
  }),
  WARNING: ({ finished, failures }, objectName) => ({
    title: 'Warning',
    sentences: [
      `${objectName} ended with a warning on ${formatTime(finished)}.`,
      ...describeRepetition(failures, 'It has ended with a warning'),
    ],
  }),
  NO_SUCCESS: ({ hours = 0, lastSuccess, message }, objectName) => ({
    title: `No success for ${formatHours(hours)}`,
    sentences: [
      `${objectName} has a schedule and had no successful run for ${formatHours(hours)}. ${
        lastSuccess ? `The last one ended on ${formatTime(lastSuccess)}.` : 'It has never run successfully.'
      }`,
      ...(message === '' ? ['No run has started since then.'] : ['Its last run says:']),
    ],
  }),
  RECOVERED: ({ finished }, objectName) => ({
    title: 'OK again',
    sentences: [`${objectName} is OK again: it ran successfully on ${formatTime(finished)}.`],
  }),
}

const describeRepetition = (times: number, what: string): string[] =>
  times > 1
    ? [`${what} ${times.toLocaleString('en')} times since the last mail about it: there is at most one an hour.`]
    : []

const formatHours = (hours: number) => `${hours.toLocaleString('en')} ${hours === 1 ? 'hour' : 'hours'}`

const toSingleLine = (text: string, maxLength: number): string => {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  return plain.length <= maxLength ? plain : `${plain.slice(0, maxLength - 1).toWellFormed()}…`
}

/**
 * Formats a time as `22 November 2026, 01:16 UTC`. Uses UTC, because recipients may be in another zone than their
 * organisation.
 */
const formatTime = (iso: string): string => {
  const date = new Date(iso)
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
  return `${day}, ${date.toISOString().slice(11, 16)} UTC`
}
