import { describe, expect, it } from '@jest/globals'
import { readSettings } from '@sluice/process'
import { parseRedshiftSettings, redshiftSettingShape } from './redshift-settings.ts'

const whole = {
  REDSHIFT_URL: 'postgres://admin:secret@cluster.example.org:5439/dev',
  REDSHIFT_STAGING: 's3://bucket/prefix',
  REDSHIFT_REGION: 'eu-west-1',
  REDSHIFT_ACCESS_KEY_ID: 'AKIA0',
  REDSHIFT_SECRET_ACCESS_KEY: 'hidden',
}
const read = (environment: NodeJS.ProcessEnv) =>
  parseRedshiftSettings(readSettings(environment, redshiftSettingShape).values)

describe('Redshift settings', () => {
  it('are undefined if all are absent or empty, and parsed if all are set', () => {
    expect(read({})).toBeUndefined()
    // Docker Compose passes unset variables as empty texts.
    expect(read(Object.fromEntries(Object.keys(whole).map((name) => [name, ''])))).toBeUndefined()
    expect(read(whole)).toMatchObject({ url: whole.REDSHIFT_URL, role: 'default', staging: 's3://bucket/prefix' })
  })

  it.each(Object.keys(whole))('are rejected if %s is missing, with its name in the message', (name) => {
    expect(() => read({ ...whole, [name]: undefined })).toThrow(`${name} is missing: REDSHIFT_`)
  })
})
