import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { readOrCreateSecrets } from './secrets.ts'

it('an installation of an earlier version gets the secrets that it lacks once, and keeps all others', async () => {
  const state = await mkdtemp(join(tmpdir(), 'sluice-secrets-'))
  try {
    const { consoleSecret: _absent, ...earlier } = await readOrCreateSecrets(state)
    const file = join(state, 'secrets.json')
    await writeFile(file, JSON.stringify(earlier))
    const secrets = await readOrCreateSecrets(state)
    expect(secrets).toEqual({ ...earlier, consoleSecret: expect.stringMatching(/^[\w-]{43}$/) })
    expect(await readOrCreateSecrets(state)).toEqual(secrets)
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(secrets)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  } finally {
    await rm(state, { recursive: true })
  }
})
