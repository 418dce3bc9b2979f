import { randomBytes } from 'node:crypto'
import type { Config } from '../../src/config.ts'
import type { Service } from '../app-under-test.ts'
import { openIdClient } from './relying-party.ts'

/** The settings with which the console is on. */
export const consoleSettings = {
  CONSOLE_SECRET: randomBytes(32).toString('base64url'),
  CONSOLE_REDIRECT_URIS: ['https://console.example.org/session/callback', 'http://127.0.0.1:3000/session/callback'],
} satisfies Partial<Config>

/** The console, which requests no scope but `openid`. */
export const consoleClient = (service: Service) =>
  openIdClient(service, {
    id: 'console',
    secret: consoleSettings.CONSOLE_SECRET,
    redirectUri: consoleSettings.CONSOLE_REDIRECT_URIS[0]!,
  })

/** The command line, which listens on any port of the loopback address. */
export const commandLine = (service: Service, port = 49_152) =>
  openIdClient(service, { id: 'cli', redirectUri: `http://127.0.0.1:${port}/callback` })
