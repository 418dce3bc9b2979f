import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface ReceivedMail {
  from: string
  to: string[]
  /** True if the mail was received over TLS. */
  secure: boolean
  user: string | undefined
  headers: Record<string, string>
  text: string
  html: string
}

type Problem = Error & { responseCode: number }

/** Returns an error that makes the server send this SMTP error response. */
export const smtpRefusal = (responseCode: number, message: string): Problem =>
  Object.assign(new Error(message), { responseCode })

interface StandInOptions extends SMTPServerOptions {
  /** Called when a mail has arrived. If it returns a problem, the server rejects the mail. */
  answer?(mail: ReceivedMail): Promise<Problem | undefined>
}

/** Starts an SMTP server on a free port. It stores the received mails. */
export async function startSmtp({ answer, ...options }: StandInOptions = {}) {
  const received: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    ...(!options.key && { disabledCommands: ['STARTTLS'] }),
    ...options,
    closeTimeout: 100,
    onData(stream, session, callback) {
      const decide = async (mail: ReceivedMail) => {
        const problem = await answer?.(mail)
        if (!problem) received.push(mail)
        callback(problem)
      }
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        const mail = {
          ...parsed(Buffer.concat(parts).toString('utf8')),
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          secure: session.secure,
          user: session.user as string | undefined,
        }
        void decide(mail)
      })
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    received,
    port: (server.server.address() as AddressInfo).port,
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  }
}

/** Parses a multipart/alternative message to its headers, text and HTML. */
function parsed(raw: string): Pick<ReceivedMail, 'headers' | 'text' | 'html'> {
  const [head = '', ...rest] = raw.split('\r\n\r\n')
  const headers = headersOf(head)
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1] ?? ''
  const parts = rest.join('\r\n\r\n').split(`--${boundary}`)
  const part = (type: string) => {
    const found =
      parts.find((part) => headersOf(part.split('\r\n\r\n')[0] ?? '')['content-type']?.startsWith(type)) ?? ''
    const [partHead = '', ...body] = found.split('\r\n\r\n')
    return decoded(body.join('\r\n\r\n'), headersOf(partHead)['content-transfer-encoding'])
  }
  return { headers, text: part('text/plain').replaceAll('\r\n', '\n'), html: part('text/html') }
}

const headersOf = (head: string): Record<string, string> =>
  Object.fromEntries(
    head
      .trim()
      .replaceAll(/\r\n[ \t]+/g, ' ')
      .split('\r\n')
      .map((line) => /^([^:]+): ?(.*)$/.exec(line))
      .filter((match) => match !== null)
      .map(([, name = '', value = '']) => [name.toLowerCase(), value]),
  )

function decoded(body: string, encoding = '7bit'): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8')
  if (encoding !== 'quoted-printable') return body
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Creates a self-signed certificate for this machine. */
export function selfSigned(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-smtp-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
  const args = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
    '-addext',
    names,
  ]
  execFileSync('openssl', [...args, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const certificate = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  rmSync(folder, { recursive: true })
  return certificate
}
