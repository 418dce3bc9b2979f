import { Secret, TOTP } from 'otpauth'
import { renderSVG } from 'uqr'

/** Seconds of a step, digits of a code, and the clock tolerance in steps. Every authenticator supports these values. */
const periodSeconds = 30
const codeDigits = 6
const toleratedPeriods = 1

/** Returns a seed of 160 bits, as RFC 4226 recommends, in base32. */
export const generateSeed = (): string => new Secret({ size: 20 }).base32

/** Returns the time step of a code; undefined if no step near now matches. */
export function findTimeStep(code: string, seed: string, now = Date.now()): number | undefined {
  // otpauth compares letters by number and then by bytes, and throws where these differ.
  if (!/^[0-9]{6}$/.test(code)) return undefined
  const delta = createTotp(seed).validate({ token: code, window: toleratedPeriods, timestamp: now })
  return delta === null ? undefined : TOTP.counter({ period: periodSeconds, timestamp: now }) + delta
}

/** Returns the enrolment data of a seed: an `otpauth://` URI and its QR code as SVG. */
export function createEnrolment(seed: string, { issuer, username }: { issuer: string; username: string }) {
  // A colon would end the issuer. A longer issuer does not fit on screens and in the QR code: the URI contains the
  // issuer twice, with up to nine characters for each letter.
  const short = [...issuer.replaceAll(':', ' ')].slice(0, 40).join('')
  const uri = createTotp(seed, { issuer: short, label: username }).toString()
  return { uri, qrCode: renderSVG(uri, { border: 4, ecc: 'M' }) }
}

const createTotp = (seed: string, about: { issuer?: string; label?: string } = {}) =>
  new TOTP({ ...about, secret: Secret.fromBase32(seed), algorithm: 'SHA1', digits: codeDigits, period: periodSeconds })
