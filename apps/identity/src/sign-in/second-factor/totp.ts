import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'

/**
 * The duration of a time step in seconds, the digits of a code, and the clock tolerance in steps. Every authenticator
 * app supports these values.
 */
const periodSeconds = 30
const codeDigits = 6
const toleratedPeriods = 1

/** Returns a seed of 160 bits, as RFC 4226 recommends, in base32. */
export const generateSeed = (): string => new Secret({ size: 20 }).base32

/** Returns the time step of a TOTP code; undefined if it matches neither the current step nor an adjacent one. */
export function findTimeStep(code: string, seed: string, now = Date.now()): number | undefined {
  // The library otpauth throws for a code with non-ASCII characters, so reject it first.
  if (!/^[0-9]{6}$/.test(code)) return undefined
  const delta = createTotp(seed).validate({ token: code, window: toleratedPeriods, timestamp: now })
  return delta === null ? undefined : TOTP.counter({ period: periodSeconds, timestamp: now }) + delta
}

/** Returns the enrolment data of a seed: an `otpauth://` URI and its QR code as SVG. */
export function createEnrolment(seed: string, { issuer, username }: { issuer: string; username: string }) {
  // A colon would end the issuer in the URI. A longer issuer does not fit on screens and in the QR code: the URI
  // contains it twice, with up to nine characters per letter.
  const short = [...issuer.replaceAll(':', ' ')].slice(0, 40).join('')
  const uri = createTotp(seed, { issuer: short, label: username }).toString()
  return { uri, qrCode: renderSVG(uri, { border: 4, ecc: 'M' }) }
}

const createTotp = (seed: string, about: { issuer?: string; label?: string } = {}) =>
  new TOTP({ ...about, secret: Secret.fromBase32(seed), algorithm: 'SHA1', digits: codeDigits, period: periodSeconds })
