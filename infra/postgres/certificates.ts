import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'

/** A certificate and its private key, both in PEM format. */
export type Identity = { certificate: string; key: string }

/** The names of the files in the folder of the certificates. Only `authority` is for clients. */
export const certificateFiles = {
  authority: 'authority.pem',
  authorityKey: 'authority.key',
  server: 'server.pem',
  serverKey: 'server.key',
}

/**
 * Returns the server's certificate for these hosts from the folder, or creates it.
 * - If the hosts change, creates a new authority too, because an authority can only sign for its hosts. Clients then
 *   need the new certificate of the authority.
 * - A year before the server's certificate expires, replaces only this certificate. Clients need nothing new.
 *
 * Other users cannot read the folder, except the group of the database in its image.
 */
export const ensureCertificates = (folder: string, hosts: readonly string[]): Identity => {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { authority: file, authorityKey, server, serverKey } = certificateFiles
  const storedAuthority = readIdentity(folder, file, authorityKey)
  const authority =
    storedAuthority && canSign(storedAuthority, hosts)
      ? storedAuthority
      : save(folder, file, authorityKey, makeAuthority(hosts))
  const current = readIdentity(folder, server, serverKey)
  if (current && isCurrent(current, authority, hosts)) return current
  return save(folder, server, serverKey, makeServerIdentity(authority, hosts))
}

const readIdentity = (folder: string, certificate: string, key: string): Identity | undefined => {
  const paths = [join(folder, certificate), join(folder, key)] as const
  if (!paths.every((path) => existsSync(path))) return undefined
  return { certificate: readFileSync(paths[0], 'utf8'), key: readFileSync(paths[1], 'utf8') }
}

/** Writes the key first: a certificate without its key is created again. */
const save = (folder: string, certificate: string, key: string, identity: Identity): Identity => {
  replace(join(folder, key), identity.key, 0o640)
  replace(join(folder, certificate), identity.certificate, 0o644)
  return identity
}

const replace = (path: string, text: string, mode: number): void => {
  writeFileSync(`${path}.draft`, text, { mode })
  renameSync(`${path}.draft`, path)
}

const yearMs = 365.25 * 86_400_000
const years = 10

/**
 * Creates a certificate authority for the certificates of one server. Programs that trust it accept no certificate of
 * it for other hosts or for other purposes, so a stolen key does not help against other sites.
 */
export const makeAuthority = (hosts: readonly string[]): Identity => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const name = `Sluice warehouse ${randomBytes(4).toString('hex')}`
  const extensions = [
    extension('2.5.29.19', sequence(boolean(true), integer(Buffer.from([0]))), true),
    // keyCertSign and cRLSign.
    extension('2.5.29.15', der(0x03, Buffer.from([1, 0x06])), true),
    serverAuthentication(),
    nameConstraints(hosts),
    extension('2.5.29.14', octets(keyId(publicKey))),
  ]
  return {
    certificate: certificate({ issuer: name, subject: name, publicKey, signer: privateKey, extensions }),
    key: pem(privateKey),
  }
}

/** Creates a server's certificate for these host names and addresses. */
export const makeServerIdentity = (authority: Identity, hosts: readonly string[]): Identity => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const signer = createPrivateKey(authority.key)
  const issuer = /CN=(.*)/.exec(new X509Certificate(authority.certificate).subject)![1]!
  const extensions = [
    extension('2.5.29.19', sequence(), true),
    // digitalSignature.
    extension('2.5.29.15', der(0x03, Buffer.from([7, 0x80])), true),
    serverAuthentication(),
    extension('2.5.29.17', sequence(...hosts.map((host) => alternativeName(host)))),
    extension('2.5.29.14', octets(keyId(publicKey))),
    extension('2.5.29.35', sequence(der(0x80, keyId(createPublicKey(signer))))),
  ]
  return {
    certificate: certificate({ issuer, subject: hosts[0]!.slice(0, 64), publicKey, signer, extensions }),
    key: pem(privateKey),
  }
}

