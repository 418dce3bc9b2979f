import { domainToASCII } from 'node:url'
import type { Setting } from '@sluice/process'

/** Connection settings of the SMTP server. */
export interface SmtpServer {
  host: string
  port: number
  /** True for TLS from the first byte, false for STARTTLS. */
  secure: boolean
  user: string | undefined
  password: string | undefined
}

export interface SenderAddress {
  name: string
  address: string
}

const smtpUrlForm = 'must be smtp://[user:password@]host[:port], or smtps://… for TLS from the start'

/**
 * Returns the definition of an environment setting: `smtp://user:password@host:port`, or undefined. Characters such as
 * @ in the password must be percent-encoded.
 */
export const smtpUrl = (): Setting<SmtpServer | undefined> => ({
  secret: true,
  fallback: undefined,
  parse(text) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isSmtpServer = url !== undefined && /^smtps?:$/.test(url.protocol) && url.hostname !== ''
    if (!isSmtpServer) throw new Error(smtpUrlForm)
    const hasPathOrQuery = url.pathname.length > 1 || url.search !== '' || url.hash !== ''
    if (hasPathOrQuery) throw new Error(smtpUrlForm)
    const [hasUser, hasPassword] = [url.username !== '', url.password !== '']
    if (hasUser !== hasPassword) throw new Error('must name a user and a password, or neither')
    const secure = url.protocol === 'smtps:'
    return {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(url.port) || (secure ? 465 : 587),
      secure,
      user: decodeUrlPart(url.username),
      password: decodeUrlPart(url.password),
    }
  },
})

function decodeUrlPart(part: string): string | undefined {
  try {
    return part === '' ? undefined : decodeURIComponent(part)
  } catch {
    throw new Error(`${smtpUrlForm}; a % in the user or the password is written %25`)
  }
}

/**
 * Returns the definition of an environment setting: the From address, such as `no-reply@example.org` or `Example Data
 * <no-reply@example.org>`.
 */
export const senderAddress = (): Setting<SenderAddress | undefined> => ({
  fallback: undefined,
  parse(text) {
    const nameAndAddress = /^(?<name>[^<>"\p{Cc}]{0,100}?) ?<(?<address>[^<>]+)>$/u.exec(text)?.groups
    const { name = '', address = text } = nameAndAddress ?? {}
    if (!isMailable(address))
      throw new Error('must be an address, or a name and an address: Example Data <no-reply@example.org>')
    return { name, address }
  },
})

/**
 * True if a text is a single plain address that no mail server can misread as two addresses, a route or a header.
 * Quoted local parts are not accepted.
 */
export const isMailable = (address: string): boolean =>
  address.length <= 254 && /^[\w!#$%&'*+/=?^`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(address)

/** Returns the address with its domain in ASCII (Punycode), or undefined if mail cannot be sent to it. */
export function mailableAddress(address: string): string | undefined {
  const atSign = address.lastIndexOf('@')
  const domain = address.slice(atSign + 1)
  // domainToASCII parses ASCII domains as URL hosts: it turns 127.1 into 127.0.0.1 and stops at a slash. So it is only
  // called for international domains.
  const isInternational = /\P{ASCII}/u.test(domain) && /^[\p{L}\p{M}\p{N}.-]+$/u.test(domain)
  const ascii = isInternational ? `${address.slice(0, atSign)}@${domainToASCII(domain)}` : address
  return isMailable(ascii) ? ascii : undefined
}
