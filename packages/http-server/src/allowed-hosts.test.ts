import { describe, expect, it } from '@jest/globals'
import type { Request, Response } from 'express'
import { hostNames, rejectUnknownHosts } from './allowed-hosts.ts'

const check = rejectUnknownHosts('https://Data.Example.org/sluice', ['identity', 'fd00::7', '10.0.0.7:80'])
const statusOf = (host: string | undefined) => {
  try {
    let passed = false
    void check({ headers: { host } } as Request, {} as Response, () => (passed = true))
    return passed
  } catch (error) {
    return (error as { status: number }).status
  }
}

describe('the Host header', () => {
  it.each([
    'data.example.org',
    'DATA.example.org:8443',
    'identity:3001',
    '10.0.0.7',
    '[fd00::7]:3001',
    'localhost',
    'localhost:1',
    '127.0.0.1:3001',
    '[::1]:3001',
    '[::1]',
  ])('is accepted: %s', (host) => {
    expect(statusOf(host)).toBe(true)
  })

  it.each([
    undefined,
    '',
    'evil.example',
    'example.org',
    'data.example.org.evil.example',
    'localhost.evil.example',
    'evil@localhost',
    'localhost/evil.example',
    'localhost#evil',
    'localhost, evil.example',
    'localhost:evil',
    '10.0.0.8',
    '[::2]',
    'identity.',
  ])('is refused with 421: %s', (host) => {
    expect(statusOf(host)).toBe(421)
  })
})

describe('the list of allowed hosts', () => {
  it('is normalised, and rejects entries that are not host names', () => {
    const { parse } = hostNames()
    expect(parse('Identity, 10.0.0.7,, fd00::7')).toEqual(['identity', '10.0.0.7', '[fd00::7]'])
    for (const wrong of ['*.example.org', 'http://identity', 'a b', 'identity/'])
      expect(() => parse(wrong)).toThrow('must contain host names')
  })
})
