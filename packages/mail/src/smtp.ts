import { isLoopback } from '@sluice/process'
import type { Transporter } from 'nodemailer'
import { mailableAddress, type SenderAddress, type SmtpServer } from './settings.ts'

/** A rendered email with its recipient. */
export interface OutgoingEmail {
  uid: string
  recipient: string
  subject: string
  created: Date
  text: string
  html: string
}

/**
 * The mail server rejected an email. `permanent` is true if a retry will fail too. `message` is the server's response
 * as one line without secrets.
 */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
  readonly permanent: boolean

  constructor(message: string, permanent: boolean, cause?: unknown) {
    super(message, { cause })
    this.permanent = permanent
  }
}

export type SendMail = (mail: OutgoingEmail, signal: AbortSignal) => Promise<void>

interface SmtpOptions {
  server: SmtpServer
  from: SenderAddress
  /** Additional trusted certificates (PEM), for tests. Programs use NODE_EXTRA_CA_CERTS instead. */
  ca?: string
  /** Milliseconds without a response after which a delivery attempt fails. Default: 15,000. */
  timeoutMs?: number
}

interface MailSettings {
  SMTP_URL: SmtpServer | undefined
  MAIL_FROM: SenderAddress | undefined
}

/** Returns a function that sends emails with these settings, or undefined if mail is not configured. */
export const mailSenderFrom = ({ SMTP_URL, MAIL_FROM }: MailSettings): SendMail | undefined =>
  SMTP_URL && MAIL_FROM && createSmtpSender({ server: SMTP_URL, from: MAIL_FROM })

/** Returns a function that sends each email over its own SMTP connection. It throws `MailRefused`. */
export function createSmtpSender({ server, from, ca, timeoutMs = 15_000 }: SmtpOptions): SendMail {
  const { host, port, secure, user, password } = server
  const settings = {
    host,
    port,
    secure,
    // If `requireTLS` were missing, an attacker on the network could remove STARTTLS from the server's responses, and
    // read the password and the links.
    requireTLS: !secure && user !== undefined && !isLoopback(host),
    ...(user !== undefined && password !== undefined && { auth: { user, pass: password } }),
    tls: { minVersion: 'TLSv1.2' as const, ...(ca !== undefined && { ca }) },
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  // Imported with the first email, because many processes never send one.
  let transport: Promise<Transporter> | undefined
  const openTransport = () =>
    (transport ??= import('nodemailer').then(({ createTransport }) => createTransport(settings)))
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1)

  return async ({ uid, recipient, subject, created, text, html }, signal) => {
    const address = mailableAddress(recipient)
    if (address === undefined) throw new MailRefused('Mail cannot be sent to this address. Correct it.', true)
    try {
      await (await openTransport()).sendMail({
        from,
        to: { name: '', address },
        envelope: { from: from.address, to: [address] },
        // Stable across retries, so that duplicates can be recognised.
        messageId: `<${uid}@${domain}>`,
        date: created,
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        subject,
        text,
        html,
        signal,
      })
    } catch (error) {
      throw toMailRefused(error)
    }
  }
}

interface SmtpError extends Error {
  code?: string
  command?: string
  responseCode?: number
}

/**
 * Converts an SMTP error to MailRefused. Only a 5xx response to the recipient or to the email's content is permanent.
 * The operator can correct the cause of any other 5xx response, such as a wrong password or sender address.
 */
function toMailRefused(error: unknown): MailRefused {
  const { message, command, responseCode = 0 } = error as SmtpError
  const permanent = responseCode >= 500 && responseCode !== 503 && /^(RCPT TO|DATA)/.test(command ?? '')
  return new MailRefused(oneLine(message), permanent, error)
}

/** Returns the server's response as one line, without links, because servers may quote the email in it. */
const oneLine = (text: string): string =>
  text
    .replace(/\bsll_[\w-]+|token=\S+/g, '[link]')
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, 500)
