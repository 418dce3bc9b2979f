import { describe, expect, it } from '@jest/globals'
import { keyRing } from '@sluice/database'
import { isSameAddress } from '../variables/assert-secret-address.ts'
import { sealSecrets, unsealSource } from './encrypted-secrets.ts'

const ring = keyRing(`test:${Buffer.alloc(32, 1).toString('base64')}`)

describe('secrets that an older version sealed', () => {
  it('belong to the same address as before', () => {
    const address = { url: '${HOST}/api' }
    const stored = {
      password: 'secret',
      '~givenFor': JSON.stringify({ address, was: { url: 'https://a.example/api' } }),
    }
    const source_secrets = sealSecrets(stored, 'data_pipelines.source_secrets:uid', ring)
    const { secrets, secretAddress } = unsealSource({ uid: 'uid', source_secrets }, ring)
    expect(secrets).toEqual({ password: 'secret' })
    expect(isSameAddress(secretAddress!, { address, was: { url: 'https://a.example/api' } })).toBe(true)
    expect(isSameAddress(secretAddress!, { address, was: { url: 'https://b.example/api' } })).toBe(false)
  })
})
