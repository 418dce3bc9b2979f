import { spawn } from 'node:child_process'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@sluice/testing/free-port'
import { programEnvironment } from '@sluice/testing/app-program-arguments'

const portal = '/usr/share/lemonldap-ng/portal/htdocs/index.psgi'
/** Libraries that LemonLDAP::NG needs as an OpenID Provider. Debian only recommends them. */
const libraries = ['String/Random.pm', 'IO/String.pm'].map((file) => `/usr/share/perl5/${file}`)

/** The reason why LemonLDAP::NG cannot start here, or undefined if it can. */
export const lemonldapMissing = (): string | undefined =>
  [portal, '/usr/bin/plackup', ...libraries].every((file) => existsSync(file))
    ? undefined
    : 'Debian’s lemonldap-ng is not installed'

export const secretAtLemonldap = 'secret-of-sluice-at-lemonldap'

/** Its users are those of its demonstration: dwho, rtyler and msmith. The password of each is the username. */
interface ProviderSettings {
  redirectUri: string
  issuer?: string
}

export type Lemonldap = Awaited<ReturnType<typeof startLemonldap>>

/** Starts Debian's LemonLDAP::NG on a loopback port. It writes only to a temporary folder. */
export async function startLemonldap() {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-lemonldap-'))
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  for (const name of ['conf', 'sessions', 'locks', 'cache', 'perl']) await mkdir(join(folder, name))
  await writeFile(join(folder, 'lemonldap-ng.ini'), settings(folder))
  await writeFile(join(folder, 'perl/NoCaptcha.pm'), noCaptcha)
  let running: ReturnType<typeof spawn> | undefined

  async function stopPortal(): Promise<void> {
    const child = running
    running = undefined
    if (!child || child.exitCode !== null) return
    const ended = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGTERM')
    await ended
  }

  return {
    base,
    /** Starts or restarts it with these settings and a new signing key. */
    async start(provider: ProviderSettings): Promise<void> {
      await stopPortal()
      await writeFile(join(folder, 'conf/lmConf-1.json'), JSON.stringify(configuration(folder, base, provider)))
      const log = join(folder, 'log')
      running = spawn(
        '/bin/sh',
        ['-c', `exec plackup -I ${folder}/perl --host 127.0.0.1 --port ${port} -E deployment ${portal} >${log} 2>&1`],
        { env: { ...programEnvironment(), LC_ALL: 'C', LLNG_DEFAULTCONFFILE: join(folder, 'lemonldap-ng.ini') } },
      )
      await ready(base, log)
    },
    async stop(): Promise<void> {
      await stopPortal()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const settings = (folder: string) => `[all]
logLevel = warn
checkTime = 1
[configuration]
type = File
dirName = ${folder}/conf
[portal]
staticPrefix = /static
templateDir = /usr/share/lemonldap-ng/portal/templates
languages = en
`

/** LemonLDAP::NG always loads a captcha module. This one replaces a module that needs more libraries. */
const noCaptcha = `package NoCaptcha;
use Mouse;
extends 'Lemonldap::NG::Portal::Main::Plugin';
sub init { 1 }
1;
`

function configuration(folder: string, base: string, { redirectUri, issuer = base }: ProviderSettings) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const files = { Directory: `${folder}/sessions`, LockDirectory: `${folder}/locks` }
  return {
    cfgNum: 1,
    cfgAuthor: 'test',
    cfgDate: 1_700_000_000,
    cfgVersion: '2.16.1',
    domain: '127.0.0.1',
    portal: `${base}/`,
    authentication: 'Demo',
    userDB: 'Same',
    passwordDB: 'Demo',
    registerDB: 'Null',
    captcha: 'NoCaptcha',
    securedCookie: 0,
    globalStorage: 'Apache::Session::File',
    globalStorageOptions: files,
    persistentStorage: 'Apache::Session::File',
    persistentStorageOptions: files,
    localSessionStorage: 'Cache::FileCache',
    localSessionStorageOptions: { cache_root: `${folder}/cache`, namespace: 'sessions', default_expires_in: 600 },
    locationRules: { '127.0.0.1': { default: 'accept' } },
    exportedHeaders: {},
    demoExportedVars: { cn: 'cn', mail: 'mail', uid: 'uid' },
    issuerDBOpenIDConnectActivation: 1,
    oidcServiceMetaDataIssuer: issuer,
    oidcServicePrivateKeySig: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    oidcServicePublicKeySig: publicKey.export({ type: 'spki', format: 'pem' }),
    oidcServiceKeyIdSig: randomUUID(),
    oidcServiceAllowAuthorizationCodeFlow: 1,
    oidcRPMetaDataOptions: {
      sluice: {
        oidcRPMetaDataOptionsClientID: 'sluice',
        oidcRPMetaDataOptionsClientSecret: secretAtLemonldap,
        oidcRPMetaDataOptionsRedirectUris: redirectUri,
        oidcRPMetaDataOptionsIDTokenSignAlg: 'RS256',
        oidcRPMetaDataOptionsBypassConsent: 1,
        oidcRPMetaDataOptionsRequirePKCE: 1,
        oidcRPMetaDataOptionsIDTokenExpiration: 600,
        oidcRPMetaDataOptionsAccessTokenExpiration: 600,
      },
    },
    oidcRPMetaDataExportedVars: { sluice: { email: 'mail', name: 'cn', preferred_username: 'uid' } },
  }
}

async function ready(base: string, log: string): Promise<void> {
  const until = Date.now() + 120_000
  for (;;) {
    const answer = await fetch(`${base}/.well-known/openid-configuration`).catch(() => undefined)
    if (answer?.ok) return
    if (answer || Date.now() > until) throw new Error(`LemonLDAP::NG did not start: ${await readFile(log, 'utf8')}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
