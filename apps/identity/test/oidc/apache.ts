import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const modules = '/usr/lib/apache2/modules'

/** Is there an Apache with mod_auth_openidc? */
export const apacheIsThere = existsSync('/usr/sbin/apache2') && existsSync(join(modules, 'mod_auth_openidc.so'))

interface Site {
  port: number
  /** Of the OpenID Provider. */
  issuer: string
  clientId: string
  clientSecret: string
  scope: string
}

/**
 * An Apache of its own in a temporary folder: `/protected/` is for whoever signed in at the provider, and tells them who
 * they are in headers. Its callback is `/protected/callback`.
 */
export async function startApache(site: Site): Promise<AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-apache-'))
  await chmod(folder, 0o755)
  await mkdir(join(folder, 'public/protected'), { recursive: true })
  await writeFile(join(folder, 'public/index.html'), 'Anybody may read this.')
  await writeFile(join(folder, 'public/protected/index.html'), 'Only for who signed in.')
  await writeFile(join(folder, 'apache.conf'), configuration(folder, site))
  const apache = spawn('/usr/sbin/apache2', ['-DFOREGROUND', '-f', join(folder, 'apache.conf')], { stdio: 'ignore' })
  const ended = once(apache, 'close')
  await answers(`http://127.0.0.1:${site.port}/`, () => readFile(join(folder, 'error.log'), 'utf8').catch(() => ''))
  return {
    async [Symbol.asyncDispose]() {
      apache.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const used = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'mime', 'headers', 'auth_openidc']

const configuration = (folder: string, { port, issuer, clientId, clientSecret, scope }: Site): string => `
ServerRoot ${folder}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
PidFile ${folder}/apache.pid
DefaultRuntimeDir ${folder}
ErrorLog ${folder}/error.log
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
${used.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`).join('\n')}
TypesConfig /etc/mime.types
DirectoryIndex index.html
DocumentRoot ${folder}/public

OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID ${clientId}
OIDCClientSecret ${clientSecret}
OIDCScope "${scope}"
OIDCPKCEMethod S256
OIDCRedirectURI http://127.0.0.1:${port}/protected/callback
OIDCCryptoPassphrase ${randomBytes(16).toString('hex')}
OIDCRemoteUserClaim preferred_username
OIDCRefreshAccessTokenBeforeExpiry 290

<Location /protected/>
  AuthType openid-connect
  Require valid-user
  Header always set X-User "expr=%{REMOTE_USER}"
  Header always set X-Name "expr=%{req:OIDC_CLAIM_name}"
  Header always set X-Email "expr=%{req:OIDC_CLAIM_email}"
  Header always set X-Access-Token "expr=%{req:OIDC_access_token}"
</Location>
`

async function answers(url: string, log: () => Promise<string>): Promise<void> {
  for (const until = Date.now() + 30_000; ; await sleep(100)) {
    const answer = await fetch(url).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return
    if (Date.now() > until) throw new Error(`Apache does not answer:\n${await log()}`)
  }
}
