import { relative } from 'node:path'
import pc from 'picocolors'
import type { Settings } from './settings.ts'

/** What the summary tells about the first administrator. */
export type Admin = { username: string; password?: string; given: boolean }

/** What a person sees when everything runs: where it is, how to sign in, what to try next. */
export const summary = (settings: Settings, admin: Admin, seconds: number): string => {
  const { identityPublicUrl: identity, pipelinePublicUrl: pipeline } = settings
  const folder = relative(process.cwd(), settings.state) || '.'
  const lines = [
    `${pc.green('●')} ${pc.bold('Sluice is ready')} ${pc.dim(`(${seconds.toFixed(1)} s)`)}`,
    '',
    row('Identity', `${pc.cyan(identity)}   ${pc.dim('docs')} ${pc.cyan(`${identity}/docs`)}`),
    row('Pipeline', `${pc.cyan(pipeline)}   ${pc.dim('docs')} ${pc.cyan(`${pipeline}/docs`)}`),
    row('Sign in', signIn(admin, folder)),
    row('Kept in', `${folder}/ ${pc.dim('(data in postgres/ and files/, logs in logs/)')}`),
    '',
    row(
      'Next',
      `${pc.bold('npm run demo')} ${pc.dim('in another terminal loads 200,000 rows; the tour in README.md goes by hand')}`,
    ),
    row('', pc.dim('Ctrl-C stops everything; the data stays.')),
  ]
  return `\n${lines.map((line) => `  ${line}`.trimEnd()).join('\n')}\n`
}

const row = (label: string, text: string): string => `${pc.dim(label.padEnd(9))} ${text}`

const signIn = ({ username, password, given }: Admin, folder: string): string => {
  if (given) return `${pc.bold(username)} ${pc.dim('with the password of SLUICE_ADMIN_PASSWORD')}`
  if (password) return `${pc.bold(username)} / ${pc.bold(pc.yellow(password))} ${pc.dim('(shown this once)')}`
  return `${pc.bold(username)} ${pc.dim(`(a password made by the first start is in ${folder}/secrets.json)`)}`
}