/** Returns whether an authority can sign for these hosts. Authorities of earlier versions can sign for all hosts. */
export const canSign = (authority: Identity, hosts: readonly string[]): boolean => {
  const { raw } = new X509Certificate(authority.certificate)
  return raw.includes(nameConstraints(hosts)) || !raw.includes(objectId(nameConstraintsId))
}

const serverAuthentication = (): Buffer => extension('2.5.29.37', sequence(objectId('1.3.6.1.5.5.7.3.1')))

const nameConstraintsId = '2.5.29.30'

/**
 * The permitted names. A form without a permitted name would have no constraint, so the hosts contain a name and an
 * address.
 */
const nameConstraints = (hosts: readonly string[]): Buffer => {
  const permitted = hosts.map((host) => sequence(alternativeName(host, isIP(host) === 6 ? 16 : 4)))
  return extension(nameConstraintsId, sequence(der(0xa0, ...permitted)), true)
}

/**
 * Returns whether a server's certificate names all these hosts, was signed by the authority, and is valid for another
 * year.
 */
export const isCurrent = (server: Identity, authority: Identity, hosts: readonly string[]): boolean => {
  const serverCertificate = new X509Certificate(server.certificate)
  const names = hosts.every((host) =>
    isIP(host) ? serverCertificate.checkIP(host) : serverCertificate.checkHost(host),
  )
  const until = Date.parse(serverCertificate.validTo)
  return (
    names &&
    until > Date.now() + yearMs &&
    serverCertificate.verify(new X509Certificate(authority.certificate).publicKey)
  )
}

type CertificateContent = {
  issuer: string
  subject: string
  publicKey: KeyObject
  signer: KeyObject
  extensions: Buffer[]
}

/** Returns an X.509 certificate of version 3 (RFC 5280), signed with ECDSA and SHA-256. */
const certificate = ({ issuer, subject, publicKey, signer, extensions }: CertificateContent): string => {
  const algorithm = sequence(objectId('1.2.840.10045.4.3.2'))
  // The clocks of clients may be a day late.
  const validity = sequence(time(Date.now() - 86_400_000), time(Date.now() + years * yearMs))
  const serial = randomBytes(16)
  serial[0]! &= 0x7f
  serial[0]! |= 0x40
  const content = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    commonName(issuer),
    validity,
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signedCertificate = sequence(content, algorithm, der(0x03, Buffer.from([0]), sign('sha256', content, signer)))
  const lines = signedCertificate
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

/** The SHA-1 of the key's bits, as RFC 5280 proposes. An uncompressed P-256 point has 65 bytes. */
const keyId = (key: KeyObject): Buffer =>
  createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }).subarray(-65))
    .digest()

/** Returns a name or an address, in constraints with the bytes of its mask, which are all ones. */
const alternativeName = (host: string, maskBytes = 0): Buffer =>
  isIP(host) ? der(0x87, addressBytes(host), Buffer.alloc(maskBytes, 0xff)) : der(0x82, Buffer.from(host, 'ascii'))

const addressBytes = (address: string): Buffer => {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string | undefined): string[] => (text ? text.split(':') : [])
  const [first, last] = [groups(head), groups(tail)]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0')
  return Buffer.from([...first, ...zeros, ...last].map((group) => group.padStart(4, '0')).join(''), 'hex')
}

const commonName = (name: string): Buffer =>
  sequence(der(0x31, sequence(objectId('2.5.4.3'), der(0x0c, Buffer.from(name)))))

const extension = (id: string, value: Buffer, critical = false): Buffer =>
  sequence(objectId(id), ...(critical ? [boolean(true)] : []), octets(value))

const time = (at: number): Buffer => {
  const text = new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return text < '2050' ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text))
}

const objectId = (text: string): Buffer => {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  const bytes = [40 * first + second, ...rest].flatMap((part) => {
    const digits = [part & 0x7f]
    for (let left = part >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
    return digits
  })
  return der(0x06, Buffer.from(bytes))
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts)
const octets = (value: Buffer): Buffer => der(0x04, value)
const integer = (value: Buffer): Buffer => der(0x02, value)
const boolean = (value: boolean): Buffer => der(0x01, Buffer.from([value ? 0xff : 0]))

/** Encodes a value of ASN.1: its tag, its length and its content. */
const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const size = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
