import { describe, expect, it } from '@jest/globals'
import { keyRing, SealProblem } from '../src/index.ts'

const key = (id: string, byte: number) => `${id}:${Buffer.alloc(32, byte).toString('base64')}`
const old = keyRing(key('old', 1))
const rotated = keyRing(`${key('new', 2)}, ${key('old', 1)}`)
const purpose = 'warehouses.load_password:one'

describe('a key ring', () => {
  it('opens a sealed value only for the purpose that it was sealed for', () => {
    for (const plain of ['', 'secret', 'ü'.repeat(10_000)]) {
      const sealed = old.seal(plain, purpose)
      expect(old.open(sealed, purpose)).toBe(plain)
      expect(() => old.open(sealed, 'warehouses.load_password:two')).toThrow(SealProblem)
    }
  })

  it('seals equal values differently and without readable parts of them', () => {
    const sealed = [1, 2, 3].map(() => old.seal('very secret', purpose))
    expect(new Set(sealed).size).toBe(3)
    expect(sealed.join()).not.toMatch(/very|secret/)
    expect(sealed[0]).toMatch(/^old\.[\w-]{16}\.[\w-]+$/)
  })

  it('seals with the newest key and opens values of older keys until they are removed', () => {
    const before = old.seal('secret', purpose)
    expect(rotated.open(before, purpose)).toBe('secret')
    const after = rotated.seal('secret', purpose)
    expect([rotated.open(after, purpose), after.split('.')[0]]).toEqual(['secret', 'new'])
    expect(() => old.open(after, purpose)).toThrow('encrypted with key "new", which is missing')
    expect(() => keyRing(key('old', 9)).open(before, purpose)).toThrow('cannot be decrypted with key "old"')
  })

  it('refuses sealed values that were changed by one bit or truncated', () => {
    const sealed = old.seal('secret', purpose)
    const [id, nonce, body] = sealed.split('.') as [string, string, string]
    const flipped = (text: string, at: number) => {
      const bytes = Buffer.from(text, 'base64url')
      bytes[at]! ^= 1
      return bytes.toString('base64url')
    }
    const length = Buffer.from(body, 'base64url').length
    const changed = [
      ...Array.from({ length }, (_, at) => `${id}.${nonce}.${flipped(body, at)}`),
      ...Array.from({ length: 12 }, (_, at) => `${id}.${flipped(nonce, at)}.${body}`),
      `${id}.${nonce}.${body.slice(0, -4)}`,
      `${id}.${nonce}.`,
      `${id}.${nonce}`,
      id,
      `${id}..${body}`,
      '',
    ]
    for (const text of changed) expect(() => old.open(text, purpose)).toThrow(SealProblem)
  })

  it('returns the same code for the same text, key and purpose only', () => {
    const codes = [old.mac('a', 'one'), old.mac('b', 'one'), old.mac('a', 'two'), rotated.mac('a', 'one')]
    expect(new Set(codes).size).toBe(4)
    expect(old.mac('a', 'one')).toBe(codes[0])
    expect(codes[0]).toMatch(/^[0-9a-f]{64}$/)
  })

  it('refuses a truncated authentication tag', () => {
    const sealed = old.seal('', purpose)
    const [id, nonce, tag] = sealed.split('.') as [string, string, string]
    for (const bytes of [4, 8, 12, 15]) {
      const short = Buffer.from(tag, 'base64url').subarray(0, bytes).toString('base64url')
      expect(() => old.open(`${id}.${nonce}.${short}`, purpose)).toThrow(SealProblem)
    }
  })

  it.each([
    ['', 'must be a list of id:key'],
    ['nonsense', 'must be a list of id:key'],
    ['a b:AAAA', 'must be a list of id:key'],
    [`short:${Buffer.alloc(16).toString('base64')}`, 'has a key "short" of 16 bytes; 32 are needed'],
    [`${key('a', 1)},`, 'must be a list of id:key'],
    [`${key('a', 1)},${key('a', 2)}`, 'has two keys "a"'],
  ])('says what is wrong with %j', (text, problem) => {
    expect(() => keyRing(text)).toThrow(problem)
  })
})
