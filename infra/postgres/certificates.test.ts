import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { certificateFiles, ensureCertificates, isCurrent, makeAuthority, makeServerIdentity } from './certificates.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-certificates-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = (name: keyof typeof certificateFiles): string => join(folder, certificateFiles[name])
const openssl = (...args: string[]) => spawnSync('openssl', args, { encoding: 'utf8' })
const hasOpenssl = openssl('version').status === 0

describe('a server certificate', () => {
  const hosts = ['data.example.org', 'localhost', '192.0.2.7', '2001:db8::1:0:7']

  it('names all hosts, and is signed by its authority', () => {
    const authority = makeAuthority(hosts)
    const server = makeServerIdentity(authority, hosts)
    const [own, issuer] = [new X509Certificate(server.certificate), new X509Certificate(authority.certificate)]
    expect(own.subjectAltName).toBe(
      'DNS:data.example.org, DNS:localhost, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:1:0:7',
    )
    expect([own.checkIssued(issuer), own.verify(issuer.publicKey), issuer.ca, own.ca]).toEqual([
      true,
      true,
      true,
      false,
    ])
    expect([own.checkHost('data.example.org'), own.checkHost('example.org')]).toEqual(['data.example.org', undefined])
    expect(isCurrent(server, authority, hosts)).toBe(true)
    expect(isCurrent(server, authority, [...hosts, 'new.example.org'])).toBe(false)
    expect(isCurrent(server, makeAuthority(hosts), hosts)).toBe(false)
  })

  it('is kept, and replaced together with its authority when the hosts change', () => {
    const first = ensureCertificates(folder, hosts)
    const authority = readFileSync(path('authority'), 'utf8')
    expect(ensureCertificates(folder, hosts)).toEqual(first)
    expect(readFileSync(path('authority'), 'utf8')).toBe(authority)
    const second = ensureCertificates(folder, ['other.example.org', '127.0.0.1'])
    const next = readFileSync(path('authority'), 'utf8')
    expect([next, second]).not.toEqual([authority, first])
    expect(new X509Certificate(second.certificate).verify(new X509Certificate(next).publicKey)).toBe(true)
    expect([statSync(path('serverKey')).mode & 0o777, statSync(path('authorityKey')).mode & 0o777]).toEqual([
      0o640, 0o640,
    ])
  })

  const check = hasOpenssl ? it : it.skip
  check('is accepted by OpenSSL in its strict mode, for its hosts only', () => {
    ensureCertificates(folder, hosts)
    const verify = (...more: string[]) =>
      openssl('verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', path('authority'), ...more, path('server'))
    for (const host of hosts.slice(0, 2)) expect(verify('-verify_hostname', host).status).toBe(0)
    for (const address of hosts.slice(2)) expect(verify('-verify_ip', address).status).toBe(0)
    expect(verify('-verify_hostname', 'example.org').status).not.toBe(0)
    expect(openssl('x509', '-in', path('server'), '-noout', '-text').stdout).toMatch(
      /Version: 3[\s\S]+TLS Web Server Authentication/,
    )
  })

  check('is not accepted for a host or a purpose that the authority may not sign', () => {
    ensureCertificates(folder, hosts)
    const authority = {
      certificate: readFileSync(path('authority'), 'utf8'),
      key: readFileSync(path('authorityKey'), 'utf8'),
    }
    const verify = (names: string[], purpose = 'sslserver') => {
      const file = join(folder, 'foreign.pem')
      writeFileSync(file, makeServerIdentity(authority, names).certificate)
      const { status, stderr } = openssl(
        'verify',
        '-x509_strict',
        '-purpose',
        purpose,
        '-CAfile',
        path('authority'),
        file,
      )
      return status === 0 ? 'accepted' : stderr
    }
    expect(verify(hosts)).toBe('accepted')
    for (const foreign of ['example.org', '192.0.2.8', '2001:db8::1', '127.0.0.1'])
      expect(verify([...hosts, foreign])).toContain('permitted subtree violation')
    expect(verify(hosts, 'sslclient')).not.toBe('accepted')
  })

  check('is signed by the authority of an earlier version, which programs have, if there is one', () => {
    const older = mkdtempSync(join(tmpdir(), 'sluice-certificates-'))
    const file = (name: keyof typeof certificateFiles): string => join(older, certificateFiles[name])
    const result = openssl(
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-subj',
      '/CN=Earlier',
      '-days',
      '9',
      '-keyout',
      file('authorityKey'),
      '-out',
      file('authority'),
    )
    expect(result.status).toBe(0)
    const before = readFileSync(file('authority'), 'utf8')
    ensureCertificates(older, hosts)
    expect(readFileSync(file('authority'), 'utf8')).toBe(before)
    expect(openssl('verify', '-verify_hostname', hosts[0]!, '-CAfile', file('authority'), file('server')).status).toBe(
      0,
    )
    rmSync(older, { recursive: true })
  })
})
