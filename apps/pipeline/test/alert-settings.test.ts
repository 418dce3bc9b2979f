import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../src/config.ts'

const database = 'postgres://sluice@127.0.0.1/sluice'
const environment = {
  PIPELINE_DATABASE_URL: database,
  WAREHOUSE_DATABASE_URL: database,
  SECRET_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
  SERVICE_SECRET: 'x'.repeat(24),
  FILES_DIRECTORY: '/tmp',
}
const key = Buffer.alloc(32, 5)
const hook = {
  ALERT_WEBHOOK_URL: 'https://alerts.example.org/',
  ALERT_WEBHOOK_SECRET: `whsec_${key.toString('base64')}`,
}

describe('alert settings', () => {
  it('are optional, and the webhook secret is read in the format of Standard Webhooks', () => {
    expect(readConfig(environment)).toMatchObject({ SMTP_URL: undefined, ALERT_WEBHOOK_URL: undefined })
    const { ALERT_WEBHOOK_SECRET, ALERT_WEBHOOK_URL, secrets } = readConfig({ ...environment, ...hook })
    expect([ALERT_WEBHOOK_URL, ALERT_WEBHOOK_SECRET?.equals(key)]).toEqual([hook.ALERT_WEBHOOK_URL, true])
    expect(secrets).toEqual(expect.arrayContaining(Object.values(hook)))
  })

  it.each([
    [{ SMTP_URL: 'smtp://mail.example.org' }, 'MAIL_FROM is missing: with SMTP_URL, set'],
    [{ ALERT_WEBHOOK_URL: hook.ALERT_WEBHOOK_URL }, 'ALERT_WEBHOOK_SECRET is missing: with ALERT_WEBHOOK_URL'],
    [{ ...hook, ALERT_WEBHOOK_SECRET: 'whsec_c2hvcnQ=' }, 'must be whsec_ followed by 24 to 64 bytes in base64'],
    [{ ...hook, ALERT_WEBHOOK_SECRET: key.toString('base64') }, 'must be whsec_'],
    [{ ...hook, ALERT_WEBHOOK_URL: 'alerts.example.org' }, 'must be a URL'],
  ])('are rejected if one of a pair is missing or a value has the wrong format: %j', (settings, problem) => {
    expect(() => readConfig({ ...environment, ...settings })).toThrow(problem)
  })
})
