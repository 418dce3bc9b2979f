import { isLoopback } from '@sluice/process'
import type { Transporter } from 'nodemailer'
import { mailableAddress, type SenderAddress, type SmtpServer } from './settings.ts'

/** A mail as it goes out. */
export interface OutgoingEmail {
  uid: string
  recipient: string
  subject: string
  created: Date
  text: string
  html: string
}

/** The server did not take a mail. `permanent`: it will not take it later either. The message is one line without secrets. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
  readonly permanent: boolean

  constructor(message: string, permanent: boolean, cause?: unknown) {
    super(message, { cause })
    this.permanent = permanent
  }
}

export type SendMail = (mail: OutgoingEmail, signal: AbortSignal) => Promise<void>

/** A server that says nothing for this long, in milliseconds, is given up for now. */
const defaultTimeoutMs = 15_000

interface SmtpOptions {
  server: SmtpServer
  from: SenderAddress
  /** Certificates to trust besides, PEM. The command line's way is NODE_EXTRA_CA_CERTS. */
  ca?: string
  /** Milliseconds. */
  patience?: number
}

interface MailSettings {
  SMTP_URL: SmtpServer | undefined
  MAIL_FROM: SenderAddress | undefined
}

/** How mails go out under these settings. Undefined: they do not. */
export const sendingOf = ({ SMTP_URL, MAIL_FROM }: MailSettings): SendMail | undefined =>
  SMTP_URL && MAIL_FROM && smtp({ server: SMTP_URL, from: MAIL_FROM })

/** Hands mails to an SMTP server, each over a connection of its own. Throws `MailRefused`. */
export function smtp({ server, from, ca, patience = defaultTimeoutMs }: SmtpOptions): SendMail {
  const { host, port, secure, user, password } = server
  const settings = {
    host,
    port,
    secure,
    // What a network in between could strip off must not be what keeps a password and links secret.
    requireTLS: !secure && user !== undefined && !isLoopback(host),
    ...(user !== undefined && password !== undefined && { auth: { user, pass: password } }),
    tls: { minVersion: 'TLSv1.2' as const, ...(ca !== undefined && { ca }) },
    connectionTimeout: patience,
    greetingTimeout: patience,
    socketTimeout: patience,
    dnsTimeout: patience,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  // Its code is in memory from the first mail on: many processes never send one.
  let transport: Promise<Transporter> | undefined
  const opened = () => (transport ??= import('nodemailer').then(({ createTransport }) => createTransport(settings)))
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1)

  return async ({ uid, recipient, subject, created, text, html }, signal) => {
    const address = mailableAddress(recipient)
    if (address === undefined) throw new MailRefused('The address is not one that mail can be sent to.', true)
    try {
      await (await opened()).sendMail({
        from,
        to: { name: '', address },
        envelope: { from: from.address, to: [address] },
        // The same at every try, so that a mail that arrives twice can be seen to be one.
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

/** A no (5xx) to the recipient or to the mail itself is final; one to us (sign-in, sender) is for the operator to mend in time. */
function toMailRefused(error: unknown): MailRefused {
  const { message, command, responseCode = 0 } = error as SmtpError
  const permanent = responseCode >= 500 && responseCode !== 503 && /^(RCPT TO|DATA)/.test(command ?? '')
  return new MailRefused(oneLine(message), permanent, error)
}

/** Servers may repeat what they were sent: links are taken out. */
const oneLine = (text: string): string =>
  text
    .replace(/\bsll_[\w-]+|token=\S+/g, '[link]')
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, 500)
